/**
 * What a record remembers of a value besides the value: how a number was written, and what a SQLite
 * file stores. Copies of a whole record (`{...record}`) keep both; whoever moves single values calls
 * this.
 */
import { keepStoredValue } from './sql/sqlite-values.ts';
import { keepSpelling } from './text/number-spelling.ts';

/** For a value that is copied to another place. */
// A holder and a key for each side, in loops over all fields of a record.
// oxlint-disable-next-line max-params
export function keepForm(from: object, key: string, to: object, toKey: string): void {
  keepSpelling(from, key, to, toKey);
  keepStoredValue(from, key, to, toKey);
}
