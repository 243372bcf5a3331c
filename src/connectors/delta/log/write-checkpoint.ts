/** Writes the state of a table into one file, so that readers need not read the whole log. */
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { createParquetFile } from '../../_files/parquet/create-parquet.ts';
import type { ColumnKind } from '../../_files/typed/column-kinds.ts';
import type { TableFiles } from '../../_lake/table-files.ts';
import type { Metadata } from './actions.ts';
import { checkpointName, LOG_FOLDER } from './log-names.ts';
import { writerFeatures } from './protocol.ts';
import type { Snapshot } from './snapshot.ts';

const INTERVAL = 10;
const WEEK_MS = 7 * 24 * 60 * 60 * 1000;
const ROWS_AT_ONCE = 1000;

const TEXT: ColumnKind = { is: 'string' };
const LONG: ColumnKind = { is: 'integer' };
const INT: ColumnKind = { is: 'typed', type: { kind: 'int32' } };
const BOOL: ColumnKind = { is: 'boolean' };
const TEXTS: ColumnKind = { is: 'list', of: TEXT };
const TEXT_MAP: ColumnKind = { is: 'map', key: TEXT, value: TEXT };
const struct = (fields: Readonly<Record<string, ColumnKind>>): ColumnKind => ({
  is: 'struct',
  fields: new Map(Object.entries(fields)),
});

const VECTOR = struct({
  storageType: TEXT,
  pathOrInlineDv: TEXT,
  offset: INT,
  sizeInBytes: INT,
  cardinality: LONG,
});

const COLUMNS: ReadonlyMap<string, ColumnKind> = new Map([
  ['txn', struct({ appId: TEXT, version: LONG, lastUpdated: LONG })],
  [
    'add',
    struct({
      path: TEXT,
      partitionValues: TEXT_MAP,
      size: LONG,
      modificationTime: LONG,
      dataChange: BOOL,
      stats: TEXT,
      tags: TEXT_MAP,
      deletionVector: VECTOR,
    }),
  ],
  [
    'remove',
    struct({
      path: TEXT,
      deletionTimestamp: LONG,
      dataChange: BOOL,
      extendedFileMetadata: BOOL,
      partitionValues: TEXT_MAP,
      size: LONG,
      deletionVector: VECTOR,
    }),
  ],
  [
    'metaData',
    struct({
      id: TEXT,
      name: TEXT,
      description: TEXT,
      format: struct({ provider: TEXT, options: TEXT_MAP }),
      schemaString: TEXT,
      partitionColumns: TEXTS,
      createdTime: LONG,
      configuration: TEXT_MAP,
    }),
  ],
  [
    'protocol',
    struct({
      minReaderVersion: INT,
      minWriterVersion: INT,
      readerFeatures: TEXTS,
      writerFeatures: TEXTS,
    }),
  ],
  ['domainMetadata', struct({ domain: TEXT, configuration: TEXT, removed: BOOL })],
]);

/** Whether a checkpoint belongs to this version, and this program can write it. */
export function wantsCheckpoint({ version, protocol, metadata }: Snapshot): boolean {
  const { configuration } = metadata;
  const interval = Number(configuration['delta.checkpointInterval'] ?? INTERVAL);
  if (version === 0 || !Number.isInteger(interval) || interval < 1 || version % interval !== 0)
    return false;
  // Those of other forms are left to other writers.
  return (
    !writerFeatures(protocol).includes('v2Checkpoint') &&
    configuration['delta.checkpoint.writeStatsAsJson'] !== 'false'
  );
}

export async function writeCheckpoint(
  files: TableFiles,
  snapshot: Snapshot,
  now: number,
): Promise<void> {
  const rows = checkpointRows(snapshot, now);
  const path = LOG_FOLDER + checkpointName(snapshot.version);
  const output = await createParquetFile({
    path: await files.pathToWrite(path),
    columns: COLUMNS,
    codec: 'snappy',
    rowGroupSize: 100_000,
    onDropped: () => {},
  });
  try {
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE)
      await output.add(rows.slice(from, from + ROWS_AT_ONCE));
    await output.finish();
  } catch (error) {
    await output.discard();
    throw error;
  }
  const sizeInBytes = await files.deliver(path);
  const last = {
    version: snapshot.version,
    size: rows.length,
    sizeInBytes,
    numOfAddFiles: snapshot.files.size,
  };
  await files.put(`${LOG_FOLDER}_last_checkpoint`, Buffer.from(JSON.stringify(last)));
}

function checkpointRows(snapshot: Snapshot, now: number): JsonObject[] {
  const { protocol, metadata, files, removed, transactions, domains } = snapshot;
  const isKept = keepsRemoved(metadata, now);
  return [
    { protocol: { ...protocol } as unknown as JsonObject },
    { metaData: metadata.raw },
    ...[...transactions.values()].map(({ raw }) => ({ txn: raw })),
    ...[...domains.values()].map((raw) => ({ domainMetadata: { removed: false, ...raw } })),
    ...[...files.values()].map(({ raw }) => ({ add: { ...raw, dataChange: false } })),
    ...[...removed.values()]
      .filter(isKept)
      .map((raw) => ({ remove: { ...raw, dataChange: false } })),
  ];
}

/** A week long, unless the table says something else: then all are kept. */
function keepsRemoved({ configuration }: Metadata, now: number): (raw: JsonObject) => boolean {
  if (configuration['delta.deletedFileRetentionDuration'] !== undefined) return () => true;
  const time = (value: JsonValue | undefined): number => Number(value ?? 0);
  return ({ deletionTimestamp }) => time(deletionTimestamp) > now - WEEK_MS;
}
