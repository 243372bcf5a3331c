/** The records of a run, divided into the files that they will be. */
import type { SinkContext } from '../../../kit/context.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import type { Page } from '../../../kit/page.ts';
import { inSchemaOrder } from '../../../kit/record-schema.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { requireObjects } from '../csv/csv-writer.ts';
import { kindsOf, requireDeclared } from '../parquet/declared-parquet.ts';
import { ColumnLearner } from '../typed/column-kinds.ts';
import type { RenderOptions } from './render.ts';
import { Spool } from './spool.ts';
import { isPlainLines, NEEDS_OBJECTS, type FileWriting } from './writing-blocks.ts';

/** When another file is started. */
export interface PartCaps {
  readonly max_records_per_file?: number | undefined;
  readonly max_bytes_per_file?: number | undefined;
}

/** A file of this run. */
export interface Part {
  readonly target: string;
  readonly spool: Spool;
}

interface PartRecordsOptions {
  readonly writing: FileWriting;
  readonly caps: PartCaps;
  readonly context: SinkContext;
  /** What errors and logs call the output. */
  readonly name: string;
  /** Where the next file goes, and the path beside which its records are collected. */
  readonly place: (count: number) => Promise<{ readonly target: string; readonly beside: string }>;
}

export class PartRecords {
  readonly parts: Part[] = [];
  readonly #options: PartRecordsOptions;
  /**
   * Columns of tables: those of the first page, or all fields in the order in which they came. The
   * same for every file.
   */
  readonly #columns = new Set<string>();
  readonly #learner = new ColumnLearner();
  /** Fields of which the log says that they are dropped. */
  readonly #dropped = new Set<string>();

  constructor(options: PartRecordsOptions) {
    this.#options = options;
  }

  async add(page: Page): Promise<void> {
    if (page.form.form === 'bytes' && isPlainLines(this.#options.writing))
      await this.#addLines(page);
    else await this.#addRecords(page);
  }

  async #addLines(page: Page): Promise<void> {
    for (let from = 0; from < page.count;) {
      const { spool } = await this.open();
      const room = (this.#options.caps.max_records_per_file ?? Infinity) - spool.records;
      const some = page.slice(from, Math.min(page.count, from + room));
      await spool.addLines(some.block(JSON_LINES), some.count);
      from += some.count;
    }
  }

  async #addRecords(page: Page): Promise<void> {
    const records = this.#accepted(page);
    let from = 0;
    while (from < records.length) {
      const { spool } = await this.open();
      const rest = records.slice(from);
      const count = this.#room(spool, rest);
      await spool.add(rest.slice(0, count), page.schema);
      from += count;
    }
  }

  /** The file for the next record. */
  async open(): Promise<Part> {
    const last = this.parts.at(-1);
    if (last !== undefined && !this.#isFull(last.spool)) return last;
    const { place, writing } = this.#options;
    const { target, beside } = await place(this.parts.length);
    const objects = NEEDS_OBJECTS.has(writing.format);
    const part = { target, spool: await Spool.open(beside, { objects }) };
    this.parts.push(part);
    return part;
  }

  /** What `render` is to know of the records. */
  rendering(): Omit<RenderOptions, 'continued' | 'temporary'> {
    const { writing, context, name } = this.#options;
    const schema = writing.format === 'parquet' ? writing.parquet.schema : undefined;
    return {
      writing,
      signal: context.signal,
      columns: [...this.#columns],
      kinds: schema === undefined ? this.#learner.columns : kindsOf(schema),
      onDropped: (field) => this.#drop(field),
      onChanged: ({ what, ...where }) =>
        context.env.log.warn(
          `${writing.format === 'xlsx' ? 'a sheet' : 'the file'} does not hold all values: ${what}`,
          { path: name, ...where },
        ),
    };
  }

  async removeSpools(): Promise<void> {
    for (const { spool } of this.parts) await spool.discard();
    this.parts.length = 0;
  }

  /** Checks the whole page for what the format cannot hold before any record is accepted. */
  #accepted(page: Page): readonly JsonValue[] {
    const records = page.records();
    const { format, avro, csv, parquet } = this.#options.writing;
    if (!NEEDS_OBJECTS.has(format)) return records;
    const objects = requireObjects(records, format);
    if (format === 'avro' && avro.schema !== undefined) return objects;
    if (format === 'parquet' && parquet.schema !== undefined) {
      requireDeclared(objects, parquet.schema);
      return objects;
    }
    if (format === 'parquet' || format === 'avro') {
      this.#learner.learn(objects, page.schema);
      return objects;
    }
    const fields = objects.flatMap((record) => Object.keys(record));
    const policy = format === 'csv' ? csv.on_unknown_field : 'widen';
    this.#learnColumns(inSchemaOrder(fields, page.schema), policy);
    return objects;
  }

  #learnColumns(fields: readonly string[], policy: 'widen' | 'warn' | 'error'): void {
    if (policy === 'widen' || this.#columns.size === 0) {
      for (const field of fields) this.#columns.add(field);
      return;
    }
    const unknown = fields.find((field) => !this.#columns.has(field));
    if (unknown === undefined) return;
    if (policy === 'error') {
      throw new ConnectorError(
        'data',
        `the field ${JSON.stringify(unknown)} is not a column of ${this.#options.name}`,
        { hint: 'the columns are those of the first page' },
      );
    }
    if (this.#dropped.size === 0) this.#drop(unknown);
  }

  #drop(field: string): void {
    if (this.#dropped.has(field)) return;
    this.#dropped.add(field);
    const { name, context } = this.#options;
    context.env.log.warn('a field is not a column and is dropped', { path: name, field });
  }

  /** How many of the records still fit into the file; at least one. */
  #room(spool: Spool, records: readonly JsonValue[]): number {
    const { max_records_per_file: most = Infinity, max_bytes_per_file: limit } = this.#options.caps;
    const count = Math.min(records.length, most - spool.records);
    if (limit === undefined) return count;
    let bytes = spool.bytes;
    const last = records.findIndex(
      (record) => (bytes += JSON_LINES.encode([record]).length) >= limit,
    );
    return last === -1 ? count : Math.min(count, last + 1);
  }

  #isFull(spool: Spool): boolean {
    const { max_records_per_file: records, max_bytes_per_file: bytes } = this.#options.caps;
    return (
      (records !== undefined && spool.records >= records) ||
      (bytes !== undefined && spool.bytes >= bytes)
    );
  }
}
