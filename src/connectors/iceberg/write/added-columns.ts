import type { ColumnKind } from '../../_files/typed/column-kinds.ts';
import type { LoadedTable } from '../catalog/catalog.ts';
import { schemaUpdates } from '../metadata/schema-json.ts';
import { withFreshIds } from '../schema/iceberg-types.ts';
import { newField } from '../schema/new-columns.ts';
import type { Change } from './commit.ts';

/** New columns of a table; `undefined` when another writer has made all of them. */
export function addedColumns(
  { metadata }: LoadedTable,
  kinds: readonly (readonly [string, ColumnKind])[],
): Change | undefined {
  const there = new Set(metadata.schema.fields.map(({ name }) => name));
  const missing = kinds.filter(([name]) => !there.has(name)).map(newField);
  if (missing.length === 0) return undefined;
  const { fields, lastId } = withFreshIds(missing, metadata.lastColumnId);
  return {
    updates: schemaUpdates(metadata, fields, lastId),
    isIn: (table) => addedColumns(table, kinds) === undefined,
  };
}
