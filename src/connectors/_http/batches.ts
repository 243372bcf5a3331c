/** Requests that carry several records, of which the service may refuse some. */
import type { PartContext } from '../../kit/context.ts';
import { integer, optional } from '../../kit/schema.ts';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { Gate } from '../../lib/gate.ts';
import { ALL_TRANSIENT, requestRetry, waitBeforeRetry, type RequestRetry } from './retry.ts';
import type { Requesting } from './run-requests.ts';

interface RetryDefaults {
  readonly attempts: number;
  readonly initialMs: number;
  readonly maxMs: number;
}

const USUAL: RetryDefaults = { attempts: 5, initialMs: 100, maxMs: 30_000 };

export function retryFields() {
  const unless = (value: number): string =>
    `; ${value} unless \`resilience.retry\` of the document says otherwise`;
  return {
    retry_max_attempts: optional(integer({ min: 1, max: 100 })).meta({
      description: `Attempts for a request, or for the records of one that were not taken${unless(USUAL.attempts)}.`,
    }),
    retry_initial_backoff_ms: optional(integer({ min: 0, max: 3_600_000 })).meta({
      description: `Milliseconds before the second attempt, doubled before each further one${unless(USUAL.initialMs)}.`,
    }),
    retry_max_backoff_ms: optional(integer({ min: 0, max: 3_600_000 })).meta({
      description: `Milliseconds before an attempt at most${unless(USUAL.maxMs)}.`,
    }),
  };
}

interface RetryConfig {
  readonly retry_max_attempts?: number | undefined;
  readonly retry_initial_backoff_ms?: number | undefined;
  readonly retry_max_backoff_ms?: number | undefined;
}

export function batchRetry(
  config: RetryConfig,
  { retry }: Requesting,
  defaults = USUAL,
): RequestRetry {
  const {
    retry_max_attempts: attempts,
    retry_initial_backoff_ms: baseMs,
    retry_max_backoff_ms: maxMs,
  } = config;
  return requestRetry(
    retry,
    {
      maxRetries: defaults.attempts - 1,
      backoff: 'exponential',
      baseMs: defaults.initialMs,
      maxMs: defaults.maxMs,
      jitter: true,
      on: ALL_TRANSIENT,
    },
    {
      ...(attempts === undefined ? {} : { maxRetries: attempts - 1 }),
      ...(baseMs === undefined ? {} : { baseMs }),
      ...(maxMs === undefined ? {} : { maxMs }),
    },
  );
}

/** Batches in order, of at most so many records and bytes each; a longer record has one alone. */
export function* inBatches<T>(
  records: Iterable<T>,
  most: { readonly count: number; readonly bytes: number },
  sizeOf: (record: T) => number,
): Generator<readonly T[]> {
  let [batch, bytes]: [T[], number] = [[], 0];
  for (const record of records) {
    const size = sizeOf(record);
    if (batch.length > 0 && (batch.length === most.count || bytes + size > most.bytes)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(record);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** What the service has not taken, and why; nothing where all of it is done. */
export interface Left<T> {
  readonly records: readonly T[];
  readonly why: string;
  readonly kind?: 'rate_limited' | 'http_5xx';
}

/** Why a record is left of which the answer says neither that it was taken nor why not. */
export const UNTOLD = 'the answer does not speak of them';

export interface Sending {
  readonly context: Pick<PartContext, 'env' | 'signal'>;
  readonly retry: RequestRetry;
  /** What cannot be done, for messages. */
  readonly doing: string;
}

/**
 * Sends a batch, and then what was not taken of it, until all is taken. Attempts are counted anew
 * when some of it was.
 */
export async function sendAll<T>(
  batch: readonly T[],
  send: (records: readonly T[]) => Promise<Left<T>>,
  { context, retry, doing }: Sending,
): Promise<void> {
  const { env, signal } = context;
  let records = batch;
  for (let attempt = 0; ; attempt += 1) {
    let failure: unknown;
    try {
      const left = await send(records);
      if (left.records.length === 0) return;
      if (left.records.length < records.length) attempt = 0;
      records = left.records;
      const said = `${doing}: ${records.length} were not taken: ${left.why}`;
      const hint = 'give the service more capacity, send more slowly, or raise the retries';
      failure = new ConnectorError(left.kind ?? 'rate_limited', said, { hint });
    } catch (error) {
      failure = error;
    }
    if (signal.aborted) throw signal.reason;
    const waitMs =
      failure instanceof ConnectorError ? waitBeforeRetry(failure, attempt, retry) : undefined;
    if (waitMs === undefined) throw failure;
    env.log.warn('records are sent again', { records: records.length, reason: messageOf(failure) });
    await env.clock.sleep(waitMs, signal);
  }
}

/** Works on several at a time. All are waited for; the first failure is told. */
export async function atOnce<T>(
  items: Iterable<T>,
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const gate = new Gate(most);
  let failure: { readonly error: unknown } | undefined;
  const all: Promise<void>[] = [];
  for (const item of items) {
    const leave = await gate.enter();
    if (failure !== undefined) {
      leave();
      break;
    }
    all.push(
      work(item)
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(leave),
    );
  }
  await Promise.all(all);
  if (failure !== undefined) throw failure.error;
}
