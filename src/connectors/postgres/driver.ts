import type { ClientBase, Pool } from 'pg';
import { closedInTime } from '../../lib/closed-in-time.ts';
import { momentAfter } from '../../lib/moment-after.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { inPostgresTransaction, withClient } from '../../lib/sql/postgres.ts';
import { quoteName, quoteNames } from '../../lib/sql/sql-name.ts';
import type { SinkContext } from '../../kit/context.ts';
import type { HeldScope } from '../../kit/execution.ts';
import type { Page } from '../../kit/page.ts';
import type { SchemaChange } from '../../kit/sink.ts';
import {
  TOKEN_TABLE,
  type LiveColumn,
  type NewColumn,
  type RowSet,
  type SqlDriver,
  type TableChange,
  type TableSweep,
} from '../_sql/driver.ts';
import { ROLLBACK_LOG_TABLE } from '../_sql/rollback-log.ts';
import { refuseNames } from '../_sql/column-names.ts';
import { schemaColumns } from '../_sql/infer-columns.ts';
import { keysOf } from '../_sql/row-sets.ts';
import { partName } from '../_sql/table-names.ts';
import { typedColumns } from '../_sql/typed-columns.ts';
import { planCopy, sendCopy } from './write/copy-plan.ts';
import { newPageBuffer } from '../../fast/copy-text/copy-cells.ts';
import type { PostgresSinkConfig } from './config.ts';
import { columnRounding } from '../_postgres/narrow-columns.ts';
import { copyLines, encoderOf, finishedText, type Encoder } from '../_postgres/encode.ts';
import { rollbackDialect, ROLLBACK_LOG_LINES, logKeys, sweepAndLog } from './write/rollback-log.ts';
import { replaceRows } from './write/overwrite.ts';
import { columnLines, POSTGRES_TYPES } from './write/column-types.ts';
import {
  NAMES,
  readColumns,
  readCopyTarget,
  refuseConfiguredNames,
  tablesFrom,
  type CopyTarget,
} from './write/schema.ts';
import {
  arrivalTable,
  deleteFrom,
  deleteVanished,
  fromArrays,
  insertInto,
} from './write/statements.ts';
import { endEarlierExecutions, openExecutionPool } from './write/executions.ts';
import { forgetToken, holdScope, lastToken, storeToken, takeScope } from './write/tokens.ts';
import { logReplaced, rollbackSession } from './write/rollback.ts';
import { WriteTransaction, type Transaction } from './write/write-transaction.ts';
import { missingIndex } from './write/missing-index.ts';
import { hideStoredRow, placeArrival, placeCopied, placeRefusal } from './write/refused-value.ts';

const TOKEN_COLUMNS = [
  'scope text PRIMARY KEY',
  'token text NOT NULL',
  'updated_at timestamptz NOT NULL',
];

