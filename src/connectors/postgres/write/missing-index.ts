import { ConnectorError } from '../../../lib/errors.ts';
import { codeOf } from '../../../lib/sql/postgres.ts';
import { quoteNames } from '../../../lib/sql/sql-name.ts';

const NO_UNIQUE_INDEX = '42P10';

/** What an upsert says where its key has no unique index. */
export function missingIndex(
  error: unknown,
  table: string,
  keys: readonly string[],
): ConnectorError | undefined {
  if (codeOf(error) !== NO_UNIQUE_INDEX) return undefined;
  return new ConnectorError(
    'data',
    `${table} has no unique index on (${keys.join(', ')}), which an upsert needs`,
    {
      hint: `CREATE UNIQUE INDEX ON ${table} (${quoteNames(keys)})`,
      cause: error,
    },
  );
}
