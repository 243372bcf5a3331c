import { z } from 'zod';
import { otherName } from '../../../kit/other-name.ts';
import { batchSize, boolean, finding, integer, optional, text } from '../../../kit/schema.ts';
import { codecOfName, withoutCodecSuffix } from '../../_files/compression/compression.ts';
import { compression, encryption, filePath } from '../../_files/config.ts';
import { AVRO_CODECS } from '../../_files/avro/avro-codecs.ts';
import { PARQUET_CODECS } from '../../_files/parquet/parquet-file.ts';
import { avroSchema, character, formatOfName } from '../read/source-config.ts';

export const SINK_FORMATS = [
  'json_lines',
  'json_array',
  'csv',
  'xml',
  'xlsx',
  'parquet',
  'avro',
  'raw_text',
] as const;
export type SinkFormat = (typeof SINK_FORMATS)[number];

/** Formats to which something can be added at the end. */
const GROWING: readonly string[] = ['json_lines', 'csv', 'raw_text'];

const csv = z.lazy(() =>
  otherName(
    'has_header',
    'has_headers',
    z
      .strictObject({
        delimiter: character(',', 'What stands between cells: one character.'),
        has_headers: boolean()
          .default(true)
          .meta({ description: 'Whether the first line names the columns.' }),
        quote: character('"', 'What encloses cells that need it: one character.'),
        on_unknown_field: z.enum(['widen', 'warn', 'error']).default('widen').meta({
          description:
            'What to do with a field that the first page did not have: add a column, drop it with one warning, or fail.',
        }),
      })
      .superRefine((value, ctx) => {
        if (value.delimiter === value.quote)
          ctx.addIssue(
            finding('invalid_value', '`delimiter` and `quote` must differ', { path: ['quote'] }),
          );
      }),
  ),
);

const elementName = (fallback: string, description: string) =>
  z
    .string()
    .regex(/^[A-Za-z_][\w.-]*$/)
    .default(fallback)
    .meta({ description });

const xml = z.lazy(() =>
  z.strictObject({
    root_element: elementName('records', 'Name of the outermost element.'),
    record_element: elementName('record', 'Name of the element around each record.'),
  }),
);

const avro = z.lazy(() =>
  z
    .strictObject({
      schema: avroSchema(
        'Schema of the file, a record, as JSON text or as a mapping. Fields that it does not have, and values that it cannot hold, fail the run.',
      ),
      codec: z
        .enum(AVRO_CODECS)
        .default('null')
        .meta({ description: 'Compression of the blocks of the file.' }),
    })
    .superRefine(({ schema }, ctx) => {
      if (schema === undefined || (schema['type'] === 'record' && Array.isArray(schema['fields'])))
        return;
      const hint = 'write `{type: record, name: …, fields: [{name: …, type: …}]}`';
      ctx.addIssue(
        finding('invalid_value', 'must be a record with `fields`', { path: ['schema'], hint }),
      );
    }),
);

