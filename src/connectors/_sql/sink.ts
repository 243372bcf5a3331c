/**
 * The sink shared by all SQL databases: it plans pages, finds or creates the table, and lets a
 * driver run the statements.
 */
import { ConnectorError } from '../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { SinkContext } from '../../kit/context.ts';
import { executionOf, type HeldScope } from '../../kit/execution.ts';
import type { Page } from '../../kit/page.ts';
import type { RollbackMode } from '../../kit/rollback.ts';
import { fieldOf, type RecordSchema } from '../../kit/record-schema.ts';
import type {
  FinishReason,
  Rejection,
  SchemaAccess,
  SchemaChange,
  Sink,
  Sweep,
  TokenWriter,
  WriteOptions,
  WriteResult,
} from '../../kit/sink.ts';
import { keyedSpec, settle } from '../../kit/write-spec.ts';
import { inFirstCase, refuseNames, type NameRules } from './column-names.ts';
import type {
  CommitToken,
  Hold,
  LiveColumn,
  NewColumn,
  Passed,
  RefusedRow,
  SqlDriver,
  TableChange,
  WholeChange,
} from './driver.ts';
import { newColumns } from './infer-columns.ts';
import { planPage, rowsOf, type PagePlan } from './page-rows.ts';
import { createRecording } from './recording.ts';
import { withRecordOfRow, withRefusedRecord } from './refused-row.ts';
import { roundedFields } from './rounded-fields.ts';
import { canSweep, takesBlocks, withoutMarker, type SqlSinkConfig } from './sink-fields.ts';
import { settleOnce } from './settle-once.ts';
import { stagingName } from './table-names.ts';

