/** Statements for parts of a result, by the values of one integer column. */
import type { KeySpan } from '../../kit/source.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import { withoutSemicolon, type SqlWriting } from './sql-text.ts';

/** Alias of the query inside a larger statement. */
export const PART = 'svc_part';

/** The query as a subquery. */
export function inner(query: string, writing?: SqlWriting): string {
  return `(\n${withoutSemicolon(query, writing)}\n) AS ${PART}`;
}

export function keyColumn(key: string, quote = quoteName): string {
  return `${PART}.${quote(key)}`;
}

/**
 * The condition for records in one of the spans. Bounds are whole numbers, so they can be part of
 * the text.
 */
export function spansCondition(key: string, spans: readonly KeySpan[], quote = quoteName): string {
  return conditionOn(keyColumn(key, quote), spans, { yes: 'true', no: 'false' });
}

interface Words {
  readonly yes: string;
  readonly no: string;
}

/** For databases without words for true and false. */
export const COMPARISONS: Words = { yes: '1 = 1', no: '1 = 0' };

/** The same for a column as it is written in the statement. */
export function conditionOn(column: string, spans: readonly KeySpan[], words: Words): string {
  return spans.map((span) => `(${spanCondition(column, span, words)})`).join(' OR ') || words.no;
}

function spanCondition(column: string, { from, to, nulls }: KeySpan, { yes }: Words): string {
  const bounds = [
    ...(from === undefined ? [] : [`${column} >= ${from}`]),
    ...(to === undefined ? [] : [`${column} < ${to}`]),
  ];
  if (bounds.length === 0) return nulls ? yes : `${column} IS NOT NULL`;
  return nulls ? `(${bounds.join(' AND ')}) OR ${column} IS NULL` : bounds.join(' AND ');
}
