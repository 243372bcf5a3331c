/** Values as a file of the table gives them, in the form that the schema of the table says. */
import { isObject, setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { shapeOf, type SchemaNode } from '../../_files/parquet/parquet-values.ts';
import type { DeltaStruct, DeltaType } from '../schema/delta-types.ts';
import { nodeOf, type MappingMode } from '../schema/physical-columns.ts';

export type ConvertValue = (value: JsonValue) => JsonValue;

/** `undefined` where values stay as they are. */
export function convertValues(
  type: DeltaType,
  node: SchemaNode,
  mode: MappingMode,
): ConvertValue | undefined {
  switch (type.is) {
    case 'primitive':
      // Times of 96 bits do not say in the file whether they are instants.
      if (type.name === 'timestamp') return withZone;
      return type.name === 'timestamp_ntz' ? withoutZone : undefined;
    case 'array': {
      const shape = shapeOf(node);
      const item =
        shape.is === 'list' ? shape.item : shape.is === 'old-list' ? shape.repeated : undefined;
      const convert = item === undefined ? undefined : convertValues(type.item, item, mode);
      if (convert === undefined) return undefined;
      return (value) => (Array.isArray(value) ? value.map(convert) : value);
    }
    case 'map': {
      const shape = shapeOf(node);
      const value = shape.is === 'map' ? shape.value : undefined;
      const convert = value === undefined ? undefined : convertValues(type.value, value, mode);
      return convert === undefined ? undefined : mapConverter(convert);
    }
    case 'struct':
      return structConverter(type, node, mode);
    default:
      return undefined;
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

function structConverter(
  { fields }: DeltaStruct,
  { children }: SchemaNode,
  mode: MappingMode,
): ConvertValue {
  const found = fields.map((field) => {
    const node = nodeOf(field, children, mode);
    return {
      name: field.name,
      from: node?.element.name,
      convert: node === undefined ? undefined : convertValues(field.type, node, mode),
    };
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