export function createSqlSink(
  written: SqlSinkConfig,
  driver: SqlDriver,
  context: SinkContext,
): Sink {
  const config = context.role === 'dlq' ? asAppending(written) : written;
  const log = context.env.log.at('headgate::sink::sql');
  const execution = executionOf(context);
  let held: HeldScope | undefined;
  const takeScope = (scope: string): Promise<string | undefined> => {
    if (driver.fenced === true && execution !== undefined) held = { scope, execution };
    return driver.lastToken(scope, execution);
  };
  const recording = createRecording(config, { driver, log, held: () => held });
  const howIn = (mode: RollbackMode): WholeChange => ({ loggedFor: recording.runIn(mode), held });
  const table = createTableAccess(config, { driver, howIn, role: context.role });
  const spec = keyedSpec(config, 'text');
  const key = spec?.key ?? [];
  const mapping = config.column_mapping;

  const passes = async (
    page: Page,
    commit: CommitToken | undefined,
    hold: Hold | undefined,
  ): Promise<Passed | undefined> => {
    if (!takesBlocks(config) || page.form.form === 'records' || page.count === 0) return undefined;
    if (recording.runIn('upsert') !== undefined) return undefined;
    const refusesRounding = config.on_rounding === 'error';
    const how = { key, commit, hold, refusesRounding };
    return driver.pass?.(config.table_name, page, how).catch((error: unknown) => {
      throw withRecordOfRow(error);
    });
  };

  const write = async (
    page: Page,
    { partial, commit, hold }: WriteOptions & Binding,
  ): Promise<WriteResult> => {
    const passed = await passes(page, commit, hold);
    if (passed !== undefined)
      return { written: page.count, rejected: [], ...noted(passed.unknown, passed.rounded) };
    const records = page.records();
    const schema =
      driver.schemaFor === undefined ? page.schema : driver.schemaFor(page.schema, records);
    const plan = planPage(records, mapping, spec);
    let result = settle(records.length, plan.rejected, partial);
    const tellsRows = partial && driver.tellsRows === true && spec === undefined;
    const live = await table.columnsFor(plan, schema);
    // Deletions need no table.
    const rows =
      live === undefined
        ? undefined
        : rowsOf(plan, {
            live,
            mapping,
            key,
            rules: driver.names,
            take: driver.take,
            schema,
            numbered: tellsRows,
          });
    const rounded =
      rows === undefined || rows.finished
        ? undefined
        : roundedFields(rows.writes, {
            of: driver.roundingOf,
            policy: config.on_rounding,
            typeOf: ({ name }) => fieldOf(schema, name)?.type,
          });
    if (rows !== undefined && rows.skipped > 0) {
      log.warn('records without any known column were skipped', {
        table: config.table_name,
        records: rows.skipped,
      });
    }
    if (
      commit !== undefined ||
      (rows !== undefined && rows.writes.length + rows.deletes.length > 0)
    ) {
      const loggedFor = recording.runIn('upsert');
      const change = {
        ...(rows ?? NO_ROWS),
        table: table.target,
        schema,
        hold,
        loggedFor,
        ...(commit === undefined ? {} : { commit }),
        ...(tellsRows ? { partial } : {}),
      };
      const refused = await driver.apply(change).catch(async (error: unknown) => {
        if (await table.isTaken().catch(() => false)) throw takenOver(config.table_name, error);
        throw withRefusedRecord(error, { ...plan, count: records.length }, rows);
      });
      const rejected = rejectionsOf(refused ?? [], change.writes, records);
      if (rejected.length > 0)
        result = settle(records.length, inOrder([...plan.rejected, ...rejected]), partial);
    }
    const skipped = rows?.skipped ?? 0;
    return {
      ...result,
      ...(skipped === 0 ? {} : { written: result.written - skipped, skipped }),
      ...noted(rows?.unknown, rounded),
    };
  };

  // Appended pages need no separate commit as long as an error ends the run.
  const holds = (options: WriteOptions): Hold | undefined =>
    driver.settle !== undefined &&
    context.role === 'main' &&
    config.write_mode === 'append' &&
    !options.partial
      ? 'flush'
      : undefined;
  let tokensInUse = false;
  const sink: Sink = {
    write: (page, options) => write(page, { ...options, hold: holds(options) }),
    // Pages held for a token are only committed together with it.
    flush: async () => (tokensInUse ? undefined : settleOnce(driver)),
    finish: (reason) => table.finish(reason),
    ...(driver.sweep === undefined || !canSweep(config)
      ? {}
      : {
          sweep: (sweep: Sweep) => sweepTable(config, driver, { ...sweep, ...howIn('upsert') }),
        }),
    ...(driver.fenced === true
      ? {
          takeScope: async (scope: string) => {
            if (execution === undefined) return;
            await takeScope(scope);
            await table.dropOthers();
          },
        }
      : {}),
    ...(recording.rollback === undefined ? {} : { rollback: recording.rollback }),
    close: () => driver.close(),
  };
  if (config.write_mode === 'overwrite')
    return mapping.kind === 'auto'
      ? {
          ...sink,
          schema: { current: () => table.current(), ignoresCase: driver.names.ignoresCase },
        }
      : sink;
  const committing: Write = (page, { commit, ...options }) =>
    write(page, {
      ...options,
      ...(commit === undefined ? {} : { commit: { ...commit, execution } }),
    });
  const pages = driver.settle === undefined ? heldInMemory(committing) : heldByDriver(committing);
  const tokens: TokenWriter = {
    last: (scope) => {
      tokensInUse = true;
      return takeScope(scope);
    },
    hold(page) {
      tokensInUse = true;
      return pages.hold(page);
    },
    write: pages.write,
    forget: (scope) => driver.forgetToken(scope),
  };
  return mapping.kind === 'auto' ? { ...sink, tokens, schema: table } : { ...sink, tokens };
}

/** Appended records become rows in their order, but for those that are no objects. */
function rejectionsOf(
  refused: readonly RefusedRow[],
  sets: TableChange['writes'],
  records: readonly JsonValue[],
): Rejection[] {
  if (refused.length === 0) return [];
  const objects = [...records.keys()].filter((index) => isObject(records[index]));
  return refused.map(({ set, row, error }) => {
    const place = sets[set]?.places?.[row];
    const index = place === undefined ? undefined : objects[place];
    if (index !== undefined) return { index, error };
    throw new Error('cannot happen: a row that is no record was refused', { cause: error });
  });
}

function inOrder(rejected: readonly Rejection[]): Rejection[] {
  return rejected.toSorted((a, b) => a.index - b.index);
}

interface Binding {
  readonly commit?: CommitToken | undefined;
  readonly hold?: Hold | undefined;
}

type Write = (page: Page, options: WriteOptions & Binding) => Promise<WriteResult>;

function heldByDriver(write: Write): Pick<TokenWriter, 'hold' | 'write'> {
  let held: WriteResult = NOTHING;
  return {
    async hold(page) {
      held = sum(held, await write(page, { partial: false, hold: 'token' }));
    },
    async write(page, scope, token) {
      const result = sum(held, await write(page, { partial: false, commit: { scope, token } }));
      held = NOTHING;
      return result;
    },
  };
}

