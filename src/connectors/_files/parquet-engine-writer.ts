/** Writes a Parquet file with the analytical engine: row group after row group, each encoded while the next one is being filled. */
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import type { DuckDBAppender, DuckDBDataChunk, DuckDBType } from '@duckdb/node-api';
import { CHUNK_ROWS, fillTexts, type TextCells } from '../../lib/duckdb-chunk.ts';
import { duckdbError, duckdbLibrary, openDuckdb, quoteText, type Duckdb, type DuckDBConnection } from '../../lib/duckdb.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { quoteName } from '../../lib/sql-name.ts';
import { MISSING, NULL, TEXT, type Column, type Columns } from '../../kit/columns.ts';
import { syncFolder } from './appending-file.ts';
import { onDisk } from './io-error.ts';
import { ParquetJoin } from './parquet-join.ts';
import { fit, type ColumnKind } from './parquet-types.ts';
import type { ParquetFile, ParquetOutputOptions } from './parquet-writer.ts';
import { scratchPath } from './scratch.ts';
import { TextHeap } from './text-heap.ts';

/** A row group ends at the latest here: so large ones are encoded well, and larger ones only cost memory. */
const GROUP_ROWS = 122_880;
const GROUP_BYTES = 16 * 1024 * 1024;
/** About what a value takes besides its text. */
const VALUE_BYTES = 16;

export class ParquetEngineOutput implements ParquetFile {
  rows = 0;
  bytes = 0;
  readonly #options: ParquetOutputOptions;
  readonly #scratch: string;
  readonly #part: string;
  readonly #parts: Parts;
  readonly #join: ParquetJoin;
  readonly #columns: readonly EngineColumn[];
  readonly #heap = new TextHeap();
  readonly #dropped = new Set<string>();
  #appender: DuckDBAppender | undefined;
  #groupRows = 0;
  #groupBytes = 0;
  #groups = 0;
  /** The encoding of the row group before. */
  #encoding: Promise<void> = Promise.resolve();

  private constructor(options: ParquetOutputOptions, parts: Parts, scratch: string) {
    this.#options = options;
    this.#parts = parts;
    this.#scratch = scratch;
    this.#part = scratchPath(options.path);
    this.#join = new ParquetJoin(options.path, parts.handle);
    this.#columns = [...options.columns].map(([name, kind]) => ({ name, kind, ...engineType(kind) }));
  }

  static async create(options: ParquetOutputOptions): Promise<ParquetEngineOutput> {
    const scratch = scratchPath(options.path);
    const handle = await onDisk('write', options.path, () => open(scratch, 'wx'));
    try {
      const database = await openDuckdb(':memory:', { threads: '1' });
      return new ParquetEngineOutput(options, { database, encoder: await database.connect(), handle }, scratch);
    } catch (error) {
      await handle.close();
      await rm(scratch, { force: true });
      throw error;
    }
  }

