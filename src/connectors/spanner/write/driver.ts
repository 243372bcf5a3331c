/** What the shared sink of SQL databases needs of this one. */
import type { SinkContext } from '../../../kit/context.ts';
import type { Execution } from '../../../kit/execution.ts';
import { requireOpen, type SchemaChange } from '../../../kit/sink.ts';
import { isKeyed } from '../../../kit/write-spec.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { inOneCase } from '../../../lib/sql/sql-name.ts';
import { backticked } from '../../_google/backticked.ts';
import { GoogleError } from '../../_google/errors.ts';
import { GRPC_STATUS } from '../../_grpc/status.ts';
import type {
  NewColumn,
  RefusedRow,
  SqlDriver,
  TableChange,
  TableSweep,
} from '../../_sql/driver.ts';
import { CODES, type ValueType } from '../api.ts';
import type { Cell } from '../cells.ts';
import type { SpannerSinkConfig } from '../config.ts';
import { isAboutData, SpannerLink } from '../link.ts';
import { tableSql } from '../table-sql.ts';
import { ownColumn, type SpannerColumn } from '../types/columns.ts';
import { columnLine } from '../types/new-columns.ts';
import { roundingOf } from '../types/rounding.ts';
import { inCommits, mutationsOf, refuseLarge, rowEncoder, stepsOf } from './changes.ts';
import { readColumns, readKey } from './schema.ts';
import { requireHeld, Tokens } from './tokens.ts';

export async function openSpannerDriver(
  config: SpannerSinkConfig,
  context: SinkContext,
): Promise<SpannerDriver> {
  const link = new SpannerLink(config, context);
  const driver = new SpannerDriver(config, link, context.role);
  try {
    await link.session();
    if (isKeyed(config.write_mode)) await driver.checkKey();
    return driver;
  } catch (error) {
    await link.close();
    throw error;
  }
}

export class SpannerDriver implements SqlDriver {
  readonly names = { ignoresCase: true };
  readonly roundingOf = roundingOf;
  readonly tellsRows = true;
  readonly fenced: boolean;
  readonly #config: SpannerSinkConfig;
  readonly #link: SpannerLink;
  readonly #role: SinkContext['role'];
  readonly #tokens: Tokens;
  #primaryKey: readonly string[] | undefined;
  #isClosed = false;

  constructor(config: SpannerSinkConfig, link: SpannerLink, role: SinkContext['role'] = 'main') {
    this.#config = config;
    this.fenced = config.write_mode === 'upsert';
    this.#role = role;
    this.#link = link;
    this.#tokens = new Tokens(link, config.ddl_timeout_secs);
  }

