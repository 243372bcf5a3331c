import { z } from 'zod';
import { batchSize, boolean, finding } from '../../kit/schema.ts';
import { defineSource, type Source } from '../../kit/source.ts';
import type { SourceContext } from '../../kit/context.ts';
import { declaredColumns, typedPages, TYPES_RECORDS } from '../../kit/declared-columns.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { readBlocks } from '../_files/lines/blocks.ts';
import { chooseCodec } from '../_files/compression/compression.ts';
import { byteCode, compression, filePath } from '../_files/config.ts';
import { csvPages } from '../_files/csv/csv-pages.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import { fileUri, resolvePath } from '../_files/paths.ts';

const config = z.lazy(() =>
  z
    .strictObject({
      path: filePath('File to read; relative paths start at the folder the process runs in.'),
      has_headers: boolean().default(true).meta({
        description:
          'Whether the first row names the columns; otherwise they are called column_0, column_1, …',
      }),
      delimiter: byteCode(44, 'What stands between cells: a byte code or a one-character string.'),
      quote: byteCode(
        34,
        'What encloses cells that contain delimiters or line ends: a byte code or a one-character string.',
      ),
      flexible: boolean().default(false).meta({
        description:
          'Whether rows may differ in length from the first: short ones lack their last keys, long ones gain column_N keys.',
      }),
      null_values: z
        .array(z.string())
        .default([])
        .meta({ description: 'Cell texts read as null.', examples: [['', 'NULL']] }),
      columns: declaredColumns(),
      batch_size: batchSize(),
      compression: compression('the file'),
    })
    .superRefine((value, ctx) => {
      if (value.delimiter !== value.quote) return;
      ctx.addIssue(
        finding('invalid_value', '`delimiter` and `quote` must differ', { path: ['quote'] }),
      );
    }),
);

type CsvSourceConfig = z.infer<typeof config>;

export const csvSource = defineSource<CsvSourceConfig>({
  type: 'csv',
  description:
    'Reads a file of delimited text, row by row; values are strings where `columns` gives no types.',
  config,
  examples: [
    { path: 'orders.csv' },
    { path: 'inventory.tsv.gz', delimiter: 9, has_headers: false },
    { path: 'orders.csv', columns: { id: 'int64', price: 'decimal(12, 2)' } },
    {
      path: 'ragged.csv',
      delimiter: ';',
      flexible: true,
      null_values: ['', 'NULL'],
      batch_size: 5000,
    },
  ],
  capabilities: ({ columns }) => ({
    replay: 'none',
    bookmarks: false,
    ...(columns === undefined
      ? { encodings: [JSON_LINES.name], columns: true }
      : { encodings: [], recordsBecause: TYPES_RECORDS }),
  }),
  declares: ({ columns }) => columns,
  datasetUri: (value) => fileUri(value.path),
  localPath: (value) => value.path,
  open: async (value, context) => openCsv(value, context),
  describe: () => Promise.resolve({ columns: [], others: 'cells' }),
});

function openCsv(value: CsvSourceConfig, context: SourceContext): Source {
  const file = resolvePath(context.env.cwd, value.path);
  const codec = chooseCodec(value.compression, value.path, context.env.log);
  return {
    pages: ({ lane, limit }) => {
      const pages = csvPages(
        readBlocks({ path: file, codec, signal: context.signal, borrowed: true }),
        {
          shape: {
            dialect: { delimiter: value.delimiter, quote: value.quote },
            hasHeaders: value.has_headers,
            flexible: value.flexible,
            nullValues: value.null_values,
          },
          lane,
          bounds: pageBounds(value.batch_size, context.pageBytes),
          limit,
          signal: context.signal,
          name: value.path,
        },
      );
      return value.columns === undefined
        ? pages
        : typedPages(pages, value.columns, { name: value.path, fromText: true });
    },
    close: async () => {},
  };
}
