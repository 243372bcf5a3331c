import type { HeadgateClient } from '../../../src/client/index.ts';
import { ask } from '../lib/session.ts';
import { createStore } from '../lib/create-store.ts';
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
    if (isActive || reading.store.length === 0) await readLive(reading);
    if (isActive) await readStored(reading);
    if (!signal.aborted) state.set({ ...state.get(), phase: 'ended' });
  } catch (error) {
    if (!signal.aborted) state.set({ ...state.get(), phase: 'ended', error });
  }
}

async function readStored({ runId, store, state, signal }: Reading): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const before = store.length;
    const range = { runId, after: store.last, signal };
    const text = await ask((client) => storedText(client, range), signal);
    signal.throwIfAborted();
    const isCutOff = text.endsWith(CUT_OFF);
    if (isCutOff) state.set({ ...state.get(), isTruncated: true });
    store.addText(isCutOff ? text.slice(0, -CUT_OFF.length) : text);
    if (store.length - before < PAGE) return;
  }
}

/** What says, behind the lines, that some are missing. */
const CUT_OFF = '{"truncated":true}\n';

interface StoredRange {
  readonly runId: string;
  readonly after: number | undefined;
  readonly signal: AbortSignal;
}

async function storedText(
  client: HeadgateClient,
  { runId: id, after, signal }: StoredRange,
): Promise<string> {
  const query = {
    format: 'jsonl' as const,
    limit: PAGE,
    ...(after === undefined ? {} : { after }),
  };
  const answer = await client.routes.GET('/v1/runs/{id}/logs', {
    params: { path: { id }, query },
    parseAs: 'text',
    signal,
  });
  return answer.data ?? '';
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
