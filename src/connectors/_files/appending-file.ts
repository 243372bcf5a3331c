import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Compressor, type Codec } from './compression.ts';
import { onDisk } from './io-error.ts';
import { makeFolder } from '../../lib/make-folder.ts';
import { fileToWrite, type WrittenFile } from '../../lib/written-file.ts';

export interface AppendingFileOptions {
  readonly path: string;
  readonly codec: Codec;
  /** Whether to drop what the file held before. */
  readonly truncate: boolean;
  /** Whether nobody looks for the file after a crash: then the disk is not asked to take it. */
  readonly scratch?: boolean;
}

/** After so many bytes the disk is asked to take them while more are written: a flush then waits for the last of them only. */
const EARLY_BYTES = 16 * 1024 * 1024;

/**
 * A file that only grows. A write that fails half-way is taken back, so that the file ends with the last whole write;
 * `flush` ends the compressed member and puts everything on the disk.
 */
export class AppendingFile {
  /** The file itself, for the ledger of outputs; nothing for a pipe or a device. */
  readonly written: readonly WrittenFile[];
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #codec: Codec;
  /** A pipe or a device is not on the disk, and scratch need not be. */
  readonly #isOnDisk: boolean;
  #compressor: Compressor | undefined;
  #folderSynced = false;
  #dirty = false;
  /** Bytes the disk was not asked to take yet. */
  #unasked = 0;
  /** While the disk takes what it was asked to; stays when it could not, because the system tells that just once. */
  #early: Promise<void> | undefined;

  private constructor(written: WrittenFile, codec: Codec, file: { readonly handle: FileHandle; readonly isOnDisk: boolean }) {
    this.#path = written.path;
    this.written = file.isOnDisk ? [written] : [];
    this.#codec = codec;
    this.#handle = file.handle;
    this.#isOnDisk = file.isOnDisk;
  }

  static async open(options: AppendingFileOptions): Promise<AppendingFile> {
    const { path, codec, truncate, scratch } = options;
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | (truncate ? constants.O_TRUNC : 0);
    await onDisk('create the folder of', path, () => makeFolder(dirname(path)));
    const written = fileToWrite(path, { append: !truncate });
    const handle = await onDisk('write', path, () => open(path, flags));
    const isOnDisk = scratch !== true && (await onDisk('write', path, () => handle.stat())).isFile();
    return new AppendingFile(written, codec, { handle, isOnDisk });
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#codec === 'none') return this.#append([bytes]);
    this.#compressor ??= new Compressor(this.#codec);
    return this.#append(await this.#compressor.write(bytes));
  }

  async flush(): Promise<void> {
    if (this.#compressor !== undefined) await this.#append(await this.#compressor.finish());
    if (!this.#dirty || !this.#isOnDisk) return;
    await onDisk('write', this.#path, async () => {
      await this.#early;
      await this.#handle.sync();
    });
    this.#dirty = false;
    this.#unasked = 0;
    if (!this.#folderSynced) await syncFolder(this.#path);
    this.#folderSynced = true;
  }

  async close(): Promise<void> {
    await this.#early?.catch(() => {});
    await this.#handle.close();
  }

  async #append(parts: readonly Uint8Array[]): Promise<void> {
    if (parts.length === 0) return;
    this.#dirty = true;
    await onDisk('write', this.#path, async () => {
      for (const part of parts) await this.#appendWhole(part);
    });
  }

  async #appendWhole(bytes: Uint8Array): Promise<void> {
    let written = 0;
    try {
      while (written < bytes.length) written += (await this.#handle.write(bytes, written)).bytesWritten;
      this.#askEarly(written);
    } catch (error) {
      if (written > 0) await this.#takeBack(written);
      throw error;
    }
  }

  #askEarly(bytes: number): void {
    this.#unasked += bytes;
    if (this.#unasked < EARLY_BYTES || this.#early !== undefined || !this.#isOnDisk) return;
    this.#unasked = 0;
    this.#early = this.#handle.datasync().then(() => (this.#early = undefined));
    // A failure is told by the flush that waits for it.
    this.#early.catch(() => {});
  }

  /** Best effort: the failure that led here is what gets reported. */
  async #takeBack(count: number): Promise<void> {
    try {
      const { size } = await this.#handle.stat();
      await this.#handle.truncate(size - count);
    } catch {
      // The next writer repairs the torn end.
    }
  }
}

/** Makes the name of a new file survive a crash, where the system can. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r').catch(() => undefined);
  if (folder === undefined) return;
  try {
    await folder.sync();
  } catch {
    // Some file systems cannot sync folders; the file itself is on the disk.
  } finally {
    await folder.close();
  }
}
