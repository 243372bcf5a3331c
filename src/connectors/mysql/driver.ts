import type { Connection } from 'mysql2';
import { ConnectorError } from '../../lib/errors.ts';
import { askMysql } from '../../lib/sql/mysql.ts';
import { backticked } from '../../lib/sql/mysql-address.ts';
import { codesOf } from '../../lib/sql/mysql-errors.ts';
import type { SinkContext } from '../../kit/context.ts';
import type { SchemaChange } from '../../kit/sink.ts';
import type {
  LiveColumn,
  NewColumn,
  RowSet,
  SqlDriver,
  TableChange,
  TableSweep,
} from '../_sql/driver.ts';
import type { HeldScope } from '../../kit/execution.ts';
import type { WriteSession } from '../_sql/write-session.ts';
import { isFenced, type MysqlSinkConfig } from './config.ts';
import { columnLines, MYSQL_TYPES } from './write/column-types.ts';
import { encodersOf, valueSql } from './write/encode.ts';
import { fileOf, isNotAllowed, loadFile, type LoadedFile } from './write/load.ts';
import { planLoad } from './write/load-plan.ts';
import { replaceTable } from './write/overwrite.ts';
import { placeRefusal } from './write/refused-value.ts';
import { roundingOf } from './write/rounding.ts';
import {
  isMariadb,
  isTransactional,
  readColumns,
  tablesFrom,
  uniqueIndexes,
} from './write/schema.ts';
import { openSession, type Link } from './write/session.ts';
import { insertStatements, keyCondition, nameList, TWO_ROWS } from './write/statements.ts';
import {
  forgetToken,
  holdScope,
  lastToken,
  MAKE_TOKENS,
  storeToken,
  takeScope,
} from './write/tokens.ts';
import { requireUniqueKey } from './write/upsert-key.ts';

const NAMES = { ignoresCase: true };
/** From this many rows on LOAD DATA is faster than INSERT. */
const LOAD_FROM = 200;
/** Most characters of a statement; fewer where the server takes less. */
const STATEMENT_SIZE = 2 * 1024 * 1024;
/** Bytes of a letter, and of those around values. */
const LETTER = 4;

export async function openMysqlDriver(
  config: MysqlSinkConfig,
  context: SinkContext,
): Promise<SqlDriver> {
  const session = openSession(config, context.signal);
  try {
    const server = await session.run('connection failed', ({ connection }) =>
      aboutServer(connection, config, context),
    );
    return driverOf(config, context, { session, server });
  } catch (error) {
    await session.close();
    throw error;
  }
}

interface Server {
  readonly isMariadb: boolean;
  /** Most characters of one statement. */
  readonly size: number;
  /** Whether it takes streams; asked for once, and forgotten when it refuses one. */
  takesFiles: boolean;
}

async function aboutServer(
  connection: Connection,
  config: MysqlSinkConfig,
  context: SinkContext,
): Promise<Server> {
  const { rows } = await askMysql(connection, 'SELECT @@max_allowed_packet, @@local_infile');
  const [packet, files] = rows[0] ?? [];
  if (config.write_mode === 'upsert' && context.role !== 'dlq')
    await requireUniqueKey(connection, config);
  return {
    isMariadb: await isMariadb(connection),
    size: Math.min(STATEMENT_SIZE, Math.floor(Number(packet) / LETTER)),
    takesFiles: Number(files) === 1,
  };
}

interface Parts {
  readonly session: WriteSession<Link>;
  readonly server: Server;
}

