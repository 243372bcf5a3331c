/** A file on an SFTP server that has a temporary name until it is whole. */
import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { momentAfter } from '../moment-after.ts';
import type { Stats } from 'ssh2';
import type { ObjectUpload, RunRequest } from './object-store.ts';
import {
  codeOf,
  FAILURE,
  kindOf,
  NO_SUCH_FILE,
  sftpError,
  type SftpConnections,
  type SftpSession,
} from './sftp-session.ts';

export interface SftpWriting {
  readonly connections: SftpConnections;
  readonly run: RunRequest;
  readonly signal: AbortSignal;
  /** For messages. */
  readonly name: string;
}

const BLOCK = 64 * 1024;
/** Requests under way at the same time, so that the way to the server does not slow them down. */
const AT_ONCE = 16;

interface OpenFile {
  readonly session: SftpSession;
  readonly handle: Buffer;
}

export class SftpUpload implements ObjectUpload {
  readonly #key: string;
  readonly #temporary: string;
  readonly #writing: SftpWriting;
  readonly #sending = new Set<Promise<void>>();
  #file: Promise<OpenFile> | undefined;
  #isTried = false;
  #exists = false;
  #at = 0;
  #failure: unknown;
  #isEnded = false;
  #isDone = false;

  constructor(key: string, writing: SftpWriting) {
    this.#key = key;
    this.#temporary = temporaryName(key);
    this.#writing = writing;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length; from += BLOCK) {
      this.#throwFailure();
      const block = Buffer.from(bytes.subarray(from, from + BLOCK));
      const sent = this.#put(block, this.#at)
        .catch((error: unknown) => {
          this.#failure ??= error;
        })
        .finally(() => this.#sending.delete(sent));
      this.#at += block.length;
      this.#sending.add(sent);
      while (this.#sending.size >= AT_ONCE) await Promise.race(this.#sending);
    }
    this.#throwFailure();
  }

  async end(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    await Promise.all(this.#sending);
    this.#throwFailure();
    await this.#ask(async () => {
      const { session, handle } = await this.#open();
      await synced(session, handle, this.#writing.signal);
      await session.call<void>(this.#writing.signal, (done) => session.sftp.close(handle, done));
    });
  }

  async commit(): Promise<void> {
    await this.end();
    await this.#ask(async () => {
      const session = await this.#session();
      try {
        await renamed(session, this.#temporary, this.#key, this.#writing.signal);
      } catch (error) {
        if (!(await this.#isThere(session, error))) throw error;
      }
    });
    this.#isDone = true;
  }

  async abort(): Promise<void> {
    if (this.#isDone) return;
    this.#isDone = true;
    await Promise.allSettled(this.#sending);
    if (!this.#isTried) return;
    const signal = momentAfter(this.#writing.signal);
    await this.#ask(async () => {
      const session = await this.#writing.connections.get(signal);
      await removed(session, this.#temporary, signal);
    }, signal);
  }

  #put(block: Buffer, at: number): Promise<void> {
    return this.#ask(async () => {
      const { session, handle } = await this.#open();
      await session.call<void>(this.#writing.signal, (done) =>
        session.sftp.write(handle, block, 0, block.length, at, done),
      );
    });
  }

  /** Where the connection was lost, the file is opened again, once for all blocks that wait. */
  async #open(): Promise<OpenFile> {
    for (;;) {
      const asked = this.#file;
      const found = await asked?.catch(() => undefined);
      if (found?.session.isOpen === true) return found;
      if (this.#file !== asked) continue;
      this.#file = this.#openAgain();
      return this.#file;
    }
  }

  async #openAgain(): Promise<OpenFile> {
    const { signal } = this.#writing;
    const session = await this.#session();
    if (!this.#exists) await makeFolder(session, posix.dirname(this.#key), signal);
    const flags = this.#exists ? 'r+' : 'w';
    this.#isTried = true;
    const handle = await session.call<Buffer>(signal, (done) =>
      session.sftp.open(this.#temporary, flags, done),
    );
    this.#exists = true;
    return { session, handle };
  }

  #session(): Promise<SftpSession> {
    return this.#writing.connections.get(this.#writing.signal);
  }

  /** The answer to the request before may have been lost. */
  async #isThere(session: SftpSession, error: unknown): Promise<boolean> {
    if (codeOf(error) !== NO_SUCH_FILE) return false;
    const stats = await session
      .call<Stats>(this.#writing.signal, (done) => session.sftp.stat(this.#key, done))
      .catch(() => undefined);
    return stats?.size === this.#at;
  }

  #ask(work: () => Promise<void>, signal = this.#writing.signal): Promise<void> {
    const failing = `${this.#writing.name} cannot be written`;
    return this.#writing.run(failing, signal, async () => {
      try {
        await work();
      } catch (error) {
        signal.throwIfAborted();
        throw sftpError(error, failing);
      }
    });
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}

/** Sources know it by its end. */
export function temporaryName(key: string): string {
  return posix.join(posix.dirname(key), `.${posix.basename(key)}.${randomUUID()}.svc-tmp`);
}

export async function makeFolder(
  session: SftpSession,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const { sftp } = session;
  const found = await session
    .call<Stats>(signal, (done) => sftp.stat(folder, done))
    .catch((error: unknown) => {
      if (codeOf(error) === NO_SUCH_FILE) return undefined;
      throw error;
    });
  if (found !== undefined) return;
  await makeFolder(session, posix.dirname(folder), signal);
  try {
    await session.call<void>(signal, (done) => sftp.mkdir(folder, done));
  } catch (error) {
    // Another run may have made it meanwhile.
    const made = await session
      .call<Stats>(signal, (done) => sftp.stat(folder, done))
      .catch(() => undefined);
    if (made === undefined || kindOf(made) !== 'folder') throw error;
  }
}

export async function removed(
  session: SftpSession,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await session.call<void>(signal, (done) => session.sftp.unlink(path, done));
  } catch (error) {
    if (codeOf(error) !== NO_SUCH_FILE) throw error;
  }
}

/** In one step where the server can; others refuse a name that is taken. */
async function renamed(
  session: SftpSession,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const { sftp } = session;
  const posixRename = session.call<void>(signal, (done) => sftp.ext_openssh_rename(from, to, done));
  const plain = (): Promise<void> =>
    session.call<void>(signal, (done) => sftp.rename(from, to, done));
  try {
    await posixRename;
    return;
  } catch (error) {
    if (!isUnsupported(error)) throw error;
  }
  try {
    await plain();
  } catch (error) {
    if (codeOf(error) !== FAILURE) throw error;
    await removed(session, to, signal);
    await plain();
  }
}

async function synced(session: SftpSession, handle: Buffer, signal: AbortSignal): Promise<void> {
  try {
    await session.call<unknown>(signal, (done) => session.sftp.ext_openssh_fsync(handle, done));
  } catch (error) {
    if (!isUnsupported(error)) throw error;
  }
}

const OPERATION_UNSUPPORTED = 8;

function isUnsupported(error: unknown): boolean {
  return (
    codeOf(error) === OPERATION_UNSUPPORTED ||
    /does not support/.test((error as { readonly message?: string }).message ?? '')
  );
}
