import { ConnectorError, messageOf, RefusedError } from '../../lib/errors.ts';
import { defineJob } from '../../runs/worker/define-job.ts';
import { previewJobSchema } from '../../wire/job.ts';
import type { PreviewedRecords } from './read-first.ts';

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
    try {
      return await readFirst(request, context);
    } catch (error) {
      if (!(error instanceof ConnectorError)) throw error;
      throw new RefusedError(
        'unprocessable',
        `${request.path} cannot be read: ${messageOf(error)}`,
        {
          cause: error,
        },
      );
    }
  },
});
