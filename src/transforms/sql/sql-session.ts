/**
 * One embedded engine for one invocation: loads the relations, closes all other access to files and
 * network, and runs pages through the query.
 */
import {
  duckdbRecords,
  interruptible,
  openDuckdb,
  prepareDuckdb,
  quoteText,
  readsAnyFile,
  type Duckdb,
  type DuckdbStatement,
} from '../../lib/sql/duckdb.ts';
import { firstLine } from '../../lib/sql/duckdb-errors.ts';
import { ConfigError, ConnectorError, messageOf, RecordError } from '../../lib/errors.ts';
import type { Env } from '../../lib/env.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { learnShapes, type Shape } from './sql-shapes.ts';
import { fillRecords, loadRelation, reloadRelation, type LoadedRelation } from './sql-relations.ts';
import { inspectStatement, type StatementInfo } from './sql-statement.ts';
import { BATCH, type SqlConfig } from './sql-config.ts';
import { CarriedValues, NumberedFields, rememberedFields } from './sql-carried.ts';
import type { Layout } from './sql-description.ts';
import { describeQuery, type DescribedQuery } from './sql-types.ts';
import { duckdbField, DUCKDB_SYSTEM } from '../../kit/duckdb-types.ts';
import { fieldOf, UNKNOWN_SCHEMA, type RecordSchema } from '../../kit/record-schema.ts';

const DEFAULT_MEMORY = '512MB';
const NONE: ReadonlySet<string> = new Set();

export class SqlSession {
  readonly #config: SqlConfig;
  readonly #env: Env;
  readonly #database: Duckdb;
  readonly #relations: readonly LoadedRelation[];
  readonly #statement: CheckedStatement;
  /** What was last described, and for which input. */
  #described: { readonly input: RecordSchema; readonly query: DescribedQuery } | undefined;
  /** The layout of the pages so far. */
  #layout: Layout | undefined;
  /**
   * The fields of all pages so far: where a page lacks one, it is null there and keeps its type.
   */
  #shapes: ReadonlyMap<string, Shape> = new Map();
  #pages = 0;

  private constructor(
    config: SqlConfig,
    env: Env,
    opened: { database: Duckdb; relations: LoadedRelation[]; statement: CheckedStatement },
  ) {
    this.#config = config;
    this.#env = env;
    this.#database = opened.database;
    this.#relations = opened.relations;
    this.#statement = opened.statement;
  }

  /** Throws `ConfigError` when the statement or a relation cannot work. */
  static async open(config: SqlConfig, env: Env): Promise<SqlSession> {
    const database = await openEngine(config);
    try {
      const statement = await checkStatement(database, config);
      const relations: LoadedRelation[] = [];
      for (const [index, relation] of config.relations.entries()) {
        const loading = loadRelation(database.connection, relation, env.cwd);
        relations.push(
          await loading.catch((error: unknown) =>
            refuse(
              `relations[${index}]`,
              `the relation \`${relation.name}\` cannot be loaded: ${reasonOf(error)}`,
              error,
            ),
          ),
        );
      }
      await shut(database, relations);
      return new SqlSession(config, env, { database, relations, statement });
    } catch (error) {
      database.close();
      throw error;
    }
  }

