import { backticked } from '../_google/backticked.ts';

/** The name of a table in a statement; a schema stands before a dot. */
export function tableSql(table: string): string {
  return table.split('.').map(backticked).join('.');
}
