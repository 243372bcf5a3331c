import { ConnectorError } from '../../lib/errors.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import type { SourceContext } from '../../kit/context.ts';
import { readerOf } from '../../kit/field-path.ts';
import { bindTokens } from './sql-text.ts';

/**
 * `{field}`: a field of the parent record; `${row.field}`: one of the record or fan-out value of
 * that row.
 */
export const BINDABLE = /(\$?\{[A-Za-z_][\w-]*(?:\.[\w-]+)*\})/g;

/** Tokens that are replaced as text elsewhere. */
const FOREIGN =
  'env|file|secret|matrix|pipeline|now|backfill|param|partition|job_id|window|trigger|vars|sources|sinks|map|tenant';
/** `${row.field}`, or another name that the source replaces itself; captures what is inside. */
export const ROW_TOKEN = `\\$\\{((?!(?:${FOREIGN})[.:}])[A-Za-z_][\\w-]*(?:\\.[\\w-]+)*)\\}`;

/**
 * A query with placeholders instead of its tokens, and their values. Values never become SQL text.
 */
export function bindRecords(
  query: string,
  context: Pick<SourceContext, 'parent' | 'records'>,
  placeholder: (index: number) => string,
): { readonly sql: string; readonly values: readonly JsonValue[] } {
  const { sql, tokens, misplaced } = bindTokens(query, BINDABLE, placeholder);
  const lost = misplaced.find((token) => token.startsWith('$'));
  if (lost !== undefined) {
    throw new ConnectorError(
      'data',
      `${lost} is inside a longer text, a quoted name or a comment, where no value can be bound`,
      {
        hint: 'use it alone or as a whole quoted text, and join texts with ||',
      },
    );
  }
  return {
    sql,
    values: tokens.map(({ name }) =>
      name.startsWith('$') ? rowValue(name.slice(2, -1), context) : parentField(name, context),
    ),
  };
}

/** The value of `${row.field}`. */
export function rowValue(name: string, { records }: Pick<SourceContext, 'records'>): JsonValue {
  const [row = '', ...path] = name.split('.');
  const record = records?.get(row);
  if (record === undefined)
    throw new ConnectorError(
      'missing',
      `the query uses \${${name}}, but this row has no record of row \`${row}\``,
    );
  return valueAt(record, path, `\${${name}}`);
}

/** A query with placeholders for its tokens, and their number. */
export function withoutTokens(query: string): { readonly sql: string; readonly count: number } {
  const { sql, tokens } = bindTokens(query, BINDABLE, () => '?');
  return { sql, count: tokens.length };
}

export function parentField(token: string, { parent }: Pick<SourceContext, 'parent'>): JsonValue {
  if (parent === undefined)
    throw new ConnectorError(
      'missing',
      `the query uses ${token}, but this row has no parent record`,
    );
  return valueAt(parent, token.slice(1, -1).split('.'), token);
}

function valueAt(record: JsonValue, path: readonly string[], token: string): JsonValue {
  const value = readerOf(path)(record);
  if (value !== undefined) return value;
  throw new ConnectorError('missing', `the query uses ${token}, but the record has no such field`, {
    hint: isObject(record)
      ? `its fields: ${Object.keys(record).join(', ')}`
      : 'the record is not an object',
  });
}
