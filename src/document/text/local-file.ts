import { closeSync, openSync, readSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';

/**
 * Reads files for documents; relative paths start at `cwd`. Never takes in more than it is asked
 * for.
 */
export function localFiles(cwd: string): (path: string, limitBytes: number) => Uint8Array {
  return (path, limitBytes) => {
    const file = openSync(resolve(cwd, path), 'r');
    try {
      return readUpTo(file, limitBytes);
    } finally {
      closeSync(file);
    }
  };
}

/**
 * One name for a file, whatever links lead to it; a file that is not there keeps its own. Relative
 * paths start at `cwd`.
 */
export function canonicalPaths(cwd: string): (path: string) => string {
  return (path) => {
    const absolute = resolve(cwd, path);
    try {
      return realpathSync.native(absolute);
    } catch {
      return absolute;
    }
  };
}

function readUpTo(file: number, limitBytes: number): Uint8Array {
  const chunks: Uint8Array[] = [];
  let left = limitBytes;
  while (left > 0) {
    const chunk = Buffer.allocUnsafe(Math.min(left, 64 * 1024));
    const count = readSync(file, chunk);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    left -= count;
  }
  return Buffer.concat(chunks);
}
