import type { JsonObject } from '../../../lib/text/json.ts';
import { fieldJson, type IcebergField } from '../schema/iceberg-types.ts';
import { listOf, type TableMetadata, type TableSchema } from './table-metadata.ts';
import type { TableUpdate } from './updates.ts';

export function schemaJson({ id, fields }: TableSchema): JsonObject {
  return { type: 'struct', 'schema-id': id, fields: fields.map(fieldJson) };
}

/** The changes that give a table these columns besides. */
export function schemaUpdates(
  { raw, schema }: TableMetadata,
  added: readonly IcebergField[],
  lastColumnId: number,
): TableUpdate[] {
  const written = listOf(raw['schemas']).find((one) => Number(one['schema-id'] ?? 0) === schema.id);
  // What is written of a field besides, such as its documentation, stays.
  const fields = listOf((written ?? schemaJson(schema))['fields']);
  return [
    {
      action: 'add-schema',
      schema: { ...(written ?? schemaJson(schema)), fields: [...fields, ...added.map(fieldJson)] },
      'last-column-id': lastColumnId,
    },
    { action: 'set-current-schema', 'schema-id': -1 },
  ];
}