  async schemaAfter(input: RecordSchema): Promise<RecordSchema> {
    return (await this.#describe(input)).schema;
  }

  async apply(
    records: readonly JsonValue[],
    signal: AbortSignal,
    schema = UNKNOWN_SCHEMA,
  ): Promise<readonly JsonValue[]> {
    if (records.length === 0) return records;
    try {
      return await interruptible(this.#database.connection, signal, async () => {
        await this.#reload();
        const described = await this.#describe(schema);
        const [only, ...others] = described.layouts;
        const carried = new CarriedValues(others.length === 0 ? (only?.carried ?? NONE) : NONE);
        const objects = objectsOf(records);
        const numbered = new NumberedFields(this.#remembered(objects, schema));
        await this.#take({ records: carried.take(objects), numbered }, described.layouts);
        const { found, marks } = await this.#query(described);
        return carried.giveBack(numbered.giveBack(found, marks), described.handedOn);
      });
    } catch (error) {
      if (error === signal.reason || error instanceof RecordError) throw error;
      throw new RecordError('Transform', `sql: ${reasonOf(error)}`, { cause: error });
    }
  }

  /** What the engine would change although the query only hands it on. */
  #remembered(records: readonly JsonObject[], schema: RecordSchema): ReadonlySet<string> {
    if (schema.others !== true || this.#statement.compares) return NONE;
    return rememberedFields(
      records,
      (name) => !this.#statement.worksOn(name) && fieldOf(schema, name) === undefined,
    );
  }

  close(): Promise<void> {
    this.#database.close();
    return Promise.resolve();
  }

  async #reload(): Promise<void> {
    this.#pages += 1;
    if (this.#pages === 2 && this.#statement.aggregates) {
      this.#env.log.warn(
        'the query of `sql` aggregates, and sees one page at a time: there is one result for each page',
        {
          hint: '`batch_size: 0` on the source makes one page of everything',
        },
      );
    }
    for (const loaded of this.#relations)
      if (loaded.relation.reload_on_change) await reloadRelation(this.#database.connection, loaded);
  }

  async #describe(input: RecordSchema): Promise<DescribedQuery> {
    if (this.#described?.input === input) return this.#described.query;
    const { connection } = this.#database;
    const { worksOn, ...statement } = this.#statement;
    const query = await describeQuery(
      connection,
      { ...statement, query: this.#config.query, handedOn: (name) => !worksOn(name) },
      input,
    );
    this.#described = { input, query };
    this.#layout = undefined;
    return query;
  }

  /** Where only records can tell which layout the query accepts, the first page decides. */
  async #take(page: PageOfQuery, layouts: readonly Layout[]): Promise<void> {
    if (this.#layout !== undefined) return this.#fill(page, this.#layout);
    for (const [index, layout] of layouts.entries()) {
      this.#shapes = new Map([...layout.start, ...this.#learnedShapes(layout)]);
      await this.#fill(page, layout);
      if (index === layouts.length - 1 || (await this.#isAccepted())) {
        this.#layout = layout;
        if (layout.asTexts.length > 0) this.#warnOf(layout.asTexts);
        return;
      }
    }
  }

  /** Of pages with another schema. */
  #learnedShapes({ typed }: Layout): [string, Shape][] {
    return [...this.#shapes].filter(([name, { is }]) => is !== 'typed' && !typed.has(name));
  }

  async #isAccepted(): Promise<boolean> {
    try {
      await prepareDuckdb(this.#database.connection, this.#config.query);
      return true;
    } catch {
      return false;
    }
  }

  #warnOf(fields: readonly string[]): void {
    this.#env.log.warn('the query of `sql` takes fields for texts that are of other types', {
      fields: fields.join(', '),
      hint: 'convert them in the query, such as `CAST(paid_at AS VARCHAR)`, and the others keep their types',
    });
  }

