/**
 * The changes of a run, stored in a table in the same database: for each changed key the rows as
 * they were before (none when there were none), and notes about the run as a whole. Values are
 * stored as text from which the same value can be restored, whatever its type.
 */
import { stringifyJson } from '../../lib/text/json.ts';
import { endedName } from './table-names.ts';

export const ROLLBACK_LOG_TABLE = '_svc_run_journal';

/**
 * Columns of the rollback log; all but the last are text. For each key a run stores only the first
 * version of its rows.
 */
export const ROLLBACK_LOG_COLUMNS = [
  'run_id',
  'table_name',
  'key_json',
  'before_json',
  'recorded_at',
] as const;
export const ROLLBACK_LOG_KEY = ['run_id', 'table_name', 'key_json'] as const;

/**
 * Notes are stored instead of a key, which is a list: the replaced rows of an overwrite are kept;
 * the run was rolled back.
 */
export const PREVIOUS = '"previous"';
export const ROLLED_BACK = '"undone"';

/** The condition that an entry is about a key and not a note. */
export function isKey(alias: string): string {
  return `${alias}.key_json LIKE '[%'`;
}

/**
 * The content of the note of an overwrite, in a list; the list is empty when there was no table
 * before.
 */
export interface Replaced {
  readonly table: string;
  /** The part of the table that was replaced; absent for all of it. */
  readonly window?: {
    readonly column: string;
    readonly from: string | null;
    readonly to: string | null;
  };
}

export function noteOf(replaced: Replaced): string {
  const { table, window } = replaced;
  return stringifyJson([{ table, ...(window === undefined ? {} : { window: { ...window } }) }]);
}

/** Name of the table that keeps the rows replaced by an overwrite. */
export function previousName(table: string): string {
  return endedName(table, '__svc_prev');
}

/** The key of a column inside a stored row; JSON paths treat some characters specially. */
export function labelOf(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `~${Buffer.from(name).toString('hex')}`;
}

/** The column of a label. */
export function columnOf(label: string): string {
  return label.startsWith('~') ? Buffer.from(label.slice(1), 'hex').toString() : label;
}
