/** Makes the statement for BigQuery from the configured query. Values are bound, and never text. */
import { isLiteral, literalValue } from '../../../lib/text/json-literal.ts';
import { jsonText, type JsonValue } from '../../../lib/text/json.ts';
import type { SourceContext } from '../../../kit/context.ts';
import { parentField, ROW_TOKEN, rowValue } from '../../_sql/parent-value.ts';
import { sqlPieces } from '../../_sql/sql-text.ts';
import type { QueryParameter } from '../query-parameter.ts';

const FIELD = String.raw`\{[A-Za-z_][\w-]*(?:\.[\w-]+)*\}`;
/** `?`, `${row.field}` and `{field}`. */
const IN_CODE = new RegExp(String.raw`\?|${ROW_TOKEN}|(?<!\$)${FIELD}`, 'g');
const WHOLE = new RegExp(`^(?:${ROW_TOKEN}|${FIELD})$`);
const ROW_FIELD = new RegExp(ROW_TOKEN, 'g');
const WRITING = 'bigquery';

export interface Fault {
  readonly message: string;
  readonly hint: string;
}

/** Errors in a query that are found without running it. */
export function queryFaults(
  query: string,
  { params, isLegacy }: { readonly params: number; readonly isLegacy: boolean },
): Fault[] {
  const faults: Fault[] = [];
  let slots = 0;
  let tokens = 0;
  for (const { kind, text } of sqlPieces(query, WRITING)) {
    if (kind === 'code') {
      const found = [...text.matchAll(IN_CODE)].map(([token]) => token);
      slots += found.filter((token) => token === '?').length;
      tokens += found.filter((token) => token !== '?').length;
    } else if (isToken(kind, text)) tokens += 1;
    else faults.push(...misplaced(text));
  }
  if (isLegacy) return [...faults, ...legacyFaults(tokens, params)];
  if (slots === params) return faults;
  return [
    ...faults,
    {
      message: `the query has ${slots} placeholders \`?\`, and \`params\` has ${params} values`,
      hint: 'write one value for each placeholder, in their order',
    },
  ];
}

function legacyFaults(tokens: number, params: number): Fault[] {
  if (tokens + params === 0) return [];
  return [
    {
      message: 'legacy SQL knows no parameters, so that no value can be bound',
      hint: 'write the query in standard SQL, or without values',
    },
  ];
}

function misplaced(text: string): Fault[] {
  return [...text.matchAll(ROW_FIELD)].map(([token]) => ({
    message: `${token} is inside a longer text, a quoted name or a comment, where no value can be bound`,
    hint: 'use it alone or as a whole quoted text, and join texts with ||',
  }));
}

function isToken(kind: string, text: string): boolean {
  return kind === 'literal' && WHOLE.test(text.slice(1, -1));
}

export interface QueryInput {
  readonly query: string;
  readonly params: readonly JsonValue[];
  readonly isLegacy: boolean;
  readonly context: Pick<SourceContext, 'parent' | 'records'>;
}

export interface BoundQuery {
  readonly sql: string;
  readonly parameters: readonly QueryParameter[];
}

export function compileQuery({ query, params, isLegacy, context }: QueryInput): BoundQuery {
  if (isLegacy) return { sql: query, parameters: [] };
  const parameters: QueryParameter[] = [];
  const open = [...params];
  const sql = filled(query, (token) => {
    const parameter = parameterOf(
      token === '?' ? (open.shift() ?? null) : recordValue(token, context),
    );
    // A parameter has a type, and null has all of them.
    if (parameter === undefined) return 'NULL';
    parameters.push(parameter);
    return '?';
  });
  return { sql, parameters };
}

function filled(sql: string, put: (token: string) => string): string {
  return sqlPieces(sql, WRITING)
    .map(({ kind, text }) => {
      if (kind === 'code') return text.replaceAll(IN_CODE, put);
      return isToken(kind, text) ? put(text.slice(1, -1)) : text;
    })
    .join('');
}

function recordValue(token: string, context: QueryInput['context']): JsonValue {
  return token.startsWith('$')
    ? rowValue(token.slice(2, -1), context)
    : parentField(token, context);
}

/** Errors in a restriction of rows, which knows no parameters. */
export function restrictionFaults(restriction: string): Fault[] {
  return sqlPieces(restriction, WRITING).flatMap(({ kind, text }) => {
    if (kind !== 'code') return isToken(kind, text) ? [] : misplaced(text);
    return text.includes('?') ? [WITHOUT_PARAMETERS] : [];
  });
}

const WITHOUT_PARAMETERS: Fault = {
  message: 'the restriction has a placeholder `?`, and knows no parameters',
  hint: 'write the value, or `{field}` or `${row.field}` for one of a record',
};

/** With the values of its tokens as literals. */
export function restrictionOf(restriction: string, context: QueryInput['context']): string {
  return filled(restriction, (token) => literalOf(recordValue(token, context)));
}

function literalOf(value: JsonValue): string {
  const parameter = parameterOf(value);
  if (parameter === undefined) return 'NULL';
  const { type, value: text } = parameter;
  if (type === 'STRING') return quoted(text);
  return type === 'BIGNUMERIC' ? `BIGNUMERIC ${quoted(text)}` : text;
}

/** What is not plain is written by its number. */
function quoted(text: string): string {
  const escaped = text.replaceAll(
    /[\\'\p{Cc}]/gu,
    (letter) => `\\x${letter.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return `'${escaped}'`;
}

const INT64_MAX = 2n ** 63n - 1n;

interface TextParameter extends QueryParameter {
  readonly value: string;
}

function parameterOf(written: JsonValue): TextParameter | undefined {
  const value = isLiteral(written) ? literalValue(written) : written;
  switch (typeof value) {
    case 'boolean':
      return { type: 'BOOL', value: String(value) };
    case 'number':
      return { type: Number.isInteger(value) ? 'INT64' : 'FLOAT64', value: wholeText(value) };
    case 'bigint': {
      const isInt64 = value <= INT64_MAX && value >= -INT64_MAX - 1n;
      return { type: isInt64 ? 'INT64' : 'BIGNUMERIC', value: String(value) };
    }
    default:
      return value === null ? undefined : { type: 'STRING', value: jsonText(value) };
  }
}

/** BigQuery reads no exponent in a whole number. */
function wholeText(value: number): string {
  return Number.isInteger(value) ? String(BigInt(value)) : String(value);
}
