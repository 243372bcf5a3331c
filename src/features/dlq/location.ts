/** Where dead letters are stored: a file, the `.jsonl` files of a folder, or what a glob matches. */
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { RefusedError } from '../../lib/errors.ts';
import { fileFault } from '../../lib/files/file-fault.ts';
import { FileRefusedError, permittedFile } from '../../lib/files/file-access.ts';
import { findFiles } from '../../lib/files/find-files.ts';

/** Dead letters that `dlq discard` archived; they are no longer part of the queue. */
const ARCHIVE = '.archived.jsonl';

export interface Located {
  /** Absolute paths, sorted; never empty. */
  readonly files: readonly string[];
  /** The default file for dead letters that fail again. */
  readonly failedAgain: string;
}

/** Throws `RefusedError` when there is nothing to read. */
export async function locate(
  location: string,
  { cwd, signal }: { readonly cwd: string; readonly signal?: AbortSignal | undefined },
): Promise<Located> {
  if (location === '')
    throw new RefusedError('bad_config', 'the location of the dead letters is empty', {
      hint: 'name a file',
    });
  const path = permitted(resolve(cwd, location));
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() === true)
    return { files: [path], failedAgain: beside(path, 'replay-failed') };
  if (found?.isDirectory() === true) {
    const files = await filesIn(path);
    if (files.length === 0) throw nothingAt(location, 'the folder holds no `.jsonl` file');
    return { files, failedAgain: join(path, 'replay-failed.jsonl') };
  }
  if (!/[*?[]/.test(location)) throw nothingAt(location, 'there is no such file or folder');
  const files = await findFiles(path, {
    signal,
    accepts: (file) => file.endsWith('.jsonl') && !file.endsWith(ARCHIVE),
  });
  files.forEach(permitted);
  const [first] = files;
  if (first === undefined) throw nothingAt(location, 'no file matches');
  return {
    files,
    failedAgain:
      files.length === 1
        ? beside(first, 'replay-failed')
        : join(dirname(first), 'replay-failed.jsonl'),
  };
}

function permitted(path: string): string {
  try {
    return permittedFile(path);
  } catch (error) {
    if (!(error instanceof FileRefusedError)) throw error;
    const hint = error.hint === undefined ? {} : { hint: error.hint };
    throw new RefusedError('bad_config', error.message, { ...hint, cause: error });
  }
}

/** The archive that belongs to a file. */
export function archiveOf(file: string): string {
  return beside(file, 'archived');
}

/** `dead.jsonl` → `dead.<word>.jsonl` */
function beside(file: string, word: string): string {
  return join(dirname(file), `${basename(file).replace(/\.jsonl$/, '')}.${word}.jsonl`);
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw new RefusedError('bad_config', `the folder cannot be read: ${fileFault(error).says}`, {
      cause: error,
    });
  });
  const files = entries.filter(
    (entry) => entry.isFile() && entry.name.endsWith('.jsonl') && !entry.name.endsWith(ARCHIVE),
  );
  return files.map(({ name }) => join(folder, name)).sort();
}

function nothingAt(location: string, why: string): RefusedError {
  return new RefusedError(
    'bad_config',
    `there are no dead letters at ${JSON.stringify(location)}: ${why}`,
    {
      hint: 'name a `.jsonl` file, a folder of them, or a glob; a run that rejects no record leaves no file',
    },
  );
}
