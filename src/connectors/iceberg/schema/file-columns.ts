/** Where the columns of a table are in its Parquet files: by their ids. */
import type { SchemaNode } from '../../_files/parquet/parquet-values.ts';
import { pathOf } from '../../_files/parquet/parquet-elements.ts';
import type { LakeField, LakeType } from '../../_lake/lake-types.ts';
import { isObject, parseJson, type JsonValue } from '../../../lib/text/json.ts';
import type { IcebergField, IcebergType } from './iceberg-types.ts';

/** The names that fields had in files without ids, by the ids of the fields. */
export type NameMapping = ReadonlyMap<number, readonly string[]>;

/** `schema.name-mapping.default` of a table; empty where it has none. */
export function parseNameMapping(text: string | undefined): NameMapping {
  const names = new Map<number, readonly string[]>();
  const walk = (value: JsonValue | undefined): void => {
    for (const one of Array.isArray(value) ? value : []) {
      if (!isObject(one)) continue;
      const { 'field-id': id, names: known, fields } = one;
      if (typeof id === 'number' && Array.isArray(known))
        names.set(
          id,
          known.filter((name) => typeof name === 'string'),
        );
      walk(fields);
    }
  };
  try {
    walk(parseJson(text ?? '[]'));
  } catch {
    return new Map();
  }
  return names;
}

/** As the code for all formats of tables knows it. */
export function lakeField(field: IcebergField, mapping: NameMapping): LakeField {
  const { id, name, type, required } = field;
  const names = mapping.get(id) ?? [name];
  return {
    name,
    type: lakeType(type, mapping),
    nullable: !required,
    find: (nodes) => byId(nodes, id) ?? (hasIds(nodes) ? undefined : byName(nodes, names)),
  };
}

function lakeType(type: IcebergType, mapping: NameMapping): LakeType {
  switch (type.is) {
    case 'primitive':
      return type.name === 'timestamp' || type.name === 'timestamptz'
        ? { is: 'leaf', isInstant: type.name === 'timestamptz' }
        : { is: 'leaf' };
    case 'list':
      return {
        is: 'list',
        item: lakeType(type.element, mapping),
        hasNulls: !type.elementRequired,
      };
    case 'map':
      return { is: 'map', value: lakeType(type.value, mapping), hasNulls: !type.valueRequired };
    case 'struct':
      return { is: 'struct', fields: type.fields.map((field) => lakeField(field, mapping)) };
    default:
      return { is: 'leaf' };
  }
}

function byId(nodes: readonly SchemaNode[], id: number): SchemaNode | undefined {
  return nodes.find(({ element }) => element.field_id === id);
}

function byName(nodes: readonly SchemaNode[], names: readonly string[]): SchemaNode | undefined {
  return nodes.find(({ element }) => names.includes(element.name));
}

function hasIds(nodes: readonly SchemaNode[]): boolean {
  return nodes.some(({ element }) => element.field_id !== undefined);
}

/** The ids of all fields, by their paths in a Parquet file. */
export function fieldIds(fields: readonly IcebergField[]): ReadonlyMap<string, number> {
  const ids = new Map<string, number>();
  const walk = (type: IcebergType, path: string): void => {
    if (type.is === 'struct')
      for (const field of type.fields) add(field.id, field.type, pathOf(path, field.name));
    if (type.is === 'list') add(type.elementId, type.element, pathOf(path, 'list', 'element'));
    if (type.is === 'map') {
      add(type.keyId, type.key, pathOf(path, 'key_value', 'key'));
      add(type.valueId, type.value, pathOf(path, 'key_value', 'value'));
    }
  };
  const add = (id: number, type: IcebergType, path: string): void => {
    ids.set(path, id);
    walk(type, path);
  };
  for (const { id, name, type } of fields) add(id, type, name);
  return ids;
}
