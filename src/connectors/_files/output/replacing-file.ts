import { constants, lstatSync, type Stats } from 'node:fs';
import { access, chmod, copyFile, realpath, rm, stat } from 'node:fs/promises';
import { renameOver } from '../../../lib/files/regular-file.ts';
import { dirname, basename } from 'node:path';
import type { SinkContext } from '../../../kit/context.ts';
import type { FinishReason } from '../../../kit/sink.ts';
import { stringifyJson } from '../../../lib/text/json.ts';
import { fileToWrite, type WrittenFile } from '../../../lib/files/written-file.ts';
import type { Codec } from '../compression/compression.ts';
import { onDisk } from '../io-error.ts';
import { codeOf } from '../../../lib/files/file-fault.ts';
import { AppendingFile, syncFolder } from './appending-file.ts';
import { removeLeftovers, resumableFiles, resumablePath, temporaryPath } from './temporary-path.ts';

export interface ReplacingOptions {
  /** The name of the complete file. */
  readonly path: string;
  readonly codec: Codec;
  readonly context: SinkContext;
  /** Whether the file before may go as soon as there is something of the new one. */
  readonly inPlace: boolean;
  /** Prepares the partial file of a stopped run for more records. */
  prepare(path: string): Promise<unknown>;
}

/**
 * A file that replaces another one. It is written to a temporary file until it is complete, so a run
 * that fails leaves the old file as it was. Without an old file, and for pipes and devices, it is
 * written in place.
 *
 * A run that stores bookmarks while it writes is not repeated from its start: its partial file stays,
 * and the run that continues after a bookmark continues that file.
 */
export class ReplacingFile {
  readonly #options: ReplacingOptions;
  readonly #file: AppendingFile;
  /** The temporary file; absent when the file is written in place. */
  readonly #beside: string | undefined;
  #published: WrittenFile | undefined;
  #isFinished = false;

  private constructor(options: ReplacingOptions, file: AppendingFile, beside: string | undefined) {
    this.#options = options;
    this.#file = file;
    this.#beside = beside;
  }

  static async open(options: ReplacingOptions): Promise<ReplacingFile> {
    const { path, before } = await standing(options.path);
    const real = { ...options, path };
    const isResumable = options.context.progress === 'positions';
    const isKept = before?.isFile() === true && before.size > 0;
    const direct = options.inPlace || options.context.progress === 'live';
    if (direct || (before !== undefined && !before.isFile()) || (!isKept && !isResumable))
      return ReplacingFile.#openInPlace(real);
    // A file without write permission is not replaced either.
    if (before !== undefined) await onDisk('write', path, () => access(path, constants.W_OK));
    await removeLeftovers(dirname(path), (name) => name === basename(path));
    return isResumable ? ReplacingFile.#openResumable(real) : ReplacingFile.#openBeside(real);
  }

  static async #openInPlace(options: ReplacingOptions): Promise<ReplacingFile> {
    const { path, codec } = options;
    const file = await AppendingFile.open({ path, codec, truncate: true });
    return new ReplacingFile(options, file, undefined);
  }

  static async #openBeside(options: ReplacingOptions): Promise<ReplacingFile> {
    const { path, codec, context } = options;
    const beside = temporaryPath(path);
    try {
      const file = await AppendingFile.open({ path: beside, codec, truncate: true });
      return new ReplacingFile(options, file, beside);
    } catch (error) {
      const code = codeOf((error as Error).cause);
      if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EROFS') throw error;
      context.env.log.warn('no file can be made beside the old one; it is overwritten in place', {
        path,
      });
      return ReplacingFile.#openInPlace(options);
    }
  }

  static async #openResumable(options: ReplacingOptions): Promise<ReplacingFile> {
    const { path, codec, context } = options;
    const left = await partToContinue(path, context);
    if (left !== undefined) {
      await options.prepare(left);
      context.env.log.info('going on with the part that a stopped run has left', { path });
    }
    const beside = left ?? resumablePath(path, startOf(context));
    const file = await AppendingFile.open({ path: beside, codec, truncate: left === undefined });
    return new ReplacingFile(options, file, beside);
  }

  /** Files that were written under their own names. */
  get written(): readonly WrittenFile[] {
    if (this.#beside === undefined) return this.#file.written;
    return this.#published === undefined ? [] : [this.#published];
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#file.write(bytes);
  }

  flush(): Promise<void> {
    return this.#file.flush();
  }

  async finish(reason: FinishReason): Promise<void> {
    await this.#file.flush();
    this.#isFinished = true;
    if (this.#beside === undefined) return;
    if (reason === 'success') await this.#publish(this.#beside);
    else if (this.#options.context.progress === 'positions') await this.#keepPart(this.#beside);
    else await this.#dropPart(this.#beside, reason);
  }

  /** Releases it. Never throws. */
  async close(): Promise<void> {
    await this.#file.close().catch(() => {});
    const isGone = this.#isFinished || this.#options.context.progress === 'positions';
    if (this.#beside !== undefined && !isGone)
      await rm(this.#beside, { force: true }).catch(() => {});
  }

  async #publish(beside: string): Promise<void> {
    const { path } = this.#options;
    const written = fileToWrite(path, { append: false });
    const before = await stat(path).catch(() => undefined);
    await onDisk('write', path, async () => {
      if (before !== undefined) await chmod(beside, before.mode & 0o777);
      await renameOver(beside, path);
    });
    this.#published = written;
    await syncFolder(path);
  }

  /** Bookmarks rely on the partial file, so it stays; without an old file it is published as well. */
  async #keepPart(beside: string): Promise<void> {
    const { path, context } = this.#options;
    const written = fileToWrite(path, { append: false });
    if (written.before === 'nothing') {
      await onDisk('write', path, () => copyFile(beside, path));
      this.#published = written;
    }
    const message =
      'the run has not ended well: the part it wrote stays beside the file, for the next run';
    context.env.log.warn(message, { path, part: beside });
  }

  async #dropPart(beside: string, reason: FinishReason): Promise<void> {
    const { path, context } = this.#options;
    await rm(beside, { force: true });
    context.env.log.warn(`the run is ${reason}: the file of an earlier run stays as it was`, {
      path,
      hint: 'set `on_failure: keep_partial` to have the part that was written instead',
    });
  }
}

/**
 * What stands under the name now: the file behind a link. Most outputs are new or plain files, for
 * which one question without a thread is enough.
 */
async function standing(path: string): Promise<{ path: string; before: Stats | undefined }> {
  let entry: Stats | undefined;
  try {
    entry = lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // Opening it says what is wrong.
  }
  if (entry?.isSymbolicLink() !== true) return { path, before: entry };
  const real = await realpath(path).catch(() => path);
  return { path: real, before: await stat(real).catch(() => undefined) };
}

/** Whether a run without records has to end what a stopped run has begun. */
export async function hasPartToEnd(path: string, context: SinkContext): Promise<boolean> {
  return context.progress === 'positions' && (await partToContinue(path, context)) !== undefined;
}

/**
 * The part of a stopped run that had stored a position. One that started where this run starts had
 * not, so its records come again.
 */
async function partToContinue(path: string, context: SinkContext): Promise<string | undefined> {
  const parts = await resumableFiles(path);
  const start = context.startsAfter?.();
  const left =
    start === undefined
      ? undefined
      : parts.find((part) => part !== resumablePath(path, startOf(context)));
  for (const part of parts) if (part !== left) await rm(part, { force: true });
  return left;
}

function startOf({ startsAfter }: SinkContext): string {
  const start = startsAfter?.();
  return start === undefined ? '' : stringifyJson(start);
}
