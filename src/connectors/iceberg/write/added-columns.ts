/** New columns of a table, and columns that may be null from now on. */
import type { AddedColumn } from '../../../kit/sink.ts';
import { kindOfType, type ColumnKind } from '../../_files/typed/column-kinds.ts';
import type { LoadedTable } from '../catalog/catalog.ts';
import { schemaUpdates } from '../metadata/schema-json.ts';
import { withFreshIds, type IcebergField } from '../schema/iceberg-types.ts';
import { icebergTypeOf, newField, ofNeutralType } from '../schema/new-columns.ts';
import type { Change } from './commit.ts';

export function addedColumns(add: readonly AddedColumn[]): IcebergField[] {
  return add.map(({ name, type, field }) => ({
    id: 0,
    name,
    type: field === undefined ? ofNeutralType(type) : icebergTypeOf(kindOfType(field.type)),
    required: false,
  }));
}

interface Wanted {
  readonly added?: readonly IcebergField[];
  readonly kinds?: readonly (readonly [string, ColumnKind])[];
  readonly relaxed: readonly string[];
}

/** `undefined` when another writer has made all of it. */
export function columnChange(
  { metadata }: LoadedTable,
  { added = [], kinds = [], relaxed }: Wanted,
): Change | undefined {
  const there = new Map(metadata.schema.fields.map((field) => [field.name, field]));
  const missing = [...added, ...kinds.map(newField)].filter(({ name }) => !there.has(name));
  const required = relaxed.filter((name) => there.get(name)?.required === true);
  const { fields, lastId } = withFreshIds(missing, metadata.lastColumnId);
  const updates = schemaUpdates(metadata, fields, lastId, required);
  if (updates.length === 0) return undefined;
  return {
    updates,
    isIn: (table) => columnChange(table, { added: missing, relaxed }) === undefined,
  };
}
