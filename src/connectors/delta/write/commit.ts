/** Makes new versions of a table: one file of actions, which only one writer can make. */
import type { SinkContext } from '../../../kit/context.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { stringifyJson, type JsonObject } from '../../../lib/text/json.ts';
import type { TableFiles } from '../../_lake/table-files.ts';
import { actionsIn } from '../log/action-lines.ts';
import { commitName, LOG_FOLDER } from '../log/log-names.ts';
import { advanced, loadSnapshot, refreshed, type Snapshot } from '../log/snapshot.ts';

/** Other writers may be faster so many times. */
const ATTEMPTS = 100;
const LONGEST_WAIT_MS = 1000;

export interface Change {
  readonly info: JsonObject;
  readonly actions: readonly JsonObject[];
}

export interface Committing {
  readonly files: TableFiles;
  readonly context: SinkContext;
  /** What the change is when the table is like this; throws when it cannot be made any more. */
  readonly change: (before: Snapshot | undefined, version: number) => Promise<Change>;
}

/** Whether it was made is not known: an answer was lost, and the store cannot be asked. */
export class CommitInDoubt extends ConnectorError {}

/** Gives the table as it is then. When it throws anything but `CommitInDoubt`, nothing was made. */
export async function commit(
  start: Snapshot | undefined,
  { files, context, change }: Committing,
): Promise<Snapshot> {
  const { env, signal } = context;
  const id = env.ids.next();
  let before = start;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    signal.throwIfAborted();
    const version = (before?.version ?? -1) + 1;
    const { info, actions } = await change(before, version);
    const commitInfo = {
      timestamp: env.clock.now().getTime(),
      engineInfo: 'headgate',
      ...info,
      txnId: id,
    };
    const lines = [{ commitInfo }, ...actions].map((action) => `${stringifyJson(action)}\n`);
    const bytes = Buffer.from(lines.join(''));
    const path = LOG_FOLDER + commitName(version);
    if (await isMade(files, path, bytes)) {
      const made = { version, actions: actionsIn(bytes, files.address + path) };
      return advanced(before, made, files.address);
    }
    const now = before === undefined ? await loadSnapshot(files) : await refreshed(files, before);
    env.log.debug('another writer was faster; the commit is made again', {
      table: files.address,
      version,
    });
    // What a store lists may be behind what it holds.
    if (now === undefined || now.version === before?.version)
      await env.clock.sleep(Math.min(LONGEST_WAIT_MS, 20 * 2 ** Math.min(attempt, 10)), signal);
    before = now;
  }
  throw new ConnectorError(
    'refused',
    `the table ${files.address} could not be written: other writers were faster ${ATTEMPTS} times`,
    { hint: 'run it again when fewer programs write to the table' },
  );
}

async function isMade(files: TableFiles, path: string, bytes: Buffer): Promise<boolean> {
  let failure: unknown;
  try {
    if (await files.create(path, bytes)) return true;
  } catch (error) {
    failure = error;
  }
  // The file may be our own, from an attempt whose answer was lost.
  try {
    const there = await files.read(path);
    if (there?.equals(bytes) === true) return true;
    if (failure === undefined || there !== undefined) return false;
  } catch (error) {
    throw new CommitInDoubt(
      'connection',
      `it is not known whether ${files.address}${path} was made`,
      {
        cause: failure ?? error,
        hint: 'look at the latest version of the table before it is run again',
      },
    );
  }
  throw failure;
}
