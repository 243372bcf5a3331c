import { setField, type JsonObject } from '../../../lib/text/json.ts';
import { decimalText, signedNumber } from '../parquet/exact-values.ts';
import { plain, type Convert } from '../parquet/parquet-values.ts';
import { dateText, timestampText, timeText } from '../../../lib/time/iso-text.ts';

/** A schema as JSON: a name, a list of alternatives, or a mapping with `type`. */
type Schema = string | readonly Schema[] | SchemaObject;

interface SchemaObject {
  readonly type: Schema;
  readonly name?: string;
  readonly logicalType?: string;
  readonly scale?: number;
  readonly fields?: readonly { readonly name: string; readonly type: Schema }[];
  readonly items?: Schema;
  readonly values?: Schema;
}

/**
 * How values of a schema become JSON. Types that refer to themselves by name are resolved when they
 * are met.
 */
export function avroConverter(schema: unknown): Convert {
  return converterOf(schema as Schema, new Map());
}

type Known = Map<string, Convert>;

function converterOf(schema: Schema, known: Known): Convert {
  if (typeof schema === 'string') return (value) => (known.get(schema) ?? plain)(value);
  if (Array.isArray(schema)) return unionOf(schema as readonly Schema[], known);
  const one = schema as SchemaObject;
  const inner = logical(one) ?? structure(one, known);
  const convert: Convert = (value) => (value === null || value === undefined ? null : inner(value));
  if (one.name !== undefined) known.set(one.name, convert);
  return convert;
}

/**
 * Values of a union carry no tag: a lone alternative beside null is clear, more are distinguished by their
 * JavaScript type.
 */
function unionOf(branches: readonly Schema[], known: Known): Convert {
  const some = branches
    .filter((branch) => branch !== 'null')
    .map((branch) => converterOf(branch, known));
  const [only] = some;
  return some.length === 1 && only !== undefined
    ? (value) => (value === null ? null : only(value))
    : plain;
}

function logical({ logicalType, scale = 0 }: SchemaObject): Convert | undefined {
  switch (logicalType) {
    case 'decimal':
      return (value) =>
        value instanceof Uint8Array ? decimalText(signedNumber(value), scale) : plain(value);
    case 'date':
      return (value) => dateText(Number(value));
    case 'time-millis':
      return (value) => timeText(integer(value) * 1_000_000n);
    case 'time-micros':
      return (value) => timeText(integer(value) * 1000n);
    case 'timestamp-millis':
      return (value) => timestampText(integer(value) * 1_000_000n, true);
    case 'timestamp-micros':
      return (value) => timestampText(integer(value) * 1000n, true);
    case 'local-timestamp-millis':
      return (value) => timestampText(integer(value) * 1_000_000n, false);
    case 'local-timestamp-micros':
      return (value) => timestampText(integer(value) * 1000n, false);
    default:
      return undefined;
  }
}

function integer(value: unknown): bigint {
  return BigInt(value as number | bigint);
}

function structure(schema: SchemaObject, known: Known): Convert {
  if (schema.fields !== undefined) return recordOf(schema, known);
  if (schema.items !== undefined) {
    const item = converterOf(schema.items, known);
    return (value) => (Array.isArray(value) ? value.map(item) : plain(value));
  }
  if (schema.values !== undefined) {
    const entry = converterOf(schema.values, known);
    return (value) => mapped(Object.entries(value as object), () => entry);
  }
  return typeof schema.type === 'string' ? plain : converterOf(schema.type, known);
}

function recordOf(schema: SchemaObject, known: Known): Convert {
  // A record may contain itself: known by name before its fields are looked at.
  const fields = new Map<string, Convert>();
  const convert: Convert = (value) =>
    mapped(
      [...fields.keys()].map((name) => [name, (value as Record<string, unknown>)[name]]),
      (name) => fields.get(name) ?? plain,
    );
  if (schema.name !== undefined) known.set(schema.name, convert);
  for (const field of schema.fields ?? []) fields.set(field.name, converterOf(field.type, known));
  return convert;
}

function mapped(entries: [string, unknown][], convert: (name: string) => Convert): JsonObject {
  const out: JsonObject = {};
  for (const [name, value] of entries) setField(out, name, convert(name)(value));
  return out;
}
