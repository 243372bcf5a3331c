/**
 * Servers that are slow, and servers that fall silent in the middle of an answer and stay so: a
 * slow one changes nothing, a silent one fails the run within the time of the connector, and a run
 * that is cancelled meanwhile ends at once. The next run completes what was left. Held by every part
 * of this build that speaks with a server.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { SinkSubject } from '../../src/conformance/sink/subject.ts';
import type { SinkFixture } from '../../src/kit/sink-fixture.ts';
import type { SourceFixture } from '../../src/kit/source-fixture.ts';
import { parseJson, stringifyJson, type JsonObject } from '../../src/lib/text/json.ts';
import {
  attemptOf,
  crashCases,
  Crasher,
  holdPromise,
  type Attempt,
  type CrashCase,
  type RunReport,
} from './crash/crash.ts';
import { sourceFixtures } from './fixtures/fixtures-of.ts';
import { SINK_TOOLS } from './sink-tools.ts';
import { Wires, type Direction, type Fault, type Pace } from './wire/faulty-wire.ts';
import {
  alteredFor,
  bounded,
  expectClear,
  keyOf,
  NO_REDELIVERY,
  NO_WIRE,
  wiredSinks,
  withServer,
} from './wire/wired-parts.ts';

const LONG = { timeout: 400_000 };
/** Time of a run passes so much faster where a timeout is waited for. */
const FASTER = 40;
/** More than any part may take to give up, in real time: 50 minutes of its own. */
const GIVES_UP_MS = 75_000;
/** A cancelled row has 2 seconds, and its parts a moment for cleaning up; the rest is for slow machines. */
const CANCEL_MS = 10_000;
/** After which a run ends where nothing comes; sooner than a silent connection fails. */
const IDLE_SECS = 5;
const IDLE_FIELDS = ['idle_timeout', 'idle_timeout_secs', 'idle_termination_secs'] as const;
const SLOW_PIECES = 250;
const SLOW_MS = 4;

/** Timeouts of an hour and more are shorter here; each is a setting of the part. */
const SHORT: Readonly<Record<string, JsonObject>> = {
  'source clickhouse': { statement_timeout_secs: 60 },
  'sink clickhouse': { statement_timeout_secs: 60 },
  'source grpc': { timeout: 30 },
  'source mssql': { statement_timeout_secs: 60 },
  'sink mssql': { statement_timeout_secs: 60 },
  'source mysql': { read_timeout_secs: 60 },
  'sink mysql': { statement_timeout_secs: 60 },
  'source oracle': { statement_timeout_secs: 60 },
  'sink oracle': { statement_timeout_secs: 60 },
  'source postgres': { read_timeout_secs: 60 },
  'sink postgres': { statement_timeout_secs: 60 },
  'source redshift': { read_timeout_secs: 60 },
  'sink redshift': { statement_timeout_secs: 60 },
};

/** Sources that a silent server ends, as their document says: for them it never answers at all. */
const ENDED_BY_SILENCE: readonly string[] = ['websocket'];

const silence = (
  passed: Readonly<Record<Direction, number>>,
  direction: Direction,
  share: number,
): Fault => ({
  direction,
  after: Math.floor(passed[direction] * share),
  how: 'silence',
  lasts: 'for good',
});

const said = ({ direction, after }: Fault): string =>
  `silence after ${after} bytes ${direction === 'up' ? 'to' : 'from'} the server`;

/** So that the whole takes a second or two. */
function paceOf({ up, down }: Readonly<Record<Direction, number>>): Pace {
  return { bytes: Math.max(1, Math.ceil(Math.max(up, down) / SLOW_PIECES)), everyMs: SLOW_MS };
}

/** What the run said, or a failed test where it did not end. */
async function within(
  ms: number,
  when: string,
  running: Promise<RunReport | undefined>,
): Promise<RunReport> {
  const limit = new AbortController();
  const late = sleep(ms, 'late' as const, { signal: limit.signal }).catch(() => undefined);
  const report = await Promise.race([running, late]);
  limit.abort();
  assert.notEqual(report, 'late', `${when}: it has not ended after ${ms / 1000} s`);
  assert.ok(report !== undefined && report !== 'late', `${when}: the process ended`);
  return report;
}