const config = z.lazy(() =>
  z.strictObject({
    path: filePath(
      'File to write. `{part}` stands for a number (00001 …); a path ending in `/` is a folder of `part-{part}` files.',
    ),
    format: z
      .enum(['auto', ...SINK_FORMATS, 'orc'])
      .default('auto')
      .meta({
        description:
          'Format of the files; `auto` goes by the extension. `orc` is not available in this version.',
      }),
    compression: compression('each file as a whole'),
    if_exists: z
      .preprocess(
        (value) =>
          value === 'overwrite' ? 'replace' : value === 'error_if_exists' ? 'error' : value,
        z.enum(['replace', 'append', 'error']),
      )
      .default('replace')
      .meta({
        description:
          'What to do about the files of an earlier run; with `replace`, also parts that this run does not have are removed, and a run without records leaves an empty file where one was (no file, if it is Parquet, or Avro without a schema). `mode` is another name of this field.',
      }),
    write_mode: z.enum(['append', 'overwrite']).default('append').meta({
      description:
        'With `overwrite`, a run without records writes an empty file also where none was.',
    }),
    max_records_per_file: optional(integer({ min: 1 })).meta({
      description: 'Start another file after this many records.',
    }),
    max_bytes_per_file: optional(integer({ min: 1 })).meta({
      description: 'Start another file at this size, counted as JSON before compression.',
    }),
    create_dirs: boolean()
      .default(true)
      .meta({ description: 'Whether missing folders are created.' }),
    batch_size: batchSize().meta({
      description: 'Accepted for uniformity; records are written as they come.',
    }),
    csv: csv.prefault({}).meta({ description: 'How delimited text is written.' }),
    excel: z
      .strictObject({ sheet: text().default('Sheet1').meta({ description: 'Name of the sheet.' }) })
      .prefault({})
      .meta({ description: 'How spreadsheets are written.' }),
    xml: xml.prefault({}).meta({ description: 'How XML is written.' }),
    parquet: z
      .strictObject({
        compression: z
          .enum(PARQUET_CODECS)
          .default('snappy')
          .meta({ description: 'Compression inside the file.' }),
        row_group_size: integer({ min: 1 })
          .default(1_048_576)
          .meta({ description: 'Records a row group holds at most.' }),
      })
      .prefault({})
      .meta({ description: 'How Parquet is written; the columns are learned from all records.' }),
    avro: avro.prefault({}).meta({
      description:
        'How Avro is written; without a schema, the fields are learned from all records.',
    }),
    json_lines: z
      .strictObject({
        pretty: boolean()
          .default(false)
          .meta({ description: 'Whether to indent; then a record is no longer one line.' }),
      })
      .prefault({})
      .meta({ description: 'How JSON Lines are written.' }),
    encryption: encryption(),
  }),
);

export type FileSinkConfig = z.infer<typeof config>;

export const sinkConfig = z.lazy(() =>
  otherName(
    'mode',
    'if_exists',
    config.superRefine((value, ctx) => {
      const issue = (message: string, path: string, hint?: string) =>
        ctx.addIssue(
          finding('invalid_value', message, {
            path: [path],
            ...(hint === undefined ? {} : { hint }),
          }),
        );
      if (value.format === 'orc') {
        ctx.addIssue(
          finding('not_available', 'writing orc files is not available in this version', {
            path: ['format'],
          }),
        );
        return;
      }
      const format = sinkFormat(value);
      if (format === undefined) {
        issue(
          'the extension does not tell a format that can be written',
          'path',
          `set \`format\` to one of: ${SINK_FORMATS.join(', ')}`,
        );
        return;
      }
      if (value.write_mode === 'overwrite' && value.if_exists !== 'replace')
        issue('`write_mode: overwrite` needs `if_exists: replace`', 'if_exists');
      if (value.if_exists === 'append' && !isNumbered(value) && !canGrow(value)) {
        issue(
          `${format} files cannot be continued this way`,
          'if_exists',
          'put `{part}` into the path, so that each run adds files',
        );
      }
      if (value.json_lines.pretty && value.encryption !== undefined)
        issue('`pretty` has no place in an encrypted file', 'json_lines');
    }),
  ),
);

/** The format of the files; `undefined` when it is unknown or cannot be written. */
export function sinkFormat(value: FileSinkConfig): SinkFormat | undefined {
  const format =
    value.format === 'auto' ? formatOfName(withoutCodecSuffix(value.path)) : value.format;
  return SINK_FORMATS.find((one) => one === format);
}

export function isNumbered(value: FileSinkConfig): boolean {
  return value.path.includes('{part}') || value.path.endsWith('/') || isCapped(value);
}

export function isCapped(value: FileSinkConfig): boolean {
  return value.max_records_per_file !== undefined || value.max_bytes_per_file !== undefined;
}

export function sinkCodec(value: FileSinkConfig) {
  return value.compression === 'auto' ? codecOfName(value.path) : value.compression;
}

/** Whether each line is encrypted on its own; other files are encrypted as a whole. */
export function encryptsLines(value: FileSinkConfig): boolean {
  const format = sinkFormat(value);
  return (
    value.encryption !== undefined &&
    sinkCodec(value) === 'none' &&
    (format === 'json_lines' || format === 'raw_text')
  );
}

/** Whether a file of an earlier run can be continued. */
export function canGrow(value: FileSinkConfig): boolean {
  return (
    GROWING.includes(sinkFormat(value) ?? '') &&
    (value.encryption === undefined || encryptsLines(value))
  );
}