  async #fill({ records, numbered }: PageOfQuery, { typed }: Layout): Promise<void> {
    this.#shapes = learnShapes(this.#shapes, records, typed);
    if (this.#shapes.size === 0)
      throw new RecordError('Transform', 'sql: no record of the page has a field');
    const selection = await fillRecords(this.#database.connection, {
      into: 'svc_page',
      records: numbered.take(records),
      shapes: new Map([...this.#shapes, ...numbered.shapes]),
    });
    await this.#database.connection.run(`CREATE OR REPLACE TEMP VIEW ${BATCH} AS ${selection}`);
  }

  async #query(described: DescribedQuery): Promise<QueryResult> {
    const { connection } = this.#database;
    const statement = await prepareDuckdb(connection, this.#config.query);
    checkColumns(statement, described);
    const out: JsonObject[] = [];
    const exact = (name: string): boolean => fieldOf(described.schema, name) !== undefined;
    for await (const records of duckdbRecords(connection, await statement.stream(), { exact }))
      out.push(...records);
    return { found: out, marks: marksOf(statement) };
  }
}

interface PageOfQuery {
  readonly records: readonly JsonObject[];
  readonly numbered: NumberedFields;
}

interface QueryResult {
  readonly found: JsonObject[];
  /** Columns that are structures of one field, with the name of that. */
  readonly marks: ReadonlyMap<string, string>;
}

function marksOf(statement: DuckdbStatement): ReadonlyMap<string, string> {
  const marks = new Map<string, string>();
  for (let index = 0; index < statement.columnCount; index += 1) {
    const { type } = duckdbField(statement.columnName(index), statement.columnType(index));
    const [only, ...others] = type.kind === 'struct' ? type.fields : [];
    if (only !== undefined && others.length === 0)
      marks.set(statement.columnName(index), only.name);
  }
  return marks;
}

function checkColumns(statement: DuckdbStatement, { schema, handedOn }: DescribedQuery): void {
  const names = Array.from({ length: statement.columnCount }, (_, index) =>
    statement.columnName(index),
  );
  const same = names.find((name, index) => names.indexOf(name) < index);
  if (same !== undefined)
    throw new RecordError(
      'Transform',
      `sql: the query gives two columns called ${JSON.stringify(same)}`,
      { hint: 'name one of them otherwise with `AS`' },
    );
  for (const [index, name] of names.entries()) {
    const said = fieldOf(schema, name)?.native;
    const found = duckdbField(name, statement.columnType(index)).native?.name;
    if (said?.system === DUCKDB_SYSTEM && !handedOn.has(name) && found !== said.name)
      throw new RecordError(
        'Transform',
        `sql: the column ${JSON.stringify(name)} is ${found} for this page, and was ${said.name} before`,
        { hint: `give it one type: \`CAST(… AS ${said.name}) AS ${name}\`` },
      );
  }
}

async function openEngine({ threads, memory_limit: memory }: SqlConfig): Promise<Duckdb> {
  try {
    return await openDuckdb(':memory:', {
      threads: String(threads),
      memory_limit: memory ?? DEFAULT_MEMORY,
      temp_directory: '',
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
    });
  } catch (error) {
    const hint = error instanceof ConnectorError ? error.hint : undefined;
    throw new ConfigError(
      [
        {
          code: 'invalid_value',
          path: 'sql',
          message: reasonOf(error),
          ...(hint === undefined ? {} : { hint }),
        },
      ],
      {
        cause: error,
      },
    );
  }
}

type CheckedStatement = Exclude<StatementInfo, { readonly fault: string }>;

async function checkStatement(
  { connection }: Duckdb,
  { query, relations }: SqlConfig,
): Promise<CheckedStatement> {
  const info = await inspectStatement(connection, query);
  if ('fault' in info) return refuse('query', `the query cannot be run: ${info.fault}`);
  const known = [BATCH, ...relations.map(({ name }) => name)];
  const stranger = info.tables.find(
    (table) => !known.some((name) => name.toLowerCase() === table.toLowerCase()),
  );
  if (stranger === undefined) return info;
  return refuse(
    'query',
    `the query reads ${JSON.stringify(stranger)}, which is no relation; there are: ${known.join(', ')}`,
  );
}

/**
 * From here on the engine can read only the files of relations that may change; this cannot be
 * undone.
 */
async function shut({ connection }: Duckdb, relations: readonly LoadedRelation[]): Promise<void> {
  const paths = relations.flatMap(({ relation, path }) =>
    relation.reload_on_change && path !== undefined ? [quoteText(path)] : [],
  );
  // A server that was given a folder for files has shut the engine already, but for that folder.
  if (await readsAnyFile(connection)) {
    await connection.run(`SET allowed_paths = [${paths.join(', ')}]`);
    await connection.run('SET enable_external_access = false');
  }
  await connection.run('SET lock_configuration = true');
}

function objectsOf(records: readonly JsonValue[]): readonly JsonObject[] {
  for (const record of records)
    if (!isObject(record))
      throw new RecordError('Transform', 'sql: a record is not an object and cannot be a row');
  return records as readonly JsonObject[];
}

function reasonOf(error: unknown): string {
  return firstLine(messageOf(error));
}

function refuse(path: string, message: string, cause?: unknown): never {
  throw new ConfigError([{ code: 'invalid_value', path: `sql.${path}`, message }], { cause });
}
