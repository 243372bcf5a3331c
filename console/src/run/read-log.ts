import type { StoredLogItem } from '../../../src/client/index.ts';
import { ask } from '../lib/session.ts';
import { createStore } from '../lib/store.ts';
import { levelOf, type LogLine, type LogStore } from './log-store.ts';

/** Lines of one answer: few enough that reading them stops no frame for long. */
const PAGE = 4000;
/** How often lines that come live are shown. */
const SHOW_MS = 100;

export interface LogState {
  readonly phase: 'loading' | 'live' | 'ended';
  /** Lines are missing, for one of two reasons. */
  readonly isTruncated: boolean;
  readonly isBehind: boolean;
  readonly error: unknown;
}

export const newLogState = () =>
  createStore<LogState>({
    phase: 'loading',
    isTruncated: false,
    isBehind: false,
    error: undefined,
  });

interface Reading {
  readonly runId: string;
  readonly store: LogStore;
  readonly state: ReturnType<typeof newLogState>;
  readonly signal: AbortSignal;
}

/** What is stored, and then what is still being written. */
export async function readLog(reading: Reading, isActive: boolean): Promise<void> {
  const { state, signal } = reading;
  try {
    await readStored(reading);
    // A history that stores nothing still has the last lines of what runs, or just ran.
    if (isActive || reading.store.lines.length === 0) await readLive(reading);
    if (isActive) await readStored(reading);
    if (!signal.aborted) state.set({ ...state.get(), phase: 'ended' });
  } catch (error) {
    if (!signal.aborted) state.set({ ...state.get(), phase: 'ended', error });
  }
}

async function readStored({ runId, store, state, signal }: Reading): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const after = store.last;
    const items = await ask((client) => client.storedLog(runId, { after, limit: PAGE }), signal);
    signal.throwIfAborted();
    const lines = items.filter((item): item is StoredLogItem & LogLine => 'seq' in item);
    if (lines.length < items.length) state.set({ ...state.get(), isTruncated: true });
    store.add(lines);
    if (lines.length < PAGE) return;
  }
}

async function readLive({ runId, store, state, signal }: Reading): Promise<void> {
  state.set({ ...state.get(), phase: 'live' });
  let waiting: LogLine[] = [];
  const show = (): void => {
    store.add(waiting);
    waiting = [];
  };
  const timer = setInterval(show, SHOW_MS);
  try {
    await ask(async (client) => {
      const after = waiting.at(-1)?.seq ?? store.last;
      for await (const event of client.followLog(runId, {
        signal,
        ...(after === undefined ? {} : { after }),
      })) {
        if (event.type === 'truncated') state.set({ ...state.get(), isBehind: true });
        else
          waiting.push({
            seq: event.seq,
            ts: undefined,
            level: levelOf(event.line),
            line: event.line,
          });
      }
    }, signal);
  } finally {
    clearInterval(timer);
    show();
  }
}
