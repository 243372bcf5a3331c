/**
 * Removes dead letters from a queue: archives them beside it, or deletes them. Lines that do not match
 * the filter stay as they are.
 */
import { open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { lockFile } from '../../lib/files/file-lock.ts';
import { appendRegular, openRegular } from '../../lib/files/regular-file.ts';
import { Gate } from '../../lib/gate.ts';
import { RefusedError } from '../../lib/errors.ts';
import type { DiscardReport } from '../../wire/dlq.ts';
import { isWanted, linesOf, type DeadLetterFilter, type Line } from './dead-letters.ts';
import { archiveOf, locate } from './location.ts';
import { assertReadable } from './reading.ts';
import { areLeft, keepAside, leftFiles } from './replaced-file.ts';

export interface PurgeRequest {
  readonly location: string;
  readonly filter: DeadLetterFilter;
  /** Deletes them instead of archiving. */
  readonly delete: boolean;
  readonly keys: readonly string[];
  readonly cwd: string;
  /** Fires when the caller no longer waits. Files that were already rewritten stay rewritten. */
  readonly signal?: AbortSignal | undefined;
}

/** Each rewrites a whole file: of two in this process, one waits. */
const gate = new Gate(1);

/** Throws `RefusedError` when there is nothing to read. */
export async function purge(request: PurgeRequest): Promise<DiscardReport> {
  const release = await gate.enter(request.signal);
  try {
    return await purgeAll(request);
  } finally {
    release();
  }
}

async function purgeAll(request: PurgeRequest): Promise<DiscardReport> {
  const { files } = await locate(request.location, request);
  const seen = { readable: 0, undecryptable: 0 };
  let purged = 0;
  let rewritten = 0;
  const archives: string[] = [];
  for (const file of files) {
    const removed = await purgeFrom(file, request, seen);
    if (removed === 0) continue;
    purged += removed;
    rewritten += 1;
    if (!request.delete) archives.push(archiveOf(file));
  }
  assertReadable(seen);
  return { discarded: purged, files_rewritten: rewritten, archived_to: archives };
}

/**
 * Returns the number of dead letters removed. Only one process at a time replaces a file: what is
 * added to one of two new files would be in neither. The archive is on disk before the file is replaced, so that a
 * crash leaves dead letters twice rather than nowhere. A run that appends meanwhile looks after each
 * flush whether its file is still the one of that name, and writes again what it had not flushed
 * before (`connectors/jsonl/sink.ts`); what it had is taken over here, or by the next one where this process is killed.
 */
async function purgeFrom(named: string, request: PurgeRequest, seen: Seen): Promise<number> {
  const isMatch = (line: Line): boolean =>
    line.kind === 'dead_letter' && isWanted(line, request.filter);
  // The file that a link leads to is the one to which runs add.
  const file = await realpath(named);
  await takeOverLeft(file);
  if (!(await holdsAny(file, request.keys, { isMatch, seen, signal: request.signal }))) return 0;
  await using lock = await lockFile(file, 'discard');
  if (lock === undefined) throw replaced(file);
  const fresh = join(dirname(file), `.${basename(file)}.${randomUUID()}.tmp`);
  await using old = await openRegular(file);
  const { mode } = await old.stat();
  let aside: string | undefined;
  try {
    // Whoever finds the new file appends to it at once.
    await using kept = writer(await open(fresh, 'ax', mode));
    await using archive = request.delete
      ? undefined
      : writer(await appendRegular(archiveOf(named), mode));
    // A process that was killed may have left half a line.
    if (archive !== undefined && !(await endsWithLine(archiveOf(named))))
      await archive.write(Buffer.of(LINE_FEED));
    let removed = 0;
    let read = 0;
    // A run may append dead letters meanwhile: they are copied before the file is replaced.
    for (let before = -1; before < read;) {
      before = read;
      for await (const line of linesOf(file, request.keys, read)) {
        request.signal?.throwIfAborted();
        // Somebody may be writing the rest of it.
        if (line.kind !== 'dead_letter' && !isEnded(line.bytes)) break;
        const isMatching = isMatch(line);
        read += line.bytes.length;
        if (isMatching) removed += 1;
        await (isMatching ? archive : kept)?.write(ended(line.bytes));
      }
    }
    await archive?.sync();
    await kept.sync();
    await assertSame(old, file);
    aside = await keepAside(file, read);
    await rename(fresh, file);
    await kept.write(await linesBehind(old, read));
    await kept.sync();
    if (aside !== undefined) await rm(aside);
    return removed;
  } catch (error) {
    await rm(fresh, { force: true });
    // It is no other name of the file where the file was replaced.
    if (aside !== undefined) await leftFiles(file);
    throw error;
  }
}

/** Copies what processes that were killed could not; who is replacing the file copies by itself. */
export async function takeOverLeft(file: string): Promise<void> {
  if (!(await areLeft(file))) return;
  await using lock = await lockFile(file, 'discard');
  if (lock === undefined) return;
  const { mode } = await stat(file);
  for (const { path, read } of await leftFiles(file)) {
    await using left = await openRegular(path);
    await using into = writer(await appendRegular(file, mode));
    await into.write(await linesBehind(left, read));
    await into.sync();
    await rm(path);
  }
}

/** Another program may have replaced it since. */
async function assertSame(old: FileHandle, file: string): Promise<void> {
  const [read, now] = [await old.stat(), await stat(file)];
  if (read.ino === now.ino && read.dev === now.dev) return;
  throw replaced(file);
}

function replaced(file: string): RefusedError {
  return new RefusedError('conflict', `${file} is replaced by another process`, {
    hint: 'another server or command discards dead letters of the same file: try again when it is done',
  });
}

/** What was appended after the file was read. A line whose writer was killed halfway stays as it is. */
async function linesBehind(old: FileHandle, from: number): Promise<Buffer> {
  const { size } = await old.stat();
  const { buffer, bytesRead } = await old.read({
    buffer: Buffer.alloc(Math.max(0, size - from)),
    position: from,
  });
  return ended(buffer.subarray(0, bytesRead));
}

function ended(lines: Buffer): Buffer {
  return lines.length === 0 || isEnded(lines)
    ? lines
    : Buffer.concat([lines, Buffer.of(LINE_FEED)]);
}

function isEnded(lines: Buffer): boolean {
  return lines.at(-1) === LINE_FEED;
}

async function endsWithLine(file: string): Promise<boolean> {
  await using handle = await openRegular(file);
  const { size } = await handle.stat();
  if (size === 0) return true;
  const { buffer } = await handle.read({ buffer: Buffer.alloc(1), position: size - 1 });
  return buffer[0] === LINE_FEED;
}

/** Lines read up to the first dead letter that matches. */
interface Seen {
  readable: number;
  undecryptable: number;
}

interface Search {
  readonly isMatch: (line: Line) => boolean;
  readonly seen: Seen;
  readonly signal: AbortSignal | undefined;
}

async function holdsAny(
  file: string,
  keys: readonly string[],
  { isMatch, seen, signal }: Search,
): Promise<boolean> {
  for await (const line of linesOf(file, keys)) {
    signal?.throwIfAborted();
    if (line.kind === 'dead_letter') seen.readable += 1;
    if (line.kind === 'undecryptable') seen.undecryptable += 1;
    if (isMatch(line)) return true;
  }
  return false;
}

const LINE_FEED = 10;

/** Lines are written in blocks of this size. */
const BLOCK_BYTES = 1024 * 1024;

interface Writer extends AsyncDisposable {
  write(bytes: Buffer): Promise<void>;
  sync(): Promise<void>;
}

function writer(handle: FileHandle): Writer {
  let waiting: Buffer[] = [];
  let held = 0;
  const drain = async (): Promise<void> => {
    const block = Buffer.concat(waiting);
    waiting = [];
    held = 0;
    if (block.length > 0) await handle.writeFile(block);
  };
  return {
    write: async (bytes) => {
      waiting.push(bytes);
      held += bytes.length;
      if (held >= BLOCK_BYTES) await drain();
    },
    sync: async () => {
      await drain();
      await handle.sync();
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}
