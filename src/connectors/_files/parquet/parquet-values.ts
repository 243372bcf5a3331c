import type { SchemaElement } from 'hyparquet';
import {
  isObject,
  jsonText,
  parseJson,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import { lazyLibrary } from '../../../lib/lazy.ts';
import { dateText, timestampText, timeText } from '../../../lib/time/iso-text.ts';

const library = lazyLibrary<typeof import('hyparquet/src/schema.js')>('hyparquet/src/schema.js');

/** The library's tree of a schema, with only the members used here. */
export interface SchemaNode {
  readonly element: SchemaElement;
  readonly children: readonly SchemaNode[];
}

export type Convert = (value: unknown) => JsonValue;

/**
 * The library converts decimals to doubles and fails on a few rare types. Without their annotation
 * it returns the stored values, which `converterOf` then reads exactly.
 */
export function withoutLossyTypes(schema: readonly SchemaElement[]): SchemaElement[] {
  return schema.map((element) => {
    if (
      !['DECIMAL', 'BSON', 'INTERVAL', 'MAP', 'MAP_KEY_VALUE'].includes(
        element.converted_type ?? '',
      ) &&
      element.logical_type?.type !== 'DECIMAL'
    )
      return element;
    const { converted_type: _dropped, logical_type: _also, ...stored } = element;
    return stored;
  });
}

/**
 * The function that converts the values of a column to JSON. `omitNulls` omits null fields of
 * structs.
 */
export function converterOf(node: SchemaNode, omitNulls: boolean): Convert {
  return (value) =>
    value === null || value === undefined ? null : present(node, omitNulls)(value);
}

function present(node: SchemaNode, omitNulls: boolean): Convert {
  // The library's own type of the tree has counters that are not needed here.
  const { isListLike, isMapLike } = library();
  const tree = node as Parameters<typeof isListLike>[0];
  if (node.children.length === 0) return leaf(node.element);
  if (isListLike(tree)) {
    const [repeated] = node.children;
    const [only] = repeated?.children ?? [];
    const inner = repeated?.children.length === 1 ? only : repeated;
    return listOf(inner === undefined ? plain : converterOf(inner, omitNulls));
  }
  if (isMapLike(tree)) {
    const [entries] = node.children;
    const [key, value] = entries?.children ?? [];
    return mapOf(entries?.element.name ?? '', {
      key: key === undefined ? plain : converterOf(key, omitNulls),
      value: value === undefined ? plain : converterOf(value, omitNulls),
    });
  }
  return structOf(node, omitNulls);
}

function listOf(item: Convert): Convert {
  return (value) => (Array.isArray(value) ? value.map(item) : plain(value));
}

/**
 * An object with the keys as text, a key that is no scalar as its JSON; the library would give it
 * the names that JavaScript has for such keys. Keys that repeat, which an object cannot hold, make a
 * list of `{key, value}` of it.
 */
function mapOf(entriesName: string, convert: { key: Convert; value: Convert }): Convert {
  return (map) => {
    const stored = isObject(map) ? map[entriesName] : undefined;
    const entries = (Array.isArray(stored) ? stored : []) as unknown as Entry[];
    const out: JsonObject = {};
    for (const entry of entries)
      setField(out, jsonText(convert.key(entry.key)), convert.value(entry.value));
    if (Object.keys(out).length === entries.length) return out;
    return entries.map(({ key, value }) => ({
      key: convert.key(key),
      value: convert.value(value),
    }));
  };
}

interface Entry {
  readonly key: unknown;
  readonly value: unknown;
}

function structOf(node: SchemaNode, omitNulls: boolean): Convert {
  const fields = node.children.map((child) => ({
    name: child.element.name,
    convert: converterOf(child, omitNulls),
  }));
  return (value) => {
    if (!isObject(value)) return plain(value);
    const out: JsonObject = {};
    for (const { name, convert } of fields) {
      const field = convert(value[name]);
      if (field !== null || !omitNulls) setField(out, name, field);
    }
    return out;
  };
}

function leaf(element: SchemaElement): Convert {
  const { type, converted_type: converted, logical_type: logical } = element;
  if (converted === 'DECIMAL' || logical?.type === 'DECIMAL') return decimal(element.scale ?? 0);
  if (converted === 'DATE' || logical?.type === 'DATE') return (value) => dateText(Number(value));
  if (converted === 'TIME_MILLIS') return (value) => timeText(BigInt(value as number) * 1_000_000n);
  if (converted === 'TIME_MICROS') return (value) => timeText((value as bigint) * 1000n);
  if (logical?.type === 'TIME')
    return (value) => timeText(BigInt(value as number) * nanosPer(logical.unit));
  if (logical?.type === 'TIMESTAMP') {
    return (value) =>
      timestampText((value as bigint) * nanosPer(logical.unit), logical.isAdjustedToUTC);
  }
  if (converted === 'TIMESTAMP_MILLIS')
    return (value) => timestampText((value as bigint) * 1_000_000n, true);
  if (converted === 'TIMESTAMP_MICROS')
    return (value) => timestampText((value as bigint) * 1000n, true);
  // A local time: the writers that use this type store no zone.
  if (type === 'INT96') return (value) => timestampText(value as bigint, false);
  if (converted === 'ENUM' || logical?.type === 'ENUM')
    return (value) => (value instanceof Uint8Array ? utf8(value) : plain(value));
  return plain;
}

/** Converts values that need no information about the column. */
export function plain(value: unknown): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'bigint':
      return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER
        ? Number(value)
        : value;
    default:
      return plainObject(value);
  }
}

