import { existsSync } from 'node:fs';
import { permittedFile } from './file-access.ts';

/** A file of this machine that was written. */
export interface WrittenFile {
  /** Absolute. */
  readonly path: string;
  /** Whether something was there before, and what became of it. */
  readonly before: 'nothing' | 'kept' | 'replaced';
}

/** To be asked before the file is opened. */
export function fileToWrite(path: string, { append }: { readonly append: boolean }): WrittenFile {
  if (!existsSync(permittedFile(path))) return { path, before: 'nothing' };
  return { path, before: append ? 'kept' : 'replaced' };
}
