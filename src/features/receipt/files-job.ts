import { defineJob } from '../../runs/worker/define-job.ts';
import { receiptFilesJobSchema } from '../../wire/job.ts';
import type { ReceiptFile } from './receipt.ts';

/** Reads the files that a run wrote, for the checksums of its receipt. */
export const receiptFilesJob = defineJob({
  kind: 'receipt_files',
  word: 'receipt',
  request: receiptFilesJobSchema,
  limits: {
    atOnce: 2,
    waiting: 16,
    limitMs: 60_000,
    countsFrom: 'begin',
    graceMs: 0,
    isRepeatable: true,
  },
  execute: async ({ files, ended_at: endedAt, most_bytes: mostBytes }, { signal }) => {
    const { describeFiles } = await import('./describe-files.ts');
    return { files: await describeFiles(files, { endedAt, mostBytes, signal }) } satisfies {
      readonly files: readonly ReceiptFile[];
    };
  },
});
