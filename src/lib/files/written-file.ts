import { existsSync } from 'node:fs';
import { permittedFile } from './file-access.ts';

/** A local file that was written. */
export interface WrittenFile {
  /** Absolute. */
  readonly path: string;
  /** Whether the file existed before, and whether its content was kept. */
  readonly before: 'nothing' | 'kept' | 'replaced';
}

/** To be called before the file is opened. */
export function fileToWrite(path: string, { append }: { readonly append: boolean }): WrittenFile {
  if (!existsSync(permittedFile(path))) return { path, before: 'nothing' };
  return { path, before: append ? 'kept' : 'replaced' };
}
