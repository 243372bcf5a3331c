/**
 * Writes a Parquet file with the analytical engine: row groups are encoded in parallel while the
 * next one is filled.
 */
import { open, rm, type FileHandle } from 'node:fs/promises';
import { renameOver } from '../../../lib/files/regular-file.ts';
import { textRows } from '../../../fast/fast-paths.ts';
import { TextRows } from '../../../fast/duckdb/text-rows.ts';
import {
  CHUNK_ROWS,
  duckdbLibrary,
  openDuckdb,
  quoteText,
  type Duckdb,
  type DuckDBConnection,
} from '../../../lib/sql/duckdb.ts';
import { duckdbError } from '../../../lib/sql/duckdb-errors.ts';
import { exactField } from '../../../lib/text/json-literal.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { MISSING, type Columns } from '../../../kit/columns.ts';
import { syncFolder } from '../output/appending-file.ts';
import { onDisk } from '../io-error.ts';
import { ParquetJoin } from './parquet-join.ts';
import { ValueRows, type ParquetRows, type RowValue } from './parquet-rows.ts';
import { fit } from '../typed/fit-value.ts';
import { engineColumns, type EngineColumn } from './engine-columns.ts';
import type { ParquetFile, ParquetOutputOptions } from './parquet-file.ts';
import { temporaryPath } from '../output/temporary-path.ts';

/**
 * Maximum rows of a row group: groups of this size compress well, and larger ones only need more
 * memory.
 */
const GROUP_ROWS = 122_880;
const GROUP_BYTES = 4 * 1024 * 1024;
/** Row groups that are encoded at the same time, each in its own thread. */
const ENCODERS = 2;

export class ParquetEngineOutput implements ParquetFile {
  rows = 0;
  bytes = 0;
  readonly #options: ParquetOutputOptions;
  readonly #temporary: string;
  readonly #parts: Parts;
  readonly #join: ParquetJoin;
  readonly #columns: readonly EngineColumn[];
  readonly #dropped = new Set<string>();
  /** Rows a group has at most. */
  readonly #groupRows: number;
  /** The group being filled while the engine encodes others. */
  #filling: ParquetRows;
  /** Groups that have a negative zero. */
  readonly #signed = new Set<ParquetRows>();
  readonly #encoders: readonly Encoder[];
  #groups = 0;
  /** Whether the engine is closed; then no more groups are encoded. */
  #isClosed = false;
  /** Fulfilled when all groups submitted so far are in the file. */
  #joined: Promise<void> = Promise.resolve();

