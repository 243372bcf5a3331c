/** The database behind the fake: DuckDB, with the functions and the catalog of Snowflake that are used. */
import { gunzipSync } from 'node:zlib';
import {
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBInstance,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  type DuckDBConnection,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';
import type { FakeS3 } from '../s3-server.ts';
import { quoted, textOf, translated } from './dialect.ts';

export interface Answer {
  readonly rowType: readonly Record<string, unknown>[];
  readonly rows: readonly (readonly (string | null)[])[];
}

/** A refusal of the server. */
export class Refusal extends Error {
  readonly code: string;
  readonly state: string;
  constructor(code: string, state: string, message: string) {
    super(message);
    this.code = code;
    this.state = state;
  }
}

/** Where an external stage is. */
export interface Stage {
  readonly bucket: string;
  readonly prefix: string;
}

const CATALOG = `
  CREATE MACRO fake_json(x) AS x::JSON;
  CREATE MACRO fake_binary(x, f) AS unhex(x);
  CREATE VIEW fake_columns AS SELECT database_name, schema_name AS table_schema, table_name, column_name, column_index AS ordinal_position,
    CASE WHEN data_type LIKE 'DECIMAL%' THEN 'NUMBER' WHEN data_type = 'VARCHAR' THEN 'TEXT' WHEN data_type = 'DOUBLE' THEN 'FLOAT'
      WHEN data_type = 'JSON' THEN 'VARIANT' WHEN data_type = 'BLOB' THEN 'BINARY' WHEN data_type LIKE 'TIMESTAMP WITH%' THEN 'TIMESTAMP_TZ'
      WHEN data_type LIKE 'TIMESTAMP%' THEN 'TIMESTAMP_NTZ' WHEN data_type IN ('INTEGER', 'BIGINT') THEN 'NUMBER' ELSE data_type END AS data_type,
    CASE WHEN data_type IN ('INTEGER', 'BIGINT') THEN 38 ELSE numeric_precision END AS numeric_precision, numeric_scale,
    CASE WHEN data_type = 'TIMESTAMP_NS' THEN 9 WHEN data_type LIKE 'TIM%' THEN 6 END AS datetime_precision,
    CASE WHEN is_nullable THEN 'YES' ELSE 'NO' END AS is_nullable, nullif(column_default, 'NULL') AS column_default FROM duckdb_columns();
  CREATE VIEW fake_tables AS SELECT database_name, schema_name AS table_schema, table_name, 'BASE TABLE' AS table_type, estimated_size AS row_count
    FROM duckdb_tables() WHERE database_name <> 'memory'`;

export async function openEngine(database: string, schema: string): Promise<Engine> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(
    `${CATALOG}; ATTACH ':memory:' AS "${database}"; CREATE SCHEMA "${database}"."${schema}"`,
  );
  return new Engine(instance, connection);
}

export class Engine {
  /** For tests that look at the tables, in the language of the engine. */
  readonly connection: DuckDBConnection;
  readonly stages = new Map<string, Stage>();
  readonly #instance: DuckDBInstance;
  readonly #loaded = new Set<string>();
  store: FakeS3 | undefined;

  constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.connection = connection;
  }

  /** A session of its own, in which an open transaction ends with the request. */
  async connect(
    database: string | undefined,
    schema: string | undefined,
  ): Promise<DuckDBConnection> {
    const connection = await this.#instance.connect();
    if (database === undefined) return connection;
    const name = schema === undefined ? `"${database}"` : `"${database}"."${schema}"`;
    await connection.run(`USE ${name}`).catch(() => {
      throw new Refusal(
        '002043',
        '02000',
        'SQL compilation error:\nObject does not exist, or operation cannot be performed.',
      );
    });
    return connection;
  }

  async run(
    connection: DuckDBConnection,
    statement: string,
    bindings: readonly DuckDBValue[],
  ): Promise<Answer> {
    try {
      if (/^COPY INTO\b/i.test(statement)) return await this.#copy(connection, statement);
      const reader = await connection.runAndReadAll(translated(statement), [...bindings]);
      const types = reader.columnTypes();
      return {
        rowType: reader.columnNames().map((name, at) => ({ name, ...infoOf(types[at]) })),
        rows: reader.getRows().map((row) => row.map(cellOf)),
      };
    } catch (error) {
      throw error instanceof Refusal ? error : refusalOf(error);
    }
  }

  async #copy(connection: DuckDBConnection, statement: string): Promise<Answer> {
    const [
      match,
      table = '',
      list = '',
      select = '',
      inner = '',
      outer = '',
      files = '',
      rest = '',
    ] = COPY.exec(statement) ?? [];
    const stage = this.stages.get((inner === '' ? outer : inner).toUpperCase());
    if (match === undefined) throw new Refusal('001003', '42000', `syntax error in ${statement}`);
    if (stage === undefined)
      throw new Refusal(
        '002003',
        '02000',
        'SQL compilation error:\nStage does not exist or not authorized.',
      );
    const file = textOf(files);
    const key = `${stage.prefix}${file}`;
    const object = this.store?.buckets.get(stage.bucket)?.get(key);
    if (object === undefined)
      throw new Refusal('091016', '22000', `Remote file '${file}' was not found.`);
    const id = `${table} ${key}`;
    if (this.#loaded.has(id)) return NOTHING;
    const lines = gunzipSync(object.body)
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '');
    const from = `(VALUES ${lines.map((line) => `(${quoted(line)}::JSON)`).join(', ')}) AS f(d1)`;
    const [, how = 'NONE'] = /MATCH_BY_COLUMN_NAME = (\w+)/.exec(rest) ?? [];
    const sql =
      how === 'NONE'
        ? `INSERT INTO ${table} ${list} SELECT ${members(select)} FROM ${from}`
        : await this.#matched(connection, {
            table,
            lines,
            from,
            ignoresCase: how === 'CASE_INSENSITIVE',
          });
    await connection.run(sql);
    this.#loaded.add(id);
    if (/PURGE = TRUE/.test(rest)) this.store?.buckets.get(stage.bucket)?.delete(key);
    return NOTHING;
  }

  async #matched(
    connection: DuckDBConnection,
    {
      table,
      lines,
      from,
      ignoresCase,
    }: { table: string; lines: string[]; from: string; ignoresCase: boolean },
  ): Promise<string> {
    const fold = (name: string): string => (ignoresCase ? name.toUpperCase() : name);
    const keys = new Map(
      lines
        .flatMap((line) => Object.keys(JSON.parse(line) as object))
        .map((key) => [fold(key), key]),
    );
    const described = await connection.runAndReadAll(`DESCRIBE ${table}`);
    const columns = described.getRows().flatMap(([name, type]) => {
      const key = keys.get(fold(String(name)));
      if (key === undefined) return [];
      const value = `(d1->>${quoted(`$."${key}"`)})`;
      if (type === 'JSON') return [[String(name), `(d1->${quoted(`$."${key}"`)})`]];
      return [[String(name), type === 'BLOB' ? `unhex(${value})` : `${value}::${String(type)}`]];
    });
    const names = columns.map(([name]) => `"${name}"`).join(', ');
    return `INSERT INTO ${table} (${names}) SELECT ${columns.map(([, value]) => value).join(', ')} FROM ${from}`;
  }
}

const NOTHING: Answer = { rowType: [], rows: [] };

const COPY =
  /^COPY INTO ("[^"]+"\."[^"]+"\."[^"]+")(?: (\([^)]*\)) FROM \(SELECT (.+) FROM @([\w.]+)\)| FROM @([\w.]+)) FILES = \(('[^']+')\) FILE_FORMAT = \(TYPE = JSON COMPRESSION = GZIP BINARY_FORMAT = HEX\)(.* ON_ERROR = ABORT_STATEMENT)$/;