/** For databases whose transaction ends with each page. */
function heldInMemory(write: Write): Pick<TokenWriter, 'hold' | 'write'> {
  let held: JsonValue[] = [];
  return {
    hold: async (page) => void (held = held.concat(page.records())),
    async write(page, scope, token) {
      const whole = held.length === 0 ? page : page.withRecords(held.concat(page.records()));
      const result = await write(whole, { partial: false, commit: { scope, token } });
      held = [];
      return result;
    },
  };
}

const NOTHING: WriteResult = { written: 0, rejected: [] };

function sum(one: WriteResult, other: WriteResult): WriteResult {
  const skipped = (one.skipped ?? 0) + (other.skipped ?? 0);
  return {
    written: one.written + other.written,
    rejected: [],
    ...(skipped === 0 ? {} : { skipped }),
    ...noted(
      sumOf(one.unknownFields, other.unknownFields),
      sumOf(one.roundedFields, other.roundedFields),
    ),
  };
}

type Counts = ReadonlyMap<string, number>;

function sumOf(one: Counts = NO_FIELDS, other: Counts = NO_FIELDS): Counts {
  const sums = new Map(one);
  for (const [field, records] of other) sums.set(field, (sums.get(field) ?? 0) + records);
  return sums;
}

const NO_FIELDS: Counts = new Map();

function noted(
  unknown: Counts = NO_FIELDS,
  rounded: Counts = NO_FIELDS,
): Pick<WriteResult, 'unknownFields' | 'roundedFields'> {
  return {
    ...(unknown.size === 0 ? {} : { unknownFields: unknown }),
    ...(rounded.size === 0 ? {} : { roundedFields: rounded }),
  };
}

const NO_ROWS = {
  writes: [],
  mode: 'insert',
  finished: false,
  key: [],
  deletes: [],
} as const;

function asAppending(config: SqlSinkConfig): SqlSinkConfig {
  const { delete_marker: _unused, ...rest } = config;
  return { ...rest, write_mode: 'append', key: [] };
}

interface TableAccess extends SchemaAccess {
  /** The table to write to: the staging table of an overwrite, otherwise the table itself. */
  readonly target: string;
  /**
   * The columns of the target, which is created from the page if the config allows it; `undefined`
   * when there is no table yet.
   */
  columnsFor(
    plan: PagePlan,
    schema: RecordSchema | undefined,
  ): Promise<readonly LiveColumn[] | undefined>;
  /** Drops what other runs and earlier executions have collected for an overwrite. */
  dropOthers(): Promise<void>;
  finish(reason: FinishReason): Promise<void>;
  evolve(change: SchemaChange, records?: readonly JsonValue[]): Promise<void>;
  /** Whether another run has started to replace the same rows. */
  isTaken(): Promise<boolean>;
}

interface TableUse {
  readonly driver: SqlDriver;
  readonly howIn: (mode: RollbackMode) => WholeChange;
  readonly role: SinkContext['role'];
}

