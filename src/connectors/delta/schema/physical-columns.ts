/** Where the columns of a table are in its files: by name, by another name, or by number. */
import type { LakeField, LakeType } from '../../_lake/lake-types.ts';
import type { DeltaField, DeltaType } from './delta-types.ts';
import type { Metadata } from '../log/actions.ts';
import type { SchemaNode } from '../../_files/parquet/parquet-values.ts';

export type MappingMode = 'none' | 'name' | 'id';

export function mappingMode({ configuration }: Metadata): MappingMode {
  const mode = configuration['delta.columnMapping.mode'];
  return mode === 'name' || mode === 'id' ? mode : 'none';
}

/** The name of a field in files, partition values and statistics. */
export function physicalName({ name, metadata }: DeltaField, mode: MappingMode): string {
  const mapped = metadata['delta.columnMapping.physicalName'];
  return mode === 'none' || typeof mapped !== 'string' ? name : mapped;
}

/** `undefined` in a file that is older than the field. */
export function nodeOf(
  field: DeltaField,
  nodes: readonly SchemaNode[],
  mode: MappingMode,
): SchemaNode | undefined {
  if (mode === 'id') {
    const id = field.metadata['delta.columnMapping.id'];
    return nodes.find(({ element }) => element.field_id !== undefined && element.field_id === id);
  }
  const name = physicalName(field, mode);
  return nodes.find(({ element }) => element.name === name);
}

/** As the code for all formats of tables knows it. */
export function lakeField(field: DeltaField, mode: MappingMode): LakeField {
  const { name, type, nullable } = field;
  return {
    name,
    type: lakeType(type, mode),
    nullable,
    find: (nodes) => nodeOf(field, nodes, mode),
  };
}

function lakeType(type: DeltaType, mode: MappingMode): LakeType {
  switch (type.is) {
    case 'primitive':
      return type.name === 'timestamp' || type.name === 'timestamp_ntz'
        ? { is: 'leaf', isInstant: type.name === 'timestamp' }
        : { is: 'leaf' };
    case 'decimal':
      return { is: 'leaf' };
    case 'array':
      return { is: 'list', item: lakeType(type.item, mode), hasNulls: type.hasNulls };
    case 'map':
      return { is: 'map', value: lakeType(type.value, mode), hasNulls: type.hasNulls };
    case 'struct':
      return { is: 'struct', fields: type.fields.map((field) => lakeField(field, mode)) };
    default:
      return type satisfies never;
  }
}
