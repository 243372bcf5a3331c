/** What the texts in the log are: the bounds of transactions, changes of schemas, or of rows. */
import type { TableName } from './table-map.ts';

export type Statement =
  | { readonly kind: 'begin' }
  | { readonly kind: 'commit' }
  | { readonly kind: 'rollback' }
  | { readonly kind: 'savepoint' }
  | { readonly kind: 'rollback_to' }
  | { readonly kind: 'rows' }
  | { readonly kind: 'schema'; readonly target: TableName | undefined }
  | { readonly kind: 'other' };

const COMMENTS = /^(?:\s+|\/\*(?!!)[\s\S]*?\*\/|--[^\n]*(?:\n|$)|#[^\n]*(?:\n|$))+/;
const ROWS = /^(?:insert|update|delete|replace|load|call|with|select|do|values)\b/i;
const SCHEMA =
  /^(?:create|alter|drop|rename|truncate)\s+(?:or\s+replace\s+)?(?:online\s+|offline\s+|ignore\s+|unique\s+|fulltext\s+|spatial\s+)*(table|database|schema|index|view)\b/i;
const NAME = '(?:`(?:[^`]|``)+`|[\\p{L}\\p{N}_$]+)';
/** `TRUNCATE` may leave the word out. */
const TRUNCATE = /^truncate\b(?!\s+table\b)/i;
/** A name behind these words, perhaps with its database. */
function named(words: string): RegExp {
  const optional = '(?:if\\s+(?:not\\s+)?exists\\s+)?';
  return new RegExp(`\\b(?:${words})\\s+${optional}(${NAME})(?:\\s*\\.\\s*(${NAME}))?`, 'iu');
}

const TARGETS: Readonly<Record<string, RegExp>> = {
  table: named('tables?'),
  view: named('view'),
  index: named('on'),
  truncate: named('truncate'),
};

/** `schema` is the database of the session, for names without one. */
export function statementOf(sql: string, schema: string): Statement {
  const text = sql.replace(COMMENTS, '');
  const head = text.slice(0, 24).toUpperCase();
  if (/^BEGIN\b|^START TRANSACTION\b|^XA START\b/.test(head)) return { kind: 'begin' };
  if (/^COMMIT\b/.test(head)) return { kind: 'commit' };
  if (/^ROLLBACK TO\b/.test(head)) return { kind: 'rollback_to' };
  if (/^ROLLBACK\b/.test(head)) return { kind: 'rollback' };
  if (/^(?:RELEASE )?SAVEPOINT\b|^XA END\b/.test(head)) return { kind: 'savepoint' };
  if (ROWS.test(text)) return { kind: 'rows' };
  const what = SCHEMA.exec(text)?.[1]?.toLowerCase();
  if (what === undefined && !TRUNCATE.test(text)) return { kind: 'other' };
  const target =
    what === 'database' || what === 'schema' ? undefined : targetOf(text, schema, what);
  return { kind: 'schema', target };
}

function targetOf(text: string, schema: string, what = 'truncate'): TableName | undefined {
  const [, first, second] = TARGETS[what]?.exec(text) ?? [];
  if (first === undefined) return undefined;
  if (second === undefined) return { schema, table: plain(first) };
  return { schema: plain(first), table: plain(second) };
}

function plain(name: string): string {
  return name.startsWith('`') ? name.slice(1, -1).replaceAll('``', '`') : name;
}
