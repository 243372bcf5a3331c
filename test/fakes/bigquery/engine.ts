/** Tables and statements of the fake: an embedded engine stores the rows and runs what is asked. */
import { DuckDBInstance, type DuckDBConnection, type DuckDBValue } from '@duckdb/node-api';
import { quotedText, statementsOf, tablePathOf, translate } from './dialect.ts';
import { BigqueryFault } from './fault.ts';
import {
  columnIn,
  engineItem,
  engineName,
  engineType,
  fieldOfEngine,
  splitTop,
  typeIn,
  type Field,
} from './types.ts';
import { apiRow } from './values.ts';

export interface Table {
  readonly dataset: string;
  name: string;
  kind: 'TABLE' | 'VIEW' | 'SNAPSHOT';
  fields: Field[];
  primaryKey: readonly string[];
  options: string;
  /** Rows that were streamed, and cannot be changed yet. */
  buffered: number;
  /** When a transaction that changed it was committed. */
  changed: number;
}

export interface Outcome {
  readonly fields: readonly Field[];
  /** As the API gives them. */
  readonly rows: readonly unknown[];
  /** As the engine gives them. */
  readonly values: readonly (readonly DuckDBValue[])[];
  readonly changed: number | undefined;
}

export type Parameters = Readonly<Record<string, DuckDBValue>> | readonly DuckDBValue[];

interface Transaction {
  readonly began: number;
  readonly mutated: Set<Table>;
}

export const NOTHING: Outcome = { fields: [], rows: [], values: [], changed: undefined };
const SETUP = [
  "SET TimeZone = 'UTC'",
  `CREATE OR REPLACE TEMP MACRO svc_int64(x) AS CASE WHEN x IS NULL THEN NULL WHEN regexp_full_match(x, '-?[0-9]+') THEN CAST(x AS BIGINT) ELSE error('Bad int64 value: ' || x) END`,
];

export class Engine {
  readonly tables = new Map<string, Table>();
  readonly datasets = new Set<string>();
  /** Whether rows stay in the streaming buffer. */
  buffers = false;
  readonly #instance: DuckDBInstance;
  #clock = 0;
  #defining: Promise<void> = Promise.resolve();
  readonly #open = new Set<Transaction>();

  private constructor(instance: DuckDBInstance) {
    this.#instance = instance;
  }

  static async start(): Promise<Engine> {
    return new Engine(await DuckDBInstance.create(':memory:'));
  }

  close(): void {
    this.#instance.closeSync();
  }

