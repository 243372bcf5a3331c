/**
 * Leases of a folder, in a folder of their own that is small however many keys there are. Each is a
 * file whose name ends with a number; the one with the highest number counts. Only one process can
 * make a file of the next number, so only one takes over a lease that has ended.
 */
import { constants, copyFile, link, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { NO_LEASE, type Lease, type LeaseRequest, type StateStore } from '../kit/state-store.ts';
import { makeFolder } from '../lib/files/make-folder.ts';
import { readRegular } from '../lib/files/regular-file.ts';
import { isObject, parseJson, stringifyJson, type JsonValue } from '../lib/text/json.ts';

interface Found extends Lease {
  readonly number: number;
  readonly path: string;
}

export type FailedLease = (error: unknown) => never;

/** `nameOf` gives the name of a key without its ending. */
export function leasesIn(
  values: string,
  nameOf: (key: string) => string,
  failed: FailedLease,
): Pick<StateStore, 'lease' | 'release'> & {
  /** Whether the token has the lease of the key now. */
  isHeld(this: void, key: string, token: string): Promise<boolean>;
} {
  const folder = join(values, '.leases');
  const prefixOf = (key: string): string => `${nameOf(key)}.`;
  return {
    lease: (key, request) => take(folder, prefixOf(key), request).catch(failed),
    isHeld: async (key, token) =>
      (await newest(folder, prefixOf(key)).catch(failed))?.token === token,
    async release(key, token) {
      const held = await newest(folder, prefixOf(key)).catch(failed);
      if (held?.token !== token) return;
      await rm(held.path, { force: true }).catch(failed);
      // While others hold leases it stays.
      await rmdir(folder).catch(() => {});
    },
  };
}

async function take(folder: string, prefix: string, request: LeaseRequest): Promise<Lease> {
  const { token, ttlMs, holder, instead, renews } = request;
  const mine = { token, holder, remainingMs: ttlMs };
  for (;;) {
    const held = await newest(folder, prefix);
    if (renews && held?.token !== token) return held ?? NO_LEASE;
    if (held !== undefined && held.token !== token && held.token !== instead)
      if (held.remainingMs > 0) return held;
    const temporary = join(folder, `${prefix}${randomBytes(6).toString('hex')}.tmp`);
    const content = stringifyJson({ token, holder, ends_ms: Date.now() + ttlMs });
    if (!(await writeNew(folder, temporary, content))) continue;
    if (held?.token === token) {
      await rename(temporary, held.path);
      return mine;
    }
    const isFirst = await linkNew(temporary, join(folder, `${prefix}${(held?.number ?? 0) + 1}`));
    await rm(temporary, { force: true });
    if (!isFirst) continue;
    if (held !== undefined) await rm(held.path, { force: true });
    return mine;
  }
}

/** Whether the folder was still there when it was written: the last lease takes it along. */
async function writeNew(folder: string, path: string, content: string): Promise<boolean> {
  await makeFolder(folder);
  try {
    await writeFile(path, content, { mode: 0o600, flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

/** Whether the name was free. */
async function linkNew(from: string, to: string): Promise<boolean> {
  try {
    // Some file systems have no links.
    await link(from, to).catch(async (error: unknown) => {
      if (codeOf(error) === 'EEXIST') throw error;
      await copyFile(from, to, constants.COPYFILE_EXCL);
    });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function newest(folder: string, prefix: string): Promise<Found | undefined> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  const numbers = names
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
    .filter((rest) => /^[0-9]+$/.test(rest))
    .map(Number);
  if (numbers.length === 0) return undefined;
  const number = Math.max(...numbers);
  const path = join(folder, `${prefix}${number}`);
  try {
    return {
      ...leaseOf(parseJson(Buffer.from(await readRegular(path)).toString('utf8'))),
      number,
      path,
    };
  } catch (error) {
    // It was given back in the meantime.
    if (codeOf(error) === 'ENOENT') return newest(folder, prefix);
    if (error instanceof SyntaxError) return { ...leaseOf(null), number, path };
    throw error;
  }
}

/** One that cannot be read is over: it is written before it gets its name. */
function leaseOf(value: JsonValue): Lease {
  if (!isObject(value)) return NO_LEASE;
  const { token, holder, ends_ms: endsMs } = value;
  return {
    token: typeof token === 'string' ? token : '',
    holder: isObject(holder ?? null) ? (holder as Lease['holder']) : {},
    remainingMs: Number(endsMs) - Date.now(),
  };
}
