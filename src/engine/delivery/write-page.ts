import { resilienceBlock } from '../../blocks/resilience/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { RecordError, RunError } from '../../lib/errors.ts';
import type { Page } from '../../kit/page.ts';
import type { WriteResult } from '../../kit/sink.ts';
import { wrapConnectorError, connectorErrorOf } from '../failure.ts';
import type { Invocation } from '../row/invocation.ts';
import * as metrics from '../metrics.ts';
import type { DeadRecord } from '../stages/stage.ts';
import { AdaptiveBatch } from './adaptive-batch.ts';
import type { PageFate } from './circuit-breaker.ts';
import { Poison, type Settled } from './poison.ts';
import { retrying } from './retry.ts';
import { Stamp } from './stamp.ts';
import { noteRoundedFields, noteUnknownFields } from './unknown-fields.ts';
import { PAGES_SKIPPED, type Watermark } from './watermark.ts';

/** What is known of a page besides its records. */
export interface PageContext {
  /** When the page came from the source. */
  readonly readAt: Date;
  /** Takes the records that cannot be written and have somewhere else to go. */
  readonly dead: DeadRecord[];
}

interface Batch {
  readonly stamped: Page;
  /** The same records before they were stamped. */
  readonly page: Page;
  readonly from: number;
}

/** Takes governed pages to the sink and counts where every record of them went. */
export class PageWriter {
  readonly #invocation: Invocation;
  /** Records to write at most. */
  readonly #limit: number | undefined;
  readonly #stamp: Stamp | undefined;
  readonly #poison: Poison | undefined;
  readonly #adaptive: AdaptiveBatch | undefined;

  constructor(invocation: Invocation, limit: number | undefined) {
    this.#invocation = invocation;
    this.#limit = limit;
    this.#stamp = stampOf(invocation);
    const poison = blockOf(invocation.row, resilienceBlock)?.poison;
    this.#poison = poison === undefined ? undefined : new Poison(poison, invocation);
    const { adaptiveBatch } = invocation.row;
    this.#adaptive =
      adaptiveBatch === undefined ? undefined : new AdaptiveBatch(adaptiveBatch, invocation);
  }

