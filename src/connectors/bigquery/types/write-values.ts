/**
 * Values as BigQuery reads them. All are told as texts, which keep their digits. What a column cannot
 * hold is refused here, so that the record is known.
 */
import { ConnectorError } from '../../../lib/errors.ts';
import { documentText, isLiteral, literalValue } from '../../../lib/text/json-literal.ts';
import {
  hasField,
  isObject,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import type { RecordSchema, RecordType } from '../../../kit/record-schema.ts';
import { fieldOf } from '../../../kit/record-schema.ts';
import { inOneCase } from '../../../lib/sql/sql-name.ts';
import { bytesText, floatText, limitedText, wholeText } from '../../_google/column-texts.ts';
import { dateText, momentText, timeText } from '../../_google/times.ts';
import { documentOrText } from '../../_sql/document-or-text.ts';
import { booleanText, decimalText } from '../../_sql/value-texts.ts';
import { sqlType, type BigqueryColumn, type TableField } from './fields.ts';
import { canonicalInterval } from './intervals.ts';
import { SECOND_DIGITS } from './rounding.ts';

/**
 * `rows`: as streamed and loaded rows have them. `payload`: structs are lists that begin with a mark,
 * so that statements find each value by its place.
 */
export type ValueForm = 'rows' | 'payload';

/** Gives `undefined` for a value that the type does not hold. Never called for null. */
type Encode = (value: JsonValue) => JsonValue | undefined;

/** Throws a `ConnectorError` for a value that the column cannot hold. */
export function encoderOf(
  { field, nullable, hasDefault }: BigqueryColumn,
  form: ValueForm,
  schema: RecordSchema | undefined,
): (value: JsonValue) => JsonValue {
  const type = fieldOf(schema, field.name)?.type;
  const encode = field.isRepeated ? listOf(field, form) : itemEncoder(field, form, type);
  return (written) => {
    // A document keeps its text; a list that is null is an empty one.
    const value = isLiteral(written) && field.type !== 'JSON' ? literalValue(written) : written;
    if (value === null) {
      if (field.isRepeated) return [];
      if (nullable || hasDefault === true) return null;
      throw misfit(field, 'null');
    }
    const text = encode(value);
    if (text !== undefined) return text;
    throw misfit(field, shown(value));
  };
}

const LONGEST_SHOWN = 80;

function shown(value: JsonValue): string {
  const text = stringifyJson(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
}

function misfit(field: TableField, value: string): ConnectorError {
  return new ConnectorError(
    'data',
    `the column \`${field.name}\` is ${sqlType(field)}${field.isRequired ? ' and required' : ''}, which cannot hold ${value}`,
    { hint: 'change the value with a transform, or the type of the column' },
  );
}

function itemEncoder(field: TableField, form: ValueForm, type?: RecordType): Encode {
  switch (field.type) {
    case 'INT64':
      return wholeText;
    case 'FLOAT64':
      return floatText;
    case 'BOOL':
      return booleanText;
    case 'NUMERIC':
      return decimalOf(field, 38, 9);
    case 'BIGNUMERIC':
      return decimalOf(field, 76, 38);
    case 'BYTES':
      return (value) => bytesText(value, field.maxLength);
    case 'DATE':
      return dateText;
    case 'TIME':
      return (value) => timeText(value, SECOND_DIGITS);
    case 'DATETIME':
      return (value) => momentText(value, SECOND_DIGITS);
    case 'TIMESTAMP':
      return (value) => withZone(momentText(value, SECOND_DIGITS));
    case 'INTERVAL':
      return (value) => (typeof value === 'string' ? canonicalInterval(value) : undefined);
    case 'JSON':
      return type !== undefined && DOCUMENTS.has(type.kind)
        ? documentText
        : (value) =>
            isLiteral(value) ? documentText(value) : (documentOrText(value) ?? undefined);
    case 'RANGE':
      return (value) => rangeOf(value, field, form);
    case 'STRUCT':
      return structOf(field, form);
    default:
      return (value) => limitedText(value, field.maxLength);
  }
}

const DOCUMENTS: ReadonlySet<string> = new Set(['json', 'list', 'struct', 'map']);

function withZone(text: string | undefined): string | undefined {
  return text === undefined ? undefined : `${text}+00`;
}

// oxlint-disable-next-line max-params
function decimalOf(field: TableField, most: number, mostScale: number): Encode {
  const limits =
    field.precision === undefined
      ? { precision: most, scale: mostScale }
      : { precision: field.precision, scale: field.scale ?? 0 };
  return (value) => decimalText(value, limits);
}

function listOf(field: TableField, form: ValueForm): Encode {
  const encode = itemEncoder(field, form);
  return (value) => (Array.isArray(value) ? itemsOf(value, encode) : undefined);
}

/** A list of BigQuery holds no nulls. */
function itemsOf(items: readonly JsonValue[], encode: Encode): JsonValue[] | undefined {
  const out: JsonValue[] = [];
  for (const item of items) {
    const text = item === null ? undefined : encode(isLiteral(item) ? literalValue(item) : item);
    if (text === undefined) return undefined;
    out.push(text);
  }
  return out;
}

/** Stands before the values of a struct, so that one of nulls is no null. */
const HERE = '1';

function structOf({ fields }: TableField, form: ValueForm): Encode {
  const parts = fields.map((field) => ({
    field,
    encode: field.isRepeated ? listOf(field, form) : itemEncoder(field, form),
  }));
  const known = new Map(fields.map(({ name }) => [inOneCase(name), name]));
  return (value) => {
    if (!isObject(value)) return undefined;
    const names = new Map<string, string>();
    for (const name of Object.keys(value)) {
      const column = known.get(inOneCase(name));
      if (column === undefined || names.has(column)) return undefined;
      names.set(column, name);
    }
    const out: JsonValue[] = [];
    for (const { field, encode } of parts) {
      const one = memberOf(value, names.get(field.name), { field, encode });
      if (one === undefined) return undefined;
      out.push(one);
    }
    if (form === 'payload') return [HERE, ...out];
    return Object.fromEntries(fields.map(({ name }, at) => [name, out[at] ?? null]));
  };
}

function memberOf(
  holder: JsonObject,
  name: string | undefined,
  { field, encode }: { readonly field: TableField; readonly encode: Encode },
): JsonValue | undefined {
  const written = name !== undefined && hasField(holder, name) ? (holder[name] ?? null) : null;
  const value = isLiteral(written) && field.type !== 'JSON' ? literalValue(written) : written;
  if (value !== null) return encode(value);
  if (field.isRepeated) return [];
  return field.isRequired ? undefined : null;
}

const RANGE = /^\[\s*(.*?)\s*,\s*(.*?)\s*\)$/;
const OPEN = /^(?:unbounded|null)$/i;

function rangeOf(
  value: JsonValue,
  { element }: TableField,
  form: ValueForm,
): JsonValue | undefined {
  const bounds = typeof value === 'string' ? RANGE.exec(value)?.slice(1) : undefined;
  if (bounds === undefined) return undefined;
  const texts = bounds.map((bound) => (OPEN.test(bound) ? null : boundText(bound, element)));
  const [start, end] = texts;
  if (start === undefined || end === undefined) return undefined;
  if (form === 'rows') return { start, end };
  return `[${start ?? 'UNBOUNDED'}, ${end ?? 'UNBOUNDED'})`;
}

function boundText(bound: string, element: string | undefined): string | undefined {
  if (element === 'DATE' || element === undefined) return dateText(bound);
  const text = momentText(bound, SECOND_DIGITS);
  return element === 'TIMESTAMP' ? withZone(text) : text;
}
