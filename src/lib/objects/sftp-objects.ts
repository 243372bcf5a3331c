/** The files of an SFTP server as objects. Keys are paths, as the server takes them. */
import { posix } from 'node:path';
import type { Stats } from 'ssh2';
import { ConnectorError } from '../errors.ts';
import { loadClient } from '../load-client.ts';
import type {
  ListRequest,
  ObjectContent,
  ObjectLevel,
  ObjectStore,
  ObjectUpload,
  ReadObject,
  RunRequest,
  StoredObject,
  UploadRequest,
} from './object-store.ts';
import { entriesIn, filesIn, objectOf, type Listing } from './sftp-listing.ts';
import { handleBlocks } from './sftp-read.ts';
import {
  codeOf,
  kindOf,
  NO_SUCH_FILE,
  SftpConnections,
  sftpError,
  type HostKeys,
  type SftpLogin,
  type SftpSession,
} from './sftp-session.ts';
import { removed, SftpUpload, temporaryName } from './sftp-upload.ts';

export interface SftpPlace {
  readonly login: SftpLogin;
  readonly hostKeys: () => Promise<HostKeys>;
  /** Where paths begin in messages and addresses. */
  readonly address: string;
  /**
   * For reading: a prefix then is the path of a folder or a file, and only such names are listed.
   * For writing it is the begin of the paths in one folder.
   */
  readonly reading?: SftpReading;
}

export interface SftpReading {
  readonly isDeep: boolean;
  readonly matches: (name: string) => boolean;
}

export async function openSftp(place: SftpPlace, run: RunRequest): Promise<ObjectStore> {
  const loaded = await loadClient('ssh2', () => import('ssh2'));
  // The package is CommonJS.
  const ssh2 = 'default' in loaded ? (loaded.default as typeof loaded) : loaded;
  return new SftpStore(place, {
    connections: new SftpConnections(ssh2, place.login, place.hostKeys),
    run,
  });
}

class SftpStore implements ObjectStore {
  readonly address: string;
  readonly #reading: SftpReading | undefined;
  readonly #connections: SftpConnections;
  readonly #run: RunRequest;

  constructor(
    { address, reading }: SftpPlace,
    { connections, run }: Pick<Listing, 'connections' | 'run'>,
  ) {
    this.address = address;
    this.#reading = reading;
    this.#connections = connections;
    this.#run = run;
  }

  async *list({ prefix, after, signal }: ListRequest): AsyncGenerator<readonly StoredObject[]> {
    const listing = { connections: this.#connections, run: this.#run, signal };
    if (this.#reading === undefined) {
      const begin = posix.basename(`${prefix}x`).slice(0, -1);
      const folder = prefix.slice(0, prefix.length - begin.length);
      const found = await this.#stat(folder, signal);
      const matches = (name: string): boolean => name.startsWith(begin);
      if (found !== undefined) yield* filesIn(folder, { isDeep: false, matches, after }, listing);
      return;
    }
    const found = await this.#stat(prefix, signal);
    if (found === undefined)
      throw new ConnectorError('missing', `${this.address}${prefix} does not exist`, {
        hint: 'check `path`; one that does not begin with / starts at the home folder of the user',
      });
    if (kindOf(found) === 'folder') yield* filesIn(prefix, { ...this.#reading, after }, listing);
    else {
      const key = withoutSlash(prefix);
      const isWanted = this.#reading.matches(posix.basename(key));
      if (isWanted && (after === undefined || key > after)) yield [objectOf(key, found)];
    }
  }

  async level({ prefix, signal }: ListRequest): Promise<ObjectLevel> {
    const listing = { connections: this.#connections, run: this.#run, signal };
    const { entries } = await entriesIn(prefix, undefined, listing);
    const first = entries.slice(0, LEVEL_NAMES);
    return {
      prefixes: first.filter(({ isFolder }) => isFolder).map(({ name }) => prefix + name),
      objects: first
        .filter(({ isFolder }) => !isFolder)
        .map(({ name, stats }) => objectOf(prefix + name, stats)),
    };
  }

  async look(key: string, signal: AbortSignal): Promise<StoredObject | undefined> {
    const found = await this.#stat(key, signal);
    return found === undefined ? undefined : objectOf(key, found);
  }

  async read(key: string, request: ReadObject): Promise<ObjectContent> {
    const { from = 0, to, version, signal } = request;
    const name = `${this.address}${key}`;
    return this.#ask(`${name} cannot be read`, signal, async (session) => {
      const { sftp } = session;
      const handle = await session.call<Buffer>(signal, (done) => sftp.open(key, 'r', done));
      const stats = await session.call<Stats>(signal, (done) => sftp.fstat(handle, done));
      const object = objectOf(key, stats);
      const close = (): void => {
        if (session.isOpen) sftp.close(handle, () => {});
      };
      if (version !== undefined && version !== '' && version !== object.version) {
        close();
        throw new ConnectorError('refused', `${name} was replaced while it was read`, {
          hint: 'run it again',
        });
      }
      const end = Math.min(to ?? object.size, object.size);
      return {
        length: end - from,
        version: object.version,
        checksums: {},
        blocks: handleBlocks({ session, handle, from, end, name, signal }),
        cancel: close,
      };
    });
  }

  upload(key: string, { signal }: UploadRequest): ObjectUpload {
    return new SftpUpload(key, {
      connections: this.#connections,
      run: this.#run,
      signal,
      name: `${this.address}${key}`,
    });
  }

  remove(key: string, signal: AbortSignal): Promise<void> {
    return this.#ask(`${this.address}${key} cannot be removed`, signal, (session) =>
      removed(session, key, signal),
    );
  }

  /** A file that is made and removed, in the folder or in the one in which that would be made. */
  tryWrite(key: string, signal: AbortSignal): Promise<void> {
    return this.#ask(`${this.address}${key} cannot be written`, signal, async (session) => {
      const { sftp } = session;
      let folder = posix.dirname(key);
      while (folder !== '.' && folder !== '/' && !(await isThere(session, folder, signal)))
        folder = posix.dirname(folder);
      const path = temporaryName(posix.join(folder, posix.basename(key)));
      const handle = await session.call<Buffer>(signal, (done) => sftp.open(path, 'w', done));
      await session.call<void>(signal, (done) => sftp.close(handle, done));
      await removed(session, path, signal);
    });
  }

  close(): void {
    this.#connections.close();
  }

  async #stat(path: string, signal: AbortSignal): Promise<Stats | undefined> {
    const key = withoutSlash(path);
    try {
      return await this.#ask(`${this.address}${key} cannot be looked at`, signal, (session) =>
        session.call<Stats>(signal, (done) => session.sftp.stat(key === '' ? '.' : key, done)),
      );
    } catch (error) {
      if (codeOf(error) === NO_SUCH_FILE) return undefined;
      throw error;
    }
  }

  /** `failing` is what cannot be done, for messages. */
  #ask<T>(
    failing: string,
    signal: AbortSignal,
    work: (session: SftpSession) => Promise<T>,
  ): Promise<T> {
    return this.#run(failing, signal, async () => {
      try {
        return await work(await this.#connections.get(signal));
      } catch (error) {
        signal.throwIfAborted();
        throw sftpError(error, failing);
      }
    });
  }
}

const LEVEL_NAMES = 1000;

async function isThere(session: SftpSession, path: string, signal: AbortSignal): Promise<boolean> {
  try {
    await session.call<Stats>(signal, (done) => session.sftp.stat(path, done));
    return true;
  } catch (error) {
    if (codeOf(error) === NO_SUCH_FILE) return false;
    throw error;
  }
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
