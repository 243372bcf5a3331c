import type { HeadgateClient, StoredLogItem } from '../../../src/client/index.ts';
import { ask } from '../lib/session.ts';
import { createStore } from '../lib/store.ts';
import { levelOf, type LogLine, type LogStore } from './log-store.ts';

/** Lines of one answer, and lines that are read at once: few enough to stop no frame for long. */
const [PAGE, PIECE] = [4000, 500];
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
    const text = await ask(
      (client) => storedText(client, { runId, after: store.last, signal }),
      signal,
    );
    let lines = 0;
    for (const piece of piecesOf(text)) {
      const items = piece.map((line) => JSON.parse(line) as StoredLogItem);
      const found = items.filter((item): item is StoredLogItem & LogLine => 'seq' in item);
      if (found.length < items.length) state.set({ ...state.get(), isTruncated: true });
      store.add(found);
      lines += found.length;
      await nextTask();
      signal.throwIfAborted();
    }
    if (lines < PAGE) return;
  }
}

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

function* piecesOf(text: string): Generator<string[]> {
  const lines = text.split('\n');
  for (let from = 0; from < lines.length; from += PIECE) {
    const piece = lines.slice(from, from + PIECE).filter((line) => line !== '');
    if (piece.length > 0) yield piece;
  }
}

/** The page draws, and hears keys, before what comes next. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(undefined);
  });
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
