import { z } from 'zod';
import { otherName } from '../../../kit/other-name.ts';
import { boolean, finding, integer, optional, text } from '../../../kit/schema.ts';
import type { TypesConfig } from '../../../kit/declared-columns.ts';
import type { OnReadError } from '../../../kit/rejected-record.ts';
import { avroSchema } from '../avro/avro-config.ts';
import type { Encryption } from '../config.ts';
import type { FolderFieldsConfig } from './folder-fields.ts';
import { character, encodingName, skippedLines } from '../csv/csv-config.ts';

/** How each format is read; every source of files has these blocks. */
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
    sheet: optional(z.union([text(), integer({ min: 0 })])).meta({
      description: 'Sheet name, or its index from 0; unset: the first.',
    }),
    header_row: integer({ min: 0 }).default(0).meta({
      description: 'Row that names the columns, counted from 0; rows above are left out.',
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

/** Blocks of the config, one a format. */
export function readingBlocks() {
  return {
    csv: csv.prefault({}).meta({ description: 'How delimited text is read.' }),
    excel: excel.prefault({}).meta({ description: 'How spreadsheets are read.' }),
    xml: xml.prefault({}).meta({ description: 'How XML is read.' }),
    avro: avro.prefault({}).meta({ description: 'How Avro is read.' }),
    json_lines: z
      .strictObject({})
      .prefault({})
      .meta({ description: 'How JSON Lines are read: there is nothing to choose.' }),
    orc: optional(z.unknown()).meta({
      description: 'How ORC is read, which is not available in this version.',
    }),
    parquet: parquet.prefault({}).meta({ description: 'How Parquet is read.' }),
  };
}

type Blocks = Omit<ReturnType<typeof readingBlocks>, 'json_lines' | 'orc'>;
export type ReadingBlocks = { readonly [K in keyof Blocks]: z.output<Blocks[K]> };

/** What is read of the config of a source, whatever its files are. */
export interface FileReading extends ReadingBlocks, TypesConfig, FolderFieldsConfig {
  readonly batch_size: number;
  readonly on_error: OnReadError;
  /** How many Parquet files have their schema checked at the same time. */
  readonly concurrency: number;
  readonly encryption?: Encryption | undefined;
}
