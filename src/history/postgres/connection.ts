/** Statements of a history on a connection of PostgreSQL. */
import type { ClientBase } from 'pg';
import type { Row, SqlResult, SqlStatement, SqlValue } from '../sql/sql-store.ts';
import { mergeStatements } from './write-waves.ts';

/** Statements that a connection keeps prepared; lists of a request may be of any length. */
const MOST_PREPARED = 300;

interface Prepared {
  /** `?` as PostgreSQL writes it. */
  readonly text: string;
  readonly name?: string;
}

const prepared = new Map<string, Prepared>();

function prepare(sql: string): Prepared {
  let known = prepared.get(sql);
  if (known !== undefined) return known;
  let count = 0;
  // No text of ours holds a question mark that is none.
  const text = sql.replaceAll('?', () => `$${(count += 1)}`);
  if (prepared.size >= MOST_PREPARED) return { text };
  known = { text, name: `headgate_${prepared.size}` };
  prepared.set(sql, known);
  return known;
}

export async function query(
  client: ClientBase,
  sql: string,
  values: readonly (SqlValue | readonly SqlValue[])[],
): Promise<SqlResult> {
  const { rows, rowCount } = await client.query<Row>({
    ...prepare(sql),
    values: values.map(storable),
  });
  return { rows, changed: rowCount ?? 0 };
}

/** Sends all of them before it waits for the first answer. */
export async function queryAll(
  client: ClientBase,
  statements: readonly SqlStatement[],
): Promise<readonly SqlResult[]> {
  const results: SqlResult[] = [];
  const merged = mergeStatements(statements);
  const answered = await Promise.all(merged.map(({ sql, values }) => query(client, sql, values)));
  for (const [at, { answers, resultOf }] of merged.entries())
    for (const [n, index] of answers.entries())
      results[index] = resultOf(n, answered[at] ?? { rows: [], changed: 0 });
  return results;
}

type Value = SqlValue | readonly SqlValue[];

/** PostgreSQL stores no character 0. */
function storable(value: Value): Value | SqlValue[] {
  if (typeof value === 'string') return value.includes('\0') ? value.replaceAll('\0', '�') : value;
  return Array.isArray(value) ? value.map((one: SqlValue) => storable(one) as SqlValue) : value;
}
