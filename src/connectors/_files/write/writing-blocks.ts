import { z } from 'zod';
import { otherName } from '../../../kit/other-name.ts';
import { boolean, finding, integer, optional, text } from '../../../kit/schema.ts';
import { AVRO_CODECS } from '../avro/avro-codecs.ts';
import { avroSchema } from '../avro/avro-config.ts';
import type { Codec } from '../compression/compression.ts';
import type { Encryption } from '../config.ts';
import { character } from '../csv/csv-config.ts';
import type { Format } from '../formats.ts';
import { parquetColumns } from '../parquet/declared-parquet.ts';
import { PARQUET_CODECS } from '../parquet/parquet-file.ts';

/** How each format is written; every sink of files has these blocks. */
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

/** Blocks of the config, one a format. */
export function writingBlocks() {
  return {
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
        schema: optional(parquetColumns).meta({
          description:
            'Columns of the file. Fields that it does not have, values that a column cannot hold, and missing values that are not `nullable` fail the run.',
        }),
      })
      .prefault({})
      .meta({
        description:
          'How Parquet is written; without a schema, the columns are learned from all records.',
      }),
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
  };
}

type Blocks = ReturnType<typeof writingBlocks>;
export type WritingBlocks = { readonly [K in keyof Blocks]: z.output<Blocks[K]> };

/** How the files of a sink are made, whatever its config looks like. */
export interface FileWriting extends WritingBlocks {
  readonly format: Format;
  readonly codec: Codec;
  readonly encryption?: Encryption | undefined;
}

/** Formats of records with named columns. */
export const NEEDS_OBJECTS: ReadonlySet<Format> = new Set<Format>([
  'csv',
  'xlsx',
  'parquet',
  'avro',
]);

/** Whether the columns of the file are those of its records, so that there are none without a record. */
export function learnsColumns(writing: FileWriting): boolean {
  const { format } = writing;
  return (format === 'parquet' || format === 'avro') && writing[format].schema === undefined;
}

/** Whether each line is encrypted on its own; other files are encrypted as a whole. */
export function encryptsLines({ encryption, codec, format }: FileWriting): boolean {
  return (
    encryption !== undefined &&
    codec === 'none' &&
    (format === 'json_lines' || format === 'raw_text')
  );
}

/** Whether a file is the JSON Lines of its records, before it is compressed or encrypted. */
export function isPlainLines(writing: FileWriting): boolean {
  return writing.format === 'json_lines' && !writing.json_lines.pretty && !encryptsLines(writing);
}
