/** A program of somebody else: its files, its lines and its end. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as setTimeoutAsync } from 'node:timers/promises';
import type { PartContext } from '../../kit/context.ts';
import { variableRefusal } from '../../lib/access.ts';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { filesRoot } from '../../lib/files/file-access.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { findProgram } from './find-program.ts';

/** How long a program may take to end once it is asked to. */
const TERM_MS = 400;
const LOOK_MS = 10;
const LAST_ERRORS_MS = 1000;
/** Letters of a line that are taken before it has ended. */
const MOST_LINE = 128 * 1024 * 1024;
/** What of a line of its standard error is logged. */
const MOST_LOGGED = 2000;
/** Which every program needs to find others and its files, whatever documents may read. */
const ALWAYS = new Set(['PATH', 'HOME', 'LANG', 'LC_ALL', 'TMPDIR', 'TZ']);

export interface ProgramStart {
  readonly executable: string;
  /** Given the paths of the files. */
  readonly args: (pathOf: (name: string) => string) => readonly string[];
  readonly files: Readonly<Record<string, JsonValue>>;
  readonly idleTimeoutSecs?: number | undefined;
  /** Whether it is written to. */
  readonly hasInput?: true;
  /** Environment variables besides those that it inherits. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Whether it sees those that documents may read; it does unless this is false. */
  readonly inherits?: boolean;
}

export class Program {
  readonly #start: ProgramStart;
  readonly #context: PartContext;
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  #idle: NodeJS.Timeout | undefined;
  #fault: ConnectorError | undefined;
  #isStopped = false;
  #ending: Promise<void> | undefined;
  /** Whether it has ended well. */
  #isDone = false;
  #lastErrorLine = '';
  readonly #onAbort = (): void => void this.stop();

  constructor(start: ProgramStart, context: PartContext) {
    refuseBesideRoot(start.executable);
    this.#start = start;
    this.#context = context;
    this.#folder = mkdtempSync(join(tmpdir(), 'headgate-program-'));
    const pathOf = (name: string): string => join(this.#folder, `${name}.json`);
    try {
      for (const [name, value] of Object.entries(start.files))
        writeFileSync(pathOf(name), stringifyJson(value), { mode: 0o600 });
      this.#child = spawn(findProgram(start.executable, context.env), start.args(pathOf), {
        // What it starts is in its group, and ends with it.
        detached: true,
        cwd: context.env.cwd,
        env: { ...(start.inherits === false ? {} : variablesFor(context)), ...start.variables },
        stdio: [start.hasInput === true ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      });
    } catch (error) {
      this.#removeFiles();
      throw this.#startFailure(error);
    }
    // Writers hear of it by their callbacks.
    this.#child.stdin?.on('error', () => {});
    this.#ended = this.#watchEnd();
    this.#logErrors();
    this.#watchSilence();
    context.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Lines of its standard output. Throws where it failed; ends early when it was stopped. */
  async *lines(): AsyncGenerator<string> {
    const { signal } = this.#context;
    let rest = '';
    try {
      this.#child.stdout?.setEncoding('utf8');
      for await (const chunk of this.#child.stdout ?? []) {
        // While the sink takes its time, nobody hears the program.
        clearTimeout(this.#idle);
        const lines = (rest + String(chunk)).split('\n');
        rest = lines.pop() ?? '';
        if (rest.length > MOST_LINE) throw this.#tooLong();
        yield* lines;
        this.#watchSilence();
      }
    } catch (error) {
      if (error instanceof ConnectorError) throw error;
      if (!this.#isStopped) {
        await this.#ended;
        throw this.#fault ?? this.#startFailure(error);
      }
    }
    signal.throwIfAborted();
    if (this.#fault !== undefined) throw this.#fault;
    if (this.#isStopped) return;
    if (rest !== '') yield rest;
    await this.#requireGoodEnd();
  }

  /** Resolves when the system has taken it; rejects when the program does not read any more. */
  write(text: string): Promise<void> {
    const { stdin } = this.#child;
    return new Promise((resolve, reject) => {
      if (stdin === null) return reject(new Error('cannot happen: the program is not written to'));
      stdin.write(text, (error) => {
        if (error === undefined || error === null) resolve();
        else reject(error);
      });
    });
  }

  endInput(): void {
    this.#child.stdin?.end();
  }

  /** Ends it, and removes its files. */
  async stop(): Promise<void> {
    this.#context.signal.removeEventListener('abort', this.#onAbort);
    clearTimeout(this.#idle);
    this.#isStopped = true;
    this.#child.stdout?.destroy();
    await (this.#ending ??= this.#endGroup());
    await this.#ended;
    this.#removeFiles();
  }

  /** Its wrapper may end before the program in it does, which then has to end, too. */
  async #endGroup(): Promise<void> {
    const { pid } = this.#child;
    if (pid === undefined || this.#isDone || !signalGroup(pid, 'SIGTERM')) return;
    const until = performance.now() + TERM_MS;
    while (performance.now() < until) {
      await setTimeoutAsync(LOOK_MS);
      if (!signalGroup(pid, 0)) return;
    }
    signalGroup(pid, 'SIGKILL');
  }

  #watchEnd(): Promise<{ code: number | null; signal: string | null }> {
    return new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => resolve({ code, signal }));
      this.#child.once('error', (error) => {
        this.#fault ??= this.#startFailure(error);
        resolve({ code: null, signal: null });
      });
    });
  }

