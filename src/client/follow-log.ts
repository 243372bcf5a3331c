import { EventSourceParserStream } from 'eventsource-parser/stream';
import { HeadgateError } from './errors.ts';

export type LogEvent =
  /** One line, with its number in the log of the run. */
  | { readonly type: 'line'; readonly seq: number; readonly line: string }
  /** The reader was too slow, and lines are missing here. */
  | { readonly type: 'truncated'; readonly message: string };

export interface FollowOptions {
  /** Only lines with a greater number. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

/** In a row, without an event between them. */
const MOST_FAILURES = 8;
const FIRST_PAUSE_MS = 250;

type Ask = (init: RequestInit) => Promise<Response>;

/**
 * Ends with the run. A connection that breaks is made again, from the last event on: no line is
 * missed and none comes twice. Rejects with `HeadgateError`, or with the reason of the signal.
 */
export async function* followLog(
  ask: Ask,
  { after, signal }: FollowOptions,
): AsyncGenerator<LogEvent, void> {
  let last = after;
  for (let failures = 0; ; failures += 1) {
    try {
      for await (const { event, id, data } of await events(ask, last, signal)) {
        failures = 0;
        if (event === 'end') return;
        if (event === 'truncated') yield { type: 'truncated', message: data };
        if (event !== 'log' || id === undefined) continue;
        last = Number(id);
        yield { type: 'line', seq: last, line: data };
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (isFinal(error) || failures >= MOST_FAILURES) throw error;
    }
    await new Promise((resolve) =>
      setTimeout(resolve, FIRST_PAUSE_MS * 2 ** Math.min(failures, 4)),
    );
    signal?.throwIfAborted();
  }
}

interface StreamEvent {
  readonly event?: string | undefined;
  readonly id?: string | undefined;
  readonly data: string;
}

const ENDED: StreamEvent = { event: 'end', data: '' };

async function events(
  ask: Ask,
  last: number | undefined,
  signal: AbortSignal | undefined,
): Promise<AsyncIterable<StreamEvent>> {
  const answer = await ask({
    headers: {
      accept: 'text/event-stream',
      ...(last === undefined ? {} : { 'last-event-id': String(last) }),
    },
    ...(signal === undefined ? {} : { signal }),
  });
  // There is nothing after the last event: the run is over.
  if (answer.status === 204 || answer.body === null) return only(ENDED);
  return answer.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream()) as AsyncIterable<StreamEvent>;
}

async function* only(event: StreamEvent): AsyncGenerator<StreamEvent, void> {
  yield event;
}

/** Asking again would be answered the same. */
function isFinal(error: unknown): boolean {
  return error instanceof HeadgateError && error.status !== undefined && error.status < 500;
}
