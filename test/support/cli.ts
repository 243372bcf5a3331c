/** A world of strings for tests of the command line. */
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../src/lib/time/clock.ts';
import { createParts, type Parts } from '../../src/kit/parts.ts';
import type { Wiring } from '../../src/cli/framework/context.ts';
import { cancelled, type Prompts } from '../../src/cli/framework/prompts.ts';
import type { Output, StopSignal, World } from '../../src/cli/framework/world.ts';
import { runCli } from '../../src/cli/framework/run-cli.ts';

export interface TestWorld extends World {
  out(): string;
  err(): string;
  /** Delivers a signal `afterMs` after the last one. */
  send(signal: StopSignal, afterMs: number): void;
  hangUp(): void;
  advance(ms: number): void;
  readonly exits: number[];
}

export interface TestWorldOptions {
  readonly tty?: boolean;
  readonly variables?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Answers to questions, in order; without them nobody can be asked. */
  readonly answers?: readonly (string | boolean)[];
}

export function testWorld(options: TestWorldOptions = {}): TestWorld {
  const written = { out: '', err: '' };
  const listeners = new Set<(signal: StopSignal) => void>();
  const hangups = new Set<() => void>();
  const exits: number[] = [];
  let nowMs = 0;
  let ids = 0;
  const clock: Clock = {
    now: () => new Date(Date.UTC(2026, 0, 31, 8) + nowMs),
    elapsedMs: () => nowMs,
    sleep: () => Promise.resolve(),
  };
  const output = (name: 'out' | 'err') => ({
    write: (text: string) => {
      written[name] += text;
    },
    isTTY: options.tty ?? false,
    columns: 120,
  });
  return {
    stdout: output('out'),
    stderr: output('err'),
    variables: options.variables ?? {},
    cwd: options.cwd ?? '/nowhere',
    clock,
    ids: { next: () => `id-${(ids += 1)}` },
    fetch: () => Promise.reject(new Error('no network in tests')),
    ...(options.answers === undefined
      ? {}
      : { prompts: () => Promise.resolve(scriptedPrompts(options.answers ?? [], output('err'))) }),
    onSignal: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onHangup: (listener) => {
      hangups.add(listener);
      return () => hangups.delete(listener);
    },
    exit: (code) => exits.push(code),
    out: () => written.out,
    err: () => written.err,
    send: (signal, afterMs) => {
      nowMs += afterMs;
      for (const listener of listeners) listener(signal);
    },
    hangUp: () => hangups.forEach((listener) => listener()),
    advance: (ms) => {
      nowMs += ms;
    },
    exits,
  };
}

/** A wrong answer fails the test: a person would be asked again. `undefined` cancels. */
function scriptedPrompts(answers: readonly (string | boolean)[], screen: Output): Prompts {
  const left = [...answers];
  const next = (question: string): string | boolean => {
    const answer = left.shift();
    screen.write(`? ${question} ${String(answer)}\n`);
    if (answer === undefined) throw cancelled();
    return answer;
  };
  return {
    confirm: (question) => Promise.resolve(next(question) === true),
    text(question, { preset = '', check }) {
      const answer = String(next(question)) || preset;
      const fault = check?.(answer);
      return fault === undefined ? Promise.resolve(answer) : Promise.reject(new Error(fault));
    },
    select(question, choices) {
      const answer = next(question);
      const chosen = choices.find(({ value }) => value === answer);
      if (chosen === undefined) return Promise.reject(new Error(`not offered: ${String(answer)}`));
      return Promise.resolve(chosen.value);
    },
  };
}

/** Wiring for tests that start no server; without `parts` the build is empty. */
export function testWiring(
  parts: Parts = createParts({
    sources: [],
    sinks: [],
    transforms: [],
    states: [],
    credentials: [],
    secrets: [],
  }),
): Wiring {
  return {
    version: '1.2.3',
    parts: () => Promise.resolve(parts),
    serve: () => Promise.reject(new Error('no server in this test')),
    crashEntry: () => fileURLToPath(new URL('../../src/crash-attempt.ts', import.meta.url)),
    writerEntry: () => fileURLToPath(new URL('../../src/conformance-writer.ts', import.meta.url)),
  };
}

export interface Done {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A command from its words to its exit code; `over` replaces parts of its world. */
export async function runCommand(
  words: readonly string[],
  wiring: Wiring,
  { over = {}, ...options }: TestWorldOptions & { readonly over?: Partial<World> } = {},
): Promise<Done> {
  const world = testWorld(options);
  const code = await runCli(words, wiring, { ...world, ...over });
  return { code, out: world.out(), err: world.err() };
}
