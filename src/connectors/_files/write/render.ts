import { rm } from 'node:fs/promises';
import { ConnectorError } from '../../../lib/errors.ts';
import { exactField, literalValue } from '../../../lib/text/json-literal.ts';
import { recordWriter } from '../../../kit/record-text.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { readBlocks } from '../lines/blocks.ts';
import { cellsOf, cellText, CsvFormat } from '../csv/csv-writer.ts';
import { encryptLine } from '../json/json-lines-file.ts';
import { escapedText } from '../excel/workbook.ts';
import type { ColumnKind } from '../typed/column-kinds.ts';
import type { Schema as AvroSchema } from '../avro/avro-values.ts';
import { createParquetFile } from '../parquet/create-parquet.ts';
import { encryptsLines, isPlainLines, type FileWriting } from './writing-blocks.ts';
import type { Spool } from './spool.ts';
import { xmlElement } from '../xml/write-xml.ts';

export interface RenderOptions {
  readonly writing: FileWriting;
  readonly signal: AbortSignal;
  /** Columns of tables, in order. */
  readonly columns: readonly string[];
  /** Columns of Parquet and Avro. */
  readonly kinds: ReadonlyMap<string, ColumnKind>;
  /** Called for each field that no column can hold. */
  readonly onDropped: (path: string) => void;
  /** Called for each field of which the format holds some values as others. */
  readonly onChanged: (change: Change) => void;
  /** Whether the file is continued: then it has its header already. */
  readonly continued: boolean;
  /** An unused path in the same folder, for formats that need a file of their own. */
  readonly temporary: string;
}

export interface Change {
  readonly field: string;
  /** What becomes of the values. */
  readonly what: string;
  readonly records: number;
}

/** The bytes of a file, made from its records, before compression and encryption as a whole. */
export async function* render(spool: Spool, options: RenderOptions): AsyncGenerator<Uint8Array> {
  const { format } = options.writing;
  if (format === 'xlsx') yield await spreadsheet(spool, options);
  else if (format === 'parquet') yield* parquet(spool, options);
  else if (format === 'avro') yield* avro(spool, options);
  else if (isPlainLines(options.writing)) yield* spool.lines(options.signal);
  else for await (const text of textOf(spool, options)) if (text !== '') yield Buffer.from(text);
}

async function* textOf(spool: Spool, options: RenderOptions): AsyncGenerator<string> {
  switch (options.writing.format) {
    case 'csv':
      return yield* csv(spool, options);
    case 'json_array':
      return yield* jsonArray(spool, options);
    case 'xml':
      return yield* xml(spool, options);
    default:
      return yield* lines(spool, options);
  }
}

async function* lines(spool: Spool, { writing, signal }: RenderOptions): AsyncGenerator<string> {
  const key = encryptsLines(writing) ? writing.encryption?.key : undefined;
  const indent = writing.json_lines.pretty ? 2 : undefined;
  for await (const records of spool.read(signal)) {
    const write = writing.format === 'raw_text' ? rawText : recordWriter(spool.schema);
    const lineOf = (record: JsonValue): string => write(record, indent);
    yield records
      .map((record) => `${key === undefined ? lineOf(record) : encryptLine(key, lineOf(record))}\n`)
      .join('');
  }
}

/** A text, or an object with a text called `content`. A line end at its end is not doubled. */
function rawText(record: JsonValue): string {
  const text = isObject(record) ? record['content'] : record;
  if (typeof text === 'string') return text.replace(/\n$/, '');
  throw new ConnectorError(
    'data',
    'raw_text needs records that are text or have a text called `content`',
  );
}

async function* jsonArray(spool: Spool, { signal }: RenderOptions): AsyncGenerator<string> {
  let before = '[\n';
  for await (const records of spool.read(signal)) {
    const write = recordWriter(spool.schema);
    for (const record of records) {
      yield before + write(record);
      before = ',\n';
    }
  }
  yield before === '[\n' ? '[]\n' : '\n]\n';
}

