/** A snapshot that adds files: its manifest, its list of manifests, and what it says of itself. */
import { randomBytes, randomUUID } from 'node:crypto';
import { stringifyJson, type JsonObject } from '../../../lib/text/json.ts';
import { schemaJson } from '../metadata/schema-json.ts';
import {
  avroBytes,
  manifestListBytes,
  manifestsOf,
  type AvroContent,
} from '../metadata/manifests.ts';
import { manifestEntrySchema } from '../metadata/manifest-schemas.ts';
import type { PartitionSpec, TableMetadata } from '../metadata/table-metadata.ts';
import { snapshotIdJson, MAIN, type TableUpdate } from '../metadata/updates.ts';
import type { Storage } from '../storage.ts';
import type { MadeFile } from './data-file.ts';
import type { Partitions } from './partitions.ts';

/** The shape that files were written with. */
export interface Written {
  readonly files: readonly MadeFile[];
  readonly spec: PartitionSpec;
  readonly partitions: Partitions;
}

export interface Appending {
  readonly storage: Storage;
  readonly signal: AbortSignal;
  readonly now: number;
  /** What the summary says besides. */
  readonly summary: Readonly<Record<string, string>>;
}

/** A snapshot that is not in the table yet. */
export interface Append {
  readonly id: bigint;
  readonly updates: readonly TableUpdate[];
  /** Addresses of what was written for it, but for the data files. */
  readonly files: readonly string[];
}

const NO_TOTALS = {
  'total-data-files': '0',
  'total-delete-files': '0',
  'total-records': '0',
  'total-files-size': '0',
  'total-position-deletes': '0',
  'total-equality-deletes': '0',
};

export async function makeAppend(
  metadata: TableMetadata,
  groups: readonly Written[],
  { storage, signal, now, summary }: Appending,
): Promise<Append> {
  const id = newSnapshotId(metadata);
  const sequence = metadata.lastSequence + 1;
  const folder = metadataFolder(metadata);
  const written: string[] = [];
  const put = async (name: string, bytes: Buffer): Promise<string> => {
    const address = `${folder}/${name}`;
    written.push(address);
    await storage.put(address, bytes);
    return address;
  };
  const own: JsonObject[] = [];
  for (const group of groups) {
    if (group.files.length === 0) continue;
    const bytes = await avroBytes(manifestOf(metadata, group, id));
    const path = await put(`${randomUUID()}-m0.avro`, bytes);
    own.push(listed(group, { path, length: bytes.length, id, sequence }));
  }
  const before =
    metadata.current === undefined ? [] : await manifestsOf(metadata.current, { storage, signal });
  const manifests = [...own, ...before.map(({ raw }) => raw)];
  const parent = metadata.current?.id;
  const bytes = await manifestListBytes({ id, parent, sequence, manifests });
  const list = await put(`snap-${id}-0-${randomUUID()}.avro`, bytes);
  const snapshot: JsonObject = {
    'snapshot-id': snapshotIdJson(id),
    ...(parent === undefined ? {} : { 'parent-snapshot-id': snapshotIdJson(parent) }),
    'sequence-number': sequence,
    // Clocks differ: a snapshot is never older than the one before it.
    'timestamp-ms': Math.max(now, metadata.current?.time ?? 0),
    'manifest-list': list,
    summary: { ...summary, ...summaryOf(metadata, groups), operation: 'append' },
    'schema-id': metadata.schema.id,
  };
  const updates: TableUpdate[] = [
    { action: 'add-snapshot', snapshot },
    {
      action: 'set-snapshot-ref',
      'ref-name': MAIN,
      type: 'branch',
      'snapshot-id': snapshotIdJson(id),
    },
  ];
  return { id, updates, files: written };
}

function manifestOf(
  metadata: TableMetadata,
  { files, spec, partitions }: Written,
  id: bigint,
): AvroContent {
  return {
    schema: manifestEntrySchema(partitions.schema()),
    records: files.map(({ address, partition, records, bytes, statistics }) => ({
      status: 1,
      snapshot_id: snapshotIdJson(id),
      // The number of the snapshot, which a commit that is made again changes.
      sequence_number: null,
      file_sequence_number: null,
      data_file: {
        content: 0,
        file_path: address,
        file_format: 'PARQUET',
        partition: partitions.record(partition),
        record_count: records,
        file_size_in_bytes: bytes,
        ...statistics,
        sort_order_id: null,
      },
    })),
    metadata: {
      schema: stringifyJson(schemaJson(metadata.schema)),
      'schema-id': String(metadata.schema.id),
      'partition-spec': stringifyJson(
        spec.fields.map(({ id: field, name, sourceId, transform }) => ({
          name,
          transform,
          'source-id': sourceId,
          'field-id': field,
        })),
      ),
      'partition-spec-id': String(spec.id),
      'format-version': '2',
      content: 'data',
    },
  };
}

interface Listing {
  readonly path: string;
  readonly length: number;
  readonly id: bigint;
  readonly sequence: number;
}

function listed(
  { files, spec, partitions }: Written,
  { path, length, id, sequence }: Listing,
): JsonObject {
  return {
    manifest_path: path,
    manifest_length: length,
    partition_spec_id: spec.id,
    content: 0,
    sequence_number: sequence,
    min_sequence_number: sequence,
    added_snapshot_id: snapshotIdJson(id),
    added_files_count: files.length,
    existing_files_count: 0,
    deleted_files_count: 0,
    added_rows_count: files.reduce((sum, { records }) => sum + records, 0),
    existing_rows_count: 0,
    deleted_rows_count: 0,
    partitions: partitions.summaries(files.map(({ partition }) => partition)),
    key_metadata: null,
  };
}

function summaryOf(metadata: TableMetadata, groups: readonly Written[]): Record<string, string> {
  const files = groups.flatMap((group) => group.files);
  const records = files.reduce((sum, file) => sum + file.records, 0);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const before: Readonly<Record<string, string>> =
    metadata.current === undefined ? NO_TOTALS : metadata.current.summary;
  const total = (name: string, more: number): Record<string, string> => {
    const known = before[name];
    return known === undefined || !/^\d+$/.test(known)
      ? {}
      : { [name]: String(BigInt(known) + BigInt(more)) };
  };
  return {
    'added-data-files': String(files.length),
    'added-records': String(records),
    'added-files-size': String(bytes),
    ...total('total-data-files', files.length),
    ...total('total-delete-files', 0),
    ...total('total-records', records),
    ...total('total-files-size', bytes),
    ...total('total-position-deletes', 0),
    ...total('total-equality-deletes', 0),
  };
}

export function metadataFolder({ properties, location }: TableMetadata): string {
  return (properties['write.metadata.path'] ?? `${location}/metadata`).replace(/\/+$/, '');
}

/** Above zero, as all programs have them. */
function newSnapshotId({ snapshots }: TableMetadata): bigint {
  for (;;) {
    const id = BigInt.asUintN(63, randomBytes(8).readBigUInt64LE());
    if (id > 0n && !snapshots.has(id)) return id;
  }
}