  async #requireGoodEnd(): Promise<void> {
    const { code, signal } = await this.#ended;
    await this.#lastErrors();
    if (this.#fault !== undefined) throw this.#fault;
    if (code === 0) {
      this.#isDone = true;
      return;
    }
    const how =
      code === null ? `was ended by ${signal ?? 'the system'}` : `ended with code ${code}`;
    const said = this.#context.env.redactor.text(this.#lastErrorLine);
    const words = said === '' ? '' : `: ${said}`;
    throw new ConnectorError(
      'refused',
      `the program \`${this.#start.executable}\` ${how}${words}`,
      {
        hint: 'the log has what it wrote to its standard error',
      },
    );
  }

  /** A program that it started may hold its standard error open: that is not waited for long. */
  async #lastErrors(): Promise<void> {
    const { stderr } = this.#child;
    if (stderr === null || stderr.closed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    stderr.once('close', resolve);
    const timer = setTimeout(resolve, LAST_ERRORS_MS);
    await promise;
    clearTimeout(timer);
  }

  #logErrors(): void {
    const { log } = this.#context.env;
    let rest = '';
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = (lines.pop() ?? '').slice(-MOST_LOGGED);
      for (const line of lines) {
        if (line.trim() === '') continue;
        this.#lastErrorLine = line.slice(0, MOST_LOGGED);
        log.info(this.#lastErrorLine, { program: this.#start.executable });
      }
    });
  }

  #watchSilence(): void {
    const { idleTimeoutSecs: seconds } = this.#start;
    if (seconds === undefined || this.#isStopped) return;
    this.#idle = setTimeout(() => this.#tooQuiet(seconds), seconds * 1000);
  }

  #tooLong(): ConnectorError {
    return new ConnectorError(
      'data',
      `the program \`${this.#start.executable}\` wrote a line of more than ${MOST_LINE} characters`,
    );
  }

  #tooQuiet(seconds: number): void {
    this.#fault ??= new ConnectorError(
      'timeout',
      `the program \`${this.#start.executable}\` wrote nothing for ${seconds} s`,
      { hint: 'see its log, or raise `idle_timeout_secs`' },
    );
    void this.stop();
  }

  #startFailure(error: unknown): ConnectorError {
    const { executable } = this.#start;
    const isMissing = error instanceof Error && Reflect.get(error, 'code') === 'ENOENT';
    return isMissing
      ? new ConnectorError('missing', `there is no program \`${executable}\``, {
          hint: 'install it, and see that its folder is on the PATH of this process, or give its path',
          cause: error,
        })
      : new ConnectorError('refused', `cannot run \`${executable}\`: ${messageOf(error)}`, {
          cause: error,
        });
  }

  #removeFiles(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** False where no process of the group is left. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}

/** Nothing keeps a program to a folder. */
function refuseBesideRoot(executable: string): void {
  if (filesRoot() === undefined) return;
  throw new ConnectorError(
    'refused',
    `the program \`${executable}\` may not be started: this server keeps documents to one folder, and programs cannot be kept to it`,
    { hint: 'run the document on the command line, or on a server without `--data-root`' },
  );
}

/** What documents may read of the environment, the program may. */
function variablesFor({ env }: PartContext): NodeJS.ProcessEnv {
  const { variables, variableAccess } = env;
  if (variableAccess === undefined) return { ...variables };
  return Object.fromEntries(
    Object.entries(variables).filter(
      ([name]) => ALWAYS.has(name) || variableRefusal(name, variableAccess) === undefined,
    ),
  );
}