function driverOf(config: MysqlSinkConfig, context: SinkContext, parts: Parts): SqlDriver {
  const { session, server } = parts;
  const log = context.env.log.at('headgate::sink::mysql');
  const about = new Map<string, TableFacts>();
  const factsOf = async (connection: Connection, table: string): Promise<TableFacts> => {
    const known = about.get(table);
    if (known !== undefined) return known;
    const facts = {
      isTransactional: await isTransactional(connection, table),
      unique: (await uniqueIndexes(connection, table)).length,
    };
    about.set(table, facts);
    return facts;
  };
  let hasTokens = false;
  const onRefused = (): void => {
    server.takesFiles = false;
    log.warn(
      'the server does not take LOAD DATA LOCAL (local_infile): rows go in INSERT statements',
      {
        table: config.table_name,
      },
    );
  };
  if (!server.takesFiles && config.write_method !== 'insert' && context.role === 'main')
    onRefused();
  // Making a table ends a transaction, so this comes before one.
  const makeTokens = async (): Promise<void> => {
    if (hasTokens) return;
    await session.run('making the table of the commit tokens', ({ connection }) =>
      askMysql(connection, MAKE_TOKENS),
    );
    hasTokens = true;
  };
  const columnsOf = (table: string): Promise<readonly LiveColumn[] | undefined> =>
    session.run(`reading the columns of \`${table}\``, ({ connection }) =>
      readColumns(connection, table),
    );
  const assertHeld = async (doing: string, held: HeldScope | undefined): Promise<void> => {
    if (held !== undefined)
      await session.transaction(doing, ({ connection }) => holdScope(connection, held));
  };
  const targets = new Map<string, readonly LiveColumn[]>();
  const targetOf = async (table: string): Promise<readonly LiveColumn[] | undefined> => {
    const known = targets.get(table) ?? (await columnsOf(table));
    if (known !== undefined) targets.set(table, known);
    return known;
  };
  return {
    names: NAMES,
    roundingOf,
    columns: columnsOf,
    createTable: (table, columns, { key }) =>
      session.run(`making the table \`${table}\``, ({ connection }) =>
        createTable(connection, table, { columns, key, isMariadb: server.isMariadb }),
      ),
    async apply(change) {
      if (change.commit !== undefined) await makeTokens();
      await session.transaction(`writing to \`${change.table}\``, async ({ connection }) => {
        const facts = await factsOf(connection, change.table);
        await applyChange(connection, change, { config, server, facts, onRefused });
      });
    },
    async pass(table, page, { commit }) {
      if (!takesLoads({ config, server }, page.count)) return undefined;
      const live = await targetOf(table);
      if (live === undefined) return undefined;
      const policy = config.on_rounding;
      const plan = planLoad(page, { live, rules: NAMES, policy });
      if (plan === undefined) return undefined;
      if (commit !== undefined) await makeTokens();
      const { encoders, pieces, unknown, rounded } = plan;
      const file = { encoders, pieces, count: page.count };
      return session.transaction(`writing to \`${table}\``, async ({ connection }) => {
        const facts = await factsOf(connection, table);
        if (!facts.isTransactional) return undefined;
        if (!(await isLoaded(connection, { table, file, target: { onRefused } }))) return undefined;
        if (commit !== undefined) await storeToken(connection, commit);
        return { unknown, rounded };
      });
    },
    sweep: (one) =>
      session.transaction(`removing rows of \`${one.table}\``, async ({ connection }) => {
        if (one.held !== undefined) await holdScope(connection, one.held);
        return sweep(connection, one);
      }),
    fenced: isFenced(config),
    async lastToken(scope, execution) {
      if (execution !== undefined) {
        await makeTokens();
        await session.transaction('taking over the commit token', ({ connection }) =>
          takeScope(connection, scope, execution),
        );
      }
      return session.run('reading the commit token', ({ connection }) =>
        lastToken(connection, scope),
      );
    },
    forgetToken: (scope) =>
      session.run('removing the commit token', ({ connection }) => forgetToken(connection, scope)),
    evolve: (table, change) => {
      targets.delete(table);
      return session.run(`changing the table \`${table}\``, ({ connection }) =>
        evolve(connection, { table, change, isMariadb: server.isMariadb }),
      );
    },
    tablesFrom: (prefix) =>
      session.run('looking for tables that other runs left', ({ connection }) =>
        tablesFrom(connection, prefix),
      ),
    stage: (table, staging) =>
      session.run(
        `staging \`${table}\``,
        async ({ connection }) =>
          void (await askMysql(
            connection,
            `CREATE TABLE ${backticked(staging)} LIKE ${backticked(table)}`,
          )),
      ),
    // No transaction undoes a RENAME, or lasts longer than it: the scope is looked at before, and
    // whoever takes it drops the staging table.
    async swap(table, staging, { held }) {
      const doing = `replacing \`${table}\``;
      await assertHeld(doing, held);
      await session.run(doing, ({ connection }) => replaceTable(connection, table, staging));
    },
    // Cleaning up continues after a stop.
    async drop(table, held) {
      const doing = `dropping \`${table}\``;
      await assertHeld(doing, held);
      await session.run(
        doing,
        async ({ connection }) =>
          void (await askMysql(connection, `DROP TABLE IF EXISTS ${backticked(table)}`)),
        { always: true },
      );
    },
    close: () => session.close(),
  };
}

