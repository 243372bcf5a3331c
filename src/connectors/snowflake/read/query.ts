/** The statement of a source: its tokens and its `?` become bindings, in the order of their places. */
import type { SourceContext } from '../../../kit/context.ts';
import { jsonText, type JsonValue } from '../../../lib/text/json.ts';
import { BINDABLE, parentField, rowValue } from '../../_sql/parent-value.ts';
import { bindTokens, sqlPieces, withoutSemicolon } from '../../_sql/sql-text.ts';

/** A value of a statement, as the server takes it. */
export interface Binding {
  readonly type: 'BOOLEAN' | 'FIXED' | 'REAL' | 'TEXT';
  readonly value: string | null;
}

interface Fault {
  readonly message: string;
  readonly hint: string;
}

/** Errors in a query that are found without running it. `params` is their number. */
export function queryFaults(query: string, params: number): Fault[] {
  const faults: Fault[] = bindTokens(query, BINDABLE, () => '?')
    .misplaced.filter((token) => token.startsWith('$'))
    .map((token) => ({
      message: `${token} is inside a longer text, a quoted name or a comment, where no value can be bound`,
      hint: 'use it alone or as a whole quoted text, and join texts with ||',
    }));
  const code = codeOf(withoutSemicolon(query));
  if (code.includes(';'))
    faults.push({
      message: 'the query is more than one statement',
      hint: 'write one SELECT; several sources read several results',
    });
  const places = code.split('?').length - 1;
  if (places !== params)
    faults.push({
      message: `the query has ${places} \`?\`, and \`params\` has ${params} values`,
      hint: 'write one value for each `?`',
    });
  return faults;
}

function codeOf(sql: string): string {
  return sqlPieces(sql)
    .map(({ kind, text }) => (kind === 'code' ? text : ' '))
    .join('');
}

/** Stands for a `?` while the tokens are looked for, which may stand between two of them. */
const PARAM = 'svc_param';

export function compileQuery(
  { query, params }: { readonly query: string; readonly params: readonly JsonValue[] },
  context: Pick<SourceContext, 'parent' | 'records'>,
): { readonly text: string; readonly bindings: readonly Binding[] } {
  let count = 0;
  const marked = sqlPieces(withoutSemicolon(query))
    .map(({ kind, text }) =>
      kind === 'code' ? text.replaceAll('?', () => `{${PARAM}.${(count += 1)}}`) : text,
    )
    .join('');
  const { sql, tokens } = bindTokens(marked, BINDABLE, () => '?');
  const valueOf = (name: string): JsonValue => {
    if (name.startsWith(`{${PARAM}.`))
      return params[Number(name.slice(PARAM.length + 2, -1)) - 1] ?? null;
    if (name.startsWith('$')) return rowValue(name.slice(2, -1), context);
    return parentField(name, context);
  };
  return { text: sql, bindings: tokens.map(({ name }) => bindingOf(valueOf(name))) };
}

export function bindingOf(value: JsonValue): Binding {
  if (value === null) return { type: 'TEXT', value };
  switch (typeof value) {
    case 'boolean':
      return { type: 'BOOLEAN', value: String(value) };
    case 'bigint':
      return { type: 'FIXED', value: String(value) };
    case 'number':
      return { type: Number.isInteger(value) ? 'FIXED' : 'REAL', value: jsonText(value) };
    default:
      return { type: 'TEXT', value: jsonText(value) };
  }
}
