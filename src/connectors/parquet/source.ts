import { z } from 'zod';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { batchSize, integer, optional, text } from '../../kit/schema.ts';
import { defineSource, type ReadRequest, type Source } from '../../kit/source.ts';
import { isInShare } from '../../kit/share.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import { cutPages, unsized } from '../_files/lines/cut-pages.ts';
import {
  requireOneSchema,
  requireSame,
  type FileColumns,
} from '../_files/parquet/parquet-schemas.ts';
import { fileUri } from '../_files/paths.ts';
import { FolderFields, hivePartitioning } from '../_files/read/folder-fields.ts';
import { addressIn, isStored } from '../_objects/places.ts';
import { dividedIn, localInputs, objectInputs } from './source-files.ts';
import { location } from './source-location.ts';

const config = z.lazy(() =>
  z.strictObject({
    source: location,
    batch_size: batchSize().meta({
      description: 'Records a page holds at most; 0 gives one page per row group.',
    }),
    columns: optional(z.array(text()).min(1)).meta({
      description: 'Top-level columns to read; all when absent.',
    }),
    hive_partitioning: hivePartitioning(),
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
    { source: { type: 's3', bucket: 'lake', prefix: 'orders/', region: 'eu-north-1' } },
    { source: { type: 'gcs', bucket: 'lake', prefix: 'orders/' } },
    { source: { type: 'azure-blob', container: 'lake', account: 'acme', key: 'orders.parquet' } },
  ],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: ({ source }) => {
    if (isStored(source)) return addressIn(source, source.key ?? source.prefix ?? '');
    return fileUri(source.type === 'glob' ? source.pattern : source.path);
  },
  localPath: ({ source }) => (source.type === 'local_path' ? source.path : undefined),
  divides: ({ source }) => dividedIn(source),
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
  const { source, columns } = value;
  const local = isStored(source) ? [] : await localInputs(source, { columns, context });
  await requireOneSchema(local, {
    concurrency: value.concurrency,
    open: (input) => input.open(),
  });
  const inputs = isStored(source)
    ? objectInputs(source, { columns, context })
    : local.filter(({ name }) => isInShare(name, context.share));
  let left = request.limit ?? Infinity;
  if (left === 0) return;
  let schema: RecordSchema | undefined;
  let first: FileColumns | undefined;
  const folders = new FolderFields(value, context.env.log);
  for await (const { name, open } of inputs) {
    const reader = await open();
    try {
      // All files have the same.
      schema ??= reader.schema;
      first ??= { name, columns: reader.columns };
      requireSame(first, { name, columns: reader.columns });
      for (let group = 0; group < reader.rowGroups && left > 0; group += 1) {
        const bounds = pageBounds(value.batch_size, context.pageBytes);
        const options = { lane: request.lane, bounds, limit: left, signal: context.signal };
        const read = withSchema(cutPages(unsized(reader.rowGroup(group)), options), schema);
        for await (const page of folders.pages(read, name)) {
          left -= page.count;
          yield page;
        }
      }
    } finally {
      await reader.close();
    }
    if (left === 0) return;
  }
}

async function* withSchema(read: AsyncIterable<Page>, schema: RecordSchema): AsyncGenerator<Page> {
  for await (const page of read) yield page.withSchema(schema);
}
