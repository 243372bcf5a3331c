import { declaredColumns, inferTypes } from '../../../kit/declared-columns.ts';
import { z } from 'zod';
import { otherName } from '../../../kit/other-name.ts';
import { onReadError } from '../../../kit/rejected-record.ts';
import { batchSize, boolean, finding, integer, optional, text } from '../../../kit/schema.ts';
import { compression, encryption, filePath } from '../../_files/config.ts';
import { encodingName, skippedLines } from '../../_files/csv/csv-config.ts';

export const FORMATS = [
  'json_lines',
  'json_array',
  'csv',
  'xml',
  'xlsx',
  'parquet',
  'avro',
  'raw_text',
] as const;
export type Format = (typeof FORMATS)[number];

export const character = (fallback: string, description: string) =>
  z
    .preprocess((value) => (value === '\\t' ? '\t' : value), z.string().length(1))
    .default(fallback)
    .superRefine((value, ctx) => {
      if (value > '\u007f' || value === '\0' || value === '\n' || value === '\r')
        ctx.addIssue(finding('invalid_value', 'must be an ASCII character and no line end'));
    })
    .meta({ description });

const csv = z.lazy(() =>
  otherName(
    'has_header',
    'has_headers',
    z
      .strictObject({
        delimiter: z
          .union([z.literal('auto'), character(',', 'What stands between cells: one character.')])
          .default(',')
          .meta({
            description:
              'What stands between cells: one character, or `auto`: the one of comma, semicolon, tab and bar that the first row of each file has most of.',
            examples: [',', ';', 'auto'],
          }),
        encoding: encodingName(),
        skip_rows: skippedLines(),
        quote: character(
          '"',
          'What encloses cells that contain delimiters or line ends: one character.',
        ),
        has_headers: boolean()
          .default(true)
          .meta({ description: 'Whether the first row of each file names the columns.' }),
        flexible: boolean()
          .default(false)
          .meta({ description: 'Whether rows may differ in length from the first.' }),
        null_values: z
          .array(z.string())
          .default([])
          .meta({ description: 'Cell texts read as null.' }),
      })
      .superRefine((value, ctx) => {
        if (value.delimiter === value.quote)
          ctx.addIssue(
            finding('invalid_value', '`delimiter` and `quote` must differ', { path: ['quote'] }),
          );
      }),
  ),
);

const excel = z.lazy(() =>
  z.strictObject({
    sheet: optional(z.union([text(), z.int().min(1)])).meta({
      description: 'Name of the sheet or its number from 1; the first one when absent.',
    }),
    header_row: integer({ min: 1 }).default(1).meta({
      description: 'Number of the row that names the columns, from 1; rows above are left out.',
    }),
  }),
);

const xml = z.lazy(() =>
  z.strictObject({
    record_element: optional(text()).meta({
      description:
        'Name of the element that is a record, at any depth; the children of the root when absent.',
    }),
  }),
);

function fromJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

export const avroSchema = (description: string) =>
  optional(z.preprocess(fromJson, z.record(z.string(), z.unknown()))).meta({ description });

const avro = z.lazy(() =>
  z.strictObject({
    schema: avroSchema(
      'Reader schema, as JSON text or as a mapping; that of the first file when absent.',
    ),
  }),
);

const parquet = z.lazy(() =>
  z.strictObject({
    columns: optional(z.array(text()).min(1)).meta({
      description: 'Top-level columns to read; all when absent.',
    }),
  }),
);

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
      batch_size: batchSize().meta({
        description: 'Records a page holds at most; 0 gives one page per file.',
      }),
      concurrency: integer({ min: 1, max: 1024 }).default(4).meta({
        description: 'How many Parquet files have their schema checked at the same time.',
      }),
      csv: csv.prefault({}).meta({ description: 'How delimited text is read.' }),
      excel: excel.prefault({}).meta({ description: 'How spreadsheets are read.' }),
      xml: xml.prefault({}).meta({ description: 'How XML is read.' }),
      avro: avro.prefault({}).meta({ description: 'How Avro is read.' }),
      parquet: parquet.prefault({}).meta({ description: 'How Parquet is read.' }),
    })
    .superRefine((value, ctx) => {
      if (value.format === 'orc') {
        const hint = `available: auto, ${FORMATS.join(', ')}`;
        ctx.addIssue(
          finding('not_available', 'reading orc files is not available in this version', {
            path: ['format'],
            hint,
          }),
        );
      }
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

const EXTENSIONS: Readonly<Record<string, Format>> = {
  jsonl: 'json_lines',
  ndjson: 'json_lines',
  json: 'json_array',
  csv: 'csv',
  xml: 'xml',
  xlsx: 'xlsx',
  parquet: 'parquet',
  avro: 'avro',
  txt: 'raw_text',
};

/**
 * The format that an extension means, after the suffix of a compression has been removed; `undefined`
 * when no format has it.
 */
export function formatOfName(name: string): Format | 'orc' | undefined {
  const extension = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  return extension === 'orc' ? 'orc' : EXTENSIONS[extension];
}
