/** Which snapshots a read has. */
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, type JsonValue } from '../../../lib/text/json.ts';
import { momentOf } from '../../_lake/moment.ts';
import type { IcebergSourceConfig } from '../config.ts';
import { idOf, type TableMetadata, type TableSnapshot } from '../metadata/table-metadata.ts';
import { snapshotIdJson } from '../metadata/updates.ts';

export interface ReadStep {
  readonly snapshot: TableSnapshot;
  /** Whether all of its files are read, and not only those that it added. */
  readonly isWhole: boolean;
}

type Choosing = Pick<IcebergSourceConfig, 'snapshot_id' | 'as_of_timestamp'>;

/** `undefined` for a table that never had one. */
export function chosenSnapshot(
  { snapshots, current, log }: TableMetadata,
  { snapshot_id: id, as_of_timestamp: time }: Choosing,
  table: string,
): TableSnapshot | undefined {
  if (id !== undefined) {
    const found = snapshots.get(BigInt(id));
    if (found !== undefined) return found;
    throw new ConnectorError('missing', `the table ${table} has no snapshot ${id}`, {
      hint: 'it may have expired; the metadata of the table lists those that are left',
    });
  }
  if (time === undefined) return current;
  const moment = momentOf(time) ?? Number.NaN;
  const entry = log.findLast(({ since }) => since <= moment);
  const found = entry === undefined ? undefined : snapshots.get(entry.id);
  if (found !== undefined) return found;
  const [first] = log;
  const known =
    entry !== undefined
      ? `the snapshot ${entry.id} of that time has expired`
      : `the oldest one that it knows is of ${first === undefined ? 'no time' : new Date(first.since).toISOString()}`;
  throw new ConnectorError('missing', `the table ${table} cannot be read as of ${time}: ${known}`, {
    hint: 'choose a later `as_of_timestamp`',
  });
}

export function bookmarkOf({ id }: TableSnapshot): JsonValue {
  return { snapshot_id: snapshotIdJson(id) };
}

type Following = Pick<IcebergSourceConfig, 'table' | 'on_expired' | 'on_rewrite'>;

/** The snapshots since the bookmark, oldest first; the current one as a whole without a bookmark. */
export function stepsSince(
  metadata: TableMetadata,
  bookmark: JsonValue | undefined,
  { table, on_expired: onExpired, on_rewrite: onRewrite }: Following,
): readonly ReadStep[] {
  const { current, snapshots } = metadata;
  if (current === undefined) return [];
  const whole: readonly ReadStep[] = [{ snapshot: current, isWhole: true }];
  if (bookmark === undefined || bookmark === null) return whole;
  const since = bookmarkedId(bookmark);
  const steps: ReadStep[] = [];
  let at: TableSnapshot | undefined = current;
  while (at !== undefined && at.id !== since) {
    steps.unshift({ snapshot: at, isWhole: false });
    at = at.parent === undefined ? undefined : snapshots.get(at.parent);
  }
  if (at === undefined) {
    if (onExpired === 'full_refresh') return whole;
    throw new ConnectorError(
      'missing',
      `the table ${table} cannot be followed: the snapshot ${since} of the bookmark is none of its current history`,
      {
        hint: 'it has expired, or the table was rolled back: set `on_expired: full_refresh`, or reset the state',
      },
    );
  }
  const changed = steps.find(({ snapshot }) => !ADDS.has(operationOf(snapshot)));
  if (changed === undefined) return steps;
  if (onRewrite === 'full_refresh') return whole;
  throw new ConnectorError(
    'refused',
    `the table ${table} cannot be followed: the snapshot ${changed.snapshot.id} changed or deleted records (operation \`${operationOf(changed.snapshot)}\`)`,
    { hint: 'set `on_rewrite: full_refresh` to read all of it again' },
  );
}

const ADDS: ReadonlySet<string> = new Set(['append', 'replace']);

export function operationOf({ summary }: TableSnapshot): string {
  return summary['operation'] ?? 'append';
}

/** Other programs keep the number as text. */
function bookmarkedId(bookmark: JsonValue): bigint {
  const value = isObject(bookmark) ? bookmark['snapshot_id'] : bookmark;
  const id =
    typeof value === 'string' && /^\d{1,19}$/.test(value) ? BigInt(value) : idOf(value ?? null);
  if (id !== undefined) return id;
  throw new ConnectorError('data', 'the bookmark names no snapshot of a table', {
    hint: 'reset the state of the row: it belongs to another source',
  });
}
