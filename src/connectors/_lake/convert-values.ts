/** Values as a file of the table gives them, in the form that the schema of the table says. */
import { isObject, setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { shapeOf, type SchemaNode } from '../_files/parquet/parquet-values.ts';
import type { LakeField, LakeType } from './lake-types.ts';

export type ConvertValue = (value: JsonValue) => JsonValue;

/** `undefined` where values stay as they are. */
export function convertValues(type: LakeType, node: SchemaNode): ConvertValue | undefined {
  switch (type.is) {
    case 'leaf':
      // Times of 96 bits do not say in the file whether they are instants.
      if (type.isInstant === undefined) return undefined;
      return type.isInstant ? withZone : withoutZone;
    case 'list': {
      const shape = shapeOf(node);
      const item =
        shape.is === 'list' ? shape.item : shape.is === 'old-list' ? shape.repeated : undefined;
      const convert = item === undefined ? undefined : convertValues(type.item, item);
      if (convert === undefined) return undefined;
      return (value) => (Array.isArray(value) ? value.map(convert) : value);
    }
    case 'map': {
      const shape = shapeOf(node);
      const value = shape.is === 'map' ? shape.value : undefined;
      const convert = value === undefined ? undefined : convertValues(type.value, value);
      return convert === undefined ? undefined : mapConverter(convert);
    }
    case 'struct':
      return structConverter(type.fields, node);
    default:
      return type satisfies never;
  }
}

function withZone(value: JsonValue): JsonValue {
  return typeof value === 'string' && !value.endsWith('Z') ? `${value}Z` : value;
}

function withoutZone(value: JsonValue): JsonValue {
  return typeof value === 'string' && value.endsWith('Z') ? value.slice(0, -1) : value;
}

/** Maps are objects, or lists of entries where an object would lose some. */
function mapConverter(convert: ConvertValue): ConvertValue {
  return (map) => {
    if (Array.isArray(map))
      return map.map((entry) =>
        isObject(entry) ? { ...entry, value: convert(entry['value'] ?? null) } : entry,
      );
    if (!isObject(map)) return map;
    const out: JsonObject = {};
    for (const [key, value] of Object.entries(map)) setField(out, key, convert(value));
    return out;
  };
}

function structConverter(fields: readonly LakeField[], { children }: SchemaNode): ConvertValue {
  const found = fields.map(({ name, type, find }) => {
    const node = find(children);
    const from = node?.element.name;
    return { name, from, convert: node === undefined ? undefined : convertValues(type, node) };
  });
  return (value) => {
    if (!isObject(value)) return value;
    const out: JsonObject = {};
    for (const { name, from, convert } of found) {
      const inner = from === undefined ? null : (value[from] ?? null);
      setField(out, name, convert === undefined ? inner : convert(inner));
    }
    return out;
  };
}
