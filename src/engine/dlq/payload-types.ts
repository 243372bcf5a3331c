/**
 * What the JSON of a dead letter does not tell of its record: the types of the fields, the spelling
 * of values that JSON writes in another way, and what a SQLite file held where a record shows
 * another value. A replay makes the same record of them.
 */
import {
  fromStoredLiteral,
  keepStoredRow,
  storedLiteral,
  storedRowOf,
  storedValue,
  toSqlite,
} from '../../lib/sql/sqlite-values.ts';
import { sourceText, withSpelling } from '../../lib/text/json-literal.ts';
import {
  canonicalJson,
  isObject,
  parseData,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import {
  hasOwnOrder,
  inSchemaOrder,
  orderOf,
  type RecordField,
  type RecordSchema,
} from '../../kit/record-schema.ts';
import { fieldText, parseType } from '../../kit/type-text.ts';

export interface PayloadTypes {
  /** `id: int64, photo: binary`; of an object only fields that it has. */
  readonly types?: string;
  /** The names of the fields in the order of the source, where JSON objects have another one. */
  readonly field_order?: string[];
  /** The JSON null of a document, its own text, or negative zero. */
  readonly spellings?: JsonObject;
  /** The value in SQLite and the declared type of its column, as `{value, declared}`. */
  readonly stored?: JsonObject;
}

/** `stored` is the payload after masking; nothing is told of fields that it changed. */
export function describePayload(
  record: JsonValue,
  stored: JsonValue,
  schema: RecordSchema | undefined,
): PayloadTypes {
  if (!isObject(record)) return schema === undefined ? {} : { types: typesText(schema.fields) };
  if (!isObject(stored)) return {};
  const isKept = (name: string): boolean =>
    Object.hasOwn(stored, name) && Object.is(stored[name], record[name]);
  const fields = schema?.fields.filter(({ name }) => isKept(name)) ?? [];
  return {
    ...typesOf(fields, stored),
    ...orderIn(stored, schema),
    ...storedOf(record, isKept, schema),
  };
}

function typesOf(fields: readonly RecordField[], stored: JsonObject): PayloadTypes {
  if (fields.length === 0) return {};
  const spellings = Object.fromEntries(
    fields.flatMap((field) => {
      const text = spellingOf(field, stored[field.name] ?? null);
      return text === undefined ? [] : [[field.name, text] as const];
    }),
  );
  const types = typesText(fields);
  return Object.keys(spellings).length === 0 ? { types } : { types, spellings };
}

function orderIn(stored: JsonObject, schema: RecordSchema | undefined): PayloadTypes {
  return schema !== undefined && hasOwnOrder(schema)
    ? { field_order: [...inSchemaOrder(Object.keys(stored), schema)] }
    : {};
}

function typesText(fields: readonly RecordField[]): string {
  return fields.map((field) => fieldText({ ...field, nullable: true })).join(', ');
}

function spellingOf({ type }: RecordField, value: JsonValue): string | undefined {
  if (Object.is(value, -0)) return '-0';
  return type.kind === 'json' ? sourceText(value) : undefined;
}

/** The type of a field says already how its value is stored. */
function storedOf(
  record: JsonObject,
  isKept: (name: string) => boolean,
  schema: RecordSchema | undefined,
): PayloadTypes {
  const columns = storedRowOf(record)?.columns;
  if (columns === undefined) return {};
  const typed = new Set(schema?.fields.map(({ name }) => name));
  const told = [...columns.places].flatMap(([name, place]) => {
    if (typed.has(name) || !isKept(name)) return [];
    const value = storedValue(record, name);
    if (value === undefined || value === toSqlite(record[name] ?? null)) return [];
    const declared = columns.declared[place] ?? null;
    return [[name, { value: storedLiteral(value), declared }] as const];
  });
  return told.length === 0 ? {} : { stored: Object.fromEntries(told) };
}

/** What a dead letter says of the fields; `'unreadable'` for a text that tells no types. */
export function payloadSchema(envelope: JsonObject): RecordSchema | undefined | 'unreadable' {
  const { types, field_order: order } = envelope;
  const names = Array.isArray(order) ? order.filter((name) => typeof name === 'string') : [];
  if (typeof types !== 'string') return orderOf(names);
  const type = parseType(`struct(${types})`);
  return type?.kind === 'struct' ? orderOf(names, type.fields) : 'unreadable';
}

/** The payload with the spellings of values that nobody has changed since. */
export function spelledPayload(payload: JsonValue, spellings: JsonValue | undefined): JsonValue {
  if (!isObject(payload) || !isObject(spellings)) return payload;
  const spelled = { ...payload };
  for (const [name, text] of Object.entries(spellings)) {
    const value = payload[name];
    if (value === undefined || typeof text !== 'string') continue;
    const found = spelledValue(text);
    if (found !== undefined && canonicalJson(found) === canonicalJson(value))
      setField(spelled, name, withSpelling(found, text));
  }
  return spelled;
}

/** The payload as a record that was read from SQLite; a value that was changed since counts. */
export function storedPayload(payload: JsonValue, stored: JsonValue | undefined): JsonValue {
  if (!isObject(payload) || !isObject(stored)) return payload;
  const told = Object.entries(stored).flatMap(([name, one]) => {
    if (!isObject(one) || typeof one['value'] !== 'string') return [];
    const value = fromStoredLiteral(one['value']);
    const { declared } = one;
    return value === undefined
      ? []
      : [{ name, value, declared: typeof declared === 'string' ? declared : null }];
  });
  const record = { ...payload };
  keepStoredRow(record, {
    columns: {
      places: new Map(told.map(({ name }, place) => [name, place])),
      declared: told.map(({ declared }) => declared),
    },
    values: told.map(({ value }) => value),
  });
  return record;
}

function spelledValue(text: string): JsonValue | undefined {
  try {
    return parseData(text);
  } catch {
    return undefined;
  }
}
