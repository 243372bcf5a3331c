import { constants, existsSync, lstatSync, type Stats } from 'node:fs';
import { access, chmod, copyFile, readlink, realpath, rm, stat } from 'node:fs/promises';
import { renameOver } from '../../../lib/files/regular-file.ts';
import { dirname, basename, resolve } from 'node:path';
import type { SinkContext } from '../../../kit/context.ts';
import type { FinishReason } from '../../../kit/sink.ts';
import { stringifyJson } from '../../../lib/text/json.ts';
import { fileToWrite, type WrittenFile } from '../../../lib/files/written-file.ts';
import type { Codec } from '../compression/compression.ts';
import { codeOf, onDisk } from '../io-error.ts';
import { AppendingFile } from './appending-file.ts';
import {
  removeLeftovers,
  removeLeftoversOnce,
  resumableFiles,
  resumablePath,
  temporaryPath,
} from './temporary-path.ts';

export interface ReplacingOptions {
  /** The name of the complete file. */
  readonly path: string;
  readonly codec: Codec;
  readonly context: SinkContext;
  readonly onFailure: OnFailure;
  /** Prepares the partial file of a stopped run for more records. */
  prepare(path: string): Promise<unknown>;
}

/**
 * What a run that fails leaves under the name. `keep_partial` writes in place: the file before goes
 * as soon as there is something of the new one.
 */
export type OnFailure = 'keep_old' | 'keep_partial' | 'discard';

/**
 * A file that replaces another one, if there is one. It is written to a temporary file until it is
 * complete, so that a process that is killed leaves nothing half-written under the name, and a run
 * that fails leaves the old file as it was. Pipes and devices are written in place.
 *
 * A run that stores bookmarks while it writes is not repeated from its start: its partial file stays,
 * and the run that continues after a bookmark continues that file.
 */
export class ReplacingFile {
  readonly #options: ReplacingOptions;
  readonly #file: AppendingFile;
  /** The temporary file; absent when the file is written in place. */
  readonly #beside: string | undefined;
  /** Under its own name: written there, or to come there where no other file was. */
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
    const { progress } = options.context;
    const direct = options.onFailure === 'keep_partial' || progress === 'live';
    if (direct || (before !== undefined && !before.isFile()))
      return ReplacingFile.#openInPlace(real);
    // A file without write permission is not replaced either.
    if (before === undefined) await removeLeftoversOnce(dirname(path));
    else {
      await onDisk('write', path, () => access(path, constants.W_OK));
      await removeLeftovers(dirname(path), (name) => name === basename(path));
    }
    return progress === 'positions'
      ? ReplacingFile.#openResumable(real)
      : ReplacingFile.#openBeside(real, before !== undefined);
  }

  static async #openInPlace(options: ReplacingOptions): Promise<ReplacingFile> {
    const { path, codec } = options;
    const file = await AppendingFile.open({ path, codec, truncate: true });
    return new ReplacingFile(options, file, undefined);
  }

  static async #openBeside(options: ReplacingOptions, replaces: boolean): Promise<ReplacingFile> {
    const { path, codec, context } = options;
    const beside = temporaryPath(path);
    const isUnnamed = !replaces;
    try {
      const opening = { path: beside, codec, truncate: true, becomes: path, isUnnamed };
      const file = await AppendingFile.open(opening);
      const replacing = new ReplacingFile(options, file, beside);
      if (isUnnamed) replacing.#published = { path, before: 'nothing' };
      return replacing;
    } catch (error) {
      const code = codeOf((error as Error).cause);
      if (!replaces || (code !== 'EACCES' && code !== 'EPERM' && code !== 'EROFS')) throw error;
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
    const truncate = left === undefined;
    const file = await AppendingFile.open({ path: beside, codec, truncate, becomes: path });
    return new ReplacingFile(options, file, beside);
  }

  /** Files with their own names. */
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
    else await this.#showOrDrop(this.#beside, reason);
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
    if (before !== undefined) await onDisk('write', path, () => chmod(beside, before.mode & 0o777));
    await this.#file.publish(beside);
    this.#published = written;
  }

  /** Bookmarks rely on the partial file, so it stays; without an old file it is published as well. */
  async #keepPart(beside: string): Promise<void> {
    const { path, context, onFailure } = this.#options;
    const written = fileToWrite(path, { append: false });
    if (written.before === 'nothing' && onFailure !== 'discard') {
      const copy = temporaryPath(path);
      await onDisk('write', path, async () => {
        await copyFile(beside, copy);
        await renameOver(copy, path);
      });
      this.#published = written;
    }
    const message =
      'the run has not ended well: the part it wrote stays beside the file, for the next run';
    context.env.log.warn(message, { path, part: beside });
  }

  /** Without an old file, what was written may be looked at. */
  async #showOrDrop(beside: string, reason: FinishReason): Promise<void> {
    const { path, context, onFailure } = this.#options;
    if (onFailure === 'keep_old' && fileToWrite(path, { append: false }).before === 'nothing') {
      await this.#publish(beside);
      context.env.log.warn(`the run is ${reason}: the file has only what was written before that`, {
        path,
        hint: 'set `on_failure: discard` to have no file then',
      });
      return;
    }
    await rm(beside, { force: true });
    this.#published = undefined;
    if (!existsSync(path)) return;
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
  const real = await realpath(path).catch(async () => resolve(dirname(path), await readlink(path)));
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