export async function openPostgresDriver(
  config: PostgresSinkConfig,
  context: SinkContext,
): Promise<SqlDriver> {
  refuseConfiguredNames(config);
  const pool = await openExecutionPool(config, context);
  const qualified = (table: string): string =>
    (config.schema === undefined ? '' : `${quoteName(config.schema)}.`) + quoteName(table);
  const buffer = newPageBuffer();
  const writes = new WriteTransaction(pool, context.signal);
  /** Runs in its own transaction, or in the open one when it needs rows or tables changed there. */
  const run = <T>(doing: string, work: (client: ClientBase) => Promise<T>): Promise<T> =>
    writes.isOpen
      ? writes.work(doing, { hold: true }, async (open) => work(await open.client()))
      : withClient(pool, { doing, signal: context.signal }, work);

  let tokensMade = false;
  /** Created before the transaction that stores tokens in it. */
  const makeTokens = async (): Promise<void> => {
    if (tokensMade) return;
    await withClient(
      pool,
      { doing: 'making the table of the commit tokens', signal: context.signal },
      (client) => makeTable(client, qualified(TOKEN_TABLE), TOKEN_COLUMNS),
    );
    tokensMade = true;
  };
  const targets = new Map<string, CopyTarget | undefined>();
  const copyTarget = async (client: ClientBase, table: string): Promise<CopyTarget | undefined> => {
    // A table that does not exist yet may exist for the next page.
    if (targets.get(table) === undefined)
      targets.set(table, await readCopyTarget(client, qualified(table)));
    return targets.get(table);
  };
  const create = async (
    client: ClientBase,
    name: string,
    { columns, key }: { columns: readonly NewColumn[]; key: readonly string[] },
  ): Promise<void> => {
    refuseNames(
      columns.map((column) => column.name),
      NAMES,
    );
    const lines = await columnLines(client, columns);
    if (key.length > 0) lines.push(`PRIMARY KEY (${quoteNames(key)})`);
    await makeTable(client, qualified(name), lines);
  };
  /** Creates a missing table for a page whose fields are all known. */
  const makeTyped = async (name: string, page: Page, key: readonly string[]): Promise<void> => {
    const { schema } = page;
    if (schema === undefined || schema.others === true || schema.fields.length === 0) return;
    const columns = schemaColumns(schema);
    await withClient(
      pool,
      { doing: `making the table \`${name}\``, signal: context.signal },
      async (client) => {
        if ((await readColumns(client, qualified(name))) === undefined)
          await create(client, name, { columns, key });
      },
    );
  };
  const inHeldTransaction = <T>(
    client: ClientBase,
    held: HeldScope | undefined,
    work: () => Promise<T>,
  ): Promise<T> =>
    inPostgresTransaction(client, async () => {
      if (held !== undefined) await holdScope(client, qualified(TOKEN_TABLE), held);
      return work();
    });
  await checkConnection(pool, context.signal);
  await endEarlierExecutions(pool, context);
  return {
    names: NAMES,
    roundingOf: columnRounding,
    columns: (table) =>
      run(`reading the columns of \`${table}\``, (client) => readColumns(client, qualified(table))),
    createTable: (table, columns, { key }) =>
      run(`making the table \`${table}\``, (client) => create(client, table, { columns, key })),
    async apply(change) {
      const table = qualified(change.table);
      if (change.commit !== undefined || change.hold === 'token') await makeTokens();
      const copyable =
        (await run('reading the table', (client) => copyTarget(client, change.table))) !==
        undefined;
      const target = {
        ...config,
        table,
        tokens: qualified(TOKEN_TABLE),
        logTable: qualified(ROLLBACK_LOG_TABLE),
        copyable,
      };
      const keys = change.key.map((column) => column.name);
      await writes.work(
        `writing to \`${change.table}\``,
        { hold: change.hold !== undefined },
        (transaction) =>
          apply(transaction, change, target).catch((error: unknown) => {
            const known = missingIndex(error, table, keys);
            throw known ?? (change.mode === 'upsert' ? hideStoredRow(error) : error);
          }),
      );
    },
    async pass(name, page, { key, commit, hold, refusesRounding }) {
      const table = qualified(name);
      const json = config.column_mapping.kind === 'json' ? config.column_mapping.column : undefined;
      if (json === undefined && config.create_table && targets.get(name) === undefined)
        await makeTyped(name, page, key);
      const target =
        targets.get(name) ?? (await run('reading the table', (client) => copyTarget(client, name)));
      const plan = target === undefined ? undefined : planCopy(page, target, { key, json, buffer });
      if (plan === undefined || (refusesRounding && plan.rounded.size > 0)) return undefined;
      if (commit !== undefined || hold === 'token') await makeTokens();
      await writes.work(
        `writing to \`${name}\``,
        { hold: hold !== undefined },
        async (transaction) => {
          try {
            await sendCopy(transaction, plan, { table, key, rows: page.count });
            if (commit !== undefined)
              await storeToken(await transaction.client(), qualified(TOKEN_TABLE), commit);
          } catch (error) {
            const known = missingIndex(error, table, key);
            throw known ?? (key.length > 0 ? hideStoredRow(error) : error);
          }
        },
      );
      return { unknown: plan.unknown, rounded: plan.rounded };
    },
    settle: () => writes.commit(),
    sweep: (one) =>
      run(`removing rows of \`${one.table}\``, (client) =>
        inHeldTransaction(client, one.held, () =>
          sweep(
            client,
            { table: qualified(one.table), logTable: qualified(ROLLBACK_LOG_TABLE) },
            one,
          ),
        ),
      ),
    async lastToken(scope, execution) {
      if (execution !== undefined) {
        await makeTokens();
        await withClient(
          pool,
          { doing: 'taking over the commit token', signal: context.signal },
          (client) => takeScope(client, qualified(TOKEN_TABLE), { scope, execution }),
        );
      }
      return run('reading the commit token', (client) =>
        lastToken(client, qualified(TOKEN_TABLE), scope),
      );
    },
    forgetToken: (scope) =>
      run('removing the commit token', (client) =>
        forgetToken(client, qualified(TOKEN_TABLE), scope),
      ),
    evolve: (table, change) =>
      run(`changing the table \`${table}\``, (client) => {
        targets.delete(table);
        return evolve(client, qualified(table), change);
      }),
    ...(config.scope === undefined
      ? {}
      : { part: partName(stringifyJson({ ...config.scope.window })) }),
    tablesFrom: (prefix) =>
      run('looking for tables that other runs left', (client) =>
        tablesFrom(client, prefix, config.schema),
      ),
    stage: (table, staging) =>
      run(`staging \`${table}\``, async (client) => {
        const parts =
          'INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING IDENTITY INCLUDING CONSTRAINTS';
        await client.query(
          `CREATE TABLE ${qualified(staging)} (LIKE ${qualified(table)} ${parts})`,
        );
      }),
    fenced: true,
    swap: (table, staging, { loggedFor: runId, held }) =>
      run(`replacing \`${table}\``, (client) =>
        inHeldTransaction(client, held, async () => {
          // Parts of one table may be replaced at the same time, but the previous rows of all of
          // them are stored in one place.
          await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [
            `headgate replace ${qualified(table)}`,
          ]);
          const replacement = {
            table: qualified(table),
            name: table,
            staging: qualified(staging),
            window: config.scope?.window,
          };
          if (runId !== undefined) await logReplaced(client, replacement, { runId, qualified });
          await replaceRows(client, replacement);
        }),
      ),
    rollback: {
      dialect: rollbackDialect(qualified),
      createRollbackLog: () =>
        run('making the rollback log', (client) =>
          makeTable(client, qualified(ROLLBACK_LOG_TABLE), ROLLBACK_LOG_LINES),
        ),
      atOnce: ({ table, held }, work) =>
        run(`rolling back a run of \`${table}\``, (client) =>
          inHeldTransaction(client, held, async () => {
            await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [
              `headgate undo ${qualified(table)}`,
            ]);
            return work(rollbackSession(client, qualified));
          }),
        ),
    },
    // Cleaning up continues after a stop.
    drop: (table, held) =>
      withClient(
        pool,
        { doing: `dropping \`${table}\``, signal: momentAfter(context.signal) },
        (client) =>
          inHeldTransaction(
            client,
            held,
            async () => void (await client.query(`DROP TABLE IF EXISTS ${qualified(table)}`)),
          ),
      ),
    async close() {
      await writes.close();
      await closedInTime(() => pool.end());
    },
  };
}