/** `$1:"A"::VARCHAR` is the text of a member, `$1:"A"` its JSON. */
function members(select: string): string {
  return translated(
    select
      .replaceAll(/\$1:"([^"]+)"::VARCHAR/g, (_, key: string) => `(d1->>'$."${key}"')`)
      .replaceAll(/\$1:"([^"]+)"/g, (_, key: string) => `(d1->'$."${key}"')`),
  );
}

const FIXED: Readonly<Record<string, number>> = {
  TINYINT: 3,
  SMALLINT: 5,
  INTEGER: 10,
  BIGINT: 18,
  HUGEINT: 38,
};

const INFO: Readonly<Record<string, Record<string, unknown>>> = {
  BOOLEAN: { type: 'boolean' },
  DOUBLE: { type: 'real' },
  FLOAT: { type: 'real' },
  VARCHAR: { type: 'text' },
  JSON: { type: 'variant' },
  BLOB: { type: 'binary' },
  DATE: { type: 'date' },
  TIME: { type: 'time', scale: 9 },
  TIMESTAMP: { type: 'timestamp_ntz', scale: 6 },
  TIMESTAMP_NS: { type: 'timestamp_ntz', scale: 9 },
  'TIMESTAMP WITH TIME ZONE': { type: 'timestamp_tz', scale: 9 },
};

function infoOf(type: DuckDBType | undefined): Record<string, unknown> {
  const name = type?.alias ?? type?.toString() ?? '';
  const [, precision, scale] = /^DECIMAL\((\d+),(\d+)\)$/.exec(name) ?? [];
  const about =
    precision === undefined
      ? (INFO[name] ?? { type: 'fixed', precision: FIXED[name] ?? 38, scale: 0 })
      : { type: 'fixed', precision: Number(precision), scale: Number(scale) };
  return { ...about, nullable: true };
}

const MICROS = 1_000_000n;

/** Seconds with nine digits behind the point. */
function seconds(nanos: bigint): string {
  const abs = nanos < 0n ? -nanos : nanos;
  const fraction = String(abs % 1_000_000_000n).padStart(9, '0');
  return `${nanos < 0n ? '-' : ''}${abs / 1_000_000_000n}.${fraction}`;
}

function cellOf(value: DuckDBValue): string | null {
  if (value === null) return null;
  if (value instanceof DuckDBBlobValue)
    return Buffer.from(value.bytes).toString('hex').toUpperCase();
  if (value instanceof DuckDBDateValue) return String(value.days);
  if (value instanceof DuckDBTimeValue) return seconds(value.micros * 1000n);
  if (value instanceof DuckDBTimestampTZValue) return `${seconds(value.micros * 1000n)} 1440`;
  if (value instanceof DuckDBTimestampNanosecondsValue) return seconds(value.nanos);
  if (value instanceof DuckDBTimestampValue)
    return seconds(value.micros * (1_000_000_000n / MICROS));
  if (value === Infinity || value === -Infinity) return value > 0 ? 'inf' : '-inf';
  return String(value);
}

const ERRORS: readonly (readonly [RegExp, string, string])[] = [
  [/does not exist|Catalog Error/i, '002003', '42S02'],
  [/Binder Error/i, '000904', '42000'],
  [/Parser Error/i, '001003', '42000'],
  [/division by zero|Divide/i, '100051', '22012'],
  [/Conversion Error|Out of Range|Constraint Error|Invalid Input/i, '100038', '22018'],
];

function refusalOf(error: unknown): Refusal {
  const message = error instanceof Error ? error.message : String(error);
  const [, code = '000603', state = 'XX000'] =
    ERRORS.find(([pattern]) => pattern.test(message)) ?? [];
  const text = code === '002003' ? `${message} does not exist or not authorized` : message;
  return new Refusal(code, state, text);
}
