/**
 * The dead-letter queue of one invocation: wraps records in envelopes, writes a page's envelopes in
 * one batch, counts budgets.
 */
import { RunError } from '../../lib/errors.ts';
import type { Env } from '../../lib/env.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { Page } from '../../kit/page.ts';
import type { RecordField, RecordSchema } from '../../kit/record-schema.ts';
import type { FinishReason, Sink } from '../../kit/sink.ts';
import type { DlqPlan } from '../../blocks/dlq/plan.ts';
import { wrapConnectorError } from '../failure.ts';
import {
  dlqBudgetExceeded,
  dlqErrors,
  dlqFlushDuration,
  dlqPages,
  dlqRecords,
  dlqWriteDuration,
} from '../metrics.ts';
import type { HitFailpoint } from '../failpoints.ts';
import type { ExecutionFence } from '../row/execution-fence.ts';
import type { DeadReason } from '../../wire/dead-reasons.ts';
import type { DeadRecord, UnreadPosition } from '../stages/stage.ts';
import type { HideDeadLetter } from './hide-dead-letter.ts';
import { describePayload } from './payload-types.ts';

/** Which reason names a page that holds several. */
const PAGE_REASONS: readonly DeadReason[] = [
  'partial',
  'dlq_all',
  'quality',
  'contract',
  'schema_drift',
  'transform',
  'parse',
];

const field = (name: string, kind: 'json' | 'utf8' | 'int64'): RecordField => ({
  name,
  type: { kind },
  nullable: true,
});

/** The first page does not have all fields, and destinations with columns have no others. */
const ENVELOPE: RecordSchema = {
  fields: [
    field('error', 'json'),
    field('reason', 'utf8'),
    field('payload', 'json'),
    field('types', 'utf8'),
    field('field_order', 'json'),
    field('spellings', 'json'),
    field('stored', 'json'),
    field('ts_ms', 'int64'),
    field('sink', 'utf8'),
    field('pipeline', 'utf8'),
    field('row', 'utf8'),
    field('record_index', 'int64'),
    field('record_number', 'int64'),
    field('position', 'json'),
    field('payload_base64', 'utf8'),
    field('parent_key', 'utf8'),
    field('original', 'json'),
  ],
  others: true,
};

export interface DeadLetterContext {
  readonly env: Env;
  readonly plan: DlqPlan;
  readonly sink: Sink;
  readonly pipeline: string;
  readonly row: string;
  /** Kind of the main sink. */
  readonly sinkType: string;
  /** Asked before anything is written, where another server may take the run over. */
  readonly fence?: ExecutionFence | undefined;
  readonly hitFailpoint?: HitFailpoint | undefined;
  /** Present when masking hides more from the queue than from the sink. */
  readonly hide?: HideDeadLetter | undefined;
  /** Key of the parent record or tuple for which the row runs. */
  readonly parentKey?: string | undefined;
}

export class DeadLetters {
  readonly #context: DeadLetterContext;
  readonly #labels: { pipeline: string; row: string; connector: string; dlq_connector: string };
  #total = 0;
  #isUnflushed = false;

