/** Records of a program that are in no page yet, and where it says that it stands. */
import type { SourceContext } from '../../kit/context.ts';
import { Page } from '../../kit/page.ts';
import { isFull, pageBounds, type PageBounds } from '../../kit/page-bounds.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { fieldFault } from '../../kit/typed-values.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';

const PAGE_RECORDS = 1000;

export interface HeldRecordsOptions {
  readonly context: SourceContext;
  /** For messages. */
  readonly stream: string;
  /** Whether each state ends a page. */
  readonly flushesOnState: boolean;
}

export class HeldRecords {
  readonly #options: HeldRecordsOptions;
  readonly #bounds: PageBounds;
  #held: { readonly record: JsonObject; readonly size: number }[] = [];
  #bytes = 0;
  /** The last state, and how many of the held records came before it. */
  #state: { readonly value: JsonValue; readonly after: number } | undefined;
  #schema: RecordSchema | undefined;
  #isTyped = true;

  constructor(options: HeldRecordsOptions) {
    this.#options = options;
    this.#bounds = pageBounds(PAGE_RECORDS, options.context.pageBytes);
  }

  get count(): number {
    return this.#held.length;
  }

  get hasState(): boolean {
    return this.#state !== undefined;
  }

  /** One object for all pages: a later schema is looked at record by record. */
  describe(schema: RecordSchema | undefined): void {
    this.#schema ??= schema;
  }

  /** The program stands behind all records that are held. */
  mark(value: JsonValue): void {
    this.#state = { value, after: this.#held.length };
  }

  /** Whether a page has to be taken before another record is added. */
  get endsPage(): boolean {
    const { length } = this.#held;
    if (length === 0) return false;
    if (this.#options.flushesOnState && this.#state?.after === length) return true;
    return isFull(this.#bounds, length, this.#bytes);
  }

  add(record: JsonObject, line: string): void {
    const size = Buffer.byteLength(line) + 1;
    this.#held.push({ record, size });
    this.#bytes += size;
  }

  /** Up to the last state, which is then its bookmark; all that is held where none came. */
  take(): Page {
    const state = this.#state;
    const isMarked = state !== undefined && (state.after > 0 || this.#held.length === 0);
    const taken = this.#held.splice(0, isMarked ? state.after : this.#held.length);
    const bytes = taken.reduce((sum, { size }) => sum + size, 0);
    this.#bytes -= bytes;
    this.#state = undefined;
    const records = taken.map(({ record }) => record);
    return Page.ofRecords(records, {
      bytes,
      ...(isMarked ? { bookmark: state.value } : {}),
      schema: this.#schemaFor(records),
    });
  }

  /** What the program says of its fields is only passed on while its records are so. */
  #schemaFor(records: readonly JsonObject[]): RecordSchema | undefined {
    const schema = this.#schema;
    if (schema === undefined || !this.#isTyped) return undefined;
    const { context, stream } = this.#options;
    for (const record of records) {
      const fault = fieldFault(record, schema);
      if (fault === undefined) continue;
      this.#isTyped = false;
      context.env.log.warn('records are not as the tap says: their types are left open', {
        stream,
        because: fault,
      });
      return undefined;
    }
    return schema;
  }
}
