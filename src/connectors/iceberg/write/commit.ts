/** Changes a table beside other writers: a change that comes too late is made again. */
import type { SinkContext } from '../../../kit/context.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import {
  CommitUnknown,
  nameText,
  noTable,
  type Catalog,
  type LoadedTable,
  type TableName,
} from '../catalog/catalog.ts';
import type { TableUpdate } from '../metadata/updates.ts';

export interface CommitRetry {
  readonly retries: number;
  readonly minWaitMs: number;
  readonly maxWaitMs: number;
  readonly totalMs: number;
}

export function commitRetry(properties: Readonly<Record<string, string>>): CommitRetry {
  const setting = (name: string, fallback: number): number =>
    Number(properties[`commit.retry.${name}`] ?? fallback);
  return {
    retries: setting('num-retries', 4),
    minWaitMs: setting('min-wait-ms', 100),
    maxWaitMs: setting('max-wait-ms', 60_000),
    totalMs: setting('total-timeout-ms', 1_800_000),
  };
}

/** What is to be done to a table as it is now. */
export interface Change {
  readonly updates: readonly TableUpdate[];
  /** Whether the table has the change; asked after an answer was lost. */
  isIn(this: void, table: LoadedTable): boolean;
  /** Called when the change was definitely not made as it is. */
  undo?(this: void): Promise<void>;
}

export interface Committing {
  readonly catalog: Catalog;
  readonly name: TableName;
  readonly context: SinkContext;
  readonly retry: CommitRetry;
  /** Throws when the change cannot be made any more; `undefined` when there is nothing to change. */
  readonly change: (table: LoadedTable) => Promise<Change | undefined>;
}

/** Gives the table as it is then. When it throws anything but `CommitUnknown`, nothing was made. */
export async function commit(start: LoadedTable, committing: Committing): Promise<LoadedTable> {
  const { catalog, name, context, retry } = committing;
  const { env, signal } = context;
  const until = env.clock.now().getTime() + retry.totalMs;
  let table = start;
  let change = await committing.change(table);
  /** Changes whose answers were lost: at most one of them can be made. */
  let doubtful: { readonly change: Change; readonly error: unknown } | undefined;
  for (let attempt = 0; change !== undefined; attempt += 1) {
    signal.throwIfAborted();
    const answer = await offered(change, table, committing);
    if (answer.is === 'made') return answer.table;
    if (answer.is === 'unknown') doubtful = { change, error: answer.error };
    const now = await reloaded(catalog, name, doubtful?.error);
    if (doubtful?.change.isIn(now) === true) return now;
    // The same change, of the same table: the catalog takes it once.
    const isSame = answer.is === 'unknown' && now.metadataFile === table.metadataFile;
    const isLast = attempt >= retry.retries || env.clock.now().getTime() >= until;
    if (isLast) {
      if (isSame) throw doubtful?.error;
      await change.undo?.();
      throw tooSlow(name, attempt + 1);
    }
    env.log.debug('the commit is made again', { table: nameText(name), attempt });
    await env.clock.sleep(Math.min(retry.maxWaitMs, retry.minWaitMs * 2 ** attempt), signal);
    table = now;
    if (isSame) continue;
    await change.undo?.();
    doubtful = undefined;
    change = await committing.change(table);
  }
  return table;
}

type Answer =
  | { readonly is: 'made'; readonly table: LoadedTable }
  | { readonly is: 'late' }
  | { readonly is: 'unknown'; readonly error: unknown };

async function offered(
  change: Change,
  table: LoadedTable,
  { catalog, name }: Committing,
): Promise<Answer> {
  try {
    const made = await catalog.commit(name, table, change.updates);
    return made === false ? { is: 'late' } : { is: 'made', table: made };
  } catch (error) {
    if (error instanceof CommitUnknown) return { is: 'unknown', error };
    await change.undo?.();
    throw error;
  }
}

async function reloaded(catalog: Catalog, name: TableName, doubt: unknown): Promise<LoadedTable> {
  try {
    const table = await catalog.load(name);
    if (table !== undefined) return table;
  } catch (error) {
    throw doubt ?? error;
  }
  throw noTable(name);
}

function tooSlow(name: TableName, attempts: number): ConnectorError {
  return new ConnectorError(
    'refused',
    `the table ${nameText(name)} could not be written: other writers were faster ${attempts} times`,
    {
      hint: 'run it again when fewer programs write to the table, or raise `commit.retry.num-retries` in `snapshot_properties`',
    },
  );
}
