import { readFile } from 'node:fs/promises';
import { AppError, messageOf } from '../../lib/errors.ts';
import { shortPath } from './report-error.ts';

export async function readText(file: string, cwd: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const why = missing ? 'there is no such file' : messageOf(error);
    throw new AppError('unreadable_file', `${shortPath(file, cwd)} cannot be read: ${why}`);
  });
}
