import { readdir, realpath, stat } from 'node:fs/promises';
import { join, matchesGlob, relative, sep } from 'node:path';
import { permittedFile } from '../../lib/files/file-access.ts';
import { onDisk } from './io-error.ts';
import { isTemporaryName } from './output/temporary-path.ts';

export interface FoundFile {
  readonly path: string;
  readonly mtimeMs: number;
  readonly size: number;
}

export interface ListOptions {
  /** Whether to go into sub-folders. */
  readonly recursive: boolean;
  readonly signal: AbortSignal;
  /** Which files to list; all when absent. */
  readonly accept?: (path: string) => boolean;
}

/**
 * The files of a folder, sorted by path. Links are followed, each folder is visited once;
 * unfinished output is left out.
 */
export async function listFolder(folder: string, options: ListOptions): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  await walk(folder, { ...options, found, seen: new Set() });
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

interface Walk extends ListOptions {
  readonly found: FoundFile[];
  readonly seen: Set<string>;
}

async function walk(folder: string, state: Walk): Promise<void> {
  state.signal.throwIfAborted();
  const real = await onDisk('list', folder, () => realpath(permittedFile(folder)));
  if (state.seen.has(real)) return;
  state.seen.add(real);
  for (const name of await onDisk('list', folder, () => readdir(folder))) {
    if (isTemporaryName(name)) continue;
    const path = join(folder, name);
    const entry = await onDisk('read', path, () => stat(permittedFile(path)));
    if (entry.isDirectory()) {
      if (state.recursive) await walk(path, state);
    } else if (state.accept?.(path) ?? true) {
      state.found.push({ path, mtimeMs: entry.mtimeMs, size: entry.size });
    }
  }
}

export function isGlob(path: string): boolean {
  return /[*?[\]{}]/.test(path);
}

/**
 * The files that match an absolute pattern, sorted by path, and the folder where the pattern
 * starts.
 */
export async function listGlob(
  pattern: string,
  signal: AbortSignal,
): Promise<{ base: string; files: FoundFile[] }> {
  const steps = pattern.split(sep);
  const fixed = steps.findIndex(isGlob);
  const base = steps.slice(0, fixed === -1 ? -1 : fixed).join(sep) || sep;
  const recursive = steps.slice(fixed).length > 1;
  const wanted = relative(base, pattern);
  return {
    base,
    files: await listFolder(base, {
      recursive,
      signal,
      accept: (path) => matchesGlob(relative(base, path), wanted),
    }),
  };
}
