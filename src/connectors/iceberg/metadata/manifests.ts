/** Manifests, which list the files of a table, and the lists of manifests of its snapshots. */
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, jsonText, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { avroRecords } from '../../_files/avro/avro-records.ts';
import { avroFile } from '../../_files/avro/avro-writer.ts';
import type { Schema } from '../../_files/avro/avro-values.ts';
import type { Storage } from '../storage.ts';
import { MANIFEST_FILE_SCHEMA } from './manifest-schemas.ts';
import { idOf, listOf, type TableSnapshot } from './table-metadata.ts';

export const DATA = 0;
export const POSITION_DELETES = 1;
export const EQUALITY_DELETES = 2;

const ADDED = 1;
const DELETED = 2;

export interface ManifestFile {
  readonly path: string;
  readonly specId: number;
  /** Whether it lists deletes. */
  readonly deletes: boolean;
  readonly sequence: number;
  /** The snapshot that made it. */
  readonly addedBy: bigint | undefined;
  /** As a list of manifests of version 2 has it. */
  readonly raw: JsonObject;
}

export interface TableFile {
  readonly content: number;
  readonly path: string;
  readonly format: string;
  readonly specId: number;
  /** By the ids of partition fields, in the form of records. */
  readonly partition: ReadonlyMap<number, JsonValue>;
  readonly records: number;
  readonly bytes: number;
  readonly sequence: number;
  readonly addedBy: bigint | undefined;
  readonly isNew: boolean;
  /** By the ids of columns. */
  readonly lower: ReadonlyMap<number, Buffer>;
  readonly upper: ReadonlyMap<number, Buffer>;
  readonly nulls: ReadonlyMap<number, number>;
  readonly equalityIds: readonly number[];
}

interface Reading {
  readonly storage: Storage;
  readonly signal: AbortSignal;
}

export async function manifestsOf(
  snapshot: TableSnapshot,
  reading: Reading,
): Promise<readonly ManifestFile[]> {
  const { manifestList: path } = snapshot;
  if (path === undefined)
    return snapshot.manifests.map((manifest) => ({
      path: manifest,
      specId: 0,
      deletes: false,
      sequence: 0,
      addedBy: snapshot.id,
      raw: { manifest_path: manifest },
    }));
  const { records } = await readAvro(path, reading);
  return records.map((raw) => ({
    path: textOf(raw['manifest_path'], path),
    specId: Number(raw['partition_spec_id'] ?? 0),
    deletes: Number(raw['content'] ?? 0) === 1,
    sequence: Number(raw['sequence_number'] ?? 0),
    addedBy: idOf(raw['added_snapshot_id']),
    raw: {
      ...raw,
      content: raw['content'] ?? 0,
      sequence_number: raw['sequence_number'] ?? 0,
      min_sequence_number: raw['min_sequence_number'] ?? 0,
      // Older programs have other names for the counts.
      ...counts(raw),
    },
  }));
}

function counts(raw: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const what of ['added', 'existing', 'deleted']) {
    out[`${what}_files_count`] = raw[`${what}_files_count`] ?? raw[`${what}_data_files_count`] ?? 0;
    out[`${what}_rows_count`] = raw[`${what}_rows_count`] ?? 0;
  }
  return out;
}

/** The files of a manifest that are part of the table. */
export async function filesOf(manifest: ManifestFile, reading: Reading): Promise<TableFile[]> {
  const { records, written } = await readAvro(manifest.path, reading);
  const partitionIds = partitionFieldIds(written);
  return records.flatMap((entry) => {
    const status = Number(entry['status']);
    const file = entry['data_file'];
    if (status === DELETED || !isObject(file)) return [];
    const isNew = status === ADDED;
    const own = entry['sequence_number'];
    const partition = isObject(file['partition']) ? file['partition'] : {};
    return {
      content: Number(file['content'] ?? DATA),
      path: textOf(file['file_path'], manifest.path),
      format: textOf(file['file_format'], manifest.path).toLowerCase(),
      specId: manifest.specId,
      partition: new Map(
        Object.entries(partition).map(([name, value]) => [partitionIds.get(name) ?? 0, value]),
      ),
      records: Number(file['record_count'] ?? 0),
      bytes: Number(file['file_size_in_bytes'] ?? 0),
      // What is not said is that of the manifest.
      sequence: own === null || own === undefined ? manifest.sequence : Number(own),
      addedBy: idOf(entry['snapshot_id']) ?? manifest.addedBy,
      isNew,
      lower: bytesById(file['lower_bounds']),
      upper: bytesById(file['upper_bounds']),
      nulls: new Map(entriesOf(file['null_value_counts']).map(([id, n]) => [id, Number(n)])),
      equalityIds: Array.isArray(file['equality_ids']) ? file['equality_ids'].map(Number) : [],
    };
  });
}

