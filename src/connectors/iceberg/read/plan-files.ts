/** Which data files a read of a table has, and which deletes hold for each. */
import { ConnectorError } from '../../../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../../../lib/text/json.ts';
import {
  DATA,
  EQUALITY_DELETES,
  filesOf,
  manifestsOf,
  type ManifestFile,
  type TableFile,
} from '../metadata/manifests.ts';
import type { TableSnapshot } from '../metadata/table-metadata.ts';
import type { Storage } from '../storage.ts';
import { operationOf } from './snapshots.ts';

export interface PlannedFile {
  readonly file: TableFile;
  readonly positionDeletes: readonly TableFile[];
  readonly equalityDeletes: readonly TableFile[];
}

interface Planning {
  readonly storage: Storage;
  readonly signal: AbortSignal;
  /** How many manifests are read at the same time. */
  readonly concurrency: number;
  /** For messages. */
  readonly table: string;
}

/** All files of a snapshot. */
export async function planSnapshot(
  snapshot: TableSnapshot,
  planning: Planning,
): Promise<readonly PlannedFile[]> {
  const manifests = await manifestsOf(snapshot, planning);
  const files = await allFiles(manifests, planning);
  const data = files.filter(({ content }) => content === DATA);
  const deletes = files.filter(({ content }) => content !== DATA);
  for (const { format, path } of data)
    if (format !== 'parquet') throw unread(`${path} is a data file in the format ${format}`);
  for (const { format, path } of deletes)
    if (format !== 'parquet') throw unread(`${path} lists deletes in the format ${format}`);
  return data.map((file) => withDeletes(file, deletes));
}

/** The files with records that a snapshot added: those that were only written anew have none. */
export async function planAdded(
  snapshot: TableSnapshot,
  planning: Planning,
): Promise<readonly PlannedFile[]> {
  if (operationOf(snapshot) === 'replace') return [];
  const manifests = await manifestsOf(snapshot, planning);
  const own = manifests.filter(({ addedBy }) => addedBy === snapshot.id);
  const files = await allFiles(own, planning);
  const added = files.filter(({ isNew, addedBy }) => isNew && addedBy === snapshot.id);
  const wrong = added.find(({ content, format }) => content !== DATA || format !== 'parquet');
  if (wrong !== undefined) throw unread(`${wrong.path} is a file of another kind`);
  return added.map((file) => ({ file, positionDeletes: [], equalityDeletes: [] }));
}

async function allFiles(
  manifests: readonly ManifestFile[],
  planning: Planning,
): Promise<TableFile[]> {
  const files: TableFile[] = [];
  for (let at = 0; at < manifests.length; at += planning.concurrency) {
    planning.signal.throwIfAborted();
    const some = manifests.slice(at, at + planning.concurrency);
    const found = await Promise.all(some.map((manifest) => filesOf(manifest, planning)));
    files.push(...found.flat());
  }
  return files;
}

function withDeletes(file: TableFile, deletes: readonly TableFile[]): PlannedFile {
  const own = partitionKey(file);
  const near = deletes.filter(
    (one) => partitionKey(one) === own || (one.content === EQUALITY_DELETES && isGlobal(one)),
  );
  return {
    file,
    // A delete by position may be of the same commit; one by value holds for what was there before.
    positionDeletes: near.filter(
      ({ content, sequence }) => content !== EQUALITY_DELETES && sequence >= file.sequence,
    ),
    equalityDeletes: near.filter(
      ({ content, sequence }) => content === EQUALITY_DELETES && sequence > file.sequence,
    ),
  };
}

function isGlobal({ partition }: TableFile): boolean {
  return partition.size === 0;
}

function partitionKey({ specId, partition }: TableFile): string {
  return stringifyJson([specId, ...[...partition].flat()] as JsonValue);
}

function unread(what: string): ConnectorError {
  return new ConnectorError('refused', `the table cannot be read: ${what}`, {
    hint: 'have the table rewritten with Parquet files',
  });
}
