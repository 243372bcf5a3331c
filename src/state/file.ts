/**
 * One JSON file a key. A value is replaced by renaming a finished file over it, so a crash leaves
 * the old or the new one, never half.
 */
import { createHash, randomBytes } from 'node:crypto';
import { open as openFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { AppError, ConnectorError, messageOf, type ConnectorErrorKind } from '../lib/errors.ts';
import { parseJson, stringifyJson, type JsonValue } from '../lib/text/json.ts';
import { unreadableJson } from '../lib/text/unreadable-json.ts';
import { isEncrypted, decrypt, encrypt } from '../lib/crypto/encryption.ts';
import { optional, text } from '../kit/schema.ts';
import {
  defineStateStore,
  isBelow,
  sortedEntries,
  type StateEntry,
  type StateStore,
} from '../kit/state-store.ts';
import { leasesIn } from './file-lease.ts';
import { makeFolder } from '../lib/files/make-folder.ts';
import { readRegular } from '../lib/files/regular-file.ts';

const config = z.lazy(() =>
  z.strictObject({
    path: text().meta({
      description: 'Folder of the files; made on the first write.',
      examples: ['./state'],
    }),
    encryption: optional(
      z.strictObject({
        key: text().meta({
          description: 'Key text; the AES key is its SHA-256.',
          secret: true,
          examples: ['${env:STATE_KEY}'],
        }),
        previous_keys: z
          .array(text())
          .default([])
          .meta({ description: 'Keys used before; tried after `key` when reading.', secret: true }),
        algorithm: z
          .literal('aes-256-gcm')
          .default('aes-256-gcm')
          .meta({ description: 'The only algorithm there is.' }),
      }),
    ).meta({
      description:
        'Encrypts the files; plain ones stay readable and are encrypted when next written.',
    }),
  }),
);
type FileStateConfig = z.output<typeof config>;

export const fileState = defineStateStore<FileStateConfig>({
  type: 'file',
  description: 'Bookmarks in a folder, one JSON file for each key.',
  config,
  durable: true,
  examples: [{ path: './state' }, { path: './state', encryption: { key: '${env:STATE_KEY}' } }],
  open: async (written, context) =>
    openFolder(resolve(context.env.cwd, written.path), written.encryption),
});

function openFolder(folder: string, encryption: FileStateConfig['encryption']): StateStore {
  const pathOf = (key: string): string => join(folder, fileNameOf(key));
  const { isHeld, ...leases } = leasesIn(
    folder,
    leaseNameOf,
    rethrow('the state cannot be leased'),
  );
  const put = async (
    key: string,
    value: JsonValue,
    mayReplace?: () => Promise<boolean>,
  ): Promise<boolean> => {
    const plain = Buffer.from(stringifyJson(value), 'utf8');
    await makeFolder(folder).catch(rethrow('the state folder cannot be made'));
    const bytes = encryption === undefined ? plain : encrypt(encryption.key, plain);
    return replaceFile(folder, fileNameOf(key), { bytes, mayReplace });
  };
  const remove = async (key: string): Promise<void> => {
    await rm(pathOf(key), { force: true }).catch(rethrow(`the state \`${key}\` cannot be deleted`));
    await syncFolder(folder).catch(ignoreMissing);
  };
  return {
    async get(key) {
      const bytes = await readIfPresent(pathOf(key));
      return bytes === undefined ? undefined : decode(bytes, key, encryption);
    },
    async put(key, value) {
      await put(key, value);
    },
    // Looked at just before the file gets its name, or loses it: a file system has no step for both.
    putHeld: (key, value, { lease, token }) => put(key, value, () => isHeld(lease, token)),
    delete: remove,
    async deleteHeld(key, { lease, token }) {
      if (!(await isHeld(lease, token))) return false;
      await remove(key);
      return true;
    },
    entries: (key) => entriesOf(folder, key),
    ...leases,
    close: async () => {},
  };
}

/** Leases of long keys get the hash of the key, as values do. */
function leaseNameOf(key: string): string {
  return fileNameOf(key).slice(0, -'.json'.length);
}

async function entriesOf(folder: string, key: string): Promise<readonly StateEntry[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw fileError(error, 'the state cannot be read');
  });
  const found: StateEntry[] = [];
  for (const name of names) {
    const stored = keyOf(name);
    if (stored === undefined || !isBelow(stored, key)) continue;
    // Another process may have deleted it since.
    const written = await stat(join(folder, name)).catch(() => undefined);
    if (written === undefined) continue;
    const entry = { key: stored, at: written.mtime };
    found.push(CUT.test(stored) ? { ...entry, isCut: true } : entry);
  }
  return sortedEntries(found);
}

