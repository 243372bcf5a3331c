import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { permittedFile } from '../../lib/files/file-access.ts';

/** The absolute form of a path from a document; `file://` addresses are accepted too. */
export function resolvePath(cwd: string, path: string): string {
  return permittedFile(resolve(cwd, path.startsWith('file://') ? fileURLToPath(path) : path));
}

/** Canonical address of a local path. */
export function fileUri(path: string): string {
  return path.startsWith('file://') ? path : `file://${path}`;
}
