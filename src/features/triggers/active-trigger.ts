/** A trigger that is switched on: what it did last, and what is counted of it. */
import type { Env } from '../../lib/env.ts';
import { AppError, messageOf, RefusedError } from '../../lib/errors.ts';
import type { TriggerHealth } from '../../wire/triggers.ts';
import type { LoadedTrigger } from './load-triggers.ts';
import * as metrics from './metrics.ts';
import {
  isUnfit,
  startRun,
  type Occurrence,
  type Started,
  type StartServices,
} from './start-run.ts';

/** Failures in a row from which on it counts as unhealthy. */
const UNHEALTHY_AFTER = 3;

export interface ActiveOptions extends Omit<StartServices, 'log'> {
  readonly env: Pick<Env, 'clock' | 'ids' | 'log' | 'metrics' | 'redactor'>;
}

export class ActiveTrigger {
  /** Replaced by a reload that changes its document, or what its runs are called. */
  trigger: LoadedTrigger;
  lastRunId: string | null = null;
  readonly #options: ActiveOptions;
  readonly #services: StartServices;
  #failures = 0;
  #lastFire: string | null = null;
  #lastError: string | null = null;

  constructor(trigger: LoadedTrigger, options: ActiveOptions) {
    this.trigger = trigger;
    this.#options = options;
    this.#services = { ...options, log: options.env.log.at('headgate::triggers') };
    metrics.showFromStart(options.env.metrics, trigger.name, trigger.definition.type);
  }

  get health(): TriggerHealth {
    return {
      name: this.trigger.name,
      type: this.trigger.definition.type,
      healthy: this.#failures < UNHEALTHY_AFTER,
      consecutive_failures: this.#failures,
      last_fire: this.#lastFire,
      last_error: this.#lastError,
    };
  }

  /** Rejects as `Runs.submit` does, when everything is counted. */
  async fire(occurrence: Occurrence): Promise<Started> {
    const { env } = this.#options;
    const { name, definition } = this.trigger;
    env.metrics.inc(metrics.triggersFired, { trigger: name, type: definition.type });
    try {
      const started = await startRun(this.trigger, occurrence, this.#services);
      if (started.kind === 'run' && started.isNew) this.#countRun(started.receipt.run_id);
      else this.countCoalesced();
      this.works();
      return started;
    } catch (error) {
      if (error instanceof RefusedError && error.code === 'queue_full')
        env.metrics.inc(metrics.triggerRunsDropped, { trigger: name, reason: 'queue_full' });
      else if (isUnfit(error, this.trigger)) this.#countUnfit(occurrence, error);
      // A request that cannot be read says nothing about the trigger.
      else if (!(error instanceof RefusedError && error.code === 'bad_config')) this.fails(error);
      throw error;
    }
  }

  #countRun(runId: string): void {
    const { env } = this.#options;
    const { name } = this.trigger;
    const now = env.clock.now();
    this.lastRunId = runId;
    this.#lastFire = now.toISOString();
    env.metrics.inc(metrics.triggerRunsEnqueued, { trigger: name });
    env.metrics.set(metrics.triggerLastFire, { trigger: name }, Math.floor(now.getTime() / 1000));
  }

  /** It says nothing about the trigger, which anybody could make unhealthy otherwise. */
  #countUnfit({ event }: Occurrence, error: unknown): void {
    const { name } = this.trigger;
    this.#options.env.metrics.inc(metrics.triggerRunsDropped, { trigger: name, reason: 'unfit' });
    this.#services.log.warn('no run is started for an event', {
      trigger: name,
      event: event.key,
      error: messageOf(error),
    });
  }

  countCoalesced(): void {
    this.#options.env.metrics.inc(metrics.triggerRunsCoalesced, { trigger: this.trigger.name });
  }

  /** Failures before do not count any more. */
  works(): void {
    if (this.#failures >= UNHEALTHY_AFTER)
      this.#services.log.info('the trigger works again', { trigger: this.trigger.name });
    if (this.#failures > 0) this.#note(0);
    this.#lastError = null;
  }

  fails(error: unknown): void {
    const { env } = this.#options;
    const { name, definition } = this.trigger;
    const known = error instanceof AppError;
    this.#lastError = env.redactor.text(known ? messageOf(error) : 'internal error; see the log');
    env.metrics.inc(metrics.triggerErrors, { trigger: name, type: definition.type });
    this.#services.log.warn('the trigger failed', {
      trigger: name,
      error:
        known || !(error instanceof Error) ? messageOf(error) : (error.stack ?? messageOf(error)),
      failures: this.#failures + 1,
    });
    this.#note(this.#failures + 1);
  }

  get failures(): number {
    return this.#failures;
  }

  #note(failures: number): void {
    this.#failures = failures;
    const healthy = failures < UNHEALTHY_AFTER ? 1 : 0;
    this.#options.env.metrics.set(metrics.triggerHealthy, { trigger: this.trigger.name }, healthy);
  }
}
