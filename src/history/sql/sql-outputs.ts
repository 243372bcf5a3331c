/** The ledger of outputs in an SQL table; SQLite and PostgreSQL share it. */
import type { RunFence } from '../history.ts';
import type { OutputQuery, OutputStore, StoredOutput } from '../outputs.ts';
import { text } from './rows.ts';
import { holdRun } from './run-statements.ts';
import {
  insertInto,
  type Row,
  type SqlScript,
  type SqlStatement,
  type SqlStore,
  type SqlValue,
} from './sql-store.ts';

const TABLE = 'svc_serve_outputs';
const COLUMNS = {
  id: 'text',
  path: 'text',
  dataset_uri: 'text',
  dataset_id: 'text',
  kind: 'text',
  pipeline: 'text',
  row_id: 'text',
  run_id: 'text',
  pre_existing: 'integer',
  replaced: 'integer',
  retention_days: 'integer',
  first_written_at: 'text',
  last_written_at: 'text',
  deleted_at: 'text',
  deleted_bytes: 'bigint',
} as const;
const STICKY: ReadonlySet<string> = new Set([
  'id',
  'path',
  'pre_existing',
  'replaced',
  'first_written_at',
]);
const RENEWED = Object.keys(COLUMNS)
  .filter((column) => !STICKY.has(column))
  .map((column) => `${column} = excluded.${column}`);

const ON_CONFLICT = `ON CONFLICT (id) DO UPDATE SET ${RENEWED.join(', ')},
    pre_existing = CASE WHEN ${TABLE}.deleted_at IS NULL THEN ${TABLE}.pre_existing ELSE excluded.pre_existing END,
    replaced = CASE WHEN excluded.replaced = 1 OR ${TABLE}.deleted_at IS NOT NULL THEN excluded.replaced ELSE ${TABLE}.replaced END`;
/** Always in the same order: two instances that write the same rows wait for each other, not for ever. */
const put = insertInto(TABLE, COLUMNS, ON_CONFLICT, 'id');
const MARK = `UPDATE ${TABLE} SET deleted_at = ?, deleted_bytes = ? WHERE id = ? AND last_written_at = ?`;

export class SqlOutputs implements OutputStore {
  readonly #store: SqlStore;

  constructor(store: SqlStore) {
    this.#store = store;
  }

  async putOutputs(outputs: readonly StoredOutput[], by?: RunFence): Promise<boolean> {
    const ordered = [...outputs].sort((a, b) => (a.id < b.id ? -1 : 1));
    const puts = ordered.map((output) => put(valuesOf(output)));
    const touches = ordered.map(({ id }) => nameOf(id));
    if (by !== undefined) {
      const options = { background: true, touches: [...touches, by.run_id] };
      return this.#store.change(() => putsOf(by, puts), options);
    }
    await this.#store.writeDeferred(puts, { touches });
    return true;
  }

  async listOutputs({
    ids,
    dataset_id,
    pipeline,
    run_id,
    include_deleted,
    limit,
  }: OutputQuery): Promise<readonly StoredOutput[]> {
    if (ids?.length === 0) return [];
    const conditions = ['1 = 1'];
    const values: SqlValue[] = [];
    const add = (condition: string, ...given: readonly SqlValue[]): void => {
      conditions.push(condition);
      values.push(...given);
    };
    if (ids !== undefined) add(`id IN (${ids.map(() => '?').join(', ')})`, ...ids);
    if (dataset_id !== undefined) add('dataset_id = ?', dataset_id);
    if (pipeline !== undefined) add('pipeline = ?', pipeline);
    if (run_id !== undefined) add('run_id = ?', run_id);
    if (!include_deleted) add('deleted_at IS NULL');
    const most = limit === undefined ? '' : 'LIMIT ?';
    const sql = `SELECT * FROM ${TABLE} WHERE ${conditions.join(' AND ')} ORDER BY last_written_at DESC, id ${most}`;
    return (await this.#store.read(sql, [...values, ...(limit === undefined ? [] : [limit])])).map(
      outputOf,
    );
  }

  async markDeleted(
    id: string,
    lastWrittenAt: string,
    { at, bytes }: { readonly at: string; readonly bytes: number },
  ): Promise<boolean> {
    const [changed] = await this.#store.write(
      [{ sql: MARK, values: [at, bytes, id, lastWrittenAt] }],
      { touches: [nameOf(id)] },
    );
    return changed === 1;
  }

  async forgetOutputs(ids: readonly string[]): Promise<void> {
    await this.#store.writeDeferred(
      ids.map((id) => ({ sql: `DELETE FROM ${TABLE} WHERE id = ?`, values: [id] })),
      { touches: ids.map(nameOf) },
    );
  }
}

/** What writes of this file name as touched. */
function nameOf(id: string): string {
  return `output ${id}`;
}

function* putsOf(by: RunFence, puts: readonly SqlStatement[]): SqlScript<boolean> {
  const [held] = yield [holdRun(by)];
  if (held?.changed !== 1) return false;
  yield puts;
  return true;
}

function valuesOf(output: StoredOutput): SqlValue[] {
  const {
    id,
    path,
    dataset_uri,
    dataset_id,
    kind,
    pipeline,
    row,
    run_id,
    pre_existing,
    replaced,
    retention_days,
  } = output;
  const { first_written_at, last_written_at, deleted_at, deleted_bytes } = output;
  const flags = [pre_existing ? 1 : 0, replaced ? 1 : 0];
  const names = [id, path, dataset_uri, dataset_id, kind, pipeline, row, run_id];
  return [
    ...names,
    ...flags,
    retention_days,
    first_written_at,
    last_written_at,
    deleted_at,
    deleted_bytes,
  ];
}

function outputOf(row: Row): StoredOutput {
  return {
    id: text(row['id']),
    path: text(row['path']),
    dataset_uri: text(row['dataset_uri']),
    dataset_id: text(row['dataset_id']),
    kind: text(row['kind']),
    pipeline: text(row['pipeline']),
    row: text(row['row_id']),
    run_id: text(row['run_id']),
    pre_existing: Number(row['pre_existing']) === 1,
    replaced: Number(row['replaced']) === 1,
    retention_days: numberOrNull(row['retention_days']),
    first_written_at: text(row['first_written_at']),
    last_written_at: text(row['last_written_at']),
    deleted_at: row['deleted_at'] == null ? null : text(row['deleted_at']),
    deleted_bytes: numberOrNull(row['deleted_bytes']),
  };
}

function numberOrNull(value: Row[string] | undefined): number | null {
  return value == null ? null : Number(value);
}
