/** A world of strings for tests of the command line. */
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../src/lib/time/clock.ts';
import { createParts, type Parts } from '../../src/kit/parts.ts';
import type { Wiring } from '../../src/cli/framework/context.ts';
import type { StopSignal, World } from '../../src/cli/framework/world.ts';

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
  };
}
