/** Where the columns of a table are in its files: by name, by another name, or by number. */
import type { DeltaField } from './delta-types.ts';
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
