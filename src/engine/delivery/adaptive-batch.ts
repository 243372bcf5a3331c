/**
 * Finds how many records to write at once: a little more while all is well, much less when it is
 * not.
 */
import { defineMetric } from '../../lib/metrics/metrics.ts';
import type { AdaptiveBatchSpec } from '../../blocks/execution/schema.ts';
import type { Invocation } from '../row/invocation.ts';

const ROW = ['pipeline', 'row'] as const;

export const BATCH_SIZE = defineMetric({
  name: 'svc_pipeline_adaptive_batch_size',
  type: 'gauge',
  help: 'Records written at once.',
  labels: ROW,
});
export const BATCH_COOLDOWN = defineMetric({
  name: 'svc_pipeline_adaptive_batch_cooldown_active',
  type: 'gauge',
  help: '1 while the size rests after it shrank.',
  labels: ROW,
});
export const BATCH_LATENCY = defineMetric({
  name: 'svc_pipeline_adaptive_batch_p50_latency_ms',
  type: 'gauge',
  help: 'Median time of the last writes.',
  labels: ROW,
});
export const BATCH_ADJUSTMENTS = defineMetric({
  name: 'svc_pipeline_adaptive_batch_adjustments_total',
  type: 'counter',
  help: 'Changes of the size, by direction and reason.',
  labels: [...ROW, 'direction', 'reason'],
});

export interface WrittenBatch {
  readonly size: number;
  readonly failed: number;
  readonly latencyMs: number;
}

/** A median this much above or below the target changes the size. */
const TOO_SLOW = 1.2;
const QUICK = 0.5;

export class AdaptiveBatch {
  readonly #spec: AdaptiveBatchSpec;
  readonly #context: Pick<Invocation, 'env' | 'labels'>;
  #size: number | undefined;
  #cooldown = 0;
  #latencies: readonly number[] = [];
  #changes = 0;
  #warned = false;

  constructor(spec: AdaptiveBatchSpec, context: Pick<Invocation, 'env' | 'labels'>) {
    this.#spec = spec;
    this.#context = context;
  }

  /** Records to write next; the first page decides where to start. */
  next(pageLength: number): number {
    if (this.#size === undefined)
      this.#set(Math.min(this.#spec.max, Math.max(this.#spec.min, pageLength)));
    return this.#size ?? pageLength;
  }

  observe({ size, failed, latencyMs }: WrittenBatch): void {
    const { error_threshold: threshold, target_latency_ms: target } = this.#spec;
    if (failed / size > threshold) this.#shrink('error');
    else if (this.#cooldown > 0) this.#rest(this.#cooldown - 1);
    else if (target === undefined) this.#grow('success');
    else this.#steer(latencyMs, target);
  }

  #steer(latencyMs: number, target: number): void {
    this.#latencies = [...this.#latencies, latencyMs].slice(-this.#spec.latency_window);
    const sorted = [...this.#latencies].sort((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)] ?? latencyMs;
    this.#context.env.metrics.set(BATCH_LATENCY, this.#context.labels, median);
    if (median > TOO_SLOW * target) this.#shrink('latency');
    else if (median < QUICK * target) this.#grow('latency');
  }

  #shrink(reason: 'error' | 'latency'): void {
    const { min, decrease_factor: factor, cooldown_batches: cooldown } = this.#spec;
    const size = this.#size ?? min;
    this.#rest(cooldown);
    if (size === min && reason === 'error' && !this.#warned) {
      this.#warned = true;
      this.#context.env.log.warn('records still fail at the smallest batch size', {
        row: this.#context.labels.row,
        size,
      });
    }
    this.#change(Math.max(min, Math.floor(size * factor)), 'down', reason);
  }

  #grow(reason: 'latency' | 'success'): void {
    const { max, min, increase_step: step } = this.#spec;
    this.#change(Math.min(max, (this.#size ?? min) + step), 'up', reason);
  }

  #change(size: number, direction: 'up' | 'down', reason: string): void {
    if (size === this.#size) return;
    this.#set(size);
    this.#changes += 1;
    const { env, labels } = this.#context;
    env.metrics.inc(BATCH_ADJUSTMENTS, { ...labels, direction, reason });
    const { log_every: every } = this.#spec;
    if (every > 0 && this.#changes % every === 0)
      env.log.info('batch size', { row: labels.row, size, direction, reason });
  }

  #set(size: number): void {
    this.#size = size;
    this.#context.env.metrics.set(BATCH_SIZE, this.#context.labels, size);
  }

  #rest(batches: number): void {
    this.#cooldown = batches;
    this.#context.env.metrics.set(BATCH_COOLDOWN, this.#context.labels, batches > 0 ? 1 : 0);
  }
}
