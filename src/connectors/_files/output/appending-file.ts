import { constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Compressor, type Codec } from '../compression/compression.ts';
import { fileError, onDisk } from '../io-error.ts';
import { codeOf } from '../../../lib/files/file-fault.ts';
import { makeFolder } from '../../../lib/files/make-folder.ts';
import { OpenFile } from '../../../lib/files/open-file.ts';
import { fileToWrite, type WrittenFile } from '../../../lib/files/written-file.ts';

export interface AppendingFileOptions {
  readonly path: string;
  readonly codec: Codec;
  /** Whether to delete the previous content. */
  readonly truncate: boolean;
  /** Whether the file is not needed after a crash: then it is not synced to disk. */
  readonly temporary?: boolean;
}

/**
 * After this many bytes a sync to disk is started while more bytes are written, so that a flush
 * only waits for the rest.
 */
const EARLY_BYTES = 16 * 1024 * 1024;

/**
 * A file that only grows. A write that fails half-way is removed again, so that the file ends with
 * the last complete write; `flush` ends the compressed member and syncs everything to disk.
 */
export class AppendingFile {
  /** The file itself, for the ledger of outputs; empty for a pipe or a device. */
  readonly written: readonly WrittenFile[];
  readonly #path: string;
  readonly #file: OpenFile;
  readonly #codec: Codec;
  /** A pipe or a device cannot be synced, and a temporary file need not be. */
  readonly #isOnDisk: boolean;
  #compressor: Compressor | undefined;
  #folderSynced = false;
  #dirty = false;
  /** Bytes written since the last sync was started. */
  #unasked = 0;
  /** The running sync; kept when it failed, because the system reports that only once. */
  #early: Promise<void> | undefined;

  private constructor(
    written: WrittenFile,
    codec: Codec,
    opened: { readonly file: OpenFile; readonly isOnDisk: boolean },
  ) {
    this.#path = written.path;
    this.written = opened.isOnDisk ? [written] : [];
    this.#codec = codec;
    this.#file = opened.file;
    this.#isOnDisk = opened.isOnDisk;
  }

  static async open(options: AppendingFileOptions): Promise<AppendingFile> {
    const { path, codec, truncate, temporary } = options;
    const flags =
      constants.O_WRONLY |
      constants.O_CREAT |
      constants.O_APPEND |
      (truncate ? constants.O_TRUNC : 0);
    const written = fileToWrite(path, { append: !truncate });
    const file = await openInFolder(path, flags);
    return new AppendingFile(written, codec, {
      file,
      isOnDisk: temporary !== true && file.stat().isFile(),
    });
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
      // Both run at the same time: the file system syncs both in one step.
      await Promise.all([
        this.#file.sync(),
        this.#folderSynced ? undefined : syncFolder(this.#path),
      ]);
    });
    this.#dirty = false;
    this.#unasked = 0;
    this.#folderSynced = true;
  }

  /** Another file has its name by now, or none has. */
  get isReplaced(): boolean {
    if (!this.#isOnDisk) return false;
    const [own, named] = [this.#file.stat(), statSync(this.#path, { throwIfNoEntry: false })];
    return named?.ino !== own.ino || named.dev !== own.dev;
  }

  async close(): Promise<void> {
    await this.#early?.catch(() => {});
    if (this.#dirty) await this.#file.close();
    else this.#file.closeNow();
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
      while (written < bytes.length) written += await this.#file.write(bytes, written);
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
    this.#early = this.#file.datasync().then(() => (this.#early = undefined));
    // The flush that awaits it throws the error.
    this.#early.catch(() => {});
  }

  /** Best effort: the caller reports the error that led here. */
  async #takeBack(count: number): Promise<void> {
    try {
      await this.#file.truncate(this.#file.stat().size - count);
    } catch {
      // The next writer repairs the incomplete end.
    }
  }
}

/** Makes the name of a new file survive a crash, where the system can. */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = OpenFile.openNow(dirname(path));
    await folder.sync().finally(() => folder.closeNow());
  } catch {
    // Some file systems cannot sync folders; the file itself is on the disk.
  }
}

/**
 * Most files are written to an existing folder, so the folder is created only when opening fails.
 */
async function openInFolder(path: string, flags: number): Promise<OpenFile> {
  try {
    return await OpenFile.open(path, flags);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw fileError(error, 'write', path);
  }
  await onDisk('create the folder of', path, () => makeFolder(dirname(path)));
  return onDisk('write', path, () => OpenFile.open(path, flags));
}
