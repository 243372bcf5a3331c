/** What the server knows of the fields of an index. */
import type { ColumnType } from '../../kit/sink.ts';
import { isObject, type JsonObject } from '../../lib/text/json.ts';

const TYPES: Readonly<Record<string, ColumnType>> = {
  long: 'integer',
  integer: 'integer',
  short: 'integer',
  byte: 'integer',
  unsigned_long: 'integer',
  double: 'number',
  float: 'number',
  half_float: 'number',
  scaled_float: 'number',
  boolean: 'boolean',
  object: 'object',
  nested: 'object',
  flattened: 'object',
};

export interface MappedField {
  readonly name: string;
  readonly type: ColumnType;
  /** The field, or the one beside it, that holds the whole value as one term. */
  readonly exact: string;
}

/** The mappings in an answer to `_mapping`, one for each index. */
export function mappingsOf(answer: JsonObject): JsonObject[] {
  return Object.values(answer).flatMap((index) => {
    const mappings = isObject(index) ? (index['mappings'] ?? null) : null;
    return isObject(mappings) ? [mappings] : [];
  });
}

/** Fields at the top; one without a type holds others. */
export function fieldsOf(mapping: JsonObject): MappedField[] {
  const properties = mapping['properties'] ?? null;
  if (!isObject(properties)) return [];
  return Object.entries(properties).map(([name, field]) => {
    const told = isObject(field) ? field['type'] : undefined;
    const type = typeof told === 'string' ? (TYPES[told] ?? 'string') : 'object';
    return { name, type, exact: told === 'text' ? exactField(name, field as JsonObject) : name };
  });
}

/** A text is taken apart into words; one of its other forms may be the whole text. */
function exactField(name: string, { fields = null }: JsonObject): string {
  if (!isObject(fields)) return name;
  const whole = Object.entries(fields).find(
    ([, field]) => isObject(field) && field['type'] === 'keyword',
  );
  return whole === undefined ? name : `${name}.${whole[0]}`;
}

/** What a new field is mapped to. */
export const MAPPED: Readonly<Record<ColumnType, JsonObject>> = {
  integer: { type: 'long' },
  number: { type: 'double' },
  boolean: { type: 'boolean' },
  string: { type: 'text', fields: { keyword: { type: 'keyword', ignore_above: 256 } } },
  object: { type: 'object' },
  // Items of a list are mapped by what they are, when the first one comes.
  array: { type: 'object', enabled: false },
};