/** The map of a manifest, which is a list of entries or, of few programs, an object. */
function entriesOf(value: JsonValue | undefined): (readonly [number, JsonValue])[] {
  if (isObject(value)) return Object.entries(value).map(([key, one]) => [Number(key), one]);
  return listOf(value).map((one) => [Number(one['key']), one['value'] ?? null]);
}

function bytesById(value: JsonValue | undefined): Map<number, Buffer> {
  return new Map(
    entriesOf(value).map(([id, bytes]) => [id, Buffer.from(jsonText(bytes), 'base64')]),
  );
}

/** Names of partition fields change; their ids, which stand in the schema of the file, do not. */
function partitionFieldIds(schema: unknown): ReadonlyMap<string, number> {
  const file = fieldOf(schema, 'data_file');
  const partition = fieldOf(file, 'partition');
  const fields = (partition as { fields?: unknown } | undefined)?.fields;
  return new Map(
    (Array.isArray(fields) ? (fields as JsonObject[]) : []).map((field) => [
      jsonText(field['name'] ?? ''),
      Number(field['field-id'] ?? 0),
    ]),
  );
}

function fieldOf(schema: unknown, name: string): unknown {
  const fields = (schema as { fields?: unknown } | undefined)?.fields;
  const found = (Array.isArray(fields) ? (fields as JsonObject[]) : []).find(
    (field) => field['name'] === name,
  );
  return found?.['type'];
}

async function readAvro(
  path: string,
  { storage, signal }: Reading,
): Promise<{ readonly records: readonly JsonObject[]; readonly written: unknown }> {
  const bytes = await storage.read(path);
  if (bytes === undefined)
    throw new ConnectorError('missing', `${path}, which is part of the table, is gone`, {
      hint: 'its snapshot may have expired in the meantime; run it again',
    });
  let written: unknown;
  const records: JsonObject[] = [];
  const options = {
    name: path,
    signal,
    onSchema: (schema: unknown) => {
      written = schema;
    },
  };
  for await (const batch of avroRecords(blockOf(bytes), options))
    for (const one of batch) if (isObject(one)) records.push(one);
  return { records, written };
}

// oxlint-disable-next-line typescript/require-await -- the reader wants blocks that come later
async function* blockOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

export interface AvroContent {
  readonly schema: JsonObject;
  readonly records: readonly JsonObject[];
  readonly metadata: Readonly<Record<string, string>>;
}

export async function avroBytes({ schema, records, metadata }: AvroContent): Promise<Buffer> {
  // oxlint-disable-next-line typescript/require-await -- the writer wants batches that come later
  const batches = (async function* () {
    yield records;
  })();
  const writing = {
    schema: schema as unknown as Schema,
    codec: 'deflate' as const,
    onDropped: () => {},
    metadata,
  };
  const blocks: Uint8Array[] = [];
  for await (const block of avroFile(batches, writing)) blocks.push(block);
  return Buffer.concat(blocks);
}

export interface ManifestListing {
  readonly id: bigint;
  readonly parent: bigint | undefined;
  readonly sequence: number;
  readonly manifests: readonly JsonObject[];
}

export function manifestListBytes(listing: ManifestListing): Promise<Buffer> {
  return avroBytes({
    schema: MANIFEST_FILE_SCHEMA,
    records: listing.manifests,
    metadata: {
      'snapshot-id': String(listing.id),
      'parent-snapshot-id': String(listing.parent ?? 'null'),
      'sequence-number': String(listing.sequence),
      'format-version': '2',
    },
  });
}

function textOf(value: JsonValue | undefined, path: string): string {
  if (typeof value === 'string') return value;
  throw new ConnectorError('data', `${path} lists a file without its name`, {
    hint: 'it is damaged; restore it',
  });
}