  /** A row is found by its primary key, and by nothing else. */
  async checkKey(): Promise<void> {
    const { table_name: table, key } = this.#config;
    const found = await readKey(this.#link, table);
    if (found.length === 0) return;
    const isSame =
      new Set([...found, ...key].map(inOneCase)).size === found.length &&
      found.length === key.length;
    if (isSame) return;
    throw new ConnectorError(
      'refused',
      `\`key\` is (${key.join(', ')}), and the primary key of \`${table}\` is (${found.join(', ')})`,
      { hint: `write \`key: [${found.join(', ')}]\`` },
    );
  }

  async columns(table: string): Promise<readonly SpannerColumn[] | undefined> {
    return (await readColumns(this.#link, table))?.filter(({ settable }) => settable !== false);
  }

  async createTable(table: string, columns: readonly NewColumn[]): Promise<void> {
    const { key } = this.#config;
    const lines = columns.map(columnLine);
    const doing = `making the table \`${table}\``;
    if (key.length === 0) {
      const own = ownKey(columns.map(({ name }) => name));
      const sql = `CREATE TABLE IF NOT EXISTS ${tableSql(table)} (${own} STRING(36) DEFAULT (GENERATE_UUID()), ${lines.join(', ')}) PRIMARY KEY (${own})`;
      // Dead letters have no key: one record may fail twice.
      if (this.#role === 'dlq') return this.#changeSchema(doing, [sql]);
      throw new ConnectorError(
        'refused',
        `there is no table \`${table}\`, and Spanner makes none without a primary key`,
        { hint: `name its columns with \`key\`, or make the table, e.g. ${sql}` },
      );
    }
    const known = new Map(columns.map(({ name }) => [inOneCase(name), name]));
    const missing = key.find((name) => !known.has(inOneCase(name)));
    if (missing !== undefined)
      throw new ConnectorError(
        'data',
        `no record of the first page has \`${missing}\`, which \`key\` names`,
        { hint: 'check `key`, or make the table' },
      );
    const primary = key.map((name) => backticked(known.get(inOneCase(name)) ?? name)).join(', ');
    await this.#changeSchema(doing, [
      `CREATE TABLE IF NOT EXISTS ${tableSql(table)} (${lines.join(', ')}) PRIMARY KEY (${primary})`,
    ]);
  }

  async apply(change: TableChange): Promise<readonly RefusedRow[]> {
    requireOpen(this.#isClosed);
    const { table, commit } = change;
    const { batch_size: most } = this.#config;
    const doing = `writing to \`${table}\``;
    const { steps, refused } = stepsOf(await this.#inKeyOrder(change));
    if (commit !== undefined) await this.#tokens.make();
    const isWhole = commit !== undefined || most === 0;
    if (isWhole) refuseLarge(steps);
    const commits = isWhole ? [steps] : inCommits(steps, most);
    for (const part of commits) {
      if (part.length === 0 && commit === undefined) continue;
      const mutations = mutationsOf(table, part);
      await this.#link
        .transaction(doing, async (transaction) =>
          commit === undefined
            ? mutations
            : [...mutations, await this.#tokens.commit(transaction, commit)],
        )
        .catch((error: unknown) => {
          throw inOtherWords(error);
        });
    }
    if (commit !== undefined) this.#tokens.committed(commit);
    return refused;
  }

  /** Spanner reads the values of a key in the order of the primary key, whatever `key` names first. */
  async #inKeyOrder(change: TableChange): Promise<TableChange> {
    const { table, key, deletes, deletesBefore = [] } = change;
    if (key.length < 2 || deletes.length + deletesBefore.length === 0) return change;
    this.#primaryKey ??= await readKey(this.#link, table);
    const order = this.#primaryKey.map((name) =>
      key.findIndex((column) => inOneCase(column.name) === inOneCase(name)),
    );
    const ordered = <T>(values: readonly T[]): T[] =>
      order.flatMap((at) => values.slice(at, at + 1));
    return {
      ...change,
      key: ordered(key),
      deletes: deletes.map(ordered),
      deletesBefore: deletesBefore.map(ordered),
    };
  }

  /** One statement of one transaction: all of it or nothing. */
  async sweep({ table, scope, key, keys, held }: TableSweep): Promise<number> {
    const inside = rowEncoder(
      scope.map(({ column }) => column),
      undefined,
    )(scope.map(({ value }) => value));
    const encode = rowEncoder(key, undefined);
    const rows = keys.map(encode);
    const params: Record<string, Cell> = { keys: rows };
    const types: Record<string, ValueType> = { keys: keysType(key.map(ownColumn)) };
    const conditions = scope.map(({ column: { name }, column }, at) => {
      const value = inside[at] ?? null;
      if (value === null) return `t.${backticked(name)} IS NULL`;
      params[`scope${at}`] = value;
      types[`scope${at}`] = { code: codeOf(ownColumn(column)) };
      return `t.${backticked(name)} = @scope${at}`;
    });
    const same = key.map(({ name }, at) => `k.k${at} = t.${backticked(name)}`).join(' AND ');
    const sql = `DELETE FROM ${tableSql(table)} AS t WHERE ${[...conditions, `NOT EXISTS (SELECT 1 FROM UNNEST(@keys) AS k WHERE ${same})`].join(' AND ')}`;
    let removed = 0;
    await this.#link.transaction(`removing rows of \`${table}\``, async (transaction) => {
      if (held !== undefined) await requireHeld(transaction, held);
      removed = await transaction.change({ sql, params, types });
      return [];
    });
    return removed;
  }

  lastToken(scope: string, execution?: Execution): Promise<string | undefined> {
    return this.#tokens.last(scope, execution);
  }

  forgetToken(scope: string): Promise<void> {
    return this.#tokens.forget(scope);
  }

  async evolve(table: string, { add, widen, relaxNull }: SchemaChange): Promise<void> {
    const [first] = widen;
    if (first !== undefined)
      throw new ConnectorError('refused', `Spanner cannot widen the column \`${first.name}\``, {
        hint: 'change the values with a transform, or set `schema.allow_type_widening: false`',
      });
    const live = new Map((await this.columns(table))?.map((one) => [inOneCase(one.name), one]));
    const added = add.filter(({ name }) => !live.has(inOneCase(name)));
    const relaxed = relaxNull.flatMap((name) => live.get(inOneCase(name)) ?? []);
    const statements = [
      ...added.map((column) => `ADD COLUMN IF NOT EXISTS ${columnLine(column)}`),
      ...relaxed.filter(({ nullable }) => !nullable).map(relaxing),
    ].map((one) => `ALTER TABLE ${tableSql(table)} ${one}`);
    if (statements.length > 0)
      await this.#changeSchema(`changing the table \`${table}\``, statements);
  }

  /** Only an overwrite has other tables, which this sink does not offer. */
  readonly tablesFrom = notOffered;
  readonly stage = notOffered;
  readonly swap = notOffered;
  readonly drop = notOffered;

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#link.close();
  }

  #changeSchema(doing: string, statements: readonly string[]): Promise<void> {
    return this.#link.changeSchema(doing, statements, this.#config.ddl_timeout_secs);
  }
}

function notOffered(): Promise<never> {
  return Promise.reject(new Error('cannot happen: Spanner has no overwrite'));
}

/** A column that no record has. */
function ownKey(names: readonly string[]): string {
  const taken = new Set(names.map(inOneCase));
  let own = 'svc_id';
  while (taken.has(inOneCase(own))) own += '_';
  return own;
}

/** Without a default that is written again, the column would lose it. */
function relaxing({ name, limits, byDefault }: SpannerColumn): string {
  const kept = byDefault === undefined ? '' : ` DEFAULT (${byDefault})`;
  return `ALTER COLUMN ${backticked(name)} ${limits}${kept}`;
}

function keysType(key: readonly SpannerColumn[]): ValueType {
  const fields = key.map((column, at) => ({ name: `k${at}`, type: { code: codeOf(column) } }));
  return { code: CODES.ARRAY, item: { code: CODES.STRUCT, struct: { fields } } };
}

function codeOf({ base }: SpannerColumn): number {
  return CODES[base as keyof typeof CODES] ?? CODES.STRING;
}

function inOtherWords(error: unknown): unknown {
  if (!(error instanceof GoogleError)) return error;
  if (error.grpcStatus === GRPC_STATUS.alreadyExists)
    return new ConnectorError('data', error.message, {
      cause: error,
      hint: 'a row with this key is there already, and nothing of this commit was written: use `write_mode: upsert`, or leave out what is there',
    });
  if (isAboutData(error)) return new ConnectorError('data', error.message, { cause: error });
  return /too many mutations/i.test(error.message)
    ? new ConnectorError('refused', error.message, {
        cause: error,
        hint: 'the indexes of the table count too: write smaller pages (`batch_size`)',
      })
    : error;
}