/** Cancels the run when the wire is silent. Where it never is, the run has ended before. */
async function cancelled(
  runner: Crasher,
  wires: Wires,
  when: string,
  running: Promise<RunReport | undefined>,
): Promise<RunReport> {
  const state = { hasEnded: false };
  const ended = running.finally(() => (state.hasEnded = true));
  const until = performance.now() + GIVES_UP_MS;
  while (!wires.isBroken && !state.hasEnded && performance.now() < until) await sleep(10);
  runner.cancel();
  return within(CANCEL_MS, `${when}, cancelled`, ended);
}

const wiredSources = withServer(await sourceFixtures()).filter(
  ([type, , { missing }]) => missing === undefined && NO_WIRE[type] === undefined,
);

/** Where the pages of a source go, and how often it was read. */
class Reading implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'headgate-silence-'));
  readonly path = join(this.folder, 'out.jsonl');

  tree(type: string, config: JsonObject, more: JsonObject = {}): string {
    const sink = { type: 'jsonl', config: { path: this.path } };
    const pipeline = { source: { type, config }, sink, ...more };
    return stringifyJson({ version: 1, name: 'silence', pipeline });
  }

  lines(): readonly string[] {
    if (!existsSync(this.path)) return [];
    return readFileSync(this.path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .toSorted();
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

type Wired = (typeof wiredSources)[number];

describe.concurrent.each(wiredSources)('source %s', (...wired: Wired) => {
  const [, , fixture] = wired;
  beforeAll(() => fixture.start?.(), LONG.timeout);
  afterAll(() => fixture.stop?.());

  // One after the other: a fixture may have one upstream.
  it('gives all or fails in time, and ends when it is cancelled', LONG, async () => {
    await holdBounded(wired);
    await holdEndless(wired);
  });
});

async function holdBounded([type, definition, fixture]: Wired): Promise<void> {
  const config = { ...(await fixture.config()), ...alteredFor('source', type) };
  if (!bounded(definition, config)) return;
  using usual = new Crasher();
  await using calm = new Wires();
  using whole = new Reading();
  const first = await usual.run({
    tree: whole.tree(type, await calm.through(config)),
    crashAt: null,
  });
  assert.equal(first?.error, null, 'fails without a fault');
  const expected = whole.lines();
  const { passed } = calm;
  assert.ok(passed.up > 0, `${type} does not go by the wire`);
  const run = async (runner: Crasher, fault?: Fault, pace?: Pace, short: JsonObject = {}) => {
    const wires = new Wires();
    const reading = new Reading();
    const tree = reading.tree(type, await wires.through({ ...config, ...short }));
    wires.arm(fault, pace);
    return {
      wires,
      reading,
      running: runner.run({ tree, crashAt: null }),
      again: () => runner.run({ tree, crashAt: null }),
      async [Symbol.asyncDispose]() {
        reading[Symbol.dispose]();
        await wires[Symbol.asyncDispose]();
      },
    };
  };

  {
    await using slow = await run(usual, undefined, paceOf(passed));
    const report = await within(GIVES_UP_MS, 'slow', slow.running);
    assert.equal(report.error, null, 'a slow server is no fault');
    assert.deepEqual(slow.reading.lines(), expected, 'slow: other records');
  }
  for (const share of [0, 0.5]) {
    const fault = silence(passed, 'down', share);
    await using silent = await run(usual, fault);
    const report = await cancelled(usual, silent.wires, said(fault), silent.running);
    assert.equal(report.error, null, `${said(fault)}: a cancelled run is no failed one`);
  }
  using hurried = new Crasher(FASTER);
  const fault = silence(passed, 'down', ENDED_BY_SILENCE.includes(type) ? 0 : 0.5);
  await using silent = await run(hurried, fault, undefined, SHORT[`source ${type}`]);
  const report = await within(GIVES_UP_MS, said(fault), silent.running);
  silent.wires.arm();
  if (report.error === null) assert.deepEqual(silent.reading.lines(), expected, said(fault));
  else {
    expectClear(report.error, fixture, said(fault));
    using next = new Crasher();
    const tree = silent.reading.tree(type, await silent.wires.through(config));
    const again = await next.run({ tree, crashAt: null });
    assert.equal(again?.error, null, `${said(fault)}: the next run fails`);
    assert.deepEqual(silent.reading.lines(), expected, `${said(fault)}: other records`);
  }
}

/** A source that never ends by itself: the run after one that was cancelled has the rest. */
async function holdEndless([type, , fixture]: Wired): Promise<void> {
  const { upstream, records } = fixture;
  if (upstream === undefined || NO_REDELIVERY[type] !== undefined) return;
  // First of all: it makes the one upstream of the fixture anew, reads it and acknowledges it.
  const passed = await passedBy(type, fixture);
  using runner = new Crasher();
  await using wires = new Wires();
  using before = new Reading();
  using after = new Reading();
  const config = { ...(await upstream.fresh()), ...alteredFor('source', type) };
  const wired = await wires.through(config);
  await upstream.send(config, records);
  const state = { state: { type: 'file', config: { path: join(before.folder, 'state') } } };
  // Halfway through what a read of everything takes.
  const fault = silence(passed, 'down', 0.5);
  wires.arm(fault);
  const tree = before.tree(type, wired, state);
  const running = runner.run({ tree, crashAt: null });
  const report = await cancelled(runner, wires, said(fault), running);
  assert.equal(report.error, null, `${said(fault)}: a cancelled run is no failed one`);
  wires.arm();
  const seen = (): ReadonlySet<string> =>
    new Set([...before.lines(), ...after.lines()].map((line) => keyOf(parseJson(line))));
  const missing = () => records.filter((one) => !seen().has(keyOf(one)));
  const rest = runner.run({ tree: after.tree(type, wired, state), crashAt: null });
  const until = performance.now() + GIVES_UP_MS;
  while (missing().length > 0 && performance.now() < until) await sleep(100);
  runner.cancel();
  const last = await within(CANCEL_MS, 'the next run, cancelled', rest);
  assert.deepEqual(missing(), [], `${said(fault)}: records are lost (${last.error})`);
  await holdIdle(type, fixture, fault);
  await holdSilent(type, fixture, fault);
}

/** A run that never ends by itself does not wait for a server that says nothing more. */
async function holdSilent(type: string, fixture: SourceFixture, fault: Fault): Promise<void> {
  const { upstream, records } = fixture;
  assert.ok(upstream !== undefined);
  for (const when of ['in the middle', 'when all has come'] as const) {
    using hurried = new Crasher(FASTER);
    await using wires = new Wires();
    using reading = new Reading();
    const config = { ...(await upstream.fresh()), ...alteredFor('source', type) };
    const wired = await wires.through(config);
    await upstream.send(config, records);
    if (when === 'in the middle') wires.arm(fault);
    const running = hurried.run({ tree: reading.tree(type, wired), crashAt: null });
    if (when === 'when all has come') {
      const until = performance.now() + GIVES_UP_MS;
      while (reading.lines().length < records.length && performance.now() < until) await sleep(10);
      // What is done when they are written has been done.
      await sleep(500);
      wires.arm({ ...fault, after: 0 });
    }
    const report = await within(GIVES_UP_MS, `silence ${when}`, running);
    assert.ok(report.error !== null, `silence ${when}: it is complete`);
    expectClear(report.error, fixture, `silence ${when}`);
  }
}

/** A run that is idle is complete only when the server was heard: one that is silent may have more. */
async function holdIdle(type: string, fixture: SourceFixture, fault: Fault): Promise<void> {
  const { upstream, records } = fixture;
  assert.ok(upstream !== undefined);
  const config = { ...(await upstream.fresh()), ...alteredFor('source', type) };
  const idle = IDLE_FIELDS.find((name) => config[name] !== undefined);
  if (idle === undefined) return;
  using hurried = new Crasher(FASTER);
  await using wires = new Wires();
  using reading = new Reading();
  const wired = await wires.through({ ...config, [idle]: IDLE_SECS });
  await upstream.send(config, records);
  wires.arm(fault);
  const running = hurried.run({ tree: reading.tree(type, wired), crashAt: null });
  const report = await within(GIVES_UP_MS, `idle, ${said(fault)}`, running);
  if (report.error !== null) return expectClear(report.error, fixture, `idle, ${said(fault)}`);
  const seen = new Set(reading.lines().map((line) => keyOf(parseJson(line))));
  const lost = records.filter((one) => !seen.has(keyOf(one)));
  assert.deepEqual(lost, [], `idle, ${said(fault)}: it is complete without them`);
}

/** How much one read of everything that was sent takes. */
async function passedBy(
  type: string,
  { upstream, records }: SourceFixture,
): Promise<Readonly<Record<Direction, number>>> {
  assert.ok(upstream !== undefined);
  using runner = new Crasher();
  await using wires = new Wires();
  using reading = new Reading();
  const config = { ...(await upstream.fresh()), ...alteredFor('source', type) };
  const wired = await wires.through(config);
  await upstream.send(config, records);
  const running = runner.run({ tree: reading.tree(type, wired), crashAt: null });
  const until = performance.now() + GIVES_UP_MS;
  while (reading.lines().length < records.length && performance.now() < until) await sleep(50);
  const { passed } = wires;
  runner.cancel();
  const report = await within(CANCEL_MS, 'cancelled without a fault', running);
  assert.equal(report.error, null, 'fails without a fault');
  assert.ok(reading.lines().length >= records.length, 'not all came without a fault');
  return passed;
}

const sinks = (await wiredSinks()).filter(
  ([, { type }, { missing }]) => missing === undefined && NO_WIRE[type] === undefined,
);

describe.concurrent.each(sinks)('sink %s', (_title, definition, fixture: SinkFixture) => {
  const { type } = definition;
  beforeAll(() => fixture.start?.(), LONG.timeout);
  afterAll(() => fixture.stop?.());

  it('keeps its promise', LONG, async () => {
    const subject = await SinkSubject.of({ definition, fixture, tools: SINK_TOOLS });
    using usual = new Crasher();
    const attempt = (wires: Wires, crashCase: CrashCase, short: JsonObject = {}) =>
      attemptOf(subject, crashCase, (config) =>
        wires.through({ ...config, ...alteredFor('sink', type), ...short }),
      );
    const run = (runner: Crasher, { tree, to }: Attempt) => runner.run({ tree, crashAt: null }, to);
    /** After a run that did not complete. */
    const complete = async (crashCase: CrashCase, broken: Attempt, when: string) => {
      const again = await run(usual, broken);
      assert.equal(again?.error, null, `${when} the next run fails`);
      holdPromise(crashCase, (await broken.to.rows()) ?? [], `${when} run again,`);
    };
    for (const [index, crashCase] of crashCases(subject).entries()) {
      await using wires = new Wires();
      const passed = await (async () => {
        await using whole = await attempt(wires, crashCase);
        wires.arm();
        const report = await run(usual, whole);
        assert.equal(report?.error, null, `${crashCase.name}: fails without a fault`);
        return wires.passed;
      })();
      assert.ok(passed.up > 0, `${type} does not go by the wire`);
      const faults = [silence(passed, 'down', 0.5), silence(passed, 'up', 0.8)];
      for (const fault of index === 0 ? faults : faults.slice(1)) {
        const when = `${crashCase.name}, ${said(fault)}:`;
        await using broken = await attempt(wires, crashCase);
        wires.arm(fault);
        const report = await cancelled(usual, wires, when, run(usual, broken));
        assert.equal(report.error, null, `${when} a cancelled run is no failed one`);
        wires.arm();
        await complete(crashCase, broken, when);
      }
      if (index > 0) continue;
      {
        await using slow = await attempt(wires, crashCase);
        wires.arm(undefined, paceOf(passed));
        const report = await within(GIVES_UP_MS, 'slow', run(usual, slow));
        assert.equal(report.error, null, 'a slow server is no fault');
        holdPromise({ ...crashCase, promise: 'exact' }, (await slow.to.rows()) ?? [], 'slow:');
      }
      using hurried = new Crasher(FASTER);
      const fault = silence(passed, 'down', 0.5);
      const when = `${crashCase.name}, ${said(fault)}:`;
      await using silent = await attempt(wires, crashCase, SHORT[`sink ${type}`]);
      wires.arm(fault);
      const report = await within(GIVES_UP_MS, when, run(hurried, silent));
      wires.arm();
      if (report.error === null)
        holdPromise(crashCase, (await silent.to.rows()) ?? [], `${when} complete, but`);
      else {
        expectClear(report.error, fixture, when);
        await complete(crashCase, silent, when);
      }
    }
  });
});