  async #connected<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    const connection = await this.#instance.connect();
    try {
      for (const sql of SETUP) await connection.run(sql);
      return await work(connection);
    } catch (error) {
      throw faultOf(error);
    } finally {
      connection.closeSync();
    }
  }

  async addDataset(name: string): Promise<void> {
    await this.#connected((connection) => connection.run(`CREATE SCHEMA ${engineName(name)}`));
    this.datasets.add(name);
  }

  table(dataset: string, name: string): Table | undefined {
    return this.tables.get(`${dataset}.${name}`);
  }

  #need(path: string): Table {
    const { dataset, table: name } = tablePathOf(path);
    const found = this.table(dataset, name);
    if (found !== undefined) return found;
    throw new BigqueryFault(
      404,
      'notFound',
      `Not found: Table project:${dataset}.${name} was not found`,
    );
  }

  /** As a query of somebody else would run. */
  run(sql: string, parameters: Parameters = {}): Promise<Outcome> {
    return this.#connected(async (connection) => {
      let transaction: Transaction | undefined;
      let last = NOTHING;
      try {
        for (const statement of statementsOf(sql)) {
          if (/^BEGIN TRANSACTION$/i.test(statement)) {
            await connection.run('BEGIN TRANSACTION');
            transaction = { began: this.#clock, mutated: new Set() };
            this.#open.add(transaction);
          } else if (/^COMMIT TRANSACTION$/i.test(statement)) {
            await connection.run('COMMIT');
            this.#clock += 1;
            for (const table of transaction?.mutated ?? []) table.changed = this.#clock;
            if (transaction !== undefined) this.#open.delete(transaction);
            transaction = undefined;
          } else last = await this.#statement(connection, statement, { parameters, transaction });
        }
        return last;
      } finally {
        if (transaction !== undefined) {
          this.#open.delete(transaction);
          await connection.run('ROLLBACK').catch(() => {});
        }
      }
    });
  }

  /** What a statement would give, without running it. */
  async describe(sql: string, parameters: Parameters = {}): Promise<readonly Field[]> {
    return this.#connected(async (connection) => {
      const [statement = ''] = statementsOf(sql);
      this.#checkNames(statement);
      if (/^(?:SELECT|WITH)\b/i.test(statement)) return fieldsOf(connection, statement, parameters);
      await connection.prepare(translate(statement));
      return [];
    });
  }

  async #statement(
    connection: DuckDBConnection,
    statement: string,
    {
      parameters,
      transaction,
    }: { readonly parameters: Parameters; readonly transaction: Transaction | undefined },
  ): Promise<Outcome> {
    if (/^ASSERT\b/i.test(statement)) return assertion(connection, statement, parameters);
    if (/^(?:CREATE|ALTER|DROP)\b/i.test(statement)) {
      if (transaction !== undefined)
        throw new BigqueryFault(
          400,
          'invalidQuery',
          'DDL statements are not supported in a transaction, except for those creating or dropping temporary tables or functions.',
        );
      // One after the other, so that a table is not made twice.
      this.#defining = this.#defining
        .catch(() => {})
        .then(() => this.#define(connection, statement));
      await this.#defining;
      return NOTHING;
    }
    this.#checkNames(statement);
    if (/^(?:SELECT|WITH)\b/i.test(statement)) {
      const fields = await fieldsOf(connection, statement, parameters);
      const result = await connection.runAndReadAll(
        translate(statement),
        bound(statement, parameters),
      );
      const values = result.getRows();
      return { ...NOTHING, fields, values, rows: values.map((row) => apiRow(fields, row)) };
    }
    return this.#change(connection, statement, { parameters, transaction });
  }

  async #change(
    connection: DuckDBConnection,
    statement: string,
    {
      parameters,
      transaction,
    }: { readonly parameters: Parameters; readonly transaction: Transaction | undefined },
  ): Promise<Outcome> {
    const [, verb = '', path = ''] =
      /^(INSERT INTO|MERGE INTO|MERGE|DELETE FROM|UPDATE|TRUNCATE TABLE)\s+(`[^`]+`|\S+)/i.exec(
        statement,
      ) ?? [];
    if (verb === '')
      throw new BigqueryFault(400, 'invalidQuery', 'Syntax error: Unexpected identifier at [1:1]');
    const table = this.#need(path);
    if (!/^INSERT/i.test(verb) && table.buffered > 0)
      throw new BigqueryFault(
        400,
        'invalidQuery',
        `UPDATE or DELETE statement over table ${table.dataset}.${table.name} would affect rows in the streaming buffer, which is not supported`,
      );
    this.#claim(table, transaction);
    const result = await connection.runAndReadAll(
      translate(statement),
      bound(statement, parameters),
    );
    return { ...NOTHING, changed: Number(result.getRows()[0]?.[0] ?? 0) };
  }

  /** Transactions that change one table exclude each other. */
  #claim(table: Table, transaction: Transaction | undefined): void {
    const isTaken = [...this.#open].some((one) => one !== transaction && one.mutated.has(table));
    const isLate = transaction !== undefined && table.changed > transaction.began;
    if (isTaken || isLate)
      throw new BigqueryFault(
        400,
        'invalidQuery',
        `Transaction is aborted due to concurrent update against table project:${table.dataset}.${table.name}.`,
      );
    transaction?.mutated.add(table);
  }

  #checkNames(statement: string): void {
    for (const [path] of statement.matchAll(/`[^`.]+\.[^`.]+\.[^`.]+`/g)) this.#need(path);
  }

  async #define(connection: DuckDBConnection, statement: string): Promise<void> {
    const like = /^CREATE TABLE (`[^`]+`) LIKE (`[^`]+`)\s*(?:OPTIONS \(([^]*)\))?$/i.exec(
      statement,
    );
    if (like !== null) {
      const [, path = '', model = '', options = ''] = like;
      const { fields } = this.#need(model);
      await this.#create(connection, path, { fields, primaryKey: [], options });
      return;
    }
    const made = /^CREATE TABLE (IF NOT EXISTS )?(`[^`]+`) \(([^]*)\)$/i.exec(statement);
    if (made !== null) {
      const [, ifNot, path = '', inner = ''] = made;
      const { dataset, table } = tablePathOf(path);
      if (this.table(dataset, table) !== undefined) {
        if (ifNot !== undefined) return;
        throw new BigqueryFault(
          409,
          'duplicate',
          `Already Exists: Table project:${dataset}.${table}`,
        );
      }
      const lines = splitTop(inner);
      const key = lines.find((line) => /^PRIMARY KEY/i.test(line));
      await this.#create(connection, path, {
        fields: lines.filter((line) => line !== key).map(columnIn),
        primaryKey: [...(key ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ''),
        options: '',
      });
      return;
    }
    const [, path = '', action = ''] = /^ALTER TABLE (`[^`]+`) ([^]*)$/i.exec(statement) ?? [];
    if (path === '') throw new BigqueryFault(400, 'invalidQuery', `Syntax error: ${statement}`);
    await this.#alter(connection, this.#need(path), action);
  }

  async #create(
    connection: DuckDBConnection,
    path: string,
    made: Pick<Table, 'fields' | 'primaryKey' | 'options'>,
  ): Promise<void> {
    const { dataset, table: name } = tablePathOf(path);
    if (!this.datasets.has(dataset))
      throw new BigqueryFault(
        404,
        'notFound',
        `Not found: Dataset project:${dataset} was not found`,
      );
    const lines = made.fields.map(lineOf);
    await connection.run(
      `CREATE TABLE ${engineName(dataset)}.${engineName(name)} (${lines.join(', ')})`,
    );
    const table: Table = {
      ...made,
      dataset,
      name,
      kind: 'TABLE',
      buffered: 0,
      changed: this.#clock,
    };
    this.tables.set(`${dataset}.${name}`, table);
  }

  /** For tests: a table as somebody else made it. */
  create(path: string, columns: string): Promise<void> {
    return this.#connected((connection) =>
      this.#create(connection, path, {
        fields: splitTop(columns).map(columnIn),
        primaryKey: [],
        options: '',
      }),
    );
  }

  async #alter(connection: DuckDBConnection, table: Table, action: string): Promise<void> {
    const target = `${engineName(table.dataset)}.${engineName(table.name)}`;
    const renamed = /^RENAME TO `([^`]+)`$/i.exec(action)?.[1];
    if (renamed !== undefined) {
      if (!this.tables.delete(`${table.dataset}.${table.name}`))
        throw new BigqueryFault(404, 'notFound', `Not found: Table ${table.name}`);
      await connection.run(`ALTER TABLE ${target} RENAME TO ${engineName(renamed)}`);
      table.name = renamed;
      this.tables.set(`${table.dataset}.${renamed}`, table);
      return;
    }
    const alter = /^ALTER COLUMN `([^`]+)` (?:SET DATA TYPE ([^]+)|DROP NOT NULL)$/i.exec(action);
    if (alter !== null)
      return this.#alterColumn(connection, table, { target, name: alter[1] ?? '', type: alter[2] });
    for (const part of splitTop(action)) {
      const [, ifNot, line = ''] = /^ADD COLUMN (IF NOT EXISTS )?([^]*)$/i.exec(part) ?? [];
      const field = columnIn(line);
      const isThere = table.fields.some(
        ({ name }) => name.toLowerCase() === field.name.toLowerCase(),
      );
      if (isThere && ifNot !== undefined) continue;
      if (isThere)
        throw new BigqueryFault(400, 'invalidQuery', `Column already exists: ${field.name}`);
      await connection.run(`ALTER TABLE ${target} ADD COLUMN ${lineOf(field)}`);
      table.fields = [...table.fields, field];
    }
  }

  async #alterColumn(
    connection: DuckDBConnection,
    table: Table,
    {
      target,
      name,
      type,
    }: { readonly target: string; readonly name: string; readonly type: string | undefined },
  ): Promise<void> {
    const field = table.fields.find((one) => one.name.toLowerCase() === name.toLowerCase());
    if (field === undefined)
      throw new BigqueryFault(400, 'invalidQuery', `Column not found: ${name}`);
    const wider = type === undefined ? undefined : typeIn(type);
    if (
      wider !== undefined &&
      !(field.type === 'INT64' && ['FLOAT64', 'NUMERIC', 'BIGNUMERIC'].includes(wider.type))
    )
      throw new BigqueryFault(
        400,
        'invalidQuery',
        `ALTER TABLE ALTER COLUMN SET DATA TYPE requires that the existing column type (${field.type}) is assignable to the new type (${wider.type})`,
      );
    const column = engineName(field.name);
    await connection.run(
      wider === undefined
        ? `ALTER TABLE ${target} ALTER COLUMN ${column} DROP NOT NULL`
        : `ALTER TABLE ${target} ALTER COLUMN ${column} SET DATA TYPE ${engineItem(wider)}`,
    );
    table.fields = table.fields.map((one) =>
      one !== field
        ? one
        : wider === undefined
          ? { ...one, mode: 'NULLABLE' }
          : { ...one, type: wider.type },
    );
  }

  async drop({ dataset, name }: Table): Promise<void> {
    // Nobody is told of it, or renames it, from now on.
    this.tables.delete(`${dataset}.${name}`);
    await this.#connected((connection) =>
      connection.run(`DROP TABLE ${engineName(dataset)}.${engineName(name)}`),
    );
  }

  /** Adds rows, given as JSON of the API, all or none. */
  async add(table: Table, rows: readonly Readonly<Record<string, unknown>>[]): Promise<void> {
    await this.#connected(async (connection) => {
      await connection.run('BEGIN TRANSACTION');
      for (const row of rows) {
        const names = Object.keys(row);
        const fields = names.map(
          (name) =>
            table.fields.find((one) => one.name.toLowerCase() === name.toLowerCase()) as Field,
        );
        const values = fields.map((field, at) => engineLiteral(field, row[names[at] ?? '']));
        const target = `${engineName(table.dataset)}.${engineName(table.name)}`;
        await connection.run(
          names.length === 0
            ? `INSERT INTO ${target} DEFAULT VALUES`
            : `INSERT INTO ${target} (${fields.map(({ name }) => engineName(name)).join(', ')}) VALUES (${values.join(', ')})`,
        );
      }
      await connection.run('COMMIT');
    });
    if (this.buffers) table.buffered += rows.length;
  }

  async empty(table: Table): Promise<void> {
    await this.#connected((connection) =>
      connection.run(`TRUNCATE TABLE ${engineName(table.dataset)}.${engineName(table.name)}`),
    );
  }
}

