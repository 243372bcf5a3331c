/** Parts of a result, by the values of one integer column. */
import type { KeySpan } from '../../kit/source.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import { withoutSemicolon } from './sql-text.ts';

/** The name of the result inside of a statement around its query. */
export const PART = 'svc_part';

/** A query as it can stand inside of another statement. */
export function inner(query: string): string {
  return `(\n${withoutSemicolon(query)}\n) AS ${PART}`;
}

export function keyColumn(key: string): string {
  return `${PART}.${quoteName(key)}`;
}

/**
 * The condition that a record lies in one of the spans. Bounds are whole numbers, so they can stand
 * in the text.
 */
export function spansCondition(key: string, spans: readonly KeySpan[]): string {
  const column = keyColumn(key);
  return spans.map((span) => `(${spanCondition(column, span)})`).join(' OR ') || 'false';
}

function spanCondition(column: string, { from, to, nulls }: KeySpan): string {
  const bounds = [
    ...(from === undefined ? [] : [`${column} >= ${from}`]),
    ...(to === undefined ? [] : [`${column} < ${to}`]),
  ];
  if (bounds.length === 0) return nulls ? 'true' : `${column} IS NOT NULL`;
  return nulls ? `(${bounds.join(' AND ')}) OR ${column} IS NULL` : bounds.join(' AND ');
}
