import type { JsonValue } from '../lib/text/json.ts';
import { hasSpellings, keepSpelling } from '../lib/text/number-spelling.ts';
import { readRecords } from './column-records.ts';
import type { Columns } from './columns.ts';
import type { RecordSchema } from './record-schema.ts';
import { indexAsRead, type RecordPlace, type RejectedRecord } from './rejected-record.ts';

/**
 * How records are encoded in a block of bytes. Every part can fall back to `jsonl`; a family of
 * connectors may add its own (delimited text, a COPY stream). Source and sink are matched by name.
 */
export interface Encoding {
  readonly name: string;
  /**
   * Reads every record of a block. Throws `ConnectorError('data', …)` that names the record which
   * cannot be read.
   */
  decode(block: Uint8Array): JsonValue[];
  encode(records: readonly JsonValue[], schema?: RecordSchema): Uint8Array;
  /**
   * The same bytes made from columns, where that is possible without making records. They share the
   * memory of the page.
   */
  encodeColumns?(columns: Columns, schema?: RecordSchema): Uint8Array;
  /**
   * Byte offset where record `index` starts (`index` may equal the record count: the end of the
   * block).
   */
  offsetOf(block: Uint8Array, index: number): number;
}

/** The physical form of the pages of one row; the plan chooses it once. */
export type Lane =
  | { readonly form: 'records' | 'columns' }
  | { readonly form: 'bytes'; readonly encoding: string };

export const RECORDS_LANE: Lane = Object.freeze({ form: 'records' });
export const COLUMNS_LANE: Lane = Object.freeze({ form: 'columns' });

/** As logs and receipts name it. */
export function laneName(lane: Lane): string {
  return lane.form === 'bytes' ? `bytes:${lane.encoding}` : lane.form;
}

export interface PageOptions {
  /** Position of the source after this page. For a page without one nothing is stored. */
  readonly bookmark?: JsonValue;
  /**
   * Size of the page in its encoded form, in bytes; bounds memory and feeds the progress display.
   */
  readonly bytes?: number;
  /**
   * Gives the memory of the block back to its owner; called at most once, by a caller that does not
   * use the page any more.
   */
  readonly release?: () => void;
  /** What is known of the fields: one object for all pages of a run. */
  readonly schema?: RecordSchema | undefined;
  /** What was read between the records and is none, in the order in which it was read. */
  readonly rejected?: readonly RejectedRecord[];
  /** Where each record begins, where the source knows it and may reject records. */
  readonly places?: readonly RecordPlace[] | undefined;
  /** What was made of other records before the page was read; a page with other records has none. */
  readonly madeOf?: MadeOf | undefined;
}

/** By its place in the page; `undefined` where nobody knows. */
export type MadeOf = (place: number) => RecordOrigin | undefined;

/** A record of a source. */
export interface RecordOrigin {
  /** Among all that the source gave, from 1. */
  readonly number: number;
  /** As it was read and with nothing in it that is hidden, where it may have been changed since. */
  readonly record?: JsonValue | undefined;
}

const NONE_REJECTED: readonly RejectedRecord[] = Object.freeze([]);

/**
 * Takes the place of the records of a released page, so that a late reader fails instead of reading
 * other data.
 */
const RELEASED: readonly JsonValue[] = new Proxy<JsonValue[]>([], {
  get() {
    throw new Error('cannot happen: the page was released before its records were read');
  },
});

/**
 * A batch of records with at most one bookmark. It holds one physical form, and converts lazily, at
 * most once each way: `records()` gives values, `block()` gives bytes, and `columns` are present
 * when the page holds cells. Immutable from outside: a stage that changes records makes a new page
 * with `withRecords` or `withColumns`.
 */
export class Page {
  readonly count: number;
  readonly bytes: number;
  readonly bookmark: JsonValue | undefined;
  /** Absent when nothing is known of the fields. */
  readonly schema: RecordSchema | undefined;
  /** Only where the caller of the source takes them (`ReadRequest.rejects`). */
  readonly rejected: readonly RejectedRecord[];
  readonly places: readonly RecordPlace[] | undefined;
  readonly madeOf: MadeOf | undefined;
  #records: readonly JsonValue[] | undefined;
  #block: Uint8Array | undefined;
  #encoding: Encoding | undefined;
  #columns: Columns | undefined;
  #release: (() => void) | undefined;

  private constructor(count: number, options: PageOptions) {
    this.count = count;
    this.bytes = options.bytes ?? 0;
    this.bookmark = options.bookmark;
    this.schema = options.schema;
    this.rejected = options.rejected ?? NONE_REJECTED;
    this.places = options.places;
    this.madeOf = options.madeOf;
  }

  static ofRecords(records: readonly JsonValue[], options: PageOptions = {}): Page {
    const page = new Page(records.length, options);
    page.#records = records;
    return page;
  }

  /**
   * `count` is the number of records in `block`. The block is not copied: the caller must not write
   * to it again.
   */
  static ofBlock(
    encoding: Encoding,
    block: Uint8Array,
    count: number,
    options: PageOptions = {},
  ): Page {
    const page = new Page(count, { bytes: block.byteLength, ...options });
    page.#encoding = encoding;
    page.#block = block;
    page.#release = options.release;
    return page;
  }

