import { z } from 'zod';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { batchSize, finding, integer, optional, text } from '../../kit/schema.ts';
import { defineSource, type ReadRequest, type Source } from '../../kit/source.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { filePath } from '../_files/config.ts';
import { listGlob } from '../_files/listing.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import { cutPages, unsized } from '../_files/lines/cut-pages.ts';
import { requireOneSchema } from '../_files/parquet/parquet-schemas.ts';
import { ParquetReader } from '../_files/parquet/parquet-reader.ts';
import { fileUri, resolvePath } from '../_files/paths.ts';

const location = z.lazy(() =>
  z
    .discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('local_path').meta({ description: 'One file on this machine.' }),
        path: filePath('File to read; relative paths start at the folder the process runs in.'),
      }),
      z.strictObject({
        type: z
          .literal('glob')
          .meta({ description: 'All files that match a pattern, in the order of their paths.' }),
        pattern: text().meta({ description: 'Pattern with `*`, `**`, `?`, `[…]` and `{a,b}`.' }),
      }),
      z
        .strictObject({
          type: z
            .literal('s3')
            .meta({ description: 'Objects in a bucket; not possible in this version.' }),
          bucket: text().meta({ description: 'Name of the bucket.' }),
          key: optional(text()).meta({ description: 'One object.' }),
          prefix: optional(text()).meta({ description: 'All objects whose key starts like this.' }),
          region: optional(text()).meta({ description: 'Region of the bucket.' }),
          endpoint_url: optional(text()).meta({
            description: 'Address of a store that speaks the same protocol.',
          }),
        })
        .superRefine((_value, ctx) => {
          const hint = 'copy the objects to a local folder and read them with `type: glob`';
          ctx.addIssue(
            finding('not_available', 'reading Parquet from s3 is not available in this version', {
              path: ['type'],
              hint,
            }),
          );
        }),
    ])
    .meta({ description: 'Where the files are.' }),
);

const config = z.lazy(() =>
  z.strictObject({
    source: location,
    batch_size: batchSize().meta({
      description: 'Records a page holds at most; 0 gives one page per row group.',
    }),
    columns: optional(z.array(text()).min(1)).meta({
      description: 'Top-level columns to read; all when absent.',
    }),
    concurrency: integer({ min: 1, max: 1024 })
      .default(4)
      .meta({ description: 'How many files have their schema checked at the same time.' }),
  }),
);

type ParquetSourceConfig = z.infer<typeof config>;

export const parquetSource = defineSource<ParquetSourceConfig>({
  type: 'parquet',
  description: 'Reads Parquet files, row group by row group.',
  config,
  concurrencyKeys: ['concurrency'],
  examples: [
    { source: { type: 'local_path', path: 'orders.parquet' } },
    {
      source: { type: 'glob', pattern: 'lake/**/*.parquet' },
      columns: ['id', 'amount'],
      batch_size: 0,
      concurrency: 8,
    },
  ],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: ({ source }) => {
    if (source.type === 's3') return `s3://${source.bucket}/${source.key ?? source.prefix ?? ''}`;
    return fileUri(source.type === 'glob' ? source.pattern : source.path);
  },
  localPath: ({ source }) => (source.type === 'local_path' ? source.path : undefined),
  open: async (value, context) =>
    ({
      pages: (request) => pages(value, context, request),
      close: async () => {},
    }) satisfies Source,
});

async function* pages(
  value: ParquetSourceConfig,
  context: SourceContext,
  request: ReadRequest,
): AsyncGenerator<Page> {
  const paths = await pathsOf(value, context);
  const files = paths.map((path) => ({ name: path }));
  await requireOneSchema(files, {
    concurrency: value.concurrency,
    open: ({ name }) => openFile(name, value, context),
  });
  let left = request.limit ?? Infinity;
  let schema: RecordSchema | undefined;
  for (const path of paths) {
    const reader = await openFile(path, value, context);
    // All files have the same.
    schema ??= reader.schema;
    try {
      for (let group = 0; group < reader.rowGroups && left > 0; group += 1) {
        const bounds = pageBounds(value.batch_size, context.pageBytes);
        const options = { lane: request.lane, bounds, limit: left, signal: context.signal };
        for await (const page of cutPages(unsized(reader.rowGroup(group)), options)) {
          left -= page.count;
          yield page.withSchema(schema);
        }
      }
    } finally {
      await reader.close();
    }
  }
}

async function pathsOf({ source }: ParquetSourceConfig, context: SourceContext): Promise<string[]> {
  if (source.type === 's3')
    throw new ConnectorError('refused', 'reading Parquet from s3 is not available in this version');
  if (source.type === 'local_path') return [resolvePath(context.env.cwd, source.path)];
  const { files } = await listGlob(resolvePath(context.env.cwd, source.pattern), context.signal);
  if (files.length === 0) throw new ConnectorError('missing', `no file matches ${source.pattern}`);
  return files.map((file) => file.path);
}

function openFile(
  path: string,
  value: ParquetSourceConfig,
  { signal }: SourceContext,
): Promise<ParquetReader> {
  return ParquetReader.open({ path, signal, columns: value.columns, omitNulls: true });
}
