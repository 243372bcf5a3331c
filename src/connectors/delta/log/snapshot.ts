/** The state of a table at one version: what its log says, from the last checkpoint on. */
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, parseJson, type JsonObject } from '../../../lib/text/json.ts';
import type { TableFiles } from '../../_lake/table-files.ts';
import { parseSchema, type DeltaStruct } from '../schema/delta-types.ts';
import { fileKey, type Action, type AddedFile, type Metadata, type Protocol } from './actions.ts';
import { readCheckpoint } from './read-checkpoint.ts';
import {
  beforeVersion,
  checkpointsIn,
  commitName,
  commitVersion,
  type CheckpointFiles,
  LOG_FOLDER,
} from './log-names.ts';
import { requireReadable } from './protocol.ts';
import { actionsIn } from './action-lines.ts';

export interface Snapshot {
  readonly version: number;
  readonly protocol: Protocol;
  readonly metadata: Metadata;
  readonly schema: DeltaStruct;
  readonly files: ReadonlyMap<string, AddedFile>;
  /** Files that were removed; for programs that clean up. */
  readonly removed: ReadonlyMap<string, JsonObject>;
  readonly transactions: ReadonlyMap<
    string,
    { readonly version: number; readonly raw: JsonObject }
  >;
  readonly domains: ReadonlyMap<string, JsonObject>;
}

/** Files, transactions and domains by their keys; changed in place while a log is read. */
class TableState {
  protocol: Protocol | undefined;
  metadata: Metadata | undefined;
  readonly files = new Map<string, AddedFile>();
  readonly removed = new Map<string, JsonObject>();
  readonly transactions = new Map<string, { version: number; raw: JsonObject }>();
  readonly domains = new Map<string, JsonObject>();

  static from(snapshot: Snapshot | undefined): TableState {
    const state = new TableState();
    if (snapshot === undefined) return state;
    state.protocol = snapshot.protocol;
    state.metadata = snapshot.metadata;
    for (const name of ['files', 'removed', 'transactions', 'domains'] as const)
      for (const [key, value] of snapshot[name])
        (state[name] as Map<string, unknown>).set(key, value);
    return state;
  }

  apply(action: Action): void {
    switch (action.is) {
      case 'protocol':
        this.protocol = action.protocol;
        break;
      case 'metaData':
        this.metadata = action.metadata;
        break;
      case 'add': {
        const key = fileKey(action.add.path, action.add.deletionVector);
        this.files.set(key, action.add);
        this.removed.delete(key);
        break;
      }
      case 'remove':
        this.files.delete(action.key);
        this.removed.set(action.key, action.raw);
        break;
      case 'txn':
        this.transactions.set(action.appId, { version: action.version, raw: action.raw });
        break;
      case 'domainMetadata':
        if (action.raw['removed'] === true) this.domains.delete(action.domain);
        else this.domains.set(action.domain, action.raw);
        break;
      default:
    }
  }

  at(version: number, table: string): Snapshot {
    const { protocol, metadata } = this;
    if (protocol === undefined || metadata === undefined)
      throw new ConnectorError(
        'data',
        `the log of the table ${table} has no schema or no protocol`,
        {
          hint: 'it is damaged, or no table of Delta',
        },
      );
    requireReadable(protocol, table);
    const schema = parseSchema(metadata.schemaString, table);
    const { files, removed, transactions, domains } = this;
    return { version, protocol, metadata, schema, files, removed, transactions, domains };
  }
}

/** The latest version, or this one. `undefined` where there is no table. */
export async function loadSnapshot(
  files: TableFiles,
  version?: number,
): Promise<Snapshot | undefined> {
  const log = await listLog(files, version);
  if (log === undefined) return undefined;
  const target = version ?? log.latest;
  const [checkpoint] = log.checkpoints.filter((one) => one.version <= target);
  const from = checkpoint === undefined ? 0 : checkpoint.version + 1;
  if (target > log.latest || (checkpoint === undefined && !log.commits.has(0)))
    throw noVersion(files.address, target, log);
  const state = new TableState();
  if (checkpoint !== undefined)
    for await (const action of readCheckpoint(files, checkpoint)) state.apply(action);
  for (let at = from; at <= target; at += 1) {
    if (!log.commits.has(at)) throw noVersion(files.address, at, log);
    for (const action of await readCommit(files, at)) state.apply(action);
  }
  return state.at(target, files.address);
}

