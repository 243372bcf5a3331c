/**
 * Keeps a file for one process at a time, by a lock of the operating system on a hidden file beside
 * it: the lock ends with its process, also with one that is killed, and lasts while it is frozen.
 */
import { realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from '../sql/sqlite.ts';
import { appendRegular } from './regular-file.ts';

/** Locks of this process: closing another descriptor of such a file would end its lock. */
const held = new Set<string>();

/**
 * `purpose` tells locks of one file apart. Undefined while somebody else holds it. Rejects with the
 * error of the system where the folder cannot be written, or its file system has no locks.
 */
export async function lockFile(
  file: string,
  purpose: string,
): Promise<AsyncDisposable | undefined> {
  const real = await realpath(file);
  const path = join(dirname(real), `.${basename(real)}.${purpose}.lock`);
  if (held.has(path)) return undefined;
  held.add(path);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => void held.delete(path));
  const { mode } = await stat(real);
  for (;;) {
    const lock = await attempt(path, mode);
    if (lock === 'busy') return undefined;
    if (lock === 'removed') continue;
    stack.use(lock);
    return stack.move();
  }
}

/** `removed`: whoever held it removed the file before it was locked here. */
async function attempt(path: string, mode: number): Promise<AsyncDisposable | 'busy' | 'removed'> {
  await using stack = new AsyncDisposableStack();
  // While it is open, no other file gets its number.
  const own = stack.use(await appendRegular(path, mode));
  const isThere = async (): Promise<boolean> => {
    const [opened, named] = [await own.stat(), await stat(path).catch(() => undefined)];
    return opened.ino === named?.ino && opened.dev === named.dev;
  };
  try {
    const db = stack.adopt(new DatabaseSync(path, { timeout: 0 }), (opened) => opened.close());
    db.exec('BEGIN IMMEDIATE');
  } catch (error) {
    if (isBusy(error)) return 'busy';
    // SQLite may also fail because it was removed.
    if (await isThere()) throw error;
    return 'removed';
  }
  if (!(await isThere())) return 'removed';
  // Some systems keep a file that is open: it is in nobody's way.
  stack.defer(() => rm(path, { force: true }).catch(() => {}));
  return stack.move();
}
