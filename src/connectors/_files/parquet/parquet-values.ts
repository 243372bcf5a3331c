import type { SchemaElement } from 'hyparquet';
import { isObject, setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { keepNegativeZeros } from '../../../lib/text/number-spelling.ts';
import { lazyLibrary } from '../../../lib/lazy.ts';
import { dateText, timestampText, timeText } from '../../../lib/time/iso-text.ts';
import { durationText } from '../typed/duration.ts';
import { mapOfEntries } from '../typed/map-of-entries.ts';
import { decimalText, floatNumber, signedNumber, wholeNumber } from './exact-values.ts';
import { documentOf, textOf } from './parquet-text.ts';
import { decodeVariant } from './parquet-variant.ts';

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
      !['DECIMAL', 'VARIANT'].includes(element.logical_type?.type ?? '')
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
  const convert = present(node, omitNulls);
  // A field that is repeated without a list around it is a list, and never null.
  if (node.element.repetition_type === 'REPEATED') return repeatedOf(convert);
  // The library gives null for an empty list of two levels, and undefined for one that is null.
  if (isTwoLevelList(node))
    return (value) => (value === undefined ? null : convert(value === null ? [] : value));
  return (value) => (value === null || value === undefined ? null : convert(value));
}

/** What a group of the schema means. */
export type NodeShape =
  | { readonly is: 'leaf' | 'variant' | 'struct' }
  | { readonly is: 'list'; readonly item: SchemaNode | undefined }
  | { readonly is: 'old-list'; readonly repeated: SchemaNode }
  | {
      readonly is: 'map';
      readonly entries: SchemaNode;
      readonly key: SchemaNode | undefined;
      readonly value: SchemaNode | undefined;
    };

export function shapeOf(node: SchemaNode): NodeShape {
  if (node.children.length === 0) return { is: 'leaf' };
  if (node.element.logical_type?.type === 'VARIANT') return { is: 'variant' };
  // The library's own type of the tree has counters that are not needed here.
  const { isListLike } = library();
  if (isListLike(node as Parameters<typeof isListLike>[0])) {
    const [repeated] = node.children;
    const [only] = repeated?.children ?? [];
    return { is: 'list', item: repeated?.children.length === 1 ? only : repeated };
  }
  const [first] = node.children as [SchemaNode];
  if (isOldList(node)) return { is: 'old-list', repeated: first };
  if (!isMap(node)) return { is: 'struct' };
  const [key, value] = first.children;
  return { is: 'map', entries: first, key, value };
}

function present(node: SchemaNode, omitNulls: boolean): Convert {
  const shape = shapeOf(node);
  switch (shape.is) {
    case 'leaf':
      return leaf(node.element);
    case 'variant':
      return variantOf(node);
    case 'list':
      return listOf(shape.item === undefined ? plain : elementOf(shape.item, omitNulls));
    case 'old-list': {
      const { repeated } = shape;
      const items = converterOf(repeated, omitNulls);
      return (value) => items(isObject(value) ? value[repeated.element.name] : undefined);
    }
    case 'map': {
      const { entries, key, value } = shape;
      return mapOf(entries.element.name, [
        key === undefined ? NO_FIELD : fieldOf(key, omitNulls),
        value === undefined ? NO_FIELD : fieldOf(value, omitNulls),
      ]);
    }
    case 'struct':
      return structOf(node, omitNulls);
    default:
      return shape satisfies never;
  }
}

function isTwoLevelList({ element, children }: SchemaNode): boolean {
  const [repeated] = children;
  return element.converted_type === 'LIST' && repeated?.children.length === 0;
}

/** The repeated group or value of a list; the library has already removed the groups around it. */
function elementOf(node: SchemaNode, omitNulls: boolean): Convert {
  const convert = present(node, omitNulls);
  return (value) => (value === null || value === undefined ? null : convert(value));
}

/** A list whose elements are groups of several fields, as writers made them before 2014. */
function isOldList({ element, children }: SchemaNode): boolean {
  const [repeated] = children;
  return (
    (element.converted_type === 'LIST' || element.logical_type?.type === 'LIST') &&
    children.length === 1 &&
    repeated?.element.repetition_type === 'REPEATED'
  );
}

/** Keys and values by their places, because writers name them differently; some have no values. */
function isMap({ element, children }: SchemaNode): boolean {
  const [entries] = children;
  const width = entries?.children.length ?? 0;
  return (
    (element.converted_type === 'MAP' ||
      element.converted_type === 'MAP_KEY_VALUE' ||
      element.logical_type?.type === 'MAP') &&
    children.length === 1 &&
    entries?.element.repetition_type === 'REPEATED' &&
    (width === 1 || width === 2)
  );
}

function repeatedOf(item: Convert): Convert {
  return (value) => {
    if (value === null || value === undefined) return [];
    return Array.isArray(value)
      ? keepNegativeZeros(value.map((one) => (one === null ? null : item(one))))
      : plain(value);
  };
}

