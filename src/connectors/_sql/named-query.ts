/** A query under a name, for a statement that reads from it. */
import { ConnectorError } from '../../lib/errors.ts';
import { sqlPieces, type SqlWriting } from './sql-text.ts';

export interface NamedQuery {
  /** The expression that stands before a statement. */
  readonly source: string;
  readonly name: string;
}

export interface OuterWord {
  readonly word: string;
  readonly at: number;
}

/** The words of the statement outside of parentheses, texts and names. */
export function outerWords(sql: string, writing: SqlWriting): OuterWord[] {
  const words: OuterWord[] = [];
  let depth = 0;
  let from = 0;
  for (const { kind, text } of sqlPieces(sql, writing)) {
    if (kind === 'code')
      for (const found of text.matchAll(/[()]|[A-Za-z_@#][\w@#$]*/g)) {
        const [word] = found;
        if (word === '(') depth += 1;
        else if (word === ')') depth -= 1;
        else if (depth === 0) words.push({ word: word.toUpperCase(), at: from + found.index });
      }
    from += text.length;
  }
  return words;
}

/** Expressions before the query (`WITH`) stay before it. `words` are its outer words. */
export function namedQuery(sql: string, wanted: string, words: readonly OuterWord[]): NamedQuery {
  let name = wanted;
  while (sql.includes(name)) name += '_';
  if (words[0]?.word !== 'WITH') return { source: `WITH ${name} AS (\n${sql}\n)`, name };
  const select = words.find(({ word }) => word === 'SELECT');
  if (select === undefined)
    throw new ConnectorError('data', 'the query gives no rows: it has to be one that reads', {
      hint: 'use a SELECT; change data outside of the pipeline',
    });
  const before = sql.slice(0, select.at).trimEnd();
  return { source: `${before},\n${name} AS (\n${sql.slice(select.at)}\n)`, name };
}