function lineOf(field: Field): string {
  const column = engineName(field.name);
  const limit =
    field.maxLength === undefined ? '' : ` CHECK (length(${column}) <= ${field.maxLength})`;
  const fallback =
    field.defaultValue === undefined ? '' : ` DEFAULT ${translate(field.defaultValue)}`;
  return `${column} ${engineType(field)}${fallback}${field.mode === 'REQUIRED' ? ' NOT NULL' : ''}${limit}`;
}

/** A value of the JSON of a row as an expression. */
function engineLiteral(field: Field, value: unknown): string {
  if (field.mode === 'REPEATED') {
    const items = (Array.isArray(value) ? value : []).map((item) =>
      engineLiteral({ ...field, mode: 'NULLABLE' }, item),
    );
    return `CAST([${items.join(', ')}] AS ${engineType(field)})`;
  }
  if (value === null || value === undefined) return 'NULL';
  if (field.type === 'STRUCT') {
    const given = value as Readonly<Record<string, unknown>>;
    const parts = (field.fields ?? []).map(
      (one) => `${engineName(one.name)} := ${engineLiteral(one, given[one.name])}`,
    );
    return `struct_pack(${parts.join(', ')})`;
  }
  if (field.type === 'RANGE') {
    const { start, end } = value as Readonly<Record<string, string | null>>;
    return translate(
      `CAST(${quotedText(`[${start ?? 'UNBOUNDED'}, ${end ?? 'UNBOUNDED'})`)} AS RANGE<${field.element ?? 'DATE'}>)`,
    );
  }
  const text = quotedText(typeof value === 'string' ? value : JSON.stringify(value));
  if (field.type === 'BYTES') return `from_base64(${text})`;
  return translatedCast(text, field);
}