interface TableFacts {
  /** Whether a page can be undone. */
  readonly isTransactional: boolean;
  /** How many unique indexes it has. */
  readonly unique: number;
}

async function createTable(
  connection: Connection,
  table: string,
  made: {
    readonly columns: readonly NewColumn[];
    readonly key: readonly string[];
    readonly isMariadb: boolean;
  },
): Promise<void> {
  const lines = columnLines(made.columns, made);
  if (made.key.length > 0) lines.push(`PRIMARY KEY (${nameList(made.key)})`);
  await askMysql(
    connection,
    `CREATE TABLE IF NOT EXISTS ${backticked(table)} (${lines.join(', ')}) DEFAULT CHARACTER SET utf8mb4`,
  );
}

interface Target {
  readonly config: MysqlSinkConfig;
  readonly server: Server;
  readonly facts: TableFacts;
  readonly onRefused: () => void;
}

async function applyChange(
  connection: Connection,
  change: TableChange,
  target: Target,
): Promise<void> {
  if (change.deletesBefore !== undefined)
    await deleteRows(connection, { ...change, deletes: change.deletesBefore }, target);
  for (const set of change.writes) {
    if (loads(change, set, target) && (await load(connection, { change, set, target }))) continue;
    await insert(connection, { change, set, target });
  }
  if (change.deletes.length > 0) await deleteRows(connection, change, target);
  if (change.commit !== undefined) await storeToken(connection, change.commit);
}

function loads({ mode }: TableChange, { rows }: RowSet, target: Target): boolean {
  // What the server took with a warning must be undone.
  if (mode !== 'insert' || !target.facts.isTransactional) return false;
  return takesLoads(target, rows.length);
}

function takesLoads({ config, server }: Pick<Target, 'config' | 'server'>, rows: number): boolean {
  const { write_method: method } = config;
  return server.takesFiles && (method === 'load' || (method === 'auto' && rows >= LOAD_FROM));
}

interface Writing {
  readonly change: TableChange;
  readonly set: RowSet;
  readonly target: Target;
}

/** Whether the rows are written; otherwise nothing has changed, and INSERT tells what is wrong. */
async function load(connection: Connection, { change, set, target }: Writing): Promise<boolean> {
  const { table, schema, finished } = change;
  const encoders = encodersOf(set.columns, schema, finished);
  return isLoaded(connection, { table, file: fileOf({ rows: set.rows, encoders }), target });
}

interface Loading {
  readonly table: string;
  readonly file: LoadedFile;
  readonly target: Pick<Target, 'onRefused'>;
}

async function isLoaded(
  connection: Connection,
  { table, file, target }: Loading,
): Promise<boolean> {
  await askMysql(connection, 'SAVEPOINT svc_page');
  try {
    if (await loadFile(connection, table, file)) return true;
  } catch (error) {
    if (isNotAllowed(error)) target.onRefused();
    // A value that no column takes: the statements name its record.
    else if (!(error instanceof ConnectorError)) throw error;
  }
  await askMysql(connection, 'ROLLBACK TO SAVEPOINT svc_page');
  return false;
}

async function insert(
  connection: Connection,
  { change, set, target: { config, server, facts } }: Writing,
): Promise<void> {
  const { table, mode, key, schema, finished } = change;
  const statements = insertStatements(
    {
      table,
      encoders: encodersOf(set.columns, schema, finished),
      mode,
      key: key.map(({ name }) => name),
      hasOtherKeys: facts.unique > 1,
    },
    set.rows,
    { rows: config.batch_size === 0 ? Infinity : config.batch_size, size: server.size },
  );
  for (const { sql, from } of statements)
    await askMysql(connection, sql).catch((error: unknown) => {
      if (codesOf(error).number === TWO_ROWS) throw otherRow(change, error);
      throw placeRefusal(error, set, from);
    });
}

