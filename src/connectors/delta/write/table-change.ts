/** The actions that add files to a table, make it, or replace all that is in it. */
import { randomUUID } from 'node:crypto';
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, type JsonObject } from '../../../lib/text/json.ts';
import type { Metadata, Protocol } from '../log/actions.ts';
import { requireWritable, SIMPLE_PROTOCOL, withFeature } from '../log/protocol.ts';
import type { Snapshot } from '../log/snapshot.ts';
import {
  fieldsBelow,
  schemaText,
  type DeltaField,
  type DeltaStruct,
} from '../schema/delta-types.ts';
import { missingFields, schemaConflict } from '../schema/table-columns.ts';
import type { Change } from './commit.ts';
import type { TableShape } from './data-files.ts';
import { isBlank } from './shape.ts';

interface Writing {
  /** For messages. */
  readonly table: string;
  /** Absent when no file was written. */
  readonly shape: TableShape | undefined;
  readonly adds: readonly JsonObject[];
  readonly overwrites: boolean;
  /** Whether columns may be added to a table that is there. */
  readonly merges: boolean;
  readonly now: number;
}

export function changeOf(before: Snapshot | undefined, writing: Writing): Change {
  const { adds, overwrites, shape, now } = writing;
  if (before !== undefined) requireWritable(before, writing.table);
  const removes = overwrites && before !== undefined ? removesOf(before, writing) : [];
  const partitionBy = JSON.stringify(shape?.partitionBy ?? before?.metadata.partitionColumns ?? []);
  const operationParameters = { mode: overwrites ? 'Overwrite' : 'Append', partitionBy };
  return {
    info: { operation: 'WRITE', operationParameters, isBlindAppend: !overwrites },
    actions: [
      ...(shape === undefined ? [] : tableActions(before, shape, writing)),
      ...removes.map((remove) => ({ remove: { ...remove, deletionTimestamp: now } })),
      ...adds.map((add) => ({ add: { ...add } })),
    ],
  };
}

function tableActions(
  before: Snapshot | undefined,
  shape: TableShape,
  { table, merges, now }: Writing,
): JsonObject[] {
  if (before === undefined) {
    const schema: DeltaStruct = { is: 'struct', fields: shape.fields };
    return [
      { protocol: protocolAction(protocolFor(SIMPLE_PROTOCOL, shape.fields)) },
      { metaData: newMetadata(schema, shape.partitionBy, now) },
    ];
  }
  if (shape.fields.length === 0) return [];
  const { metadata, protocol, schema } = before;
  const isFirst = isBlank(before);
  if (!isFirst && metadata.partitionColumns.join('\n') !== shape.partitionBy.join('\n'))
    throw changed(table, 'it has other partition columns');
  const conflict = schemaConflict(schema, shape.fields);
  if (conflict !== undefined) throw changed(table, conflict);
  const added = missingFields(schema, shape.fields);
  if (added.length === 0) return [];
  if (!merges && !isFirst)
    throw changed(table, `it has no column ${JSON.stringify(added[0]?.name)}`);
  const after = protocolFor(protocol, added);
  return [
    ...(after === protocol ? [] : [{ protocol: protocolAction(after) }]),
    {
      metaData: {
        ...withSchema(metadata, { is: 'struct', fields: [...schema.fields, ...added] }),
        ...(isFirst ? { partitionColumns: [...shape.partitionBy] } : {}),
      },
    },
  ];
}

function protocolFor(protocol: Protocol, added: readonly DeltaField[]): Protocol {
  const types = fieldsBelow({ is: 'struct', fields: added }).flatMap(({ type }) => leafTypes(type));
  return types.includes('timestamp_ntz') ? withFeature(protocol, 'timestampNtz') : protocol;
}

function leafTypes(type: DeltaField['type']): string[] {
  switch (type.is) {
    case 'primitive':
      return [type.name];
    case 'array':
      return leafTypes(type.item);
    case 'map':
      return [...leafTypes(type.key), ...leafTypes(type.value)];
    default:
      return [];
  }
}

function protocolAction(protocol: Protocol): JsonObject {
  const { minReaderVersion, minWriterVersion, readerFeatures, writerFeatures } = protocol;
  return {
    minReaderVersion,
    minWriterVersion,
    ...(readerFeatures === undefined ? {} : { readerFeatures: [...readerFeatures] }),
    ...(writerFeatures === undefined ? {} : { writerFeatures: [...writerFeatures] }),
  };
}

function newMetadata(schema: DeltaStruct, partitionBy: readonly string[], now: number): JsonObject {
  return {
    id: randomUUID(),
    format: { provider: 'parquet', options: {} },
    schemaString: schemaText(schema),
    partitionColumns: [...partitionBy],
    configuration: {},
    createdTime: now,
  };
}

function withSchema({ raw }: Metadata, schema: DeltaStruct): JsonObject {
  return { ...raw, schemaString: schemaText(schema) };
}

function removesOf({ files, metadata }: Snapshot, { table }: Writing): JsonObject[] {
  if (files.size > 0 && metadata.configuration['delta.appendOnly'] === 'true')
    throw new ConnectorError('refused', `nothing may be removed from the table ${table}`, {
      hint: 'it has the property `delta.appendOnly`; use `write_mode: append`',
    });
  return [...files.values()].map(({ raw }) => {
    const { path, partitionValues, size, deletionVector } = raw;
    return {
      path: path ?? '',
      dataChange: true,
      extendedFileMetadata: true,
      partitionValues: partitionValues ?? {},
      size: size ?? 0,
      ...(isObject(deletionVector) ? { deletionVector } : {}),
    };
  });
}

function changed(table: string, how: string): ConnectorError {
  return new ConnectorError('refused', `another writer changed the table ${table}: ${how}`, {
    hint: 'run it again: it then writes to the table as it is now',
  });
}