async function* xml(
  spool: Spool,
  { writing, signal, onChanged }: RenderOptions,
): AsyncGenerator<string> {
  const { root_element: root, record_element: element } = writing.xml;
  const replaced = new Map<string, number>();
  const elementOf = (record: JsonValue): string => {
    const fields = new Set<string>();
    const text = xmlElement(element, record, (field) => fields.add(field));
    for (const field of fields) replaced.set(field, (replaced.get(field) ?? 0) + 1);
    return text;
  };
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<${root}>\n`;
  for await (const records of spool.read(signal))
    yield records.map((record) => `  ${elementOf(record)}\n`).join('');
  for (const [field, count] of replaced)
    onChanged({ field, what: 'characters that XML cannot have are U+FFFD', records: count });
  yield `</${root}>\n`;
}

async function* csv(
  spool: Spool,
  { writing, signal, columns, continued }: RenderOptions,
): AsyncGenerator<string> {
  const format = new CsvFormat({
    delimiter: writing.csv.delimiter.charCodeAt(0),
    quote: writing.csv.quote.charCodeAt(0),
  });
  if (writing.csv.has_headers && !continued && columns.length > 0) yield format.row(columns);
  for await (const records of spool.read(signal)) {
    yield (records as JsonObject[]).map((record) => format.row(cellsOf(record, columns))).join('');
  }
}

async function* parquet(
  spool: Spool,
  { writing, signal, temporary, kinds, onDropped }: RenderOptions,
): AsyncGenerator<Uint8Array> {
  if (kinds.size === 0) return;
  const { compression: codec, row_group_size: rowGroupSize } = writing.parquet;
  const output = await createParquetFile({
    path: temporary,
    columns: kinds,
    codec,
    rowGroupSize,
    onDropped,
  });
  try {
    for await (const records of spool.read(signal)) await output.add(records as JsonObject[]);
    await output.finish();
    yield* readBlocks({ path: temporary, codec: 'none', signal });
  } finally {
    await output.discard();
    await rm(temporary, { force: true });
  }
}

async function* avro(
  spool: Spool,
  { writing, signal, kinds, onDropped }: RenderOptions,
): AsyncGenerator<Uint8Array> {
  const { schema, codec } = writing.avro;
  if (schema === undefined && kinds.size === 0) return;
  const { avroFile } = await import('../avro/avro-writer.ts');
  const drop = (path: string): void => {
    if (schema === undefined) return onDropped(path);
    throw new ConnectorError(
      'data',
      `the field ${JSON.stringify(path)} is not in the schema of the file`,
      { hint: 'add it to `avro.schema`, or remove it with a `drop` transform' },
    );
  };
  yield* avroFile(spool.read(signal), {
    schema: (schema as AvroSchema | undefined) ?? kinds,
    codec,
    onDropped: drop,
  });
}

const XLSX_ROWS = 1_048_575;

async function spreadsheet(
  spool: Spool,
  { writing, signal, columns, onChanged }: RenderOptions,
): Promise<Uint8Array> {
  if (spool.records > XLSX_ROWS) {
    throw new ConnectorError(
      'data',
      `a sheet takes ${XLSX_ROWS} records, there are ${spool.records}`,
      {
        hint: 'set `max_records_per_file`',
      },
    );
  }
  const { default: writeXlsx } = await import('write-excel-file/node');
  const rows = [columns.map((name) => ({ value: escapedText(name), type: String }))] as object[][];
  const changes = columns.map(() => new Map<string, number>());
  for await (const records of spool.read(signal)) {
    for (const record of records as JsonObject[]) {
      const values = columns.map((name) => literalValue(exactField(record, name)));
      rows.push(values.map(sheetCell));
      for (const [index, counts] of changes.entries()) {
        const what = sheetChange(values[index]);
        if (what !== undefined) counts.set(what, (counts.get(what) ?? 0) + 1);
      }
    }
  }
  for (const [index, counts] of changes.entries())
    for (const [what, count] of counts)
      onChanged({ field: columns[index] ?? '', what, records: count });
  return writeXlsx(rows as never, { sheet: writing.excel.sheet }).toBuffer();
}

/** What a cell does not tell of a value. */
function sheetChange(value: JsonValue | undefined): string | undefined {
  if (value === '') return 'an empty text is an empty cell, as null is';
  return Object.is(value, -0) ? 'a negative zero is zero' : undefined;
}

function sheetCell(value: JsonValue | undefined): object {
  if (value === undefined || value === null || value === '') return { value: undefined };
  if (typeof value === 'boolean') return { value, type: Boolean };
  if (typeof value === 'number') return { value, type: Number };
  return { value: escapedText(cellText(value)), type: String };
}