function plainObject(value: unknown): JsonValue {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(plain);
  const out: JsonObject = {};
  for (const [key, entry] of Object.entries(value)) setField(out, key, plain(entry));
  return out;
}

function decimal(scale: number): Convert {
  return (value) =>
    decimalText(
      value instanceof Uint8Array ? signedNumber(value) : BigInt(value as number | bigint),
      scale,
    );
}

/** A two's complement number, most significant byte first. */
export function signedNumber(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}

/** `-123` with scale 2 is `-1.23`. */
export function decimalText(unscaled: bigint, scale: number): string {
  if (scale <= 0) return (unscaled * 10n ** BigInt(-scale)).toString();
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function nanosPer(unit: string): bigint {
  if (unit === 'NANOS') return 1n;
  return unit === 'MICROS' ? 1000n : 1_000_000n;
}

function utf8(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** Parsers that return raw values, so that the library loses nothing. */
export const RAW_PARSERS = {
  timestampFromMilliseconds: (value: bigint) => value,
  timestampFromMicroseconds: (value: bigint) => value,
  timestampFromNanoseconds: (value: bigint) => value,
  dateFromDays: (value: number) => value,
  jsonFromBytes: (bytes: Uint8Array | undefined) =>
    bytes === undefined ? undefined : parseJson(utf8(bytes)),
  geometryFromBytes: (bytes: Uint8Array) => bytes,
  geographyFromBytes: (bytes: Uint8Array) => bytes,
};

/** One line that describes a column, for comparing the schemas of files. */
export function signature(node: SchemaNode): string {
  const { type, converted_type: converted, logical_type: logical, scale, precision } = node.element;
  const inner = node.children
    .map((child) => `${child.element.name}: ${signature(child)}`)
    .join(', ');
  if (inner !== '') return `${converted ?? logical?.type ?? 'STRUCT'}<${inner}>`;
  const unit = logical !== undefined && 'unit' in logical ? `(${logical.unit})` : '';
  // Some writers annotate a signed number that is as wide as its storage, others do not.
  if (converted === 'INT_64' || converted === 'INT_32') return type ?? converted;
  const digits =
    scale === undefined && precision === undefined ? '' : `(${precision ?? 0},${scale ?? 0})`;
  return `${logical?.type ?? converted ?? type ?? 'UNKNOWN'}${unit}${digits}`;
}
