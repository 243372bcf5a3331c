/** The control plane as users start it: a process of its own, spoken to over HTTP. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { RunPage, RunRecord } from '../../src/wire/run.ts';
import { launcherPath } from '../servers/bundle.ts';
import { eventually } from '../support/eventually.ts';

const LAUNCHER = await launcherPath();
const LONG_WAIT = { timeout: 90_000, interval: 100 };
const ENDED = ['completed', 'failed', 'cancelled'];

export type Body = Record<string, unknown>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body read as JSON; throws when it is none. */
  json(): unknown;
}

export interface Program {
  readonly url: string;
  readonly process: ChildProcess;
  /** What it wrote to the terminal so far. */
  output(): string;
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  /** Submits a document; anything but a 202 fails the test with the answer. */
  submit(config: Body | string, settings?: Body): Promise<string>;
  get(runId: string): Promise<RunRecord>;
  list(query?: string): Promise<RunPage>;
  /** Waits, with a bound, for one of these states. */
  until(runId: string, ...states: readonly string[]): Promise<RunRecord>;
  ended(runId: string): Promise<RunRecord>;
  /** `ended` for runs that only an ultimatum ends, or that work hard before they fail. */
  endedAtLast(runId: string): Promise<RunRecord>;
  /** Sends the signal and waits for the end; gives the exit code, or the signal it died of. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
  /** Process ids of the workers that live now, or of those that execute runs, or other jobs. */
  workers(purpose?: 'runs' | 'jobs'): readonly number[];
}

export interface ProgramOptions {
  readonly cwd: string;
  /** After `serve`; without a way to authenticate, `--no-auth` is added. */
  readonly args?: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
  /** Of another build than this one. */
  readonly launcher?: string;
}

/**
 * A folder of its own for a test file, and the programs started in it; call `dispose` at the end.
 */
export function workshop(): {
  readonly dir: string;
  path(name: string): string;
  /** A new folder, for a test that is tried again while what it started before may still live. */
  fresh(name: string): string;
  start(options?: Partial<ProgramOptions>): Promise<Program>;
  dispose(): Promise<void>;
} {
  const dir = mkdtempSync(join(tmpdir(), 'headgate-serve-'));
  const started: Program[] = [];
  return {
    dir,
    path: (name) => join(dir, name),
    fresh: (name) => mkdtempSync(join(dir, `${name}-`)),
    start: async (options) => {
      const program = await startServe({ cwd: dir, ...options });
      started.push(program);
      return program;
    },
    dispose: async () => {
      await Promise.all(started.map((program) => program.stop('SIGKILL')));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function startServe({
  cwd,
  args = [],
  variables = {},
  launcher = LAUNCHER,
}: ProgramOptions): Promise<Program> {
  const isChosen =
    args.some((arg) => /auth|token/.test(arg)) ||
    Object.keys(variables).some((name) => /SERVE_\w*TOKEN/.test(name));
  const auth = isChosen ? [] : ['--no-auth'];
  const child = spawn(
    process.execPath,
    [launcher, 'serve', '--listen', '127.0.0.1:0', ...auth, ...args],
    {
      cwd,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], NO_COLOR: '1', ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const url = await urlOf(child, () => output);
  const call = (method: string, path: string, body?: unknown, headers = {}): Promise<Answer> =>
    send(url, method, path, body, headers);
  const get = async (runId: string): Promise<RunRecord> =>
    (await call('GET', `/v1/runs/${runId}`)).json() as RunRecord;
  const reach = async (
    runId: string,
    states: readonly string[],
    wait?: typeof LONG_WAIT,
  ): Promise<RunRecord> => {
    await eventually(async () => expect((await get(runId)).status).toBeOneOf([...states]), wait);
    return get(runId);
  };
  return {
    url,
    process: child,
    output: () => output,
    call,
    get,
    until: (runId, ...states) => reach(runId, states),
    ended: (runId) => reach(runId, ENDED),
    endedAtLast: (runId) => reach(runId, ENDED, LONG_WAIT),
    submit: async (config, settings = {}) => {
      const answer = await call('POST', '/v1/runs', {
        config: typeof config === 'string' ? config : JSON.stringify(config),
        ...settings,
      });
      expect(answer.status, answer.text).toBe(202);
      return (answer.json() as { run_id: string }).run_id;
    },
    list: async (query = '') => (await call('GET', `/v1/runs${query}`)).json() as RunPage,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal);
      const [code, died] = await ended;
      return code ?? died;
    },
    workers: (purpose) =>
      childrenOf(child.pid ?? 0).filter(
        (pid) => purpose === undefined || argumentsOf(pid).includes(purpose),
      ),
  };
}

/** Where it listens, once it says so; an end before that is an error with everything it wrote. */
function urlOf(child: ChildProcess, output: () => string): Promise<string> {
  return new Promise((found, fail) => {
    const look = (): void => {
      const url = / listens on (http:\/\/\S+)/.exec(output())?.[1];
      if (url !== undefined) found(url);
    };
    child.stderr?.on('data', look);
    child.once('close', (code) =>
      fail(new Error(`serve ended with ${code} before it listened:\n${output()}`)),
    );
  });
}

async function send(
  url: string,
  method: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: () => JSON.parse(text) as unknown,
  };
}

/** Direct and indirect children (the launcher may stand between). */
export function childrenOf(pid: number): readonly number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), parent: parentOf(name) }));
  const direct = parents.filter(({ parent }) => parent === pid).map((entry) => entry.pid);
  return direct.flatMap((child) => [child, ...childrenOf(child)]);
}

function argumentsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