  private constructor(options: ParquetOutputOptions, parts: Parts, temporary: string) {
    this.#options = options;
    this.#parts = parts;
    this.#temporary = temporary;
    this.#join = new ParquetJoin(options.path, parts.handle, options);
    this.#columns = engineColumns(options.columns);
    this.#groupRows = Math.min(GROUP_ROWS, options.rowGroupSize);
    const isText = this.#columns.map(({ type }) => type === 'VARCHAR');
    const newRows = (): ParquetRows =>
      textRows.isOn() ? new TextRows(isText) : new ValueRows(isText.length);
    this.#filling = newRows();
    this.#encoders = parts.connections.map((connection, index) => ({
      connection,
      table: `svc_rows_${index}`,
      part: temporaryPath(options.path),
      rows: newRows(),
      busy: Promise.resolve(),
    }));
    for (const encoder of this.#encoders) this.#register(encoder);
  }

  static async create(options: ParquetOutputOptions): Promise<ParquetEngineOutput> {
    const temporary = temporaryPath(options.path);
    const handle = await onDisk('write', options.path, () => open(temporary, 'wx'));
    try {
      const database = await openDuckdb(':memory:', { threads: '1' });
      const connections = [database.connection];
      while (connections.length < ENCODERS) connections.push(await database.connect());
      return new ParquetEngineOutput(options, { database, connections, handle }, temporary);
    } catch (error) {
      await handle.close();
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** Adds all records or, when one does not fit, none. */
  async add(records: readonly JsonObject[]): Promise<void> {
    const dropped = (path: string) => this.#drop(path);
    const fitted = this.#columns.map(({ name, kind, encode }) => {
      const place = { path: name, dropped };
      return records.map((record) => {
        const value = fit(exactField(record, name), kind, place);
        return value === undefined || encode === undefined ? (value as RowValue) : encode(value);
      });
    });
    const isSigned = this.#columns.some(
      ({ hasNegativeZero }, index) =>
        hasNegativeZero !== undefined && fitted[index]?.some(hasNegativeZero) === true,
    );
    for (const record of records)
      for (const name of Object.keys(record))
        if (!this.#options.columns.has(name)) this.#drop(name);
    for (let from = 0; from < records.length;) {
      const to = Math.min(records.length, from + this.#room());
      const before = this.#filling.bytes;
      if (isSigned) this.#signed.add(this.#filling);
      this.#filling.addValues(to - from, (column) => fitted[column]?.slice(from, to) ?? []);
      await this.#added(to - from, this.#filling.bytes - before);
      from = to;
    }
  }

  async addColumns(columns: Columns): Promise<number> {
    if (!this.#columns.every(({ isText }) => isText)) return 0;
    const taken = this.#columns.map(({ name }) => columns.column(name));
    for (const name of columns.names) {
      const kinds = this.#options.columns.has(name) ? undefined : columns.column(name)?.kinds;
      if (kinds !== undefined && columns.rows.some((row) => kinds[row] !== MISSING))
        this.#drop(name);
    }
    for (let from = 0; from < columns.count;) {
      const rows = columns.rows.subarray(from, from + this.#room());
      const before = this.#filling.bytes;
      if (!this.#filling.addCells(columns, taken, rows)) return from;
      await this.#added(rows.length, this.#filling.bytes - before);
      from += rows.length;
    }
    return columns.count;
  }

  /** Writes the remaining rows and the footer, and renames the file to its final name. */
  async finish(): Promise<void> {
    const { path } = this.#options;
    const { handle } = this.#parts;
    try {
      // The engine says what the columns are: a file without rows needs one group, too.
      if (this.#filling.rows > 0 || this.#groups === 0) await this.#endGroup();
      await this.#joined;
      // Frees memory for the footer, which can be large.
      this.#parts.database.close();
      this.#isClosed = true;
      await this.#join.finish();
      await onDisk('write', path, () => handle.sync());
    } finally {
      await handle.close();
    }
    await onDisk('write', path, () => renameOver(this.#temporary, path));
    await syncFolder(path);
  }

  /** Removes all files. Never throws. */
  async discard(): Promise<void> {
    const { handle, database, connections } = this.#parts;
    if (!this.#isClosed) for (const connection of connections) connection.interrupt();
    await Promise.allSettled(this.#encoders.map(({ busy }) => busy));
    await handle.close().catch(() => {});
    if (!this.#isClosed) database.close();
    for (const path of [this.#temporary, ...this.#encoders.map(({ part }) => part)])
      await rm(path, { force: true }).catch(() => {});
  }

  /** Maximum rows of the next chunk. */
  #room(): number {
    return Math.min(CHUNK_ROWS, this.#groupRows - this.#filling.rows);
  }

  async #added(rows: number, bytes: number): Promise<void> {
    this.rows += rows;
    this.bytes += bytes;
    if (this.#filling.rows >= this.#groupRows || this.#filling.bytes >= GROUP_BYTES)
      await this.#endGroup();
  }

  /** Submits the group for encoding, when an encoder is free. */
  async #endGroup(): Promise<void> {
    const encoder = this.#encoders[this.#groups % this.#encoders.length] as Encoder;
    await encoder.busy;
    this.#groups += 1;
    [this.#filling, encoder.rows] = [encoder.rows, this.#filling];
    this.#filling.clear();
    this.#signed.delete(this.#filling);
    this.#joined = encoder.busy = this.#encode(encoder, this.#joined);
    // The next caller that awaits it gets the error.
    encoder.busy.catch(() => {});
  }

  /** `before` is fulfilled when all earlier groups are in the file. */
  async #encode({ connection, table, part, rows }: Encoder, before: Promise<void>): Promise<void> {
    const selected = this.#columns.map(
      ({ expression }, index) => `${expression(`c${index}`)} AS c${index}`,
    );
    const codec = this.#options.codec === 'lz4' ? 'lz4_raw' : this.#options.codec;
    // The engine's dictionaries hold one zero.
    const dictionary = this.#signed.has(rows) ? ', DICTIONARY_SIZE_LIMIT 0' : '';
    const options = `FORMAT parquet, COMPRESSION ${codec}, ROW_GROUP_SIZE ${GROUP_ROWS}${dictionary}`;
    try {
      await connection.run(
        `COPY (SELECT ${selected.join(', ')} FROM ${table}()) TO ${quoteText(part)} (${options})`,
      );
    } catch (error) {
      throw duckdbError(error, 'the Parquet file cannot be written');
    }
    await before;
    await this.#join.add(part);
    await rm(part, { force: true });
  }

  /** The engine reads the rows of a group as if they were a table. */
  #register(encoder: Encoder): void {
    const { DuckDBTableFunction, ...types } = duckdbLibrary();
    const table = DuckDBTableFunction.create({
      name: encoder.table,
      bindFunction: (bind) => {
        for (const [index, { type }] of this.#columns.entries())
          bind.addResultColumn(`c${index}`, types[type]);
      },
      initFunction: (init) => init.setMaxThreads(1),
      mainFunction: (_info, chunk) => encoder.rows.fetch(chunk),
    });
    encoder.connection.registerTableFunction(table);
  }

  #drop(field: string): void {
    if (this.#dropped.has(field)) return;
    this.#dropped.add(field);
    this.#options.onDropped(field);
  }
}

/** Encodes one row group after another. */
interface Encoder {
  readonly connection: DuckDBConnection;
  /** Name of this table function in the engine. */
  readonly table: string;
  /** Path of the encoded group until it is added to the file. */
  readonly part: string;
  rows: ParquetRows;
  /** The encoding of its last group. */
  busy: Promise<void>;
}

interface Parts {
  readonly database: Duckdb;
  readonly connections: readonly DuckDBConnection[];
  readonly handle: FileHandle;
}
