/**
 * What the JSON of a dead letter does not tell of its record: the types of the fields, and the
 * spelling of values that JSON writes in another way. A replay makes the same record of them.
 */
import { sourceText, withSourceText } from '../../lib/text/json-literal.ts';
import {
  canonicalJson,
  isObject,
  parseJson,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
import type { RecordField, RecordSchema } from '../../kit/record-schema.ts';
import { fieldText, parseType } from '../../kit/type-text.ts';

export interface PayloadTypes {
  /** `id: int64, photo: binary`; of an object only fields that it has. */
  readonly types?: string;
  /** The JSON null of a document, its own text, or negative zero. */
  readonly spellings?: JsonObject;
}

/** `stored` is the payload after masking; nothing is told of fields that it changed. */
export function describePayload(
  record: JsonValue,
  stored: JsonValue,
  schema: RecordSchema | undefined,
): PayloadTypes {
  if (schema === undefined) return {};
  if (!isObject(record) || !isObject(stored))
    return isObject(record) ? {} : { types: typesText(schema.fields) };
  const fields = schema.fields.filter(
    ({ name }) => Object.hasOwn(stored, name) && Object.is(stored[name], record[name]),
  );
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

function typesText(fields: readonly RecordField[]): string {
  return fields.map((field) => fieldText({ ...field, nullable: true })).join(', ');
}

function spellingOf({ type }: RecordField, value: JsonValue): string | undefined {
  if (Object.is(value, -0)) return '-0';
  return type.kind === 'json' ? sourceText(value) : undefined;
}

/** `undefined` for a text that tells no types. */
export function parsePayloadTypes(types: string): RecordSchema | undefined {
  const type = parseType(`struct(${types})`);
  return type?.kind === 'struct' ? { fields: type.fields, others: true } : undefined;
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
      spelled[name] = Object.is(found, -0) ? found : withSourceText(found, text);
  }
  return spelled;
}

function spelledValue(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
