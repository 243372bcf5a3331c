/** Rows in INSERT statements. */
import type { ClientBase } from 'pg';
import { quoteNames } from '../../../lib/sql/sql-name.ts';
import type { EncodedRows } from '../../_sql/collected-rows.ts';
import { inBatches } from '../../_sql/collected-rows.ts';
import { readParameter, type TextRow } from './texts.ts';

/** Parameters of one statement at most. */
const MOST_PARAMETERS = 32_767;

export async function insertRows(
  client: ClientBase,
  table: string,
  { columns, rows }: EncodedRows<TextRow>,
): Promise<void> {
  const names = quoteNames(columns.map(({ name }) => name));
  const most = Math.max(1, Math.floor(MOST_PARAMETERS / columns.length));
  for (const some of inBatches(rows, most)) {
    const values = some.map((_, row) => {
      const slots = columns.map((column, at) =>
        readParameter(column, `$${row * columns.length + at + 1}`),
      );
      return `(${slots.join(', ')})`;
    });
    await client.query({
      text: `INSERT INTO ${table} (${names}) VALUES ${values.join(', ')}`,
      values: some.flat(),
    });
  }
}
