import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { ConnectorError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import { AppendingFile } from '../output/appending-file.ts';
import { readBlocks } from './blocks.ts';
import type { Codec } from '../compression/compression.ts';
import { onDisk } from '../io-error.ts';
import { codeOf } from '../../../lib/files/file-fault.ts';
import { temporaryPath } from '../output/temporary-path.ts';

/** What a repair must know about the text of a file. */
export interface LineRules {
  /** Whether a line can be the first of a record. */
  readonly startsRecord: (firstByte: number) => boolean;
  /** Whether this text at the end of the file is a complete record. */
  readonly isWhole: (text: string) => boolean;
}

export interface RepairContext {
  readonly path: string;
  readonly codec: Codec;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const LINE_FEED = 10;

/**
 * Before a file is continued: a writer that was killed may have left an incomplete record at the
 * end. A complete record gets its missing line end; an incomplete one is cut off. Returns the new
 * size, or 0 when there is no file.
 */
export async function repairTornEnd(rules: LineRules, context: RepairContext): Promise<number> {
  const size = await sizeOf(context.path);
  if (size === 0) return 0;
  if (context.codec !== 'none') return repairPacked(rules, context);
  const handle = await onDisk('write', context.path, () => open(context.path, 'r+'));
  try {
    return await onDisk('repair', context.path, () =>
      repairPlain(handle, size, { rules, context }),
    );
  } finally {
    await handle.close();
  }
}

/**
 * The same of a plain file to which several processes append: nothing is cut off, because a line
 * that is incomplete now may be one that somebody is writing. What nobody completes becomes a blank
 * line.
 */
export async function blankTornEnd(rules: LineRules, context: RepairContext): Promise<void> {
  const { path, log } = context;
  if ((await sizeOf(path)) === 0) return;
  await onDisk('repair', path, async () => {
    await using handle = await open(path, 'r+');
    const { size } = await handle.stat();
    const { start, bytes } = await lastRecord(handle, size, rules);
    if (bytes.at(-1) === LINE_FEED) return;
    await using end = await open(path, 'a');
    // Who took the place of the file has repaired it, or will.
    if ((await end.stat()).ino !== (await handle.stat()).ino) return;
    // The system lets one write at a time end: after this, nobody is within the line.
    await end.write('\n');
    const left = await lineAt(handle, start);
    if (rules.isWhole(left.toString('utf8'))) return;
    await handle.write(Buffer.alloc(left.length, ' '), 0, left.length, start);
    log.warn('the last line was cut off in the middle; it is blank now', {
      path,
      bytes: left.length,
    });
  });
}

/** The line that starts there, without its end. */
async function lineAt(handle: FileHandle, start: number): Promise<Buffer> {
  const bytes = Buffer.alloc((await handle.stat()).size - start);
  await handle.read(bytes, 0, bytes.length, start);
  return bytes.subarray(0, bytes.indexOf(LINE_FEED));
}

/** Size of a file; 0 when it does not exist. */
export async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 0;
    return onDisk('read', path, () => Promise.reject(error as Error));
  }
}

async function repairPlain(
  handle: FileHandle,
  size: number,
  place: { rules: LineRules; context: RepairContext },
): Promise<number> {
  const { rules, context } = place;
  const { start, bytes } = await lastRecord(handle, size, rules);
  const whole = rules.isWhole(bytes.toString('utf8'));
  if (whole && bytes.at(-1) === LINE_FEED) return size;
  if (whole) {
    await handle.write('\n', size);
    context.log.warn('the last line had no end; added it', { path: context.path });
    return size + 1;
  }
  await handle.truncate(start);
  context.log.warn('the last line was cut off in the middle; dropped it', {
    path: context.path,
    bytes: size - start,
  });
  return start;
}

/** The last record: from the last line that can start one to the end of the file. */
async function lastRecord(
  handle: FileHandle,
  size: number,
  rules: LineRules,
): Promise<{ start: number; bytes: Buffer }> {
  let length = Math.min(size, 4096);
  for (;;) {
    const from = size - length;
    const bytes = Buffer.alloc(length);
    await handle.read(bytes, 0, length, from);
    const at = lastStart(bytes, from === 0, rules);
    if (at !== -1) return { start: from + at, bytes: bytes.subarray(at) };
    if (from === 0) return { start: 0, bytes };
    length = Math.min(size, length * 4);
  }
}

function lastStart(bytes: Buffer, fromTheStart: boolean, rules: LineRules): number {
  let end = bytes.length - 1;
  while (end > 0) {
    const newline = bytes.lastIndexOf(LINE_FEED, end - 1);
    if (newline === -1) break;
    if (rules.startsRecord(bytes[newline + 1] ?? LINE_FEED)) return newline + 1;
    end = newline;
  }
  return fromTheStart ? 0 : -1;
}

/**
 * A compressed file ends with a complete member unless the writer was killed; then the readable
 * part is compressed again.
 */
async function repairPacked(rules: LineRules, context: RepairContext): Promise<number> {
  const { path, codec, log, signal } = context;
  try {
    for await (const block of readBlocks({ path, codec, signal })) void block;
    return sizeOf(path);
  } catch (error) {
    if (!(error instanceof ConnectorError) || error.kind !== 'data') throw error;
  }
  const plain = temporaryPath(path);
  const compressed = temporaryPath(path);
  try {
    await copyReadablePart(context, plain);
    await repairTornEnd(rules, { ...context, path: plain, codec: 'none' });
    await copy({ ...context, path: plain, codec: 'none' }, compressed, codec);
    await onDisk('write', path, () => rename(compressed, path));
    log.warn('the compressed file was cut off in the middle; kept what could be read', { path });
  } finally {
    await rm(plain, { force: true });
    await rm(compressed, { force: true });
  }
  return sizeOf(path);
}

async function copyReadablePart(context: RepairContext, target: string): Promise<void> {
  try {
    await copy(context, target, 'none');
  } catch (error) {
    if (!(error instanceof ConnectorError) || error.kind !== 'data') throw error;
  }
}

async function copy(from: RepairContext, target: string, codec: Codec): Promise<void> {
  const output = await AppendingFile.open({ path: target, codec, truncate: true });
  try {
    for await (const block of readBlocks(from)) await output.write(block);
    await output.flush();
  } finally {
    await output.close();
  }
}