  async write(page: Page, context: PageContext): Promise<PageFate> {
    const { tally, watermark } = this.#invocation;
    if (watermark !== undefined) return this.#deliver(watermark, page, context);
    const limit = this.#limit;
    const room = limit === undefined ? page.count : Math.max(0, limit - tally.written);
    const taken = page.slice(0, room);
    tally.withhold('limit', page.count - Math.min(page.count, room));
    if (taken.count === 0 || room === 0) return { sent: 0, failed: 0 };
    this.#invocation.seen?.take(taken.records());
    let failed = 0;
    for (let from = 0, end = 0; from < taken.count; from = end) {
      end = Math.min(taken.count, from + (this.#adaptive?.next(taken.count) ?? taken.count));
      failed += await this.#writeBatch(taken.slice(from, end), from, context);
    }
    return { sent: taken.count, failed };
  }

  /**
   * A commit ends with a page that has a bookmark: a page is never cut, and nothing of it can go
   * elsewhere.
   */
  async #deliver(watermark: Watermark, page: Page, { readAt }: PageContext): Promise<PageFate> {
    const { tally, env, labels } = this.#invocation;
    const isMark = page.bookmark !== undefined;
    if (isMark ? watermark.advance() : watermark.isBehind) {
      if (isMark) env.metrics.inc(PAGES_SKIPPED, labels);
      tally.withhold('committed', page.count);
      return { sent: 0, failed: 0 };
    }
    const stamped = this.#stamp?.apply(page, readAt) ?? page;
    if (page.bookmark === undefined) {
      await this.#measured(async () => {
        await watermark.hold(stamped);
        return { written: 0, rejected: [] };
      });
      return { sent: page.count, failed: 0 };
    }
    const commit = watermark.commit(stamped, page.bookmark);
    const result = await this.#measured(() => retrying(this.#invocation, 'sink_write', commit));
    tally.written += result.written;
    tally.withhold('sink', result.skipped ?? 0);
    return { sent: page.count, failed: 0 };
  }

  /** Returns how many records failed. `from` is the index of the batch in its page. */
  async #writeBatch(batch: Page, from: number, context: PageContext): Promise<number> {
    const { tally, env, deadLetters } = this.#invocation;
    const before = context.dead.length;
    const started = env.clock.elapsedMs();
    const result = await this.#send(batch, from, context);
    tally.written += result.written;
    tally.withhold('sink', result.skipped ?? 0);
    tally.withhold('poison', result.dropped);
    for (const { index, error } of result.rejected) {
      const payload = batch.records()[index] ?? null;
      context.dead.push({
        kind: error.kind,
        reason: 'partial',
        message: error.message,
        payload,
        index: from + index,
      });
    }
    const failed = context.dead.length - before + result.dropped;
    const latencyMs = env.clock.elapsedMs() - started;
    this.#adaptive?.observe({
      size: batch.count,
      failed: deadLetters === undefined ? 0 : failed,
      latencyMs,
    });
    return failed;
  }

  async #send(page: Page, from: number, context: PageContext): Promise<Settled> {
    const { row, deadLetters } = this.#invocation;
    const stamped = this.#stamp?.apply(page, context.readAt) ?? page;
    const first = await this.#writeOrDivert({ stamped, page, from }, context.dead);
    if (first === undefined) return { written: 0, rejected: [], dropped: 0 };
    const result = (await this.#poison?.settle(stamped, first, (part) =>
      this.#measuredWrite(part),
    )) ?? { ...first, dropped: 0 };
    if (deadLetters === undefined && result.rejected.length > 0)
      throw rejectedWithoutQueue(row.sink.type, result);
    return result;
  }

  /**
   * `dlq_all`: when the page failed as a whole, every record of it becomes a dead letter, as it was
   * before it was stamped.
   */
  async #writeOrDivert(
    { stamped, page, from }: Batch,
    dead: DeadRecord[],
  ): Promise<WriteResult | undefined> {
    const { row, env, deadLetters } = this.#invocation;
    try {
      return await this.#measuredWrite(stamped);
    } catch (error) {
      if (
        deadLetters === undefined ||
        row.dlq?.onBatchError !== 'dlq_all' ||
        connectorErrorOf(error) === undefined
      )
        throw withIndexInPage(error, from);
      const message = env.redactor.text(error instanceof Error ? error.message : String(error));
      env.log.warn('page diverted to the dead-letter queue', {
        row: row.id,
        records: page.count,
        error: message,
      });
      page
        .records()
        .forEach((payload, index) =>
          dead.push({ kind: 'Sink', reason: 'dlq_all', message, payload, index: from + index }),
        );
      return undefined;
    }
  }

  #measuredWrite(page: Page): Promise<WriteResult> {
    const { sink, deadLetters, capabilities } = this.#invocation;
    const partial = deadLetters !== undefined || this.#poison !== undefined;
    const write = (): Promise<WriteResult> => sink.write(page, { partial });
    return this.#measured(
      capabilities.idempotent ? () => retrying(this.#invocation, 'sink_write', write) : write,
    );
  }

  async #measured(write: () => Promise<WriteResult>): Promise<WriteResult> {
    const { env, row, hitFailpoint, fence } = this.#invocation;
    const labels = { ...this.#invocation.labels, connector: row.sink.type };
    hitFailpoint?.('before_write');
    const asked = fence?.assertOwnedRecently();
    if (asked !== undefined) await asked;
    const from = env.clock.elapsedMs();
    try {
      const result = await write();
      hitFailpoint?.('after_write');
      env.metrics.inc(metrics.sinkRecords, labels, result.written);
      noteUnknownFields(this.#invocation, result);
      noteRoundedFields(this.#invocation, result);
      for (const { error } of result.rejected)
        env.metrics.inc(metrics.sinkErrors, { ...labels, kind: error.kind });
      return result;
    } catch (error) {
      env.metrics.inc(metrics.sinkErrors, {
        ...labels,
        kind: connectorErrorOf(error)?.kind ?? 'unknown',
      });
      throw wrapConnectorError('Sink', row.sink.type, error);
    } finally {
      env.metrics.inc(metrics.sinkWrites, labels);
      env.metrics.observe(metrics.sinkWriteDuration, labels, (env.clock.elapsedMs() - from) / 1000);
    }
  }
}

/** The sink knows the batch that it was given. */
function withIndexInPage(error: unknown, from: number): unknown {
  if (from === 0 || !(error instanceof RunError) || error.index === undefined) return error;
  const { kind, code, message, hint, index } = error;
  return new RunError(kind, code, message, {
    cause: error,
    index: from + index,
    ...(hint === undefined ? {} : { hint }),
  });
}

function stampOf({ id, row, env }: Invocation): Stamp | undefined {
  if (row.metadataColumns === undefined) return undefined;
  return new Stamp({
    columns: row.metadataColumns,
    invocationId: id,
    sourceType: row.source.type,
    now: () => env.clock.now(),
  });
}

function rejectedWithoutQueue(type: string, result: WriteResult): RunError {
  const [first] = result.rejected;
  const error = first?.error ?? new RecordError('Sink', 'rejected');
  return new RunError(
    error.kind,
    'records_rejected',
    `sink \`${type}\` rejected ${result.rejected.length} record(s); the first: ${error.message}`,
    {
      ...(first === undefined ? {} : { index: first.index }),
      hint: 'declare a `dlq` to keep rejected records aside and go on',
      cause: error,
    },
  );
}
