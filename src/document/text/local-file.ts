import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { readRegularSync } from '../../lib/files/regular-file.ts';

/**
 * Reads files for documents; relative paths start at `cwd`. Never takes in more than it is asked
 * for. Only regular files: the author of a document must not be able to make its reader wait.
 */
export function localFiles(cwd: string): (path: string, limitBytes: number) => Uint8Array {
  return (path, limitBytes) => readRegularSync(resolve(cwd, path), limitBytes);
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
