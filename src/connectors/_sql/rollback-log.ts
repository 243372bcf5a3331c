/**
 * What a run has changed, in a table beside the one it writes: for each key it touched the rows as
 * they were before (none when there were none), and notes about the run as a whole. Values are text
 * that gives the same value again, whatever its type.
 */
import { stringifyJson } from '../../lib/text/json.ts';
import { endedName } from './table-names.ts';

export const ROLLBACK_LOG_TABLE = '_svc_run_journal';

/**
 * Columns of the rollback log, all of them text but the last one. A run keeps the first rows of a key.
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
 * Notes stand in the place of a key, which is a list: the rows that an overwrite replaced are kept;
 * the run was rolled back.
 */
export const PREVIOUS = '"previous"';
export const ROLLED_BACK = '"undone"';

/** Tells an entry about a key from a note. */
export function isKey(alias: string): string {
  return `${alias}.key_json LIKE '[%'`;
}

/** What the note of an overwrite says, in a list; there is none when there was no table before. */
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

/** Where the rows are kept that an overwrite replaced. */
export function previousName(table: string): string {
  return endedName(table, '__svc_prev');
}

/**
 * How a column is called inside an image: paths into JSON read some characters in a way of their
 * own.
 */
export function labelOf(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `~${Buffer.from(name).toString('hex')}`;
}

/** The column of a label. */
export function columnOf(label: string): string {
  return label.startsWith('~') ? Buffer.from(label.slice(1), 'hex').toString() : label;
}
