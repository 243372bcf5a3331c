/**
 * One side of a comparison: the source with the stages of its row, or the destination as it is read
 * back.
 */
import { RunError } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import type { KeySpan, ResultShape, SourceDefinition } from '../../kit/source.ts';
import { wrapConnectorError, connectorErrorOf } from '../failure.ts';
import { openSource } from '../row/parts.ts';
import type { RowBudget } from './row-budget.ts';

export interface SideOptions {
  readonly role: 'source' | 'destination';
  readonly definition: SourceDefinition;
  readonly config: unknown;
  readonly context: SourceContext;
  readonly budget: RowBudget;
  /** What becomes of a page before it is compared. */
  readonly prepare?: (page: Page) => Promise<Page>;
  /** The field that holds the record as it was written. */
  readonly recordIn?: string | undefined;
  /** Whether records come out of parts as they come out of the whole. */
  readonly sliceable: boolean;
  /** Whether what does not exist yet is simply empty. */
  readonly mayBeAbsent: boolean;
}

const NO_SHAPE: ResultShape = { columns: [] };

export class Side {
  fetched = 0;
  /** What is known of the fields of the records that were read last. */
  schema: RecordSchema | undefined;
  readonly #options: SideOptions;
  #shape: Promise<ResultShape> | undefined;
  #hasUnread = false;

  constructor(options: SideOptions) {
    this.#options = options;
  }

  get role(): SideOptions['role'] {
    return this.#options.role;
  }

  get type(): string {
    return this.#options.definition.type;
  }

  get slices(): SourceDefinition['slices'] {
    return this.#options.sliceable && this.#options.recordIn === undefined
      ? this.#options.definition.slices
      : undefined;
  }

  /** Whether records reach the comparison as the store has them. */
  get untouched(): boolean {
    return this.#options.prepare === undefined && this.#options.recordIn === undefined;
  }

  /** What its columns hold; nothing is known where the record is inside of one. */
  shape(): Promise<ResultShape> {
    const { definition, config, context, recordIn } = this.#options;
    const ask = async (): Promise<ResultShape> =>
      (recordIn === undefined ? await definition.describe?.(config, context) : undefined) ??
      NO_SHAPE;
    return (this.#shape ??= ask().catch((error: unknown) => {
      if (this.#isAbsent(error)) return NO_SHAPE;
      throw wrapConnectorError('Source', this.#part().type, error);
    }));
  }

  /**
   * All records, or those inside the spans, until the budget is spent; then the last batch is cut
   * short.
   */
  read(part?: {
    readonly key: string;
    readonly spans: readonly KeySpan[];
  }): AsyncGenerator<JsonObject[]> {
    const { config } = this.#options;
    return this.#records(
      part === undefined ? config : this.#slicesOf().within(config, part.key, part.spans),
    );
  }

  /**
   * The records of another question to the same store; they are not those of the row, and do not
   * count.
   */
  async ask(
    question: (slices: NonNullable<SourceDefinition['slices']>, config: unknown) => unknown,
  ): Promise<JsonObject[]> {
    const records: JsonObject[] = [];
    const config = question(this.#slicesOf(), this.#options.config);
    for await (const page of this.#pages(config))
      for (const record of page.records()) if (isObject(record)) records.push(record);
    return records;
  }

  async *#records(config: unknown): AsyncGenerator<JsonObject[]> {
    const { budget, prepare } = this.#options;
    for await (const page of this.#pages(config)) {
      const allowed = budget.take(page.count);
      this.fetched += allowed;
      const taken = allowed === page.count ? page : page.slice(0, allowed);
      const prepared = prepare === undefined ? taken : await prepare(taken);
      if (this.#options.recordIn === undefined) this.schema = prepared.schema;
      yield prepared.records().map((record) => this.#recordOf(record));
      if (allowed < page.count) return;
    }
  }

  #recordOf(value: JsonValue): JsonObject {
    const { recordIn } = this.#options;
    const record = recordIn !== undefined && isObject(value) ? (value[recordIn] ?? null) : value;
    if (isObject(record)) return record;
    throw new RunError(
      'Config',
      'verify_not_object',
      `the ${this.role} holds a record that is no object, and so has no key`,
      {
        hint: 'make objects of the records with a transform, or leave the row out',
      },
    );
  }

  async *#pages(config: unknown): AsyncGenerator<Page> {
    const { definition, context } = this.#options;
    const leave = new AbortController();
    const signal = AbortSignal.any([context.signal, leave.signal]);
    const closers = new AsyncDisposableStack();
    try {
      const open = () => definition.open(config, { ...context, signal });
      const source = await openSource(this.#part(), open, context, closers);
      for await (const page of source.pages({ lane: RECORDS_LANE, rejects: true })) {
        context.signal.throwIfAborted();
        this.#noteUnread(page);
        yield page;
      }
      context.signal.throwIfAborted();
    } catch (error) {
      if (!this.#isAbsent(error)) throw wrapConnectorError('Source', this.#part().type, error);
    } finally {
      leave.abort();
      await closers.disposeAsync();
    }
  }

  /** They wait in the dead-letter queue, or are nowhere: there is no record to compare. */
  #noteUnread({ rejected: [first] }: Page): void {
    if (first === undefined || this.#hasUnread) return;
    this.#hasUnread = true;
    this.#options.context.env.log.warn('records that cannot be read are not compared', {
      side: this.role,
      first: first.message,
    });
  }

  #part(): { readonly type: string } {
    return { type: `${this.type} (${this.role})` };
  }

  #isAbsent(error: unknown): boolean {
    return this.#options.mayBeAbsent && connectorErrorOf(error)?.kind === 'missing';
  }

  #slicesOf(): NonNullable<SourceDefinition['slices']> {
    const { slices } = this;
    if (slices === undefined)
      throw new Error(`cannot happen: the ${this.role} was asked for a part`);
    return slices;
  }
}
