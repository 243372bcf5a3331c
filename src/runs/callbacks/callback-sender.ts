import { LRUCache } from 'lru-cache';
import { backoffMs, type BackoffPolicy } from '../../lib/time/backoff.ts';
import type { Env } from '../../lib/env.ts';
import { messageOf } from '../../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { carriesBody, splitLogin } from '../../lib/http/outgoing-request.ts';
import type { Callback, CallbackDelivery, RunRecord } from '../../wire/run.ts';

const ATTEMPTS = 3;
const MOST_REMEMBERED = 10_000;
const ATTEMPT_TIMEOUT_MS = 10_000;
const WAITS: BackoffPolicy = { backoff: 'exponential', baseMs: 250, maxMs: 1000, jitter: false };

type SenderEnv = Pick<Env, 'clock' | 'fetch' | 'log'>;

/**
 * Tells receivers that runs have ended: in the background, at most once, never affecting a run.
 */
export class CallbackSender {
  readonly #env: SenderEnv;
  readonly #underway = new Set<Promise<void>>();
  /** By run id, the latest ones. */
  readonly #deliveries = new LRUCache<string, CallbackDelivery>({ max: MOST_REMEMBERED });

  constructor(env: SenderEnv) {
    this.#env = env;
  }

  /** `run` is as the API shows it, so it is redacted; it has ended. */
  send(callback: Callback, run: Promise<RunRecord>): void {
    const delivery = this.#deliver(callback, run)
      .catch((error: unknown) =>
        this.#env.log.warn('a completion callback was dropped', { reason: messageOf(error) }),
      )
      .finally(() => this.#underway.delete(delivery));
    this.#underway.add(delivery);
  }

  /** With what became of its callback, as long as that is remembered. */
  withDelivery(run: RunRecord): RunRecord {
    const delivery = this.#deliveries.get(run.run_id);
    return delivery === undefined ? run : { ...run, callback_delivery: delivery };
  }

  #note(runId: string, delivery: Omit<CallbackDelivery, 'at'>): void {
    this.#deliveries.set(runId, { ...delivery, at: this.#env.clock.now().toISOString() });
  }

  /** Resolves when nothing is underway, or the signal fires. */
  async settle(signal: AbortSignal): Promise<void> {
    if (this.#underway.size === 0 || signal.aborted) return;
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    await Promise.race([Promise.all(this.#underway), aborted]);
  }

  async #deliver(callback: Callback, ended: Promise<RunRecord>): Promise<void> {
    const { clock } = this.#env;
    const run = await ended;
    if (callback.on !== undefined && callback.on.length > 0 && !callback.on.includes(run.status))
      return this.#note(run.run_id, { state: 'not_wanted', attempts: 0 });
    const body = stringifyJson(payloadOf(callback, run));
    let fault = '';
    let attempts = 0;
    this.#note(run.run_id, { state: 'underway', attempts });
    while (attempts < ATTEMPTS) {
      if (attempts > 0) await clock.sleep(backoffMs(WAITS, attempts - 1));
      const answer = await this.#post(callback, body);
      attempts += 1;
      if (answer.delivered) return this.#note(run.run_id, { state: 'delivered', attempts });
      fault = answer.fault;
      this.#note(run.run_id, { state: 'underway', attempts, reason: fault });
      if (answer.final) break;
    }
    this.#note(run.run_id, { state: 'dropped', attempts, reason: fault });
    this.#env.log.warn('a completion callback was dropped', {
      run_id: run.run_id,
      host: new URL(callback.url).host,
      reason: fault,
    });
  }

  async #post(
    callback: Callback,
    body: string,
  ): Promise<{ delivered: true } | { delivered: false; final: boolean; fault: string }> {
    const { url, authorization } = splitLogin(callback.url);
    const headers = new Headers(callback.headers);
    const sent = carriesBody(callback.method) ? body : undefined;
    if (sent !== undefined && !headers.has('content-type'))
      headers.set('content-type', 'application/json');
    if (authorization !== undefined && !headers.has('authorization'))
      headers.set('authorization', authorization);
    try {
      const response = await this.#env.fetch(url, {
        method: callback.method.toUpperCase(),
        headers,
        ...(sent === undefined ? {} : { body: sent }),
        // A redirect could lead to a host that would have been refused.
        redirect: 'manual',
        signal: AbortSignal.timeout(ATTEMPT_TIMEOUT_MS),
      });
      // What the receiver says is not read; that it says more must not look like a failure.
      await response.body?.cancel().catch(() => {});
      if (response.ok) return { delivered: true };
      const { status } = response;
      const final = status < 500 && status !== 408 && status !== 429;
      return { delivered: false, final, fault: `the receiver answered ${status}` };
    } catch (error) {
      const cause =
        error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : '';
      return { delivered: false, final: false, fault: `${messageOf(error)}${cause}` };
    }
  }
}

function payloadOf(callback: Callback, run: RunRecord): JsonValue {
  const {
    run_id,
    status,
    name,
    labels,
    submitted_at,
    started_at,
    finished_at,
    elapsed_secs,
    records_written,
    error,
    attempt,
  } = run;
  return {
    ...(callback.extra_fields as Record<string, JsonValue>),
    event: `run.${status}`,
    run_id,
    status,
    name,
    labels,
    submitted_at,
    started_at,
    finished_at,
    elapsed_secs,
    records_written,
    error,
    attempt,
  };
}
