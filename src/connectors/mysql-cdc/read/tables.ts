/** The tables that the log describes, with what reads their rows. */
import type { RecordField, RecordSchema } from '../../../kit/record-schema.ts';
import type { Log } from '../../../lib/log.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { Charsets } from '../values/charsets.ts';
import type { ColumnHints } from './column-hints.ts';
import { columnField } from './column-fields.ts';
import { collationsOf, valueReader } from './column-values.ts';
import { frameBytes, tableSchema } from './records.ts';
import type { RowColumns } from './rows.ts';
import {
  readTableMap,
  tableIdOf,
  tableNameOf,
  type LogColumn,
  type TableName,
} from './table-map.ts';

export interface LogTable extends RowColumns {
  readonly name: TableName;
  /** Bytes that a record has besides its values. */
  readonly frame: number;
  /** Of the records of its changes. */
  readonly changes: RecordSchema;
}

/** What has to be asked of the server. */
export interface TableQuestions {
  hints(name: TableName): Promise<ColumnHints>;
  charsets(collations: readonly number[]): Promise<Charsets>;
}

interface Described {
  readonly body: Buffer;
  /** `undefined` for a table that is not read. */
  readonly table: LogTable | undefined;
}

export interface TablesOptions {
  readonly questions: TableQuestions;
  readonly log: Log;
  /** Whether records tell statements, too. */
  readonly tellsSchemas: boolean;
}

export class Tables {
  readonly #described = new Map<number, Described>();
  readonly #shapes = new Map<string, string>();
  readonly #hints = new Map<string, ColumnHints>();
  readonly #schemas = new Map<string, RecordSchema>();
  readonly #questions: TableQuestions;
  readonly #log: Log;
  readonly #tellsSchemas: boolean;

  constructor({ questions, log, tellsSchemas }: TablesOptions) {
    this.#questions = questions;
    this.#log = log;
    this.#tellsSchemas = tellsSchemas;
  }

  /** Numbers of tables are given anew in each file; what the server says may have changed. */
  forget(): void {
    this.#described.clear();
    this.#hints.clear();
  }

  /** The table of the number that rows have. */
  get(id: number): LogTable | undefined {
    const found = this.#described.get(id);
    if (found !== undefined) return found.table;
    throw new RangeError('rows of a table that was not described');
  }

  /** The server describes a table before each statement; a promise where something is new. */
  learn(
    body: Buffer,
    {
      isMariadb,
      isRead,
    }: { readonly isMariadb: boolean; readonly isRead: (name: TableName) => boolean },
  ): Promise<void> | undefined {
    const id = tableIdOf(body);
    if (this.#described.get(id)?.body.equals(body) === true) return undefined;
    const name = tableNameOf(body);
    if (isRead(name)) return this.#describe(id, body, isMariadb);
    this.#described.set(id, { body: Buffer.from(body), table: undefined });
    return undefined;
  }

  async #describe(id: number, body: Buffer, isMariadb: boolean): Promise<void> {
    const { schema, table, columns } = readTableMap(body, isMariadb);
    const name = { schema, table };
    if (columns === undefined) throw nameless(name);
    this.#noteShape(name, columns);
    const hints = await this.#hintsOf(name);
    const charsets = await this.#questions.charsets(collationsOf(columns));
    const names = columns.map((column) => column.name);
    const readers = columns.map((column) => valueReader(column, hints.get(column.name), charsets));
    const fields = columns.map((column) => columnField(column, hints.get(column.name), charsets));
    const changes = this.#schemaOf(fields);
    const found = { name, names, readers, changes, frame: frameBytes(name, names) };
    this.#described.set(id, { body: Buffer.from(body), table: found });
  }

  /** The same object for the same fields: sinks look at a schema once. */
  #schemaOf(fields: readonly RecordField[]): RecordSchema {
    const key = JSON.stringify(fields);
    const schema = this.#schemas.get(key) ?? tableSchema(this.#tellsSchemas, fields);
    this.#schemas.set(key, schema);
    return schema;
  }

  async #hintsOf(name: TableName): Promise<ColumnHints> {
    const key = JSON.stringify([name.schema, name.table]);
    const known = this.#hints.get(key);
    if (known !== undefined) return known;
    const hints = await this.#questions.hints(name);
    this.#hints.set(key, hints);
    return hints;
  }

  #noteShape({ schema, table }: TableName, columns: readonly LogColumn[]): void {
    const key = JSON.stringify([schema, table]);
    const shape = JSON.stringify(columns);
    const before = this.#shapes.get(key);
    this.#shapes.set(key, shape);
    if (before === undefined || before === shape) return;
    this.#log.warn('a table was changed', {
      table: `${schema}.${table}`,
      columns: columns.map(({ name }) => name).join(', '),
    });
  }
}

function nameless({ schema, table }: TableName): ConnectorError {
  return new ConnectorError(
    'refused',
    `the log does not name the columns of \`${schema}.${table}\`: it was written before \`binlog_row_metadata\` was FULL`,
    {
      hint: 'SET GLOBAL binlog_row_metadata = FULL, remove the bookmark, and load the tables anew; `headgate replicate --restart` does the last two',
    },
  );
}
