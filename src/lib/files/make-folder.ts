/**
 * Creates a folder and its parents. The runtime's recursive call never ends where an existing
 * folder accepts no entries and reports "no such file" (`/proc`); this one fails.
 */
import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FileRefusedError, permittedFile } from './file-access.ts';

export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(permittedFile(folder));
  } catch (error) {
    if (error instanceof FileRefusedError) throw error;
    if (await isFolder(folder)) return;
    if (!lacksFolder(error)) throw error;
    // Another process may have created the parent in the meantime.
    if (!(await isFolder(dirname(folder)))) await makeFolder(dirname(folder));
    await mkdir(folder).catch(async (again: unknown) => {
      if (!(await isFolder(folder))) throw again;
    });
  }
}

export function makeFolderSync(folder: string): void {
  try {
    mkdirSync(permittedFile(folder));
  } catch (error) {
    if (error instanceof FileRefusedError) throw error;
    if (isFolderSync(folder)) return;
    if (!lacksFolder(error)) throw error;
    if (!isFolderSync(dirname(folder))) makeFolderSync(dirname(folder));
    try {
      mkdirSync(folder);
    } catch (again) {
      if (!isFolderSync(folder)) throw again;
    }
  }
}

function lacksFolder(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
}

function isFolderSync(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
