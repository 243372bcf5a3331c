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
 * An open file. That of the runtime asks a thread for everything, also for what the system answers
 * at once, and a small file then takes longer to be asked about than to be read: here it waits only
 * for what may have to wait for a disk, a pipe or a network.
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

  /** For a folder that was just looked into. */
  static openNow(path: string): OpenFile {
    return new OpenFile(openSync(permittedFile(path), 'r'));
  }

  stat(): Stats {
    return fstatSync(this.#descriptor);
  }

  /** Where the last read or write ended; gives the number of bytes. */
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

  /** Without what is not needed to read the bytes again. */
  datasync(): Promise<void> {
    return this.#ask((done) => fdatasync(this.#descriptor, (error) => done(error, undefined)));
  }

  truncate(size: number): Promise<void> {
    return this.#ask((done) =>
      ftruncate(this.#descriptor, size, (error) => done(error, undefined)),
    );
  }

  /**
   * Of a file of which nothing is left to be written: at once, or when what is under way has ended.
   */
  closeNow(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#underWay === 0) closeSync(this.#descriptor);
  }

  /** Waits for what a network may still have to take. */
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
