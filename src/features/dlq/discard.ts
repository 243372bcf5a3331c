/**
 * Takes dead letters out of a queue: into an archive beside it, or away. Lines that are not meant
 * stay as they are.
 */
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { appendRegular, openRegular } from '../../lib/files/regular-file.ts';
import { Gate } from '../../lib/gate.ts';
import type { DiscardReport } from '../../wire/dlq.ts';
import { isWanted, linesOf, type LetterFilter, type Line } from './letters.ts';
import { archiveOf, locate } from './location.ts';
import { assertOpened } from './reading.ts';

export interface DiscardRequest {
  readonly location: string;
  readonly filter: LetterFilter;
  /** Whether they are gone for good. */
  readonly delete: boolean;
  readonly keys: readonly string[];
  readonly cwd: string;
  /** Fires when nobody waits for the answer any more: files that are done stay so. */
  readonly signal?: AbortSignal | undefined;
}

/** Each rewrites a whole file: of two at once, one would put back what the other took out. */
const turn = new Gate(1);

/** Throws `RefusedError` when there is nothing to read. */
export async function discard(request: DiscardRequest): Promise<DiscardReport> {
  const release = await turn.enter(request.signal);
  try {
    return await discardAll(request);
  } finally {
    release();
  }
}

async function discardAll(request: DiscardRequest): Promise<DiscardReport> {
  const { files } = await locate(request.location, request);
  const seen = { readable: 0, undecryptable: 0 };
  let discarded = 0;
  let rewritten = 0;
  const archives: string[] = [];
  for (const file of files) {
    const gone = await discardFrom(file, request, seen);
    if (gone === 0) continue;
    discarded += gone;
    rewritten += 1;
    if (!request.delete) archives.push(archiveOf(file));
  }
  assertOpened(seen);
  return { discarded, files_rewritten: rewritten, archived_to: archives };
}

/**
 * The number of letters taken out. The archive is on disk before the file is replaced, so that a
 * crash leaves letters twice rather than nowhere.
 */
async function discardFrom(file: string, request: DiscardRequest, seen: Seen): Promise<number> {
  const isMeant = (line: Line): boolean =>
    line.kind === 'letter' && isWanted(line.letter, request.filter);
  if (!(await holdsAny(file, request.keys, { isMeant, seen, signal: request.signal }))) return 0;
  const fresh = join(dirname(file), `.${basename(file)}.${randomUUID()}.tmp`);
  const { mode } = await stat(file);
  try {
    await using kept = writer(await open(fresh, 'wx', mode));
    await using archive = request.delete
      ? undefined
      : writer(await appendRegular(archiveOf(file), mode));
    // What was killed in the middle of a line ends there.
    if (archive !== undefined && !(await endsWithLine(archiveOf(file))))
      await archive.write(Buffer.of(LINE_FEED));
    let gone = 0;
    let read = 0;
    // A run may add letters meanwhile: they are taken over before the file is replaced.
    while (read < (await stat(file)).size) {
      for await (const line of linesOf(file, request.keys, read)) {
        request.signal?.throwIfAborted();
        read += line.bytes.length;
        if (!isMeant(line)) {
          await kept.write(line.bytes);
          continue;
        }
        gone += 1;
        await archive?.write(
          line.bytes.at(-1) === LINE_FEED
            ? line.bytes
            : Buffer.concat([line.bytes, Buffer.of(LINE_FEED)]),
        );
      }
    }
    await archive?.sync();
    await kept.sync();
    await rename(fresh, file);
    return gone;
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}

async function endsWithLine(file: string): Promise<boolean> {
  await using handle = await openRegular(file);
  const { size } = await handle.stat();
  if (size === 0) return true;
  const { buffer } = await handle.read({ buffer: Buffer.alloc(1), position: size - 1 });
  return buffer[0] === LINE_FEED;
}

/** Lines that were looked at for the first letter that is meant. */
interface Seen {
  readable: number;
  undecryptable: number;
}

interface Looking {
  readonly isMeant: (line: Line) => boolean;
  readonly seen: Seen;
  readonly signal: AbortSignal | undefined;
}

async function holdsAny(
  file: string,
  keys: readonly string[],
  { isMeant, seen, signal }: Looking,
): Promise<boolean> {
  for await (const line of linesOf(file, keys)) {
    signal?.throwIfAborted();
    if (line.kind === 'letter') seen.readable += 1;
    if (line.kind === 'undecryptable') seen.undecryptable += 1;
    if (isMeant(line)) return true;
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