/** The key of a file; of one whose name was cut, what gives that name again. */
function keyOf(name: string): string | undefined {
  if (name.startsWith('.') || !name.endsWith('.json')) return undefined;
  const key = name
    .slice(0, -'.json'.length)
    .replaceAll(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return fileNameOf(key) === name ? key : undefined;
}

/** How the keys end that stand for cut names; an escape may have been cut as well. */
const CUT = /(%[0-9A-F]?)?__h-[0-9a-f]{32}$/;

/** Longest file name that leaves room for the temporary ending. */
const NAME_LIMIT = 200;

/**
 * `<key>.json` with `:`, `/` and `%` escaped; a very long key is cut and gets its hash.
 */
function fileNameOf(key: string): string {
  const end = CUT.exec(key)?.[0] ?? '';
  const name =
    key
      .slice(0, key.length - end.length)
      .replaceAll(/[%:/]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`) + end;
  if (name.length <= NAME_LIMIT) return `${name}.json`;
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 32);
  return `${name.slice(0, NAME_LIMIT - 40)}__h-${hash}.json`;
}

let written = 0;

interface Replacement {
  readonly bytes: Uint8Array;
  readonly mayReplace: (() => Promise<boolean>) | undefined;
}

/** False when it may not be replaced: it stays as it is then. */
async function replaceFile(
  folder: string,
  name: string,
  { bytes, mayReplace }: Replacement,
): Promise<boolean> {
  written += 1;
  const temporary = join(folder, `.${name}.${randomBytes(6).toString('hex')}-${written}.tmp`);
  try {
    const file = await openFile(temporary, 'wx', 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    if (mayReplace !== undefined && !(await mayReplace())) {
      await rm(temporary, { force: true });
      return false;
    }
    await rename(temporary, join(folder, name));
    await syncFolder(folder);
    return true;
  } catch (error) {
    await rm(temporary, { force: true });
    throw fileError(error, 'the state cannot be written');
  }
}

/** Makes the rename itself survive a crash. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await openFile(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function readIfPresent(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readRegular(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw fileError(error, 'the state cannot be read');
  }
}

function decode(
  bytes: Uint8Array,
  key: string,
  encryption: FileStateConfig['encryption'],
): JsonValue {
  const isCiphertext = isEncrypted(bytes);
  if (isCiphertext && encryption === undefined) {
    throw new ConnectorError(
      'data',
      `the state \`${key}\` is encrypted, but the store has no \`encryption\` block`,
      {
        hint: 'add `encryption: {key: …}` with the key it was written with',
      },
    );
  }
  try {
    const plain =
      isCiphertext && encryption !== undefined
        ? decrypt([encryption.key, ...encryption.previous_keys], bytes)
        : bytes;
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(plain));
  } catch (error) {
    const hint =
      error instanceof AppError && error.hint !== undefined
        ? error.hint
        : 'restore the file, or delete it to start over';
    throw new ConnectorError(
      'data',
      `the state \`${key}\` cannot be read: ${unreadableJson(error)}`,
      {
        hint,
        cause: error,
      },
    );
  }
}

const KINDS: Readonly<Record<string, ConnectorErrorKind>> = {
  EACCES: 'refused',
  EPERM: 'refused',
  EROFS: 'refused',
  ENOENT: 'missing',
};

function fileError(error: unknown, doing: string): ConnectorError {
  return new ConnectorError(KINDS[codeOf(error)] ?? 'data', `${doing}: ${messageOf(error)}`, {
    cause: error,
    hint: 'check `path` of the state store, the rights to it, and the room there',
  });
}

function rethrow(doing: string): (error: unknown) => never {
  return (error) => {
    throw fileError(error, doing);
  };
}

function ignoreMissing(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw fileError(error, 'the state folder cannot be synchronised');
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