function translatedCast(text: string, field: Field): string {
  if (['GEOGRAPHY', 'INTERVAL', 'BIGNUMERIC'].includes(field.type))
    return `struct_pack("bq ${field.type}" := ${text})`;
  return `CAST(${text} AS ${engineItem(field)})`;
}

async function fieldsOf(
  connection: DuckDBConnection,
  statement: string,
  parameters: Parameters,
): Promise<Field[]> {
  const described = await connection.runAndReadAll(
    `DESCRIBE ${translate(statement)}`,
    bound(statement, parameters),
  );
  const fields = described.getRows().map((row) => fieldOfEngine(String(row[0]), String(row[1])));
  return fields;
}

/** Only what the statement names: the engine refuses others. */
function bound(
  statement: string,
  parameters: Parameters,
): Record<string, DuckDBValue> | DuckDBValue[] {
  if (Array.isArray(parameters)) return [...(parameters as readonly DuckDBValue[])];
  const named = parameters as Readonly<Record<string, DuckDBValue>>;
  return Object.fromEntries(
    Object.entries(named).filter(([name]) => new RegExp(`@${name}(?!\\w)`).test(statement)),
  );
}

async function assertion(
  connection: DuckDBConnection,
  statement: string,
  parameters: Parameters,
): Promise<Outcome> {
  const [, condition = '', message = 'Assertion failed'] =
    /^ASSERT\s+([^]*?)(?:\s+AS\s+'([^']*)')?$/i.exec(statement) ?? [];
  const result = await connection.runAndReadAll(
    `SELECT ${translate(condition)}`,
    bound(condition, parameters),
  );
  if (result.getRows()[0]?.[0] === true) return NOTHING;
  throw new BigqueryFault(400, 'invalidQuery', `${message} at [1:1]`);
}

function faultOf(error: unknown): unknown {
  if (error instanceof BigqueryFault) return error;
  const message = error instanceof Error ? error.message : String(error);
  const told = /NOT NULL constraint failed: .*\.(\w+)/.exec(message)?.[1];
  if (told !== undefined)
    return new BigqueryFault(400, 'invalidQuery', `Required field ${told} cannot be null`);
  if (/Conflict|conflict/.test(message))
    return new BigqueryFault(
      400,
      'invalidQuery',
      'Could not serialize access to table due to concurrent update',
    );
  return new BigqueryFault(400, 'invalidQuery', message.split('\n')[0] ?? '');
}
