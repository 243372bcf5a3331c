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
  { upserts, rejected, isPage }: PagePlan & { readonly isPage: boolean },
  rows: Pick<PageRows, 'writes' | 'skipped'> | undefined,
): unknown {
  const record = refusedRow(error);
  const [set, ...others] = rows?.writes ?? [];
  const isStraight = isPage && rejected.length === 0 && set?.rows.length === upserts.length;
  if (!(error instanceof ConnectorError) || record === undefined) return error;
  if (!isStraight || others.length > 0) return error;
  return new ConnectorError(error.kind, error.message, {
    cause: error,
    record,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
  });
}