function listOf(item: Convert): Convert {
  return (value) => (Array.isArray(value) ? keepNegativeZeros(value.map(item)) : plain(value));
}

function mapOf(entriesName: string, [key, value]: readonly [EntryField, EntryField]): Convert {
  return (map) => {
    const stored = isObject(map) ? map[entriesName] : undefined;
    const entries = (Array.isArray(stored) ? stored : []) as unknown as Entry[];
    return mapOfEntries(
      entries.map((entry) => ({
        key: key.convert(entry[key.name]),
        value: value.convert(entry[value.name]),
      })),
    );
  };
}

type Entry = Readonly<Record<string, unknown>>;

interface EntryField {
  readonly name: string;
  readonly convert: Convert;
}

const NO_FIELD: EntryField = { name: '', convert: () => null };

function fieldOf(node: SchemaNode, omitNulls: boolean): EntryField {
  return { name: node.element.name, convert: converterOf(node, omitNulls) };
}

/** A VARIANT: self-describing bytes, parts of which may stand in typed columns of their own. */
function variantOf(node: SchemaNode): Convert {
  const typed = node.children.find(({ element }) => element.name === 'typed_value');
  const convert = shreddedOf(typed);
  return (group) => {
    const { metadata } = group as Shredded;
    return metadata instanceof Uint8Array ? (convert(group as Shredded, metadata) ?? null) : null;
  };
}

interface Shredded {
  readonly metadata?: unknown;
  readonly value?: unknown;
  readonly typed_value?: unknown;
}

/** Gives `undefined` for a field that is missing, which is not one that is null. */
type ConvertShredded = (group: Shredded, metadata: Uint8Array) => JsonValue | undefined;

function shreddedOf(typed: SchemaNode | undefined): ConvertShredded {
  const convert = typed === undefined ? undefined : typedOf(typed);
  return (group, metadata) => {
    const untyped =
      group.value instanceof Uint8Array ? decodeVariant(metadata, group.value) : undefined;
    const { typed_value: value } = group;
    if (convert === undefined || value === null || value === undefined) return untyped;
    const found = convert(value, metadata);
    // Fields without a column of their own stay in the bytes.
    return isObject(found) && isObject(untyped) ? { ...untyped, ...found } : found;
  };
}

function typedOf(node: SchemaNode): (value: unknown, metadata: Uint8Array) => JsonValue {
  const { children } = node;
  if (children.length === 0) return leaf(node.element);
  const [first] = children;
  if (first?.element.repetition_type === 'REPEATED') {
    const [element] = first.children;
    const item = shreddedOf(typedColumn(element));
    return (value, metadata) =>
      (Array.isArray(value) ? value : []).map(
        (one) => (one === null ? null : item(one as Shredded, metadata)) ?? null,
      );
  }
  const fields = children.map((child) => ({
    name: child.element.name,
    convert: shreddedOf(typedColumn(child)),
  }));
  return (value, metadata) => {
    const out: JsonObject = {};
    for (const { name, convert } of fields) {
      const group = (value as Readonly<Record<string, Shredded | null | undefined>>)[name];
      const field = group === null || group === undefined ? undefined : convert(group, metadata);
      if (field !== undefined) setField(out, name, field);
    }
    return out;
  };
}

function typedColumn(group: SchemaNode | undefined): SchemaNode | undefined {
  return group?.children.find(({ element }) => element.name === 'typed_value');
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
  if (converted === 'JSON' || logical?.type === 'JSON')
    return (value) => (value instanceof Uint8Array ? plain(value) : (value as JsonValue));
  if (converted === 'INTERVAL') return (value) => durationText(value as Uint8Array);
  if (converted === 'ENUM' || logical?.type === 'ENUM')
    return (value) => (value instanceof Uint8Array ? textOf(value) : plain(value));
  return plain;
}

/** Converts values that need no information about the column. */
export function plain(value: unknown): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return floatNumber(value);
    case 'bigint':
      return wholeNumber(value);
    default:
      return plainObject(value);
  }
}

function plainObject(value: unknown): JsonValue {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return keepNegativeZeros(value.map(plain));
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

function nanosPer(unit: string): bigint {
  if (unit === 'NANOS') return 1n;
  return unit === 'MICROS' ? 1000n : 1_000_000n;
}

/** Parsers that return raw values, so that the library loses nothing. */
export const RAW_PARSERS = {
  stringFromBytes: (bytes: Uint8Array | undefined) =>
    bytes === undefined ? undefined : textOf(bytes),
  timestampFromMilliseconds: (value: bigint) => value,
  timestampFromMicroseconds: (value: bigint) => value,
  timestampFromNanoseconds: (value: bigint) => value,
  dateFromDays: (value: number) => value,
  jsonFromBytes: (bytes: Uint8Array | undefined) =>
    bytes === undefined ? undefined : documentOf(textOf(bytes)),
  geometryFromBytes: (bytes: Uint8Array) => bytes,
  geographyFromBytes: (bytes: Uint8Array) => bytes,
};
