/** What the shared sink of SQL databases needs of this one. */
import type { SinkContext } from '../../../kit/context.ts';
import { requireOpen, type SchemaChange } from '../../../kit/sink.ts';
import { ConnectorError, messageOf, RecordError } from '../../../lib/errors.ts';
import {
  jsonText,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { momentAfter } from '../../../lib/moment-after.ts';
import type { Execution, HeldScope } from '../../../kit/execution.ts';
import type {
  NewColumn,
  RefusedRow,
  RowSet,
  SqlDriver,
  TableChange,
  TableSweep,
  WholeChange,
} from '../../_sql/driver.ts';
import { backticked } from '../../_google/backticked.ts';
import { withRefusedRow } from '../../_sql/refused-row.ts';
import { partName } from '../../_sql/table-names.ts';
import { loadsAtEnd, type BigquerySinkConfig } from '../config.ts';
import { isMissing } from '../errors.ts';
import { runQuery } from '../jobs.ts';
import { Link } from '../link.ts';
import { lookAtTable, schemaIn, tablePath, tablesOf } from '../tables.ts';
import { fieldsIn, liveColumn, ownColumns, type BigqueryColumn } from '../types/fields.ts';
import { columnLine, COLUMN_TYPES } from '../types/new-columns.ts';
import { roundingOf } from '../types/rounding.ts';
import { encoderOf, type ValueForm } from '../types/write-values.ts';
import { sendScripts, type Step } from './changes.ts';
import { openLoader, type Loader } from './load.ts';
import { replaceRows } from './overwrite.ts';
import { rowsParameter, sweepSql, tableName, type TablePlace } from './statements.ts';
import { insertIdOf, REQUEST_BYTES, streamRows, type StreamRow } from './stream.ts';
import { Tokens } from './tokens.ts';

/** So long the service that streams may not know of a new table or column. */
const FRESH_MS = 600_000;

export async function openBigqueryDriver(
  config: BigquerySinkConfig,
  context: SinkContext,
): Promise<BigqueryDriver> {
  const link = await Link.open(config, context);
  const { bulk_load: bulk } = config;
  const loader = bulk === undefined ? undefined : await openLoader({ config, bulk, context, link });
  return new BigqueryDriver({ config, context, link, loader });
}

interface Parts {
  readonly config: BigquerySinkConfig;
  readonly context: SinkContext;
  readonly link: Link;
  readonly loader: Loader | undefined;
}

export class BigqueryDriver implements SqlDriver {
  readonly names = { ignoresCase: true };
  readonly roundingOf = roundingOf;
  readonly tellsRows: boolean;
  readonly part?: string;
  readonly fenced: boolean;
  /** Present where a flush has something to do. */
  readonly settle?: () => Promise<void>;
  readonly #parts: Parts;
  readonly #place: TablePlace;
  readonly #tokens: Tokens;
  #failure: { readonly error: unknown } | undefined;
  #changedMs = -Infinity;
  #isClosed = false;

  constructor(parts: Parts) {
    const { config, link } = parts;
    this.#parts = parts;
    this.#place = { project: config.project_id, dataset: config.dataset_id };
    this.#tokens = new Tokens(link, this.#place);
    this.fenced = config.write_mode === 'overwrite';
    this.tellsRows = parts.loader === undefined;
    if (config.scope !== undefined) this.part = partName(stringifyJson({ ...config.scope.window }));
    if (parts.loader !== undefined && !loadsAtEnd(config)) this.settle = () => this.load();
  }

  async columns(table: string): Promise<readonly BigqueryColumn[] | undefined> {
    const { link, config } = this.#parts;
    const found = await lookAtTable(link, config.dataset_id, table);
    return found === undefined ? undefined : fieldsIn(schemaIn(found)).map(liveColumn);
  }

  async createTable(
    table: string,
    columns: readonly NewColumn[],
    { key }: { readonly key: readonly string[] },
  ): Promise<void> {
    const lines = columns.map(columnLine);
    if (key.length > 0) lines.push(`PRIMARY KEY (${key.map(backticked).join(', ')}) NOT ENFORCED`);
    await this.#run(
      `making the table \`${table}\``,
      `CREATE TABLE IF NOT EXISTS ${this.#name(table)} (${lines.join(', ')})`,
    );
    this.#changed();
  }

  async apply(change: TableChange): Promise<readonly RefusedRow[] | undefined> {
    requireOpen(this.#isClosed);
    if (this.#failure !== undefined) throw this.#failure.error;
    const { loader, config } = this.#parts;
    const isAppended = change.mode === 'insert' && change.deletes.length === 0;
    const isOwn = change.table === config.table_id && config.write_mode === 'append';
    if (loader !== undefined) {
      await this.#collect(loader, change);
      return undefined;
    }
    if (isAppended && isOwn && change.commit === undefined) return this.#stream(change);
    await this.#applyByStatements(change);
    return undefined;
  }

  async #collect(loader: Loader, { writes, schema }: TableChange): Promise<void> {
    const rows = writes.flatMap((set) =>
      this.#encoded(set, { form: 'rows', schema }).map((values) => objectOf(set, values)),
    );
    await this.#orFail(() => loader.add(rows));
  }

  /** After a failure nothing is known of what was collected. */
  async #orFail(work: () => Promise<void>): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    try {
      await work();
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /** Loads what was collected. */
  async load(): Promise<void> {
    const { loader, link, config } = this.#parts;
    if (loader === undefined) return;
    await this.#orFail(async () => {
      if (!loadsAtEnd(config)) return loader.load();
      const table = await lookAtTable(link, config.dataset_id, config.table_id);
      // There is no table where there was no record to make it of.
      if (table === undefined) return loader.abort();
      await loader.load({ fields: [...schemaIn(table)] });
    });
  }

  /** Gives up what was collected. */
  async discard(): Promise<void> {
    await this.#parts.loader?.abort();
  }

  async #stream(change: TableChange): Promise<readonly RefusedRow[]> {
    const { config, link, context } = this.#parts;
    const { partial = false, schema } = change;
    const rows: StreamRow[] = [];
    const places: { readonly set: number; readonly row: number }[] = [];
    const refused: RefusedRow[] = [];
    for (const [set, one] of change.writes.entries()) {
      const encode = this.#encoderFor(one, { form: 'rows', schema });
      for (const [row, values] of one.rows.entries()) {
        try {
          rows.push({
            insertId: insertIdOf(this.#idOf(one, values)),
            json: objectOf(one, encode(values)),
          });
          places.push({ set, row });
        } catch (error) {
          if (!partial || !(error instanceof ConnectorError)) throw withRefusedRow(error, row);
          refused.push({ set, row, error: new RecordError('Sink', error.message) });
        }
      }
    }
    const told = await streamRows(link, rows, {
      path: tablePath(config.dataset_id, change.table),
      table: change.table,
      most: config.batch_size,
      partial,
      isFresh: () => context.env.clock.elapsedMs() - this.#changedMs < FRESH_MS,
    }).catch((error: unknown) => {
      const place = error instanceof ConnectorError ? places[error.record ?? -1] : undefined;
      throw place === undefined ? error : withRefusedRow(withoutRecord(error), place.row);
    });
    for (const { index, message } of told) {
      const place = places[index];
      if (place !== undefined) refused.push({ ...place, error: new RecordError('Sink', message) });
    }
    return refused;
  }

  #idOf({ columns }: RowSet, values: readonly JsonValue[]): string | undefined {
    const { insert_id_field: field } = this.#parts.config;
    if (field === undefined) return undefined;
    const value = values[columns.findIndex(({ name }) => name === field)] ?? null;
    return value === null ? undefined : jsonText(value);
  }

  async #applyByStatements(change: TableChange): Promise<void> {
    const { config, link } = this.#parts;
    const { commit, schema } = change;
    const key = ownColumns(change.key);
    const steps: Step[] = [];
    const removals = (rows: TableChange['deletes']): void => {
      const set = { columns: change.key, rows };
      steps.push({ kind: 'delete', key, rows: this.#encoded(set, { form: 'payload', schema }) });
    };
    if (change.deletesBefore !== undefined) removals(change.deletesBefore);
    for (const set of change.writes) {
      const columns = ownColumns(set.columns);
      const rows = this.#encoded(set, { form: 'payload', schema });
      steps.push({ kind: change.mode, columns, key, rows });
    }
    if (change.deletes.length > 0) removals(change.deletes);
    if (commit !== undefined) await this.#tokens.make();
    await sendScripts(link, steps, {
      what: `writing to \`${change.table}\``,
      table: this.#name(change.table),
      most: config.batch_size,
      ...(commit === undefined ? {} : { ending: this.#tokens.commit(commit) }),
    }).catch((error: unknown) => {
      throw commit === undefined ? error : this.#tokens.told(error, commit);
    });
    if (commit !== undefined) this.#tokens.committed(commit);
  }

  #encoded(set: RowSet, how: Encoding): JsonValue[][] {
    const encode = this.#encoderFor(set, how);
    return set.rows.map((row, index) => {
      try {
        return encode(row);
      } catch (error) {
        throw withRefusedRow(error, index);
      }
    });
  }

  #encoderFor(
    { columns }: Pick<RowSet, 'columns'>,
    { form, schema }: Encoding,
  ): (row: readonly JsonValue[]) => JsonValue[] {
    const encoders = ownColumns(columns).map((column) => encoderOf(column, form, schema));
    return (row) => encoders.map((encode, at) => encode(row[at] ?? null));
  }

  async sweep({ table, scope, key, keys }: TableSweep): Promise<number> {
    const inside = {
      columns: scope.map(({ column }) => column),
      rows: [scope.map(({ value }) => value)],
    };
    const [scopeRow = []] = this.#encoded(inside, { form: 'payload', schema: undefined });
    const rows = this.#encoded(
      { columns: key, rows: keys },
      { form: 'payload', schema: undefined },
    );
    const parameters = [
      rowsParameter('svc_keys', distinct(rows)),
      rowsParameter('svc_inside', scopeRow),
    ];
    const bytes = parameters.reduce(
      (sum, { value }) => sum + Buffer.byteLength(jsonText(value)),
      0,
    );
    if (bytes > REQUEST_BYTES) throw tooManyKeys();
    const { changed } = await runQuery(this.#parts.link, `removing rows of \`${table}\``, {
      sql: sweepSql(
        this.#name(table),
        {
          key: ownColumns(key),
          scope: ownColumns(inside.columns),
        },
        { keys: 'svc_keys', scope: 'svc_inside' },
      ),
      parameters,
    });
    return changed;
  }

  lastToken(scope: string, execution?: Execution): Promise<string | undefined> {
    return this.#tokens.last(scope, execution);
  }

  forgetToken(scope: string): Promise<void> {
    return this.#tokens.forget(scope);
  }

  async evolve(table: string, change: SchemaChange): Promise<void> {
    const adds = change.add.map((column) => `ADD COLUMN IF NOT EXISTS ${columnLine(column)}`);
    if (adds.length > 0)
      await this.#run(
        `changing \`${table}\``,
        `ALTER TABLE ${this.#name(table)} ${adds.join(', ')}`,
      );
    const live = new Map((await this.columns(table))?.map((one) => [one.name, one.field]));
    const alters = [
      ...change.widen
        .filter(({ name, type }) => live.get(name)?.type !== COLUMN_TYPES[type])
        .map(({ name, type }) => `${backticked(name)} SET DATA TYPE ${COLUMN_TYPES[type]}`),
      ...change.relaxNull
        .filter((name) => live.get(name)?.isRequired === true)
        .map((name) => `${backticked(name)} DROP NOT NULL`),
    ].map((one) => `ALTER COLUMN ${one}`);
    for (const one of alters)
      await this.#run(`changing \`${table}\``, `ALTER TABLE ${this.#name(table)} ${one}`);
    if (adds.length + alters.length > 0) this.#changed();
  }

  async tablesFrom(prefix: string): Promise<readonly string[]> {
    const { link, config } = this.#parts;
    const found: string[] = [];
    for await (const { table } of tablesOf(link, config.dataset_id))
      if (table.startsWith(prefix)) found.push(table);
    return found;
  }

  /** One that a killed run leaves goes away by itself. */
  async stage(table: string, staging: string): Promise<void> {
    await this.#run(
      `staging \`${table}\``,
      `CREATE TABLE ${this.#name(staging)} LIKE ${this.#name(table)} OPTIONS (expiration_timestamp = TIMESTAMP_ADD(CURRENT_TIMESTAMP(), INTERVAL 7 DAY), require_partition_filter = FALSE)`,
    );
  }

  async swap(table: string, staging: string, { held }: WholeChange): Promise<void> {
    const { link, config } = this.#parts;
    await replaceRows(
      { link, columns: (name) => this.columns(name), nameOf: (name) => this.#name(name) },
      { table, staging, window: config.scope?.window },
      { tokens: this.#tokens, held },
    ).catch(async (error: unknown) => {
      // Its staged rows may be gone, or the scope is another one's: that says more.
      if (held !== undefined) await this.#tokens.assertHeld(held);
      throw error;
    });
    // What was replaced is replaced; a staging table that stays goes away by itself.
    await this.drop(staging).catch((error: unknown) =>
      this.#parts.context.env.log.warn('a staging table could not be removed', {
        table: staging,
        reason: messageOf(error),
      }),
    );
  }

  async drop(table: string, held?: HeldScope): Promise<void> {
    if (held !== undefined) await this.#tokens.assertHeld(held);
    const { link, config, context } = this.#parts;
    try {
      await link.askAnyway(
        { method: 'DELETE', path: tablePath(config.dataset_id, table) },
        AbortSignal.any([AbortSignal.timeout(DROP_MS), momentAfter(context.signal)]),
      );
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.discard();
    this.#parts.loader?.close();
  }

  async #run(what: string, sql: string): Promise<void> {
    await runQuery(this.#parts.link, what, { sql });
  }

  #changed(): void {
    this.#changedMs = this.#parts.context.env.clock.elapsedMs();
  }

  #name(table: string): string {
    return tableName(this.#place, table);
  }
}

const DROP_MS = 60_000;

interface Encoding {
  readonly form: ValueForm;
  readonly schema: TableChange['schema'];
}

function objectOf({ columns }: Pick<RowSet, 'columns'>, values: readonly JsonValue[]): JsonObject {
  return Object.fromEntries(columns.map(({ name }, at) => [name, values[at] ?? null]));
}

/** Keys of a statement are there once: the same values have the same texts. */
function distinct(rows: readonly JsonValue[][]): JsonValue[][] {
  return [...new Map(rows.map((row) => [stringifyJson(row), row])).values()];
}

function withoutRecord(error: unknown): unknown {
  if (!(error instanceof ConnectorError)) return error;
  const { kind, message, hint } = error;
  return new ConnectorError(kind, message, {
    cause: error.cause,
    ...(hint === undefined ? {} : { hint }),
  });
}

function tooManyKeys(): ConnectorError {
  return new ConnectorError(
    'refused',
    'the keys of the read do not fit into one request of 10 MB',
    {
      hint: 'narrow `complete_for.scope`, so that a row reads fewer records',
    },
  );
}
