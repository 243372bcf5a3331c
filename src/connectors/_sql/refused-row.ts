/** Which row of a write a database refused, where its driver knows: the record is named by it. */
import { ConnectorError } from '../../lib/errors.ts';
import type { PageRows, PagePlan } from './page-rows.ts';

const ROWS = new WeakMap<Error, number>();

/** `row` is an index into the rows of a set. Returns the error. */
export function withRefusedRow(error: unknown, row: number): unknown {
  if (error instanceof Error) ROWS.set(error, row);
  return error;
}

function refusedRow(error: unknown): number | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const row = ROWS.get(at);
    if (row !== undefined) return row;
  }
  return undefined;
}

/** The error with the place of the record in its page, where the rows are the records in order. */
export function withRefusedRecord(
  error: unknown,
  { upserts, count }: Pick<PagePlan, 'upserts'> & { readonly count: number },
  rows: Pick<PageRows, 'writes'> | undefined,
): unknown {
  const [set, ...others] = rows?.writes ?? [];
  // Records of one key become one row, and some become none.
  const isStraight = upserts.length === count && set?.rows.length === count && others.length === 0;
  return isStraight ? withRecordOfRow(error) : error;
}

/** The same, where each record is a row. */
export function withRecordOfRow(error: unknown): unknown {
  const record = refusedRow(error);
  if (!(error instanceof ConnectorError) || record === undefined) return error;
  return new ConnectorError(error.kind, error.message, {
    cause: error,
    record,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  });
}
