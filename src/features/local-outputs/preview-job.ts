import { lstat } from 'node:fs/promises';
import { ConnectorError, RefusedError } from '../../lib/errors.ts';
import { fileFault } from '../../lib/files/file-fault.ts';
import { defineJob } from '../../runs/worker/define-job.ts';
import { previewJobSchema } from '../../wire/job.ts';
import type { PreviewedRecords } from './read-first.ts';

/** Which file lies there; throws when it is none, or a link to one. */
async function fileAt(path: string): Promise<string> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isFile() !== true) throw replaced(path);
  return `${found.dev} ${found.ino}`;
}

function replaced(path: string): RefusedError {
  return new RefusedError('conflict', `${path} is not the file that the run wrote any more`);
}

/** Reads the first records of a file. */
export const previewJob = defineJob({
  kind: 'preview',
  word: 'preview',
  request: previewJobSchema,
  limits: {
    atOnce: 4,
    waiting: 16,
    limitMs: 60_000,
    countsFrom: 'begin',
    graceMs: 0,
    isRepeatable: true,
  },
  execute: async (request, context): Promise<PreviewedRecords> => {
    const { readFirst } = await import('./read-first.ts');
    const before = await fileAt(request.path);
    try {
      const read = await readFirst(request, context);
      if ((await fileAt(request.path)) !== before) throw replaced(request.path);
      return read;
    } catch (error) {
      if (!(error instanceof ConnectorError)) throw error;
      throw new RefusedError(
        'unprocessable',
        `${request.path} cannot be read: ${fileFault(error).says}`,
        {
          cause: error,
        },
      );
    }
  },
});
