/**
 * From the configured query to the statement the server gets: tokens become parameters, incremental
 * reading a condition around it.
 */
import { jsonText, type JsonValue } from '../../../lib/text/json.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import type { SourceContext } from '../../../kit/context.ts';
import { rowValue } from '../../_sql/parent-value.ts';
import { bindTokens, withoutSemicolon, type BoundSql } from '../../_sql/sql-text.ts';

/** Tokens somebody else fills in as text. */
const FOREIGN =
  'env|file|secret|matrix|pipeline|now|backfill|param|partition|job_id|window|trigger|vars|sources|sinks|map|tenant';
const TOKEN = new RegExp(`\\$\\{((?!(?:${FOREIGN})[.:}])[A-Za-z_][\\w-]*(?:\\.[\\w-]+)*)\\}`, 'g');
const BOOKMARK = 'bookmark';

export interface Fault {
  readonly message: string;
  readonly hint: string;
}

/** What is wrong with a query before it is ever run. */
export function queryFaults(query: string, incremental: boolean): Fault[] {
  const bound = bindTokens(query, TOKEN, (index) => `$${index}`);
  const faults = bound.misplaced.map((token) => ({
    message: `${token} stands inside a longer text, a quoted name or a comment, where no value can be bound`,
    hint: 'let it stand alone or be a whole quoted text, and join texts with ||',
  }));
  for (const { before } of bound.tokens.filter((token) => token.name === BOOKMARK)) {
    if (!incremental) {
      faults.push({
        message: '${bookmark} needs `replication: {type: incremental, …}`',
        hint: 'set `replication`, or remove the token',
      });
    } else if (/[^<>=]>\s*$/.test(before)) {
      faults.push({
        message: '${bookmark} is compared with >, which can miss rows that share the last value',
        hint: 'write >=; rows already read are left out by themselves',
      });
    }
  }
  return faults;
}

export interface Statement {
  readonly sql: string;
  readonly values: readonly (string | null)[];
}

export interface QueryInput {
  readonly query: string;
  readonly params: readonly JsonValue[];
  readonly records: SourceContext['records'];
  readonly incremental?: {
    readonly column: string;
    readonly initial: JsonValue;
    readonly bookmark: JsonValue | undefined;
  };
}

export function compileQuery({ query, params, records, incremental }: QueryInput): Statement {
  const bound = bindTokens(query, TOKEN, (index) => `$${params.length + index + 1}`);
  const values = [
    ...params,
    ...tokenValues(bound, records, incremental?.bookmark ?? incremental?.initial),
  ].map(parameter);
  const sql = withoutSemicolon(bound.sql);
  if (incremental === undefined) return { sql, values };
  const column = `svc_source.${quoteName(incremental.column)}`;
  const { bookmark, initial } = incremental;
  // The stored value was read to its end, so a resumed run starts strictly after it; the first run
  // includes its start.
  const condition = `${column} ${bookmark === undefined ? '>=' : '>'} $${values.length + 1}`;
  return {
    sql: `SELECT * FROM (\n${sql}\n) AS svc_source WHERE ${condition} ORDER BY ${column}`,
    values: [...values, parameter(bookmark ?? initial)],
  };
}

function tokenValues(
  bound: BoundSql,
  records: SourceContext['records'],
  bookmark: JsonValue | undefined,
): JsonValue[] {
  return bound.tokens.map(({ name }) =>
    name === BOOKMARK
      ? (bookmark ?? null)
      : rowValue(name, records === undefined ? {} : { records }),
  );
}

/**
 * Values travel as text; the server gives each the type its place asks for, so integers stay exact.
 */
function parameter(value: JsonValue): string | null {
  return value === null ? null : jsonText(value);
}
