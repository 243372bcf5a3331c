/**
 * The statement of a source. A cursor of this database takes no bind parameters: values are written
 * into the statement as literals, which the server reads as values of the type of their place.
 */
import { ConnectorError } from '../../../lib/errors.ts';
import type { Statement } from '../../_postgres/query.ts';
import type { QueryFault } from '../../_sql/query-fault.ts';
import { sqlPieces, withoutSemicolon } from '../../_sql/sql-text.ts';

const PLACEHOLDER = /(?<![A-Za-z0-9_$\u0080-\uffff])\$(\d+)/g;

/** Errors in a query that are found without running it. `params` is their number. */
export function statementFaults(query: string, params: number): QueryFault[] {
  const code = sqlPieces(withoutSemicolon(query))
    .map(({ kind, text }) => (kind === 'code' ? text : ' '))
    .join('');
  const faults: QueryFault[] = [];
  if (code.includes(';'))
    faults.push({
      message: 'the query is more than one statement',
      hint: 'write one SELECT; several sources read several results',
    });
  const missing = [...code.matchAll(PLACEHOLDER)].find(([, place]) => {
    const number = Number(place);
    return number < 1 || number > params;
  });
  if (missing !== undefined)
    faults.push({
      message: `the query uses ${missing[0]}, and \`params\` has ${params} values`,
      hint: 'add the value to `params`',
    });
  return faults;
}

/** The statement with a literal in the place of each parameter. */
export function withValues({ sql, values }: Statement): string {
  return sqlPieces(sql)
    .map(({ kind, text }) =>
      kind === 'code'
        ? text.replace(PLACEHOLDER, (_match, place: string) => literal(values[Number(place) - 1]))
        : text,
    )
    .join('');
}

/** What a text is in a statement, whatever a backslash means to the server. */
export function literal(value: string | null | undefined): string {
  if (value === null || value === undefined) return 'NULL';
  if (value.includes('\0'))
    throw new ConnectorError('data', 'a value of the query holds the character NUL', {
      hint: 'remove it: no text of the database can hold it',
    });
  const parts = value.split('\\').map((part) => `'${part.replaceAll("'", "''")}'`);
  return parts.length === 1 ? parts.join('') : `(${parts.join(' || CHR(92) || ')})`;
}
