import { declaredColumns, inferTypes } from '../../../kit/declared-columns.ts';
import { z } from 'zod';
import { onReadError } from '../../../kit/rejected-record.ts';
import { batchSize, boolean, finding, integer, optional } from '../../../kit/schema.ts';
import { compression, encryption, filePath } from '../../_files/config.ts';
import { FORMATS } from '../../_files/formats.ts';
import { refuseReading } from '../../_files/orc.ts';
import { hivePartitioning } from '../../_files/read/folder-fields.ts';
import { readingBlocks } from '../../_files/read/reading-blocks.ts';

export const sourceConfig = z.lazy(() =>
  z
    .strictObject({
      path: filePath(
        'A file, a folder, a pattern (`*`, `**`, `?`, `[…]`, `{a,b}`) or one http(s) address; `{field}` stands for a value of the parent record.',
        ['http', 'https'],
      ),
      recursive: boolean()
        .default(false)
        .meta({ description: 'Whether to go into the sub-folders of a folder.' }),
      format: z
        .enum(['auto', ...FORMATS, 'orc'])
        .default('auto')
        .meta({
          description:
            'Format of every file; `auto` goes by the extension. `orc` is not available in this version.',
        }),
      strict: boolean().default(false).meta({
        description:
          'With `auto`, whether a file of unknown extension fails the run instead of being skipped.',
      }),
      compression: compression('each file'),
      incremental: optional(
        z.strictObject({
          by: z.enum(['mtime', 'name']).meta({
            description:
              'What tells new files from those read before: the time of change or the name.',
          }),
        }),
      ).meta({ description: 'Read only what is new since the last run; needs `state`.' }),
      stable_for_secs: optional(integer({ min: 0 })).meta({
        description: 'Leave files that changed within this time for the next run.',
      }),
      headers: z
        .record(z.string(), z.string())
        .default({})
        .meta({ description: 'Headers of the request for an http(s) address.', secret: true }),
      http_retries: integer({ min: 0, max: 100 }).default(3).meta({
        description:
          'How often a request is repeated after a connection error, 429 or a 5xx answer.',
      }),
      encryption: encryption(),
      columns: declaredColumns(),
      infer_types: inferTypes(),
      on_error: onReadError(
        'A line of JSON Lines or a row of delimited text that cannot be read, or a value that does not fit its type,',
      ),
      hive_partitioning: hivePartitioning(),
      batch_size: batchSize().meta({
        description: 'Records a page holds at most; 0 gives one page per file.',
      }),
      concurrency: integer({ min: 1, max: 1024 }).default(4).meta({
        description: 'How many Parquet files have their schema checked at the same time.',
      }),
      ...readingBlocks(),
    })
    .superRefine((value, ctx) => {
      if (value.format === 'orc') refuseReading('format', ctx);
      else if (value.orc !== undefined) refuseReading('orc', ctx);
      if (!isUrl(value.path) && Object.keys(value.headers).length > 0) {
        ctx.addIssue(
          finding('invalid_value', '`headers` are for http(s) addresses only', {
            path: ['headers'],
          }),
        );
      }
      if (isUrl(value.path) && value.stable_for_secs !== undefined) {
        ctx.addIssue(
          finding('invalid_value', '`stable_for_secs` is for files only', {
            path: ['stable_for_secs'],
          }),
        );
      }
    }),
);

export type FileSourceConfig = z.infer<typeof sourceConfig>;

export function isUrl(path: string): boolean {
  return /^https?:\/\//i.test(path);
}