/** The same table after later commits; the same object when there are none. */
export async function refreshed(files: TableFiles, before: Snapshot): Promise<Snapshot> {
  const names = (await files.list(LOG_FOLDER, beforeVersion(before.version + 1))).map(
    ({ name }) => name,
  );
  const commits = new Set(names.flatMap((name) => commitVersion(name) ?? []));
  let version = before.version;
  const state = TableState.from(before);
  for (; commits.has(version + 1); version += 1)
    for (const action of await readCommit(files, version + 1)) state.apply(action);
  if (version > before.version) return state.at(version, files.address);
  // What came in between may have been cleaned up.
  return commits.size === 0 ? before : ((await loadSnapshot(files)) ?? before);
}

export interface LogFiles {
  readonly latest: number;
  readonly commits: ReadonlyMap<number, Date>;
  readonly checkpoints: readonly CheckpointFiles[];
}

async function listLog(
  files: TableFiles,
  version: number | undefined,
): Promise<LogFiles | undefined> {
  const hint = await lastCheckpoint(files);
  if (hint !== undefined && (version === undefined || version >= hint)) {
    const log = await listFrom(files, beforeVersion(hint));
    if (log?.checkpoints.some((one) => one.version <= (version ?? log.latest)) === true) return log;
  }
  return listWholeLog(files);
}

export function listWholeLog(files: TableFiles): Promise<LogFiles | undefined> {
  return listFrom(files, undefined);
}

async function listFrom(
  files: TableFiles,
  after: string | undefined,
): Promise<LogFiles | undefined> {
  const found = await files.list(LOG_FOLDER, after);
  const commits = new Map<number, Date>();
  for (const { name, modified } of found) {
    const version = commitVersion(name);
    if (version !== undefined) commits.set(version, modified);
  }
  const checkpoints = checkpointsIn(found.map(({ name }) => name));
  const versions = [...commits.keys(), ...checkpoints.map(({ version }) => version)];
  if (versions.length === 0) return undefined;
  return { latest: Math.max(...versions), commits, checkpoints };
}

/** Only where to begin looking: a damaged file says nothing. */
async function lastCheckpoint(files: TableFiles): Promise<number | undefined> {
  const bytes = await files.read(`${LOG_FOLDER}_last_checkpoint`);
  try {
    const value = parseJson(bytes?.toString('utf8') ?? 'null');
    const version = isObject(value) ? value['version'] : undefined;
    return typeof version === 'number' ? version : undefined;
  } catch {
    return undefined;
  }
}

export async function readCommit(files: TableFiles, version: number): Promise<readonly Action[]> {
  const path = LOG_FOLDER + commitName(version);
  const bytes = await files.read(path);
  if (bytes === undefined)
    throw new ConnectorError('missing', `${files.address}${path} is gone`, {
      hint: 'the log was cleaned up in the meantime; run it again',
    });
  return actionsIn(bytes, files.address + path);
}

function noVersion(
  table: string,
  version: number,
  { latest, commits, checkpoints }: LogFiles,
): ConnectorError {
  const readable = [...(commits.has(0) ? [0] : []), ...checkpoints.map((one) => one.version)];
  const first = Math.min(...readable);
  const known = readable.length === 0 ? 'none can be read' : `${first} to ${latest} can be read`;
  return new ConnectorError('missing', `the table ${table} has no version ${version}: ${known}`, {
    hint: 'choose another `version`; the log of older ones is cleaned up after some time',
  });
}

/** The table after a commit of one's own, which need not be read. */
export function advanced(
  before: Snapshot | undefined,
  commit: { readonly version: number; readonly actions: readonly Action[] },
  table: string,
): Snapshot {
  const state = TableState.from(before);
  for (const action of commit.actions) state.apply(action);
  return state.at(commit.version, table);
}
