/**
 * A move is killed at every failpoint and run again: what the destination then holds must be what
 * the delivery of the document promises.
 */
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringifyJson, type JsonObject } from '../../../src/lib/text/json.ts';
import type { Destination } from '../../../src/kit/sink-fixture.ts';
import { row, type SinkSubject } from '../../../src/conformance/sink/subject.ts';

/** What the source gives, page by page. */
export const PAGES: readonly (readonly JsonObject[])[] = [
  [row(1), row(2)],
  [row(3), row(4)],
];

export interface CrashTicket {
  /** A document as JSON text. */
  readonly tree: string;
  /** The process kills itself at the failpoint of this number, counted from 0. */
  readonly crashAt: number | null;
  /** Waits once at a failpoint, so that something can happen there. */
  readonly hold?: Hold | undefined;
}

export interface Hold {
  readonly failpoint: string;
  /** Made when it waits. */
  readonly held: string;
  /** It goes on when this is there. */
  readonly free: string;
}

export interface RunReport {
  readonly failpoints: readonly string[];
  readonly error: string | null;
}

/** One way in which a sink is written, and what a crash may do to it. */
export interface CrashCase {
  readonly name: string;
  readonly config: (config: JsonObject) => JsonObject;
  readonly document?: JsonObject;
  /** Without one, every run begins at the first page. */
  readonly keepsBookmarks: boolean;
  /** `exact`: each record once. `at_least_once`: none is lost, one page may come twice. */
  readonly promise: 'exact' | 'at_least_once';
}

/** Every way of delivery that the capabilities of a sink make possible. */
export function crashCases(subject: SinkSubject): readonly CrashCase[] {
  const { token, flushDurable } = subject.capabilities;
  const cases: CrashCase[] = [];
  if (token) {
    cases.push({
      name: 'exactly once by watermark',
      config: (config) => config,
      document: { delivery: 'exactly_once' },
      keepsBookmarks: true,
      promise: 'exact',
    });
  }
  if (subject.offers('upsert')) {
    cases.push({
      name: 'effectively once by key',
      config: (config) => subject.keyed(config),
      keepsBookmarks: true,
      promise: 'exact',
    });
  }
  if (subject.offers('overwrite')) {
    cases.push({
      name: 'overwrite',
      config: (config) => subject.overwriting(config),
      keepsBookmarks: false,
      promise: 'exact',
    });
  }
  if (subject.fixture.continuing === undefined) {
    cases.push({
      name: 'replaced by every run',
      config: (config) => config,
      keepsBookmarks: false,
      promise: 'exact',
    });
  } else {
    cases.push({
      name: flushDurable ? 'at least once' : 'at least once, durable at the end',
      config: (config) => subject.continuing(config),
      keepsBookmarks: true,
      promise: 'at_least_once',
    });
  }
  return cases;
}

const ENTRY = fileURLToPath(new URL('crash-process.ts', import.meta.url));

const FAST_TIME = new URL('../wire/fast-time.ts', import.meta.url).href;

/** Crashes one after the other; a process that did not crash runs the next ticket. */
export class Crasher implements Disposable {
  readonly #factor: number;
  #child: ChildProcess | undefined;
  #to: Destination | undefined;

  /** With a factor the time of the processes passes so much faster. */
  constructor(factor = 1) {
    this.#factor = factor;
  }

