/** With which columns files are written, and what may not change until they are committed. */
import { ConnectorError } from '../../../lib/errors.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import type { ColumnKind } from '../../_files/typed/column-kinds.ts';
import { nameText, type LoadedTable, type NewTable, type TableName } from '../catalog/catalog.ts';
import type { IcebergSinkConfig } from '../config.ts';
import { FIRST_PARTITION_ID, listOf, type TableMetadata } from '../metadata/table-metadata.ts';
import { fieldJson, typeText, withFreshIds, type IcebergField } from '../schema/iceberg-types.ts';
import { newField, storedKind } from '../schema/new-columns.ts';
import { parseTransform, transformOf } from '../schema/transforms.ts';
import type { Change } from './commit.ts';

type PartitionConfig = IcebergSinkConfig['partition_spec'];

/** Made without columns, to hold the mark of an execution. */
export function isBlank({ schema }: TableMetadata): boolean {
  return schema.fields.length === 0;
}

/** Makes of a table without columns what it would be if it were made with them. */
export function firstColumns({ metadata }: LoadedTable, made: NewTable): Change | undefined {
  if (!isBlank(metadata)) return undefined;
  const { schema, lastColumnId, spec } = made;
  return {
    updates: [
      { action: 'add-schema', schema, 'last-column-id': lastColumnId },
      { action: 'set-current-schema', 'schema-id': -1 },
      ...(listOf(spec['fields']).length === 0
        ? []
        : [
            { action: 'add-spec', spec } as const,
            { action: 'set-default-spec', 'spec-id': -1 } as const,
          ]),
    ],
    isIn: (table) => !isBlank(table.metadata),
  };
}

/** A table with the columns of the first page. */
export function newTable(
  learned: ReadonlyMap<string, ColumnKind>,
  spec: PartitionConfig,
  name: TableName,
  compression: string,
): NewTable {
  const { fields, lastId } = withFreshIds([...learned].map(newField), 0);
  return {
    schema: { type: 'struct', fields: fields.map(fieldJson) },
    lastColumnId: lastId,
    spec: { fields: spec.map((one, index) => partitionJson(one, index, fields, name)) },
    properties: {
      'write.parquet.compression-codec': compression === 'none' ? 'uncompressed' : compression,
    },
  };
}

function partitionJson(
  { source, transform, name: given }: PartitionConfig[number],
  index: number,
  fields: readonly IcebergField[],
  table: TableName,
): JsonObject {
  const column = fields.find(({ name }) => name === source);
  if (column === undefined)
    throw new ConnectorError(
      'data',
      `\`partition_spec\` names ${JSON.stringify(source)}, which no record has`,
      { hint: `the records have ${fields.map(({ name }) => name).join(', ')}` },
    );
  transformOf(transform, column.type, nameText(table));
  const name = given ?? partitionName(source, transform);
  if (name !== source && fields.some((field) => field.name === name))
    throw new ConnectorError(
      'data',
      `the partition field ${JSON.stringify(name)} has the name of a column`,
      { hint: 'give it another `name` in `partition_spec`' },
    );
  return {
    'source-id': column.id,
    'field-id': FIRST_PARTITION_ID + index,
    name,
    transform: transform.toLowerCase().replaceAll(/\s/g, ''),
  };
}

function partitionName(source: string, transform: string): string {
  const kind = parseTransform(transform)?.kind ?? '';
  return kind === 'identity' ? source : `${source}_${kind}`;
}

/** Throws where the document wants other partitions than the table has. */
export function requireSamePartitions(
  metadata: TableMetadata,
  spec: PartitionConfig,
  name: TableName,
): void {
  if (spec.length === 0 || isBlank(metadata)) return;
  const there = metadata.defaultSpec.fields.map(({ sourceId, transform }) => {
    const source = metadata.schema.fields.find(({ id }) => id === sourceId);
    return `${source?.name ?? sourceId} ${transform}`;
  });
  const wanted = spec.map(
    ({ source, transform }) => `${source} ${transform.toLowerCase().replaceAll(/\s/g, '')}`,
  );
  if (there.join('\n') === wanted.join('\n')) return;
  throw new ConnectorError(
    'refused',
    `the table ${nameText(name)} is partitioned by ${there.length === 0 ? 'nothing' : there.join(', ')}`,
    {
      hint: 'remove `partition_spec`, or make it the same; tables are partitioned when they are made',
    },
  );
}

export function kindsOf(
  fields: readonly IcebergField[],
  learned: ReadonlyMap<string, ColumnKind>,
): ReadonlyMap<string, ColumnKind> {
  return new Map(fields.map(({ name, type }) => [name, storedKind(type, learned.get(name))]));
}

/** Throws where files with these columns cannot be part of the table any more. */
export function requireSameColumns(
  { schema }: TableMetadata,
  written: readonly IcebergField[],
  name: TableName,
): void {
  const now = new Map(schema.fields.map((field) => [field.id, field]));
  for (const field of written) {
    const found = now.get(field.id);
    if (found === undefined) throw changed(name, `it has no column ${JSON.stringify(field.name)}`);
    if (JSON.stringify(found.type) !== JSON.stringify(field.type))
      throw changed(
        name,
        `the column ${JSON.stringify(field.name)} has become ${typeText(found.type)}`,
      );
    if (found.required && !field.required)
      throw changed(name, `the column ${JSON.stringify(field.name)} must have a value`);
  }
  const ids = new Set(written.map(({ id }) => id));
  const needed = schema.fields.find(({ id, required }) => required && !ids.has(id));
  if (needed !== undefined)
    throw changed(name, `the column ${JSON.stringify(needed.name)} must have a value`);
}

function changed(name: TableName, how: string): ConnectorError {
  return new ConnectorError(
    'refused',
    `another writer changed the table ${nameText(name)}: ${how}`,
    { hint: 'run it again: it then writes to the table as it is now' },
  );
}