/** Finds a wrong address or password when the row starts, before its first page. */
async function checkConnection(pool: Pool, signal: AbortSignal): Promise<void> {
  try {
    await withClient(pool, { doing: 'connection failed', signal }, (client) =>
      client.query('SELECT 1'),
    );
  } catch (error) {
    await closedInTime(() => pool.end());
    throw error;
  }
}

/** Two writers may create the same table at once; with the lock the second one finds it. */
async function makeTable(
  client: ClientBase,
  table: string,
  lines: readonly string[],
): Promise<void> {
  await inPostgresTransaction(client, async () => {
    await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`headgate table ${table}`]);
    await client.query(`CREATE TABLE IF NOT EXISTS ${table} (${lines.join(', ')})`);
  });
}

interface Target {
  readonly table: string;
  readonly tokens: string;
  readonly logTable: string;
  readonly write_method: 'auto' | 'insert' | 'copy';
  readonly batch_size: number;
  /** Whether COPY has the same effect on the table as INSERT. */
  readonly copyable: boolean;
}

/**
 * From this many records on COPY is faster than INSERT: directly into the table, and through a
 * temporary table.
 */
const COPY_FROM = { insert: 500, upsert: 4000 } as const;

async function apply(transaction: Transaction, change: TableChange, target: Target): Promise<void> {
  if (change.loggedFor !== undefined)
    await logChanged(transaction, change, target, change.loggedFor);
  const { deletesBefore } = change;
  if (deletesBefore !== undefined)
    await deleteRows(transaction, { ...change, deletes: deletesBefore }, target);
  for (const set of change.writes)
    await (copies(change, set, target) ? copyRows : insertRows)(
      transaction,
      { ...change, ...set },
      target,
    );
  if (change.deletes.length > 0) await deleteRows(transaction, change, target);
  if (change.commit !== undefined)
    await storeToken(await transaction.client(), target.tokens, change.commit);
}

function copies(
  { mode }: TableChange,
  { rows }: RowSet,
  { write_method, copyable }: Target,
): boolean {
  if (write_method !== 'auto') return write_method === 'copy';
  return rows.length >= COPY_FROM[mode] && (copyable || mode === 'upsert');
}

type Write = TableChange & RowSet;

async function insertRows(
  transaction: Transaction,
  change: Write,
  { table, batch_size }: Target,
): Promise<void> {
  const { columns, rows } = change;
  const client = await transaction.client();
  const text = insertInto(table, change, fromArrays(columns.length));
  const size = batch_size === 0 ? rows.length : batch_size;
  for (let from = 0; from < rows.length; from += size) {
    const part = rows.slice(from, from + size);
    const encoders = encodersOf(change);
    await client.query({ text, values: byColumn(part, encoders) }).catch((error: unknown) => {
      throw placeRefusal(error, { columns, rows: part, encoders, from });
    });
  }
}