  /** `undefined` when the process was killed. */
  async run(ticket: CrashTicket, to?: Destination): Promise<RunReport | undefined> {
    this.#to = to;
    const child = (this.#child ??= this.#start());
    const report = await new Promise<RunReport | undefined>((resolve) => {
      const done = (): void => resolve(undefined);
      child.once('close', done);
      child.once('message', (message) => {
        child.off('close', done);
        resolve(message as RunReport);
      });
      child.send(ticket);
    });
    child.removeAllListeners('message');
    if (report === undefined) this.#child = undefined;
    return report;
  }

  /** Asks the run to stop, as a user does. */
  cancel(): void {
    this.#child?.send('cancel');
  }

  [Symbol.dispose](): void {
    this.#child?.kill('SIGKILL');
  }

  #start(): ChildProcess {
    const NODE_COMPILE_CACHE = join(tmpdir(), 'headgate-crash-compiled');
    const isFast = this.#factor !== 1;
    const child = fork(ENTRY, [], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      ...(isFast ? { execArgv: ['--import', FAST_TIME] } : {}),
      env: {
        ...process.env,
        NODE_COMPILE_CACHE,
        HEADGATE_TEST_TIME_FACTOR: String(this.#factor),
      },
    });
    child.stderr?.on('data', (bytes: Buffer) => this.#to?.printed?.(bytes));
    return child;
  }
}

/** Throws at the first failpoint after which the promise is broken. Gives how many were tried. */
export async function crashEverywhere(subject: SinkSubject, crashCase: CrashCase): Promise<number> {
  using crasher = new Crasher();
  const { failpoints, error } = await undisturbed(subject, crashCase, crasher);
  assert.equal(error, null, 'the run fails without a crash, too');
  for (const [crashAt, failpoint] of failpoints.entries()) {
    await using attempt = await attemptOf(subject, crashCase);
    const { to, tree } = attempt;
    const crashed = await crasher.run({ tree, crashAt }, to);
    assert.equal(crashed, undefined, `the run never came to ${failpoint} again`);
    const again = await crasher.run({ tree, crashAt: null }, to);
    assert.equal(again?.error, null, `after a crash at ${failpoint} the next run fails`);
    holdPromise(crashCase, (await to.rows()) ?? [], `after a crash at ${failpoint}`);
  }
  return failpoints.length;
}

async function undisturbed(
  subject: SinkSubject,
  crashCase: CrashCase,
  crasher: Crasher,
): Promise<RunReport> {
  await using attempt = await attemptOf(subject, crashCase);
  const report = await crasher.run({ tree: attempt.tree, crashAt: null }, attempt.to);
  if (report === undefined) return assert.fail('the process of the run ended');
  if (report.error === null)
    holdPromise(
      { ...crashCase, promise: 'exact' },
      (await attempt.to.rows()) ?? [],
      'after no crash',
    );
  return report;
}

export interface Attempt extends AsyncDisposable {
  readonly to: Destination;
  readonly tree: string;
}

/** `by` may send the sink to its server by another way. */
export async function attemptOf(
  subject: SinkSubject,
  crashCase: CrashCase,
  by: (config: JsonObject) => Promise<JsonObject> = (config) => Promise.resolve(config),
): Promise<Attempt> {
  const to = await subject.fresh();
  const config = await by(crashCase.config(to.config));
  const folder = mkdtempSync(join(tmpdir(), 'headgate-crash-state-'));
  const tree = stringifyJson({
    version: 1,
    name: 'crash',
    ...crashCase.document,
    pipeline: {
      source: { type: 'replayable', config: {} },
      sink: { type: subject.definition.type, config },
      ...(crashCase.keepsBookmarks ? { state: { type: 'file', config: { path: folder } } } : {}),
    },
  });
  return {
    to,
    tree,
    [Symbol.asyncDispose]: () => {
      rmSync(folder, { recursive: true, force: true });
      return Promise.resolve();
    },
  };
}

/** `when`: after what the rows are there, for messages. */
export function holdPromise(
  { promise }: CrashCase,
  rows: readonly JsonObject[],
  when: string,
): void {
  const times = new Map<number, number>();
  for (const { id, v } of rows) {
    assert.equal(v, `v${Number(id)}`, `${when} a record is not whole`);
    times.set(Number(id), (times.get(Number(id)) ?? 0) + 1);
  }
  const ids = PAGES.flat().map(({ id }) => Number(id));
  const lost = ids.filter((id) => !times.has(id));
  assert.deepEqual(lost, [], `${when} records are lost`);
  assert.equal(times.size, ids.length, `${when} there are unknown records`);
  const twice = ids.filter((id) => (times.get(id) ?? 0) > 1);
  if (promise === 'exact') assert.deepEqual(twice, [], `${when} records are there twice`);
  assert.ok(
    [...times.values()].every((count) => count <= 2),
    `${when} a record is there three times`,
  );
}
