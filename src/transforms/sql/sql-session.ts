/**
 * One embedded engine for one invocation: loads the relations, closes all other access to files and
 * network, and runs pages through the query.
 */
import {
  duckdbRecords,
  firstLine,
  interruptible,
  openDuckdb,
  prepareDuckdb,
  quoteText,
  type Duckdb,
} from '../../lib/sql/duckdb.ts';
import { ConfigError, ConnectorError, messageOf, RecordError } from '../../lib/errors.ts';
import type { Env } from '../../lib/env.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { learnShapes, type Shape } from './sql-shapes.ts';
import { fillRecords, loadRelation, reloadRelation, type LoadedRelation } from './sql-relations.ts';
import { inspectStatement } from './sql-statement.ts';
import { BATCH, type SqlConfig } from './sql-config.ts';

const DEFAULT_MEMORY = '512MB';

export class SqlSession {
  readonly #config: SqlConfig;
  readonly #env: Env;
  readonly #database: Duckdb;
  readonly #relations: readonly LoadedRelation[];
  readonly #aggregates: boolean;
  /**
   * The fields of all pages so far: where a page lacks one, it is null there and keeps its type.
   */
  #shapes: ReadonlyMap<string, Shape> = new Map();
  #pages = 0;

  private constructor(
    config: SqlConfig,
    env: Env,
    opened: { database: Duckdb; relations: LoadedRelation[]; aggregates: boolean },
  ) {
    this.#config = config;
    this.#env = env;
    this.#database = opened.database;
    this.#relations = opened.relations;
    this.#aggregates = opened.aggregates;
  }

  /** Throws `ConfigError` when the statement or a relation cannot work. */
  static async open(config: SqlConfig, env: Env): Promise<SqlSession> {
    const database = await openEngine(config);
    try {
      const aggregates = await checkStatement(database, config);
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
      return new SqlSession(config, env, { database, relations, aggregates });
    } catch (error) {
      database.close();
      throw error;
    }
  }

  async apply(records: readonly JsonValue[], signal: AbortSignal): Promise<readonly JsonValue[]> {
    if (records.length === 0) return records;
    try {
      return await interruptible(this.#database.connection, signal, async () => {
        await this.#reload();
        await this.#take(objectsOf(records));
        return this.#query();
      });
    } catch (error) {
      if (error === signal.reason || error instanceof RecordError) throw error;
      throw new RecordError('Transform', `sql: ${reasonOf(error)}`, { cause: error });
    }
  }

  close(): Promise<void> {
    this.#database.close();
    return Promise.resolve();
  }

  async #reload(): Promise<void> {
    this.#pages += 1;
    if (this.#pages === 2 && this.#aggregates) {
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

  async #take(records: readonly JsonObject[]): Promise<void> {
    this.#shapes = learnShapes(this.#shapes, records);
    if (this.#shapes.size === 0)
      throw new RecordError('Transform', 'sql: no record of the page has a field');
    const selection = await fillRecords(this.#database.connection, {
      into: 'svc_page',
      records,
      shapes: this.#shapes,
    });
    await this.#database.connection.run(`CREATE OR REPLACE TEMP VIEW ${BATCH} AS ${selection}`);
  }

  async #query(): Promise<JsonObject[]> {
    const { connection } = this.#database;
    const statement = await prepareDuckdb(connection, this.#config.query);
    const names = Array.from({ length: statement.columnCount }, (_, index) =>
      statement.columnName(index),
    );
    const same = names.find((name, index) => names.indexOf(name) < index);
    if (same !== undefined) {
      throw new RecordError(
        'Transform',
        `sql: the query gives two columns called ${JSON.stringify(same)}`,
        {
          hint: 'name one of them otherwise with `AS`',
        },
      );
    }
    const out: JsonObject[] = [];
    for await (const records of duckdbRecords(connection, await statement.stream()))
      out.push(...records);
    return out;
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

/** Whether the statement aggregates. */
async function checkStatement(
  { connection }: Duckdb,
  { query, relations }: SqlConfig,
): Promise<boolean> {
  const info = await inspectStatement(connection, query);
  if ('fault' in info) return refuse('query', `the query cannot be run: ${info.fault}`);
  const known = [BATCH, ...relations.map(({ name }) => name)];
  const stranger = info.tables.find(
    (table) => !known.some((name) => name.toLowerCase() === table.toLowerCase()),
  );
  if (stranger === undefined) return info.aggregates;
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
  await connection.run(`SET allowed_paths = [${paths.join(', ')}]`);
  await connection.run('SET enable_external_access = false');
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