function createTableAccess(config: SqlSinkConfig, { driver, howIn, role }: TableUse): TableAccess {
  const table = config.table_name;
  const overwrite = config.write_mode === 'overwrite';
  const { name: target, prefix } = overwrite
    ? stagingName(table, driver.part)
    : { name: table, prefix: '' };
  let live: readonly LiveColumn[] | undefined;
  let staging: Promise<void> | undefined;
  let isMade = false;
  let isAlone = false;

  /**
   * When several runs replace the same rows, the last one to start does so and the others fail,
   * because their staging table is dropped.
   *
   * An execution that takes a run over does this right after it has taken the scope. One that was
   * frozen in a `swap` that the database does not undo had looked at its scope before, when its
   * staging table was there: it is gone by now, and no other one gets its name.
   */
  const dropOthers = async (): Promise<void> => {
    if (!overwrite || isAlone) return;
    const { held } = howIn('overwrite');
    // What is listed before the scope is looked at cannot belong to whoever takes it afterwards.
    for (const other of await driver.tablesFrom(prefix)) await driver.drop(other, held);
    isAlone = true;
  };
  const stage = async (): Promise<void> => {
    await dropOthers();
    if ((await driver.columns(table)) === undefined) return;
    await driver.stage(table, target);
    isMade = true;
  };
  const begin = (): Promise<void> | undefined => (overwrite ? (staging ??= stage()) : undefined);
  const load = async (): Promise<readonly LiveColumn[] | undefined> =>
    (live ??= await driver.columns(target));
  const isTaken = async (): Promise<boolean> =>
    isMade && (await driver.columns(target)) === undefined;
  /** Fails as taken over when that is why the staging table is gone. */
  const tellTaker = async (held: HeldScope | undefined): Promise<void> => {
    if (held !== undefined && (await isTaken())) await driver.drop(target, held);
  };
  const refuseLost = async (held: HeldScope | undefined): Promise<void> => {
    if (!(await isTaken())) return;
    await tellTaker(held);
    throw takenOver(table);
  };
  const create = async (
    records: readonly JsonValue[],
    schema: RecordSchema | undefined,
  ): Promise<void> => {
    if (!config.create_table || config.write_mode === 'delete') throw noTable(table);
    // Dead letters have fields that those of the first page lack.
    const all = role === 'dlq' ? [emptyRecord(schema), ...records] : records;
    const columns = columnsOf(config, { records: all, schema, rules: driver.names });
    await driver.createTable(target, columns, {
      key: config.write_mode === 'upsert' ? config.key : [],
      records,
    });
    isMade = overwrite;
  };

  return {
    target,
    async columnsFor({ upserts, deletes }, schema) {
      await begin();
      const wanted = upserts.length > 0 || (config.write_mode === 'delete' && deletes.length > 0);
      if ((await load()) !== undefined) return live;
      if (await isTaken()) throw takenOver(table);
      if (wanted) await create(upserts, withoutMarker(schema, config));
      return load();
    },
    current: () => driver.columns(table),
    ignoresCase: driver.names.ignoresCase,
    dropOthers,
    async evolve(change, records = []) {
      refuseNames(
        change.add.map(({ name }) => name),
        driver.names,
      );
      await driver.evolve(table, change, records);
      live = undefined;
    },
    isTaken,
    async finish(reason) {
      if (!overwrite) return;
      if (reason !== 'success') return staging === undefined ? undefined : driver.drop(target);
      await begin();
      if (!isMade) return;
      const how = howIn('overwrite');
      await refuseLost(how.held);
      await driver.swap(table, target, how).catch(async (error: unknown) => {
        await tellTaker(how.held);
        throw error;
      });
    },
  };
}

async function sweepTable(
  { table_name: table, key }: SqlSinkConfig,
  driver: SqlDriver,
  { scope, keys, ...how }: Sweep & WholeChange,
): Promise<number> {
  const live = await driver.columns(table);
  if (live === undefined) return 0;
  const column = (name: string): LiveColumn => {
    const found = live.find((one) => one.name === name);
    if (found !== undefined) return found;
    const hint = `it has: ${live.map((one) => one.name).join(', ')}`;
    throw new ConnectorError(
      'missing',
      `the table \`${table}\` has no column \`${name}\`, which is needed to find rows that no longer exist at the source`,
      { hint },
    );
  };
  const inside = Object.entries(scope).map(([name, value]) => ({ column: column(name), value }));
  const sweep = { table, scope: inside, key: key.map(column), keys, ...how };
  return (await driver.sweep?.(sweep)) ?? 0;
}

function takenOver(table: string, cause?: unknown): ConnectorError {
  return new ConnectorError(
    'refused',
    `another run has started to replace the rows of \`${table}\`, so this run stops`,
    {
      hint: 'run them one after the other',
      cause,
    },
  );
}

function noTable(table: string): ConnectorError {
  return new ConnectorError('missing', `there is no table \`${table}\``, {
    hint: 'create it, or leave `create_table` on',
  });
}

function emptyRecord(schema: RecordSchema | undefined): JsonObject {
  return Object.fromEntries((schema?.fields ?? []).map(({ name }) => [name, null]));
}

interface PageFields {
  readonly records: readonly JsonValue[];
  readonly schema: RecordSchema | undefined;
  readonly rules: NameRules;
}

function columnsOf(config: SqlSinkConfig, { records, schema, rules }: PageFields): NewColumn[] {
  if (config.column_mapping.kind === 'json')
    return [{ name: config.column_mapping.column, type: 'object' }];
  const columns = rules.ignoresCase
    ? newColumns(inFirstCase(records), schema && { ...schema, others: true })
    : newColumns(records, schema);
  refuseNames(
    columns.map(({ name }) => name),
    rules,
  );
  if (columns.length > 0) return columns;
  throw new ConnectorError(
    'data',
    `the table \`${config.table_name}\` cannot be created from records without fields`,
  );
}
