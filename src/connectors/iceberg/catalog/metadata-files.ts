/** Metadata files of catalogs that only point at them. */
import { randomUUID } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { ConnectorError } from '../../../lib/errors.ts';
import { stringifyJson, type JsonObject } from '../../../lib/text/json.ts';
import { MAX_WHOLE_BYTES } from '../../_files/output/whole.ts';
import { metadataOf, parseMetadata, type TableMetadata } from '../metadata/table-metadata.ts';
import { applyUpdates, type TableUpdate } from '../metadata/updates.ts';
import type { Storage } from '../storage.ts';
import type { LoadedTable, NewTable } from './catalog.ts';

const GZIP = 0x8b1f;

export async function loadMetadata(file: string, storage: Storage): Promise<LoadedTable> {
  const bytes = await storage.read(file);
  if (bytes === undefined)
    throw new ConnectorError('missing', `the metadata file ${file} of the table is gone`, {
      hint: 'the catalog points at it; check `warehouse` and the store',
    });
  const isPacked = bytes.length > 1 && bytes.readUInt16LE() === GZIP;
  const text = isPacked ? gunzipSync(bytes, { maxOutputLength: MAX_WHOLE_BYTES }) : bytes;
  return { metadataFile: file, metadata: parseMetadata(text.toString('utf8'), file), storage };
}

export function metadataBytes(raw: JsonObject): Buffer {
  return Buffer.from(stringifyJson(raw));
}

/** The first state of a table. */
export function newMetadata(table: NewTable, location: string, now: number): TableMetadata {
  const raw: JsonObject = {
    'format-version': 2,
    'table-uuid': randomUUID(),
    location,
    'last-sequence-number': 0,
    'last-updated-ms': now,
    'last-column-id': table.lastColumnId,
    'current-schema-id': 0,
    schemas: [{ ...table.schema, 'schema-id': 0 }],
    'default-spec-id': 0,
    'partition-specs': [{ ...table.spec, 'spec-id': 0 }],
    'last-partition-id': lastPartitionId(table.spec),
    'default-sort-order-id': 0,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    properties: { ...table.properties },
    'current-snapshot-id': -1,
    refs: {},
    snapshots: [],
    'snapshot-log': [],
    'metadata-log': [],
  };
  return metadataOf(raw, location);
}

function lastPartitionId({ fields }: JsonObject): number {
  const ids = (Array.isArray(fields) ? fields : []).map((field) =>
    Number((field as JsonObject)['field-id']),
  );
  return Math.max(999, ...ids);
}

/** The state after some changes. */
export function changedMetadata(
  { metadata, metadataFile }: LoadedTable,
  updates: readonly TableUpdate[],
  now: number,
): TableMetadata {
  const raw = applyUpdates(metadata.raw, updates, { now, before: metadataFile });
  return metadataOf(raw, metadataFile);
}
