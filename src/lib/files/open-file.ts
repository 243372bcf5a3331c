import {
  close,
  closeSync,
  fdatasync,
  fstatSync,
  fsync,
  ftruncate,
  open,
  openSync,
  read,
  write,
  type Stats,
} from 'node:fs';

import { permittedFile } from './file-access.ts';

type Done<T> = (error: NodeJS.ErrnoException | null, value: T) => void;

/**
 * An open file. The runtime's own class uses a thread for every call, which for a small file takes
 * longer than reading it. This class only uses one for calls that may wait for a disk, a pipe or a
 * network.
 */
export class OpenFile {
  readonly #descriptor: number;
  #underWay = 0;
  #isClosed = false;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  static async open(path: string, flags: string | number): Promise<OpenFile> {
    return new OpenFile(await asked<number>((done) => open(permittedFile(path), flags, done)));
  }

  /** For a file in a folder that was just listed. */
  static openNow(path: string): OpenFile {
    return new OpenFile(openSync(permittedFile(path), 'r'));
  }

  stat(): Stats {
    return fstatSync(this.#descriptor);
  }

  /** Reads from the current position; returns the number of bytes. */
  read(buffer: Uint8Array): Promise<number> {
    return this.#ask((done) => read(this.#descriptor, buffer, 0, buffer.length, null, done));
  }

  write(bytes: Uint8Array, from = 0): Promise<number> {
    return this.#ask((done) =>
      write(this.#descriptor, bytes, from, bytes.length - from, null, done),
    );
  }

  sync(): Promise<void> {
    return this.#ask((done) => fsync(this.#descriptor, (error) => done(error, undefined)));
  }

  /** Syncs the content, without metadata that is not needed to read it. */
  datasync(): Promise<void> {
    return this.#ask((done) => fdatasync(this.#descriptor, (error) => done(error, undefined)));
  }

  truncate(size: number): Promise<void> {
    return this.#ask((done) =>
      ftruncate(this.#descriptor, size, (error) => done(error, undefined)),
    );
  }

  /** For a file without pending writes: closes it at once, or when the running call has ended. */
  closeNow(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#underWay === 0) closeSync(this.#descriptor);
  }

  /** Waits for pending writes, for example on a network file system. */
  async close(): Promise<void> {
    if (this.#underWay > 0) return this.closeNow();
    if (this.#isClosed) return;
    this.#isClosed = true;
    await asked<undefined>((done) =>
      close(this.#descriptor, (error) => done(error ?? null, undefined)),
    );
  }

  async #ask<T>(ask: (done: Done<T>) => void): Promise<T> {
    if (this.#isClosed) throw new Error('cannot happen: the file is closed');
    this.#underWay += 1;
    try {
      return await asked(ask);
    } finally {
      this.#underWay -= 1;
      if (this.#isClosed && this.#underWay === 0) closeSync(this.#descriptor);
    }
  }
}

function asked<T>(ask: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    ask((error, value) => (error === null ? resolve(value) : reject(error)));
  });
}