function otherRow({ table, key }: TableChange, cause: unknown): ConnectorError {
  const names = key.map(({ name }) => name).join(', ');
  return new ConnectorError(
    'data',
    `a record has the values of a unique index of \`${table}\` that another row has, whose (${names}) is different`,
    { hint: 'write such records with the key of that index, or correct the values', cause },
  );
}

async function deleteRows(
  connection: Connection,
  { table, key, deletes, schema }: TableChange,
  { config }: Target,
): Promise<void> {
  const encoders = encodersOf(key, schema);
  const size = config.batch_size === 0 ? deletes.length : config.batch_size;
  for (let from = 0; from < deletes.length; from += size) {
    const keys = deletes.slice(from, from + size);
    await askMysql(
      connection,
      `DELETE FROM ${backticked(table)} WHERE ${keyCondition(encoders, keys)}`,
    );
  }
}

const SWEEP_KEYS = 'svc_cleanup_keys';
const SWEEP_CHUNK = { rows: 1000, size: 512 * 1024 };

/** The keys go into a table with the columns of the key, so that they are compared as the rows are. */
async function sweep(
  connection: Connection,
  { table, scope, key, keys }: TableSweep,
): Promise<number> {
  const names = key.map(({ name }) => name);
  const inside = scope.map(({ column, value }) => {
    const [encoder] = encodersOf([column], undefined);
    return `t.${backticked(column.name)} <=> ${encoder === undefined ? 'NULL' : valueSql(encoder, value)}`;
  });
  await askMysql(connection, `DROP TEMPORARY TABLE IF EXISTS ${SWEEP_KEYS}`);
  await askMysql(
    connection,
    `CREATE TEMPORARY TABLE ${SWEEP_KEYS} (PRIMARY KEY (${nameList(names)})) SELECT ${nameList(names)} FROM ${backticked(table)} LIMIT 0`,
  );
  const statements = insertStatements(
    {
      table: SWEEP_KEYS,
      encoders: encodersOf(key, undefined),
      mode: 'upsert',
      key: names,
      hasOtherKeys: false,
    },
    keys,
    SWEEP_CHUNK,
  );
  for (const { sql } of statements) await askMysql(connection, sql);
  const same = names.map((name) => `s.${backticked(name)} = t.${backticked(name)}`);
  const { changed } = await askMysql(
    connection,
    `DELETE t FROM ${backticked(table)} AS t LEFT JOIN ${SWEEP_KEYS} AS s ON ${same.join(' AND ')}
     WHERE ${[...inside, `s.${backticked(names[0] ?? '')} IS NULL`].join(' AND ')}`,
  );
  await askMysql(connection, `DROP TEMPORARY TABLE ${SWEEP_KEYS}`);
  return changed;
}

async function evolve(
  connection: Connection,
  {
    table,
    change,
    isMariadb: mariadb,
  }: {
    readonly table: string;
    readonly change: SchemaChange;
    readonly isMariadb: boolean;
  },
): Promise<void> {
  const live = new Map((await readColumns(connection, table))?.map((one) => [one.name, one]));
  const present = new Set([...live.keys()].map((name) => name.toLowerCase()));
  const added = change.add.filter(({ name }) => !present.has(name.toLowerCase()));
  const changed = new Map<string, { type: string; isNullable: boolean; rest: string }>();
  const now = (name: string) => {
    const column = live.get(name);
    const known = { type: column?.sqlType ?? '', isNullable: column?.nullable ?? true };
    return changed.get(name) ?? { ...known, rest: column?.rest ?? '' };
  };
  // A number has no character set.
  for (const { name, type } of change.widen)
    changed.set(name, { ...now(name), type: MYSQL_TYPES[type], rest: '' });
  for (const name of change.relaxNull) changed.set(name, { ...now(name), isNullable: true });
  const actions = [
    ...columnLines(added, { key: [], isMariadb: mariadb }).map((line) => `ADD COLUMN ${line}`),
    ...[...changed].map(
      ([name, { type, isNullable, rest }]) =>
        `MODIFY COLUMN ${backticked(name)} ${type} ${rest} ${isNullable ? 'NULL' : 'NOT NULL'}`,
    ),
  ];
  if (actions.length > 0)
    await askMysql(connection, `ALTER TABLE ${backticked(table)} ${actions.join(', ')}`);
}
