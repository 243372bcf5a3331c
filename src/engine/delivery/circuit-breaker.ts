import { RunError } from '../../lib/errors.ts';
import { defineMetric } from '../../lib/metrics/metrics.ts';
import type { BreakerPolicy } from '../../blocks/resilience/schema.ts';
import type { Invocation } from '../row/invocation.ts';

export const CIRCUIT_STATE = defineMetric({
  name: 'svc_resilience_circuit_state',
  type: 'gauge',
  help: '1 when the last run of the row was ended by its circuit breaker, else 0.',
  labels: ['pipeline', 'row'],
});
export const CIRCUIT_OPENED = defineMetric({
  name: 'svc_resilience_circuit_opened_total',
  type: 'counter',
  help: 'Runs ended by a circuit breaker.',
  labels: ['pipeline', 'row'],
});

/** What became of the records of a page at the sink. */
export interface PageFate {
  readonly sent: number;
  readonly failed: number;
}

/**
 * Ends a run whose pages fail one after the other, instead of moving the whole source into the dead
 * letters.
 */
export class CircuitBreaker {
  readonly #policy: BreakerPolicy;
  readonly #context: Pick<Invocation, 'env' | 'labels'>;
  #failures = 0;

  constructor(policy: BreakerPolicy, context: Pick<Invocation, 'env' | 'labels'>) {
    this.#policy = policy;
    this.#context = context;
    context.env.metrics.set(CIRCUIT_STATE, context.labels, 0);
  }

  /**
   * The error that ends the run once the page is committed. A page of which nothing was sent says
   * nothing.
   */
  note({ sent, failed }: PageFate): RunError | undefined {
    if (sent === 0) return undefined;
    this.#failures = failed < sent ? 0 : this.#failures + 1;
    const { consecutiveFailures, cooldownSecs } = this.#policy;
    if (this.#failures < consecutiveFailures) return undefined;
    const { env, labels } = this.#context;
    env.metrics.set(CIRCUIT_STATE, labels, 1);
    env.metrics.inc(CIRCUIT_OPENED, labels);
    return new RunError(
      'CircuitOpen',
      'circuit_open',
      `the circuit is open: ${this.#failures} pages in a row failed without a single record written`,
      {
        hint: `look at the dead letters and at the sink; try again in ${cooldownSecs} s at the earliest`,
      },
    );
  }
}