  constructor(context: DeadLetterContext) {
    this.#context = context;
    this.#labels = {
      pipeline: context.pipeline,
      row: context.row,
      connector: context.sinkType,
      dlq_connector: context.plan.sink.type,
    };
  }

  /**
   * Durable only after `flush`. A failure here always ends the run: a dead letter has no other
   * place to go.
   */
  async write(dead: readonly DeadRecord[]): Promise<void> {
    if (dead.length === 0) return;
    const { env, plan, sink, fence } = this.#context;
    await fence?.assertOwned();
    this.#isUnflushed = true;
    const now = env.clock.now().getTime();
    const started = env.clock.elapsedMs();
    const letters = dead.map((record) => this.#envelope(record, now));
    const envelopes = Page.ofRecords(letters, { schema: ENVELOPE });
    const { skipped = 0 } = await sink
      .write(envelopes, { partial: false })
      .catch((error: unknown) => {
        throw wrapConnectorError('Sink', `${plan.sink.type} (dead-letter queue)`, error);
      });
    if (skipped > 0) {
      const message = `the dead-letter queue \`${plan.sink.type}\` left out ${skipped} of ${dead.length} dead letters: its destination has a place for none of their fields`;
      throw new RunError('Sink', 'dead_letters_left_out', message, {
        hint: 'give the `dlq` a destination of its own, with columns such as `payload`, `reason` and `error`',
      });
    }
    env.metrics.observe(dlqWriteDuration, this.#labels, (env.clock.elapsedMs() - started) / 1000);
    this.#context.hitFailpoint?.('after_dead_letters');
    this.#total += dead.length;
    this.#count(dead);
  }

  async flush(): Promise<void> {
    const started = this.#context.env.clock.elapsedMs();
    if (this.#isUnflushed) await this.#context.fence?.assertOwned();
    this.#isUnflushed = false;
    try {
      await this.#context.sink.flush();
    } catch (error) {
      throw wrapConnectorError(
        'Sink',
        `${this.#context.plan.sink.type} (dead-letter queue)`,
        error,
      );
    }
    this.#context.hitFailpoint?.('after_dead_letter_flush');
    this.#context.env.metrics.observe(
      dlqFlushDuration,
      this.#labels,
      (this.#context.env.clock.elapsedMs() - started) / 1000,
    );
  }

  /**
   * Finishes the queue after a failure too: its content matters then as much as after a success.
   */
  async finish(reason: FinishReason): Promise<void> {
    if (this.#total > 0) await this.#context.fence?.assertOwned();
    try {
      await this.#context.sink.finish(reason);
    } catch (error) {
      throw wrapConnectorError(
        'Sink',
        `${this.#context.plan.sink.type} (dead-letter queue)`,
        error,
      );
    }
  }

  /** The error that ends the run once the page is committed, when a budget is overrun. */
  budgetError(inPage: number): RunError | undefined {
    const { maxFailuresPerPage, maxFailuresTotal } = this.#context.plan;
    if (maxFailuresPerPage !== undefined && inPage > maxFailuresPerPage)
      return this.#exceeded('per_page', inPage, maxFailuresPerPage);
    if (maxFailuresTotal !== undefined && this.#total > maxFailuresTotal)
      return this.#exceeded('total', this.#total, maxFailuresTotal);
    return undefined;
  }

  #exceeded(scope: 'per_page' | 'total', count: number, limit: number): RunError {
    const { env, pipeline, row, sinkType } = this.#context;
    env.metrics.inc(dlqBudgetExceeded, { pipeline, row, connector: sinkType, scope });
    const key = scope === 'per_page' ? 'max_failures_per_page' : 'max_failures_total';
    const where =
      scope === 'per_page' ? 'in one page (per-page budget)' : 'in this run (total budget)';
    return new RunError(
      'Sink',
      'dlq_budget_exceeded',
      `${count} records went to the dead-letter queue ${where}; \`dlq.${key}\` allows ${limit}`,
      {
        hint: 'look at the dead letters first; the page that tripped the budget is written and its position stored',
      },
    );
  }

  #envelope(found: DeadRecord, now: number): JsonObject {
    const { env, pipeline, row, sinkType, hide, parentKey } = this.#context;
    const dead = hide?.(found) ?? found;
    return {
      error: { kind: dead.kind, message: env.redactor.text(dead.message) },
      reason: dead.reason,
      payload: dead.payload,
      ...describePayload(found.payload, dead.payload, found.schema),
      ts_ms: now,
      sink: sinkType,
      pipeline,
      row,
      record_index: dead.index,
      ...(dead.number === undefined ? {} : { record_number: dead.number }),
      ...positionOf(dead.unread),
      ...(parentKey === undefined ? {} : { parent_key: parentKey }),
      ...(dead.original === undefined ? {} : { original: dead.original }),
    };
  }

  #count(dead: readonly DeadRecord[]): void {
    const { env } = this.#context;
    env.metrics.inc(dlqRecords, this.#labels, dead.length);
    const reason =
      PAGE_REASONS.find((one) => dead.some((record) => record.reason === one)) ?? 'partial';
    env.metrics.inc(dlqPages, { ...this.#labels, reason });
    for (const record of dead) env.metrics.inc(dlqErrors, { ...this.#labels, kind: record.kind });
  }
}

function positionOf(unread: UnreadPosition | undefined): JsonObject {
  if (unread === undefined) return {};
  const { base64, ...position } = unread;
  return base64 === undefined ? { position } : { position, payload_base64: base64 };
}
