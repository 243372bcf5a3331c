/**
 * Opens files named by a document, a request or a setting. A pipe, a device or a socket could make
 * the reader wait for ever, or have an effect when opened; it is refused before and after opening,
 * and opening does not wait.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync, type Stats } from 'node:fs';
import { open, rename, stat, type FileHandle } from 'node:fs/promises';
import { AppError } from '../errors.ts';
import { permittedFile } from './file-access.ts';

export class NotRegularFileError extends AppError {
  /** What it is, with its article: `a pipe`. */
  readonly kind: string;

  constructor(kind: string) {
    super('not_a_regular_file', `it is ${kind}, not a regular file`, {
      hint: 'name a regular file',
    });
    this.kind = kind;
  }
}

/** After this time the caller gets an error, even if the file system never answers. */
const READ_TIMEOUT_MS = 30_000;
const BLOCK_BYTES = 64 * 1024;

/**
 * With these flags opening never waits for a writer and never takes over a terminal. Not every
 * system has them.
 */
const NO_WAITING = (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
const TO_READ = constants.O_RDONLY | NO_WAITING;
const TO_APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NO_WAITING;

/** Throws `NotRegularFileError`, or the error of the system. */
export function openRegularSync(path: string): number {
  assertRegular(statSync(permittedFile(path)));
  const file = openSync(path, TO_READ);
  try {
    assertRegular(fstatSync(file));
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** At most `limitBytes` of the file. Throws as `openRegularSync`. */
export function readRegularSync(path: string, limitBytes = Number.POSITIVE_INFINITY): Buffer {
  const file = openRegularSync(path);
  try {
    const chunks: Buffer[] = [];
    for (let left = limitBytes; left > 0;) {
      const chunk = Buffer.allocUnsafe(Math.min(left, BLOCK_BYTES));
      const count = readSync(file, chunk);
      if (count === 0) break;
      chunks.push(chunk.subarray(0, count));
      left -= count;
    }
    return Buffer.concat(chunks);
  } finally {
    closeSync(file);
  }
}

/** The caller closes it. Rejects with `NotRegularFileError`, or with the error of the system. */
export async function openRegular(path: string): Promise<FileHandle> {
  assertRegular(await stat(permittedFile(path)));
  return checked(await open(path, TO_READ));
}

/** Opens a file to write at its end; creates it when it is missing. */
export async function appendRegular(path: string, mode: number): Promise<FileHandle> {
  const found = await stat(permittedFile(path)).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  });
  if (found !== undefined) assertRegular(found);
  return checked(await open(path, TO_APPEND, mode));
}

export interface ReadRegular {
  /** Bytes after these are not read. */
  readonly limitBytes?: number;
  readonly timeoutMs?: number;
}

/** At most `limitBytes` of the file, within the time. Rejects as `openRegular`. */
export async function readRegular(
  path: string,
  { limitBytes = Number.POSITIVE_INFINITY, timeoutMs = READ_TIMEOUT_MS }: ReadRegular = {},
): Promise<Buffer> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(
      new AppError('file_timeout', `the file was not read within ${timeoutMs / 1000} s`, {
        hint: 'check the file system it lies on',
      }),
    );
  }, timeoutMs);
  try {
    return await Promise.race([readAll(path, limitBytes), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function readAll(path: string, limitBytes: number): Promise<Buffer> {
  await using file = await openRegular(path);
  const chunks: Buffer[] = [];
  for (let left = limitBytes; left > 0;) {
    const { buffer, bytesRead } = await file.read({
      buffer: Buffer.allocUnsafe(Math.min(left, BLOCK_BYTES)),
    });
    if (bytesRead === 0) break;
    chunks.push(buffer.subarray(0, bytesRead));
    left -= bytesRead;
  }
  return Buffer.concat(chunks);
}

async function checked(file: FileHandle): Promise<FileHandle> {
  try {
    assertRegular(await file.stat());
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Gives a finished file its name. What stands there may be a file of earlier, never a device or a
 * pipe, which would be gone. Rejects with `NotRegularFileError`, or with the error of the system.
 */
export async function renameOver(temporary: string, target: string): Promise<void> {
  const found = await stat(permittedFile(target)).catch(() => undefined);
  if (found !== undefined) assertRegular(found);
  await rename(temporary, target);
}

function assertRegular(found: Stats): void {
  if (!found.isFile()) throw new NotRegularFileError(kindOf(found));
}

function kindOf(found: Stats): string {
  if (found.isDirectory()) return 'a folder';
  if (found.isFIFO()) return 'a pipe';
  if (found.isSocket()) return 'a socket';
  return found.isCharacterDevice() || found.isBlockDevice() ? 'a device' : 'something else';
}
