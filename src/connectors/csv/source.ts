import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import { batchSize, boolean, finding } from '../../kit/schema.ts';
import { onReadError, rejectingLane } from '../../kit/rejected-record.ts';
import { defineSource, type Source } from '../../kit/source.ts';
import type { SourceContext } from '../../kit/context.ts';
import { declaredColumns, encodingsOf, inferTypes } from '../../kit/declared-columns.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { pagesWithTypes, typedRecord } from '../../kit/typed-pages.ts';
import type { Page } from '../../kit/page.ts';
import type { CsvShape } from '../_files/csv/csv-page-maker.ts';
import { readBlocks } from '../_files/lines/blocks.ts';
import { chooseCodec } from '../_files/compression/compression.ts';
import { byteCode, compression, filePath } from '../_files/config.ts';
import { encodingName, skippedLines } from '../_files/csv/csv-config.ts';
import { openText } from '../_files/csv/csv-input.ts';
import { csvPages } from '../_files/csv/csv-pages.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import { fileUri, resolvePath } from '../_files/paths.ts';

const config = z.lazy(() =>
  otherName(
    'has_header',
    'has_headers',
    z
      .strictObject({
        path: filePath('File to read; relative paths start at the folder the process runs in.'),
        has_headers: boolean().default(true).meta({
          description:
            'Whether the first row names the columns; otherwise they are called column_0, column_1, … `has_header` is another name of this field.',
        }),
        delimiter: z
          .union([
            z.literal('auto'),
            byteCode(44, 'What stands between cells: a byte code or a one-character string.'),
          ])
          .default(44)
          .meta({
            description:
              'What stands between cells: a byte code, a one-character string, or `auto`: the one of comma, semicolon, tab and bar that the first row has most of.',
            examples: [44, ',', 'auto'],
          }),
        encoding: encodingName(),
        skip_rows: skippedLines(),
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
        infer_types: inferTypes(),
        on_error: onReadError(
          'A row that is no text, has another number of cells than the first or does not end, or a value that does not fit its type,',
        ),
        batch_size: batchSize(),
        compression: compression('the file'),
      })
      .superRefine((value, ctx) => {
        if (value.delimiter !== value.quote) return;
        ctx.addIssue(
          finding('invalid_value', '`delimiter` and `quote` must differ', { path: ['quote'] }),
        );
      }),
  ),
);

type CsvSourceConfig = z.infer<typeof config>;

const LINES = [JSON_LINES.name];

export const csvSource = defineSource<CsvSourceConfig>({
  type: 'csv',
  description:
    'Reads a file of delimited text, row by row; values are strings where neither `columns` nor `infer_types` gives types.',
  config,
  examples: [
    { path: 'orders.csv' },
    { path: 'inventory.tsv.gz', delimiter: 9, has_headers: false },
    { path: 'orders.csv', columns: { id: 'int64', price: 'decimal(12, 2)' } },
    { path: 'orders.csv', infer_types: true, columns: { zip: 'utf8' } },
    { path: 'orders.csv', columns: { price: 'decimal(12, 2)' }, on_error: 'dlq' },
    {
      path: 'ragged.csv',
      delimiter: ';',
      flexible: true,
      null_values: ['', 'NULL'],
      batch_size: 5000,
    },
  ],
  capabilities: (value) => ({
    replay: 'none',
    bookmarks: false,
    columns: true,
    ...encodingsOf(value, LINES),
    ...(value.on_error === 'dlq' ? rejectingLane(LINES) : {}),
  }),
  quarantines: ({ on_error: onError }) => onError === 'dlq',
  // A row says nothing without the names of its columns.
  reread: (value, { payload, input: name }) =>
    typeof payload === 'string' ? undefined : typedRecord(payload, value, { name, fromText: true }),
  declares: ({ columns }) => columns,
  infersTypes: ({ infer_types: infers }) => infers,
  datasetUri: (value) => fileUri(value.path),
  localPath: (value) => value.path,
  open: async (value, context) => openCsv(value, context),
  describe: () => Promise.resolve({ columns: [], others: 'cells' }),
});

function openCsv(value: CsvSourceConfig, context: SourceContext): Source {
  const file = resolvePath(context.env.cwd, value.path);
  const codec = chooseCodec(value.compression, value.path, context.env.log);
  return {
    pages: ({ lane, limit: wanted, rejects: takesRejected }) => {
      const { env, signal } = context;
      const rejects = value.on_error === 'dlq' && takesRejected === true;
      const { path: name } = value;
      const bounds = pageBounds(value.batch_size, context.pageBytes);
      const read = async function* (limit: number | undefined): AsyncGenerator<Page> {
        const stored = readBlocks({ path: file, codec, signal, borrowed: true });
        const { delimiter, firstByte, encoding, blocks } = await openText(stored, {
          encoding: value.encoding,
          skipped: value.skip_rows,
          delimiter: value.delimiter,
          quote: value.quote,
          name,
          log: env.log,
        });
        const shape = shapeOf(value, delimiter);
        yield* csvPages(blocks, {
          shape,
          lane,
          bounds,
          limit,
          signal,
          name,
          encoding,
          rejects: rejects ? { byte: firstByte } : undefined,
        });
      };
      const types = { config: value, name, fromText: true, limit: wanted, log: env.log, rejects };
      return pagesWithTypes(read, types);
    },
    close: async () => {},
  };
}

function shapeOf(value: CsvSourceConfig, delimiter: number): CsvShape {
  return {
    dialect: { delimiter, quote: value.quote },
    hasHeaders: value.has_headers,
    flexible: value.flexible,
    nullValues: value.null_values,
  };
}
