/**
 * Work that is asked for over HTTP and waited for: no run, nothing of it is recorded, but heavy
 * enough for a worker process.
 */
import type { Env } from '../../lib/env.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { OutcomeError, RunOutcome } from '../../wire/outcome.ts';
import type { RunExecutor, RunTicket } from '../worker/executor.ts';
import type { Prepared } from './prepared.ts';
import { RunMeter, type ApplyMetrics } from './run-meter.ts';

export interface ErrandServices {
  readonly env: Pick<Env, 'clock' | 'ids' | 'log' | 'redactor'>;
  readonly executor: RunExecutor;
  readonly applyMetrics: ApplyMetrics;
  /** Errands of a kind at the same time; more are refused. */
  readonly maxAtOnce: number;
  /** How long one that is asked to stop may take. */
  readonly stopGraceMs: number;
}

/**
 * What a kind of errand is called: the name of documents that have none, and the word for people.
 */
export interface ErrandKind {
  readonly name: string;
  readonly word: string;
}

export interface Errand {
  readonly prepared: Prepared;
  readonly task: Pick<RunTicket, 'verify' | 'replay'>;
  readonly signal: AbortSignal;
}

export class Errands {
  readonly #kind: ErrandKind;
  readonly #services: ErrandServices;
  #underWay = 0;

  constructor(kind: ErrandKind, services: ErrandServices) {
    this.#kind = kind;
    this.#services = services;
  }

  /**
   * Does the work when there is room for it; rejects with a `RefusedError` (429) when there is
   * none.
   */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#underWay >= this.#services.maxAtOnce) {
      throw new RefusedError('queue_full', `${this.#underWay} ${this.#kind.word}s are under way`, {
        hint: 'try again when one has ended',
      });
    }
    this.#underWay += 1;
    try {
      return await work();
    } finally {
      this.#underWay -= 1;
    }
  }

  /** Rejects with a `RefusedError` (503) when the worker dies. */
  async run({ prepared, task, signal }: Errand): Promise<RunOutcome> {
    const { executor, env, applyMetrics, stopGraceMs } = this.#services;
    const { name, word } = this.#kind;
    const meter = new RunMeter(applyMetrics, prepared);
    const log = env.log.at(`headgate::${name}`);
    const ticket: RunTicket = {
      runId: env.ids.next(),
      owner: name,
      attempt: 0,
      document: prepared.document,
      name: prepared.isNamed ? prepared.name : name,
      clock: env.clock.now().toISOString(),
      concurrency: null,
      timeoutSecs: null,
      secrets: [...env.redactor.values()],
      logLevel: env.log.level,
      ...task,
    };
    const handle = executor.start(ticket, {
      begun: () => log.info(`${word} started`, { id: ticket.runId, pipeline: ticket.name }),
      log: () => {},
      metrics: (changes, definitions) => meter.apply(changes, definitions),
      progress: () => {},
    });
    const stop = (): void => handle.stop('cancel', stopGraceMs);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const end = await handle.done;
    signal.removeEventListener('abort', stop);
    if (end.type === 'finished') return end.outcome;
    meter.settle();
    throw new RefusedError('unavailable', `the ${word} ended abnormally: ${end.reason}`);
  }
}

/**
 * Why an errand gave no report, as the caller is told: 400 what the document says, 503 a store that
 * does not answer.
 */
export function refusalOf(error: OutcomeError | null, { word }: ErrandKind): Error {
  if (error === null || error.kind === 'Panic') {
    return new Error(`cannot happen: a ${word} gave no report: ${error?.message ?? 'no error'}`);
  }
  const code =
    ['bad_config', 'connector_missing'].includes(error.code) || error.kind === 'Config'
      ? 'bad_config'
      : 'unavailable';
  return new RefusedError(
    code,
    error.message,
    error.hint === undefined ? {} : { hint: error.hint },
  );
}
