import { textBlocks } from '../lines/other-formats.ts';
import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import type { ReadRequest } from '../../../kit/source.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { openText } from '../csv/csv-input.ts';
import type { CsvPageOptions } from '../csv/csv-page-maker.ts';
import { csvPages } from '../csv/csv-pages.ts';
import { NameOrder } from '../json/name-order.ts';
import { LineDoubts } from '../json/line-doubts.ts';
import { jsonDocument } from '../json/json-document.ts';
import { jsonLines, jsonLinesOrRejected } from '../json/json-lines-file.ts';
import { pageBounds } from '../../../kit/page-bounds.ts';
import { cutPages, unsized, type ReadLine, type Sized } from '../lines/cut-pages.ts';
import { ParquetReader } from '../parquet/parquet-reader.ts';
import { textOf, wholeOf } from '../output/whole.ts';
import type { ReadWith } from '../avro/avro-differences.ts';
import { avroRecords } from '../avro/avro-records.ts';
import { requireSame, type FileColumns } from '../parquet/parquet-schemas.ts';
import type { FileReading } from './reading-blocks.ts';
import type { Input } from './input.ts';
import { readSheet, sheetChoice } from '../excel/sheet-records.ts';
import { xmlRecords } from '../xml/xml-records.ts';
import { tellMisnamedEncoding, xmlText } from '../../../lib/xml/xml-text.ts';

/** What one run of the source carries from file to file. */
export interface Reading {
  readonly config: FileReading;
  readonly context: SourceContext;
  readonly lane: ReadRequest['lane'];
  /** Whether records that cannot be read are put to the pages as rejected ones. */
  readonly rejects: boolean;
  /** Whether a JSON document that is no array is one record. */
  readonly loneRecords: boolean;
  /** How many more records may be read. */
  left: number;
  /** Avro: the schema that is given or that of the first file, which later files are read with. */
  avro: ReadWith | undefined;
  /** JSON: the order of the fields so far. */
  readonly order: NameOrder;
  /** The fields that the first file says it has; every later one is read with the same. */
  fields: RecordSchema | undefined;
  /** Parquet: the first file, whose columns every later one has. */
  columns: FileColumns | undefined;
}

/** The pages of one file; no page spans two. */
export function pagesOf(input: Input, reading: Reading): AsyncIterable<Page> {
  const { config, context, lane, left } = reading;
  const options = {
    lane,
    bounds: pageBounds(config.batch_size, context.pageBytes),
    limit: left,
    signal: context.signal,
  };
  return input.format === 'csv'
    ? delimitedPages(input, reading, options)
    : cutPages(batchesOf(input, reading), {
        ...options,
        schema: () => reading.fields ?? reading.order.schema,
      });
}

async function* delimitedPages(
  input: Input,
  { config, context, rejects }: Reading,
  options: Omit<CsvPageOptions, 'shape' | 'name' | 'encoding' | 'rejects'>,
): AsyncGenerator<Page> {
  const { csv } = config;
  const { name } = input;
  const quote = csv.quote.charCodeAt(0);
  const { delimiter, firstByte, encoding, blocks } = await openText(input.blocks(), {
    encoding: csv.encoding,
    skipped: csv.skip_rows,
    delimiter: csv.delimiter === 'auto' ? 'auto' : csv.delimiter.charCodeAt(0),
    quote,
    name,
    log: context.env.log,
  });
  const shape = {
    dialect: { delimiter, quote },
    hasHeaders: csv.has_headers,
    flexible: csv.flexible,
    nullValues: csv.null_values,
  };
  yield* csvPages(blocks, {
    ...options,
    shape,
    name,
    encoding,
    rejects: rejects ? { byte: firstByte } : undefined,
  });
}

function batchesOf(input: Input, reading: Reading): AsyncIterable<Iterable<ReadLine>> {
  switch (input.format) {
    case 'json_lines':
      return lineBatches(input, reading);
    case 'parquet':
      return unsized(parquetRecords(input, reading));
    case 'avro':
      return unsized(avroOf(input, reading));
    case 'json_array':
      return jsonElements(input, reading);
    default:
      return unsized(wholeFile(input, reading));
  }
}

async function* lineBatches(
  input: Input,
  { rejects, context, order }: Reading,
): AsyncGenerator<Iterable<ReadLine>> {
  const { name } = input;
  const doubts = new LineDoubts(name, context.env.log);
  yield* (rejects ? jsonLinesOrRejected : jsonLines)(
    textBlocks(input.blocks(), { name, hasEncodings: false }),
    { name, doubts, order },
  );
  doubts.end();
}

async function* wholeFile(input: Input, reading: Reading): AsyncGenerator<readonly JsonValue[]> {
  const { config, context } = reading;
  const { name } = input;
  if (input.format === 'xlsx') {
    const { sheet, header_row: headerRow } = config.excel;
    const { records, schema } = readSheet(await wholeOf(input.blocks(), name), {
      sheet: sheetChoice(sheet),
      headerRow,
      name,
      log: context.env.log,
    });
    reading.fields ??= schema;
    yield records;
    return;
  }
  if (input.format === 'xml') {
    const bytes = await wholeOf(input.blocks(), name);
    tellMisnamedEncoding(bytes, name, context.env.log);
    const content = xmlText(bytes, name);
    yield xmlRecords(content, { recordElement: config.xml.record_element, name });
    return;
  }
  yield [{ ...input.origin, content: await textOf(input.blocks(), name) }];
}

async function* jsonElements(
  input: Input,
  { context, loneRecords, order }: Reading,
): AsyncGenerator<Iterable<Sized>> {
  const { name } = input;
  const text = await textOf(input.blocks(), name);
  yield jsonDocument(text, { name, loneRecords, log: context.env.log, order });
}

export async function openParquet(
  input: Input,
  config: FileReading,
  { signal }: SourceContext,
): Promise<ParquetReader> {
  const options = { signal, columns: config.parquet.columns, omitNulls: false };
  if (input.plainPath !== undefined)
    return ParquetReader.open({ ...options, path: input.plainPath });
  if (input.ranges !== undefined)
    return ParquetReader.ofRanges(input.ranges(), { ...options, path: input.name });
  return ParquetReader.ofBytes(await wholeOf(input.blocks(), input.name), {
    ...options,
    path: input.name,
  });
}

async function* parquetRecords(
  input: Input,
  reading: Reading,
): AsyncGenerator<readonly JsonValue[]> {
  const reader = await openParquet(input, reading.config, reading.context);
  try {
    reading.fields ??= reader.schema;
    reading.columns ??= { name: input.name, columns: reader.columns };
    requireSame(reading.columns, { name: input.name, columns: reader.columns });
    for (let group = 0; group < reader.rowGroups; group += 1) yield* reader.rowGroup(group);
  } finally {
    await reader.close();
  }
}

function avroOf(input: Input, reading: Reading): AsyncIterable<readonly JsonValue[]> {
  return avroRecords(input.blocks(), {
    readWith: reading.avro,
    name: input.name,
    signal: reading.context.signal,
    onSchema: (schema, fields) => {
      reading.avro ??= { schema, file: input.name };
      reading.fields ??= fields;
    },
  });
}
