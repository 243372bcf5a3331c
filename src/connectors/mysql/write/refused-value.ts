/** Finds the row of a value that the server refused. */
import { messageOf } from '../../../lib/errors.ts';
import { codesOf } from '../../../lib/sql/mysql-errors.ts';
import type { RowSet } from '../../_sql/driver.ts';
import { withRefusedRow } from '../../_sql/refused-row.ts';

const CANNOT_BE_NULL = 1048;

/** `from` is the index of the first row of the statement. */
export function placeRefusal(error: unknown, { columns, rows }: RowSet, from: number): unknown {
  const message = messageOf(error);
  const inStatement = / at row (\d+)$/.exec(message)?.[1];
  if (inStatement !== undefined) return withRefusedRow(error, from + Number(inStatement) - 1);
  if (codesOf(error).number !== CANNOT_BE_NULL) return error;
  const column = /^Column '(.+)' cannot be null/.exec(message)?.[1];
  const place = columns.findIndex(({ name }) => name === column);
  const row = rows.findIndex((one, index) => index >= from && (one[place] ?? null) === null);
  return place === -1 || row === -1 ? error : withRefusedRow(error, row);
}