  /** The cells are not copied; they are valid until the page is released. */
  static ofColumns(columns: Columns, options: PageOptions = {}): Page {
    const page = new Page(columns.count, options);
    page.#columns = columns;
    page.#release = options.release;
    return page;
  }

  /** The current form; nothing is converted. */
  get form(): Lane {
    if (this.#columns !== undefined) return COLUMNS_LANE;
    if (this.#block !== undefined && this.#encoding !== undefined)
      return { form: 'bytes', encoding: this.#encoding.name };
    return { form: 'records' };
  }

  /** Present when the page holds columns. */
  get columns(): Columns | undefined {
    return this.#columns;
  }

  records(): readonly JsonValue[] {
    return (this.#records ??= this.#readRecords());
  }

  #readRecords(): readonly JsonValue[] {
    if (this.#columns !== undefined) return readRecords(this.#columns);
    return this.#encoding?.decode(this.#block ?? new Uint8Array()) ?? [];
  }

  /** The records as the block has them, whatever stages have done to those of `records()`. */
  decodeAgain(): readonly JsonValue[] {
    return this.#readRecords();
  }

  block(encoding: Encoding): Uint8Array {
    if (this.#block !== undefined && this.#encoding?.name === encoding.name) return this.#block;
    const { schema } = this;
    const block =
      this.#columns === undefined ? undefined : encoding.encodeColumns?.(this.#columns, schema);
    return this.#keepBlock(encoding, block ?? encoding.encode(this.records(), schema));
  }

  #keepBlock(encoding: Encoding, block: Uint8Array): Uint8Array {
    if (this.#block === undefined) {
      this.#block = block;
      this.#encoding = encoding;
    }
    return block;
  }

  /**
   * Called when the page was moved: its owner may then write to the block again. Only for the loop
   * that moves pages, which does not use the page afterwards; a sink must not need a block after
   * `write` has returned. Records that were made from the block stay valid.
   */
  release(): void {
    const release = this.#release;
    if (release === undefined) return;
    this.#release = undefined;
    this.#records ??= RELEASED;
    this.#block = undefined;
    this.#columns = undefined;
    release();
  }

  /** A page with other records and the same bookmark, size and schema. */
  withRecords(records: readonly JsonValue[]): Page {
    return Page.ofRecords(records, this.#options());
  }

  /**
   * The same page with another schema, for a stage that changed the fields. It is valid as long as
   * this page is.
   */
  withSchema(schema: RecordSchema | undefined): Page {
    if (schema === this.schema) return this;
    const { places, madeOf } = this;
    const page = new Page(this.count, { ...this.#options(), schema, places, madeOf });
    page.#records = this.#records;
    page.#block = this.#block;
    page.#encoding = this.#encoding;
    page.#columns = this.#columns;
    return page;
  }

  /** The same page; it is valid as long as this one is. */
  withMadeOf(madeOf: MadeOf): Page {
    return Page.ofRecords(this.records(), { ...this.#options(), madeOf });
  }

  /**
   * A page with other columns and the same bookmark, size and schema; the columns are valid as long
   * as this page is.
   */
  withColumns(columns: Columns): Page {
    return Page.ofColumns(columns, this.#options());
  }

  /**
   * Records `from` (inclusive) to `to` (exclusive); only the last slice of a page keeps the
   * bookmark.
   */
  slice(from: number, to: number): Page {
    if (from === 0 && to >= this.count) return this;
    const { schema } = this;
    const end = Math.min(to, this.count);
    const bookmark = end === this.count ? this.bookmark : undefined;
    const options: PageOptions = {
      schema,
      ...(bookmark === undefined ? {} : { bookmark }),
      ...(this.rejected.length === 0 && this.places === undefined
        ? {}
        : this.#rejectedBetween(from, end)),
    };
    if (this.#columns !== undefined)
      return Page.ofColumns(this.#columns.kept(this.#columns.rows.subarray(from, end)), options);
    if (this.#records === undefined && this.#block !== undefined && this.#encoding !== undefined) {
      const start = this.#encoding.offsetOf(this.#block, from);
      return Page.ofBlock(
        this.#encoding,
        this.#block.subarray(start, this.#encoding.offsetOf(this.#block, end)),
        end - from,
        options,
      );
    }
    return Page.ofRecords(sliceOf(this.records(), from, end), options);
  }

  /** A rejected record belongs to the record before it, or to the first. */
  #rejectedBetween(from: number, to: number): Pick<PageOptions, 'rejected' | 'places'> {
    const first = from === 0 ? 0 : indexAsRead(this.rejected, from);
    const last = to === this.count ? Infinity : indexAsRead(this.rejected, to);
    const rejected = this.rejected
      .filter(({ index }) => index >= first && index < last)
      .map((one) => ({ ...one, index: one.index - first }));
    return { rejected, places: this.places?.slice(from, to) };
  }

  #options(): PageOptions {
    const { bytes, bookmark, schema, rejected } = this;
    return bookmark === undefined
      ? { bytes, schema, rejected }
      : { bytes, bookmark, schema, rejected };
  }
}

/** Numbers that stand alone keep how they were written. */
function sliceOf(records: readonly JsonValue[], from: number, to: number): readonly JsonValue[] {
  const slice = records.slice(from, to);
  if (hasSpellings(records))
    for (const index of slice.keys())
      keepSpelling(records, String(from + index), slice, String(index));
  return slice;
}
