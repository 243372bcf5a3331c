/**
 * COPY accepts no bind parameters: their values are written into the statement as literals with the
 * types that the server reports.
 */
import { sqlPieces } from '../../_sql/sql-text.ts';
import type { Connection } from '../../_postgres/connection.ts';
import type { Statement } from '../../_postgres/query.ts';

const PREPARED = 'svc_query';
const PLACEHOLDER = /(?<![A-Za-z0-9_$\u0080-\uffff])\$(\d+)/g;

interface PreparedRow {
  readonly types: readonly string[];
  readonly plain: boolean;
}

/**
 * The statement without parameters; `undefined` when it is not certain that the server would read
 * the same values.
 */
export async function withLiterals(
  connection: Connection,
  { sql, values }: Statement,
): Promise<string | undefined> {
  if (values.length === 0) return sql;
  const { types, plain } = await connection.ask(() => parameterTypes(connection, sql));
  // Where a backslash escapes in plain literals, code and quoted text cannot be separated by
  // reading the text alone.
  if (
    !plain ||
    types.length !== values.length ||
    values.some((value) => value?.includes('\u0000') === true)
  )
    return undefined;
  const seen = new Set<number>();
  const literal = (_match: string, digits: string): string => {
    const place = Number(digits);
    seen.add(place);
    const value = values[place - 1];
    return `(CAST(${value === null || value === undefined ? 'NULL' : connection.client.escapeLiteral(value)} AS ${types[place - 1]}))`;
  };
  const written = sqlPieces(sql)
    .map((piece) => (piece.kind === 'code' ? piece.text.replace(PLACEHOLDER, literal) : piece.text))
    .join('');
  return seen.size === values.length ? written : undefined;
}

async function parameterTypes({ client }: Connection, sql: string): Promise<PreparedRow> {
  await client.query(`PREPARE ${PREPARED} AS ${sql}`);
  const { rows } = await client.query<PreparedRow>(
    `SELECT parameter_types::text[] AS types, current_setting('standard_conforming_strings') = 'on' AS plain
     FROM pg_prepared_statements WHERE name = '${PREPARED}'`,
  );
  await client.query(`DEALLOCATE ${PREPARED}`);
  return rows[0] ?? { types: [], plain: false };
}