  /** Takes all of the records or, when one does not fit, none. */
  async add(records: readonly JsonObject[]): Promise<void> {
    const fitting = { dropped: (path: string) => this.#drop(path) };
    const fitted = this.#columns.map(({ name, kind, nested }) =>
      records.map((record) => {
        const value = fit(record[name], kind, { path: name, fitting });
        return nested && value !== undefined ? stringifyJson(record[name] as JsonValue) : value;
      }),
    );
    for (const record of records) for (const name of Object.keys(record)) if (!this.#options.columns.has(name)) this.#drop(name);
    for (let from = 0; from < records.length;) {
      const to = Math.min(records.length, from + this.#room());
      await this.#addChunk(to - from, (column) => fitted[column]?.slice(from, to) ?? []);
      from = to;
    }
  }

  /** Takes a page of columns when all of its values are texts or null and so are the columns of the file; else says false. */
  async addColumns(columns: Columns): Promise<boolean> {
    if (!this.#columns.every(({ type }) => type === 'VARCHAR') || this.#columns.some(({ nested }) => nested)) return false;
    const taken = this.#columns.map(({ name }) => columns.column(name));
    if (!taken.every((column) => column === undefined || columns.every(column, (kind) => kind <= NULL || kind >= TEXT))) return false;
    for (const [index, name] of columns.names.entries()) {
      const column = columns.columns[index];
      const unknown = !this.#options.columns.has(name) && column !== undefined;
      if (unknown && !columns.every(column, (kind) => kind === MISSING)) this.#drop(name);
    }
    for (let from = 0; from < columns.count;) {
      const rows = columns.rows.subarray(from, from + this.#room());
      await this.#addCells(columns, taken, rows);
      from += rows.length;
    }
    return true;
  }

  /** Writes what is left and the footer, and gives the file its name. */
  async finish(): Promise<void> {
    const { path } = this.#options;
    const { handle } = this.#parts;
    try {
      await this.#endGroup();
      await this.#encoding;
      await this.#join.finish();
      await onDisk('write', path, () => handle.sync());
    } finally {
      await handle.close();
    }
    await onDisk('write', path, () => rename(this.#scratch, path));
    await syncFolder(path);
    this.#close();
  }

  #close(): void {
    this.#parts.encoder.closeSync();
    this.#parts.database.close();
  }

  /** Leaves nothing behind. Never throws. */
  async discard(): Promise<void> {
    const { handle, encoder } = this.#parts;
    encoder.interrupt();
    await this.#encoding.catch(() => {});
    await handle.close().catch(() => {});
    this.#close();
    for (const path of [this.#scratch, this.#part]) await rm(path, { force: true }).catch(() => {});
  }

  /** Rows that the next chunk may have. */
  #room(): number {
    return Math.min(CHUNK_ROWS, this.#options.rowGroupSize - this.#groupRows);
  }

  async #addChunk(rows: number, valuesOf: (column: number) => readonly unknown[]): Promise<void> {
    const { DuckDBDataChunk } = duckdbLibrary();
    const chunk = DuckDBDataChunk.create(this.#types(), rows);
    const texts = new Map<number, TextCells>();
    this.#heap.clear();
    for (const [index, { type }] of this.#columns.entries()) {
      const values = valuesOf(index);
      if (type === 'VARCHAR') texts.set(index, this.#heap.addTexts(values as (string | undefined)[]));
      else
        chunk.setColumnValues(
          index,
          values.map((value) => (value as bigint | number | boolean | undefined) ?? null),
        );
    }
    fillTexts(chunk, this.#heap.bytes, texts);
    await this.#append(chunk, rows);
  }

  async #addCells(columns: Columns, taken: readonly (Column | undefined)[], rows: Uint32Array): Promise<void> {
    const { DuckDBDataChunk } = duckdbLibrary();
    const chunk = DuckDBDataChunk.create(this.#types(), rows.length);
    this.#heap.clear();
    const [from, to] = extentOf(taken, rows);
    const shift = this.#heap.addBlock(columns.cells.bytes.subarray(from, to)) - from;
    const cells = taken.map((column, index) => [index, this.#heap.addCells(column, rows, shift)] as const);
    fillTexts(chunk, this.#heap.bytes, new Map(cells));
    await this.#append(chunk, rows.length);
  }

  async #append(chunk: DuckDBDataChunk, rows: number): Promise<void> {
    this.#appender ??= await this.#beginGroup();
    this.#appender.appendDataChunk(chunk);
    const bytes = this.#heap.bytes.length + rows * this.#columns.length * VALUE_BYTES;
    this.rows += rows;
    this.bytes += bytes;
    this.#groupRows += rows;
    this.#groupBytes += bytes;
    if (this.#groupRows >= Math.min(GROUP_ROWS, this.#options.rowGroupSize) || this.#groupBytes >= GROUP_BYTES) await this.#endGroup();
  }

  #types(): DuckDBType[] {
    const types = duckdbLibrary();
    return this.#columns.map(({ type }) => types[type]);
  }

  async #beginGroup(): Promise<DuckDBAppender> {
    const { connection } = this.#parts.database;
    this.#groups += 1;
    await connection.run(`CREATE TABLE ${this.#table()} (${this.#columns.map(({ type }, index) => `c${index} ${type}`).join(', ')})`);
    return connection.createAppender(this.#table());
  }

  #table(): string {
    return `g${this.#groups}`;
  }

  /** Hands the group over to be encoded, once the one before it is. */
  async #endGroup(): Promise<void> {
    if (this.#appender === undefined) return;
    this.#appender.closeSync();
    this.#appender = undefined;
    this.#groupRows = 0;
    this.#groupBytes = 0;
    await this.#encoding;
    this.#encoding = this.#encode(this.#table());
    // Whoever waits for it next is told.
    this.#encoding.catch(() => {});
  }

  async #encode(table: string): Promise<void> {
    const { encoder } = this.#parts;
    const selected = this.#columns.map(({ name, expression }, index) => `${expression(`c${index}`)} AS ${quoteName(name)}`);
    const codec = this.#options.codec === 'lz4' ? 'lz4_raw' : this.#options.codec;
    const options = `FORMAT parquet, COMPRESSION ${codec}, ROW_GROUP_SIZE ${GROUP_ROWS}`;
    try {
      await encoder.run(`COPY (SELECT ${selected.join(', ')} FROM ${table}) TO ${quoteText(this.#part)} (${options})`);
      await encoder.run(`DROP TABLE ${table}`);
    } catch (error) {
      throw duckdbError(error, `cannot write ${this.#options.path}`);
    }
    await this.#join.add(this.#part);
    await rm(this.#part, { force: true });
  }

  #drop(field: string): void {
    if (this.#dropped.has(field)) return;
    this.#dropped.add(field);
    this.#options.onDropped(field);
  }
}

interface Parts {
  readonly database: Duckdb;
  readonly encoder: DuckDBConnection;
  readonly handle: FileHandle;
}

interface EngineColumn {
  readonly name: string;
  readonly kind: ColumnKind;
  readonly type: 'BOOLEAN' | 'BIGINT' | 'DOUBLE' | 'VARCHAR';
  /** Goes over as JSON text. */
  readonly nested: boolean;
  expression(from: string): string;
}

const SCALARS = { boolean: 'BOOLEAN', integer: 'BIGINT', number: 'DOUBLE', string: 'VARCHAR', unknown: 'VARCHAR', json: 'JSON' } as const;

function engineType(kind: ColumnKind): Pick<EngineColumn, 'type' | 'nested' | 'expression'> {
  if (kind.is === 'json') return { type: 'VARCHAR', nested: true, expression: (from) => `CAST(${from} AS JSON)` };
  if (kind.is === 'list' || kind.is === 'struct') {
    const structure = quoteText(JSON.stringify(structureOf(kind)));
    return { type: 'VARCHAR', nested: true, expression: (from) => `from_json(${from}, ${structure})` };
  }
  return { type: SCALARS[kind.is], nested: false, expression: (from) => from };
}

/** A kind as the engine wants it told: `{"a": ["BIGINT"]}`. */
function structureOf(kind: ColumnKind): JsonValue {
  if (kind.is === 'list') return [structureOf(kind.of)];
  if (kind.is === 'struct') return Object.fromEntries([...kind.fields].map(([name, inner]) => [name, structureOf(inner)]));
  return SCALARS[kind.is];
}

/** From where to where in the bytes of their page the cells of some rows lie. */
function extentOf(columns: readonly (Column | undefined)[], rows: Uint32Array): [number, number] {
  let from = Number.POSITIVE_INFINITY;
  let to = 0;
  for (const column of columns) {
    if (column === undefined) continue;
    const { starts, ends, kinds } = column;
    for (const row of rows) {
      if ((kinds[row] as number) <= NULL) continue;
      if ((starts[row] as number) < from) from = starts[row] as number;
      if ((ends[row] as number) > to) to = ends[row] as number;
    }
  }
  return to === 0 ? [0, 0] : [from, to];
}