async function copyRows(transaction: Transaction, change: Write, { table }: Target): Promise<void> {
  const { columns, rows } = change;
  const encoders = encodersOf(change);
  const lines = copyLines(rows, encoders);
  if (change.mode === 'insert') {
    const names = columns.map((column) => column.name);
    const stream = await transaction.copy({
      sql: `COPY ${table} (${quoteNames(names)}) FROM STDIN`,
    });
    stream.beginPage(rows.length);
    return stream.write(Buffer.from(lines)).catch((error: unknown) => {
      throw placeCopied(error, stream);
    });
  }
  const from = await arrive(transaction, columns, lines);
  const client = await transaction.client();
  await client.query(insertInto(table, change, from)).catch((error: unknown) => {
    throw placeRefusal(error, { columns, rows, encoders, from: 0 });
  });
}

/** Puts rows into a temporary table; returns the relation to read them from. */
async function arrive(
  transaction: Transaction,
  columns: readonly LiveColumn[],
  lines: string,
): Promise<string> {
  const arrival = arrivalTable(columns);
  await transaction.arrival(arrival);
  try {
    await (await transaction.copy({ sql: arrival.copy })).write(Buffer.from(lines));
    await transaction.client();
  } catch (error) {
    throw placeArrival(error, columns);
  }
  return arrival.from;
}

async function deleteRows(
  transaction: Transaction,
  { key, deletes, schema }: TableChange,
  { table, write_method }: Target,
): Promise<void> {
  const encoders = typedColumns(key, schema).map(encoderOf);
  if (write_method === 'copy' || (write_method === 'auto' && deletes.length >= COPY_FROM.upsert)) {
    const from = await arrive(transaction, key, copyLines(deletes, encoders));
    await (await transaction.client()).query(deleteFrom(table, key, from));
    return;
  }
  const client = await transaction.client();
  await client.query({
    text: deleteFrom(table, key, fromArrays(key.length)),
    values: byColumn(deletes, encoders),
  });
}

/** Stores the rows that a page will change. */
async function logChanged(
  transaction: Transaction,
  change: TableChange,
  { table, logTable }: Target,
  runId: string,
): Promise<void> {
  const { key, schema } = change;
  const keys = keysOf(change);
  const client = await transaction.client();
  const live = (await readColumns(client, table)) ?? [];
  await logKeys(
    client,
    { table, logTable, runId, name: change.table, columns: live, key },
    byColumn(keys, typedColumns(key, schema).map(encoderOf)),
  );
}

/** One statement, so that it is atomic. */
async function sweep(
  client: ClientBase,
  { table, logTable }: Pick<Target, 'table' | 'logTable'>,
  { table: name, scope, key, keys, loggedFor: runId }: TableSweep,
): Promise<number> {
  const inside = scope.map(({ column }) => column);
  const values = [
    ...byColumn(keys, key.map(encoderOf)),
    ...scope.map(({ column, value }) => encoderOf(column)(value)),
  ];
  if (runId !== undefined) {
    const columns = (await readColumns(client, table)) ?? [];
    return sweepAndLog(
      client,
      { table, logTable, runId, name, columns, key },
      { scope: inside, values },
    );
  }
  const { rowCount } = await client.query({ text: deleteVanished(table, inside, key), values });
  return rowCount ?? 0;
}

function encodersOf({ columns, finished, schema }: Write): Encoder[] {
  return typedColumns(columns, schema).map((column) =>
    finished ? finishedText : encoderOf(column),
  );
}

function byColumn(
  rows: readonly (readonly JsonValue[])[],
  encoders: readonly Encoder[],
): (string | null)[][] {
  return encoders.map((encode, index) => rows.map((row) => encode(row[index] ?? null)));
}

async function evolve(client: ClientBase, table: string, change: SchemaChange): Promise<void> {
  const actions = [
    ...(await columnLines(client, change.add)).map((line) => `ADD COLUMN IF NOT EXISTS ${line}`),
    ...change.widen.map(({ name, type }) => {
      const column = quoteName(name);
      return `ALTER COLUMN ${column} TYPE ${POSTGRES_TYPES[type]} USING ${column}::${POSTGRES_TYPES[type]}`;
    }),
    ...change.relaxNull.map((name) => `ALTER COLUMN ${quoteName(name)} DROP NOT NULL`),
  ];
  if (actions.length > 0) await client.query(`ALTER TABLE ${table} ${actions.join(', ')}`);
}
