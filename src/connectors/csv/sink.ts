import { basename, join } from 'node:path';
import { z } from 'zod';
import type { SinkContext } from '../../kit/context.ts';
import type { Columns } from '../../kit/columns.ts';
import type { Page } from '../../kit/page.ts';
import { inSchemaOrder, type RecordSchema } from '../../kit/record-schema.ts';
import { batchSize, boolean } from '../../kit/schema.ts';
import {
  APPEND_ONLY,
  defineSink,
  requireOpen,
  type FinishReason,
  type Sink,
  type WriteResult,
} from '../../kit/sink.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { WrittenFile } from '../../lib/files/written-file.ts';
import { AppendingFile } from '../_files/output/appending-file.ts';
import { tellOldFileStays } from '../_files/output/no-records.ts';
import { ReplacingFile, hasPartToEnd } from '../_files/output/replacing-file.ts';
import { chooseCodec, type Codec } from '../_files/compression/compression.ts';
import { byteCode, compression, filePath, onFailure } from '../_files/config.ts';
import { CsvColumnRows, fieldsInOrder } from '../_files/csv/csv-column-rows.ts';
import { continueCsv } from '../_files/csv/csv-continue.ts';
import { cellsOf, columnsOf, CsvFormat, requireObjects } from '../_files/csv/csv-writer.ts';
import { fileUri, resolvePath } from '../_files/paths.ts';
import { probeFolder } from '../_files/output/probe-folder.ts';

const QUOTE = 34;
/** Delimiters from here on take more than one byte. */
const NO_ASCII = 128;

const config = z.lazy(() =>
  z.strictObject({
    path: filePath('File to write; its folders are created.'),
    delimiter: byteCode(44, 'What stands between cells: a byte code or a one-character string.'),
    write_headers: boolean()
      .default(true)
      .meta({ description: 'Whether the first line of a new file names the columns.' }),
    append: boolean()
      .default(false)
      .meta({ description: 'Whether to continue an existing file instead of replacing it.' }),
    on_unknown_field: z.enum(['warn', 'error']).default('warn').meta({
      description: 'What to do with a field that is no column: drop it with one warning, or fail.',
    }),
    batch_size: batchSize().meta({
      description: 'Accepted for uniformity; records are written as they come.',
    }),
    on_failure: onFailure(),
    compression: compression('the file'),
  }),
);

type CsvSinkConfig = z.infer<typeof config>;

export const csvSink = defineSink<CsvSinkConfig>({
  type: 'csv',
  description: 'Writes a file of delimited text; the fields of the first page are its columns.',
  config,
  examples: [
    { path: 'out/orders.csv' },
    { path: 'out/orders.tsv.gz', delimiter: '\t', append: true, on_unknown_field: 'error' },
  ],
  capabilities: (value) => ({ ...APPEND_ONLY, columns: value.delimiter < NO_ASCII }),
  datasetUri: (value) => fileUri(value.path),
  localPath: (value) => value.path,
  readBack: ({ path, delimiter, compression: codec, write_headers: named }) =>
    named ? { type: 'csv', config: { path, delimiter, compression: codec } } : undefined,
  temporary: (value, folder) => ({
    ...value,
    path: join(folder, basename(value.path)),
    write_headers: true,
  }),
  open: async (value, context) => new CsvSink(value, context),
  probe: (value, context) => probeFolder(resolvePath(context.env.cwd, value.path)),
});

/** A file that is continued; without a header its columns are not known. */
interface Existing {
  readonly columns: readonly string[] | undefined;
}

interface OpenFile {
  readonly file: AppendingFile | ReplacingFile;
  readonly columns: readonly string[];
  /** The header line, until it is written. */
  header: string;
}

class CsvSink implements Sink {
  readonly #config: CsvSinkConfig;
  readonly #context: SinkContext;
  readonly #format: CsvFormat;
  readonly #rows: CsvColumnRows;
  readonly #dropped = new Set<string>();
  #open: OpenFile | undefined;
  #isClosed = false;

  constructor(value: CsvSinkConfig, context: SinkContext) {
    this.#config = value;
    this.#context = context;
    const output = { delimiter: value.delimiter, quote: QUOTE };
    this.#format = new CsvFormat(output);
    this.#rows = new CsvColumnRows(output);
  }

  async write(page: Page): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    if (page.count === 0) return { written: 0, rejected: [] };
    this.#context.signal.throwIfAborted();
    const cells = this.#config.delimiter < NO_ASCII ? page.columns : undefined;
    await (cells === undefined
      ? this.#writeRecords(requireObjects(page.records(), 'csv'), page.schema)
      : this.#writeCells(cells, page.schema));
    return { written: page.count, rejected: [] };
  }

  async #writeRecords(
    records: readonly JsonObject[],
    schema: RecordSchema | undefined,
  ): Promise<void> {
    const fields = (): readonly string[] => this.#fieldsOf(records, schema);
    const { file, columns, header } = (this.#open ??= await this.#start(fields));
    this.#checkFields(columnsOf(records), columns);
    const rows = records.map((record) => this.#format.row(cellsOf(record, columns)));
    await file.write(Buffer.from(header + rows.join('')));
    this.#open.header = '';
  }

  /** Dead letters have fields that those of the first page lack. */
  #fieldsOf(records: readonly JsonObject[], schema: RecordSchema | undefined): readonly string[] {
    const all = this.#context.role === 'dlq' ? (schema?.fields ?? []) : [];
    return inSchemaOrder([...all.map(({ name }) => name), ...columnsOf(records)], schema);
  }

  async #writeCells(cells: Columns, schema: RecordSchema | undefined): Promise<void> {
    const fields = inSchemaOrder(fieldsInOrder(cells), schema);
    const { file, columns, header } = (this.#open ??= await this.#start(() => fields));
    this.#checkFields(fields, columns);
    const rows = this.#rows.write(cells, columns);
    await file.write(header === '' ? rows : Buffer.concat([Buffer.from(header), rows]));
    this.#open.header = '';
  }

  async flush(): Promise<void> {
    await this.#open?.file.flush();
  }

  async finish(reason: FinishReason): Promise<void> {
    const isEmpty = this.#open === undefined && reason === 'success' && !this.#appends;
    if (isEmpty && (await hasPartToEnd(this.#path, this.#context)))
      this.#open = await this.#start(() => []);
    else if (isEmpty) tellOldFileStays(this.#path, this.#context);
    const file = this.#open?.file;
    if (file instanceof ReplacingFile) await file.finish(reason);
    else await file?.flush();
  }

  outputs(): readonly WrittenFile[] {
    return this.#open?.file.written ?? [];
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#open?.file.close().catch(() => {});
    this.#open = undefined;
  }

  get #path(): string {
    return resolvePath(this.#context.env.cwd, this.#config.path);
  }

  get #appends(): boolean {
    return this.#config.append || this.#context.role === 'dlq';
  }

  async #start(fields: () => readonly string[]): Promise<OpenFile> {
    const { env } = this.#context;
    const path = this.#path;
    const codec = chooseCodec(this.#config.compression, this.#config.path, env.log);
    let existing: Existing | undefined;
    const prepare = async (part: string) => (existing = await this.#existing(part, codec));
    if (this.#appends) await prepare(path);
    const inPlace = this.#config.on_failure === 'keep_partial';
    const file = this.#appends
      ? await AppendingFile.open({ path, codec, truncate: false })
      : await ReplacingFile.open({ path, codec, context: this.#context, inPlace, prepare });
    return { file, ...this.#columns(existing, fields()) };
  }

  /** The columns, and the header line where the file has none yet. */
  #columns(
    existing: Existing | undefined,
    fields: readonly string[],
  ): Pick<OpenFile, 'columns' | 'header'> {
    const columns = existing?.columns ?? fields;
    const isNew = existing === undefined && columns.length > 0;
    if (fields.length > 0 && !fields.some((field) => columns.includes(field)))
      throw new ConnectorError(
        'data',
        `${this.#config.path} has none of the fields as a column: its header is ${columns.join(', ')}`,
        { hint: 'write to a new file, rename the fields, or drop `append`' },
      );
    return {
      columns,
      header: this.#config.write_headers && isNew ? this.#format.row(columns) : '',
    };
  }

  /** What the file to be continued holds; `undefined` when it is empty or not there. */
  async #existing(file: string, codec: Codec): Promise<Existing | undefined> {
    const { env, signal } = this.#context;
    const first = await continueCsv({
      path: file,
      codec,
      log: env.log,
      signal,
      dialect: { delimiter: this.#config.delimiter, quote: QUOTE },
    });
    if (first === undefined) return undefined;
    return { columns: this.#config.write_headers ? first : undefined };
  }

  #checkFields(fields: readonly string[], columns: readonly string[]): void {
    const known = new Set(columns);
    for (const field of fields) if (!known.has(field)) this.#unknown(field);
  }

  #unknown(key: string): void {
    if (this.#config.on_unknown_field === 'error') {
      throw new ConnectorError(
        'data',
        `the field ${JSON.stringify(key)} is not a column of ${this.#config.path}`,
        {
          hint: 'the columns are those of the first page; add the field there, or set `on_unknown_field: warn` to drop it',
        },
      );
    }
    if (this.#dropped.has(key)) return;
    if (this.#dropped.size === 0)
      this.#context.env.log.warn('a field is not a column and is dropped', {
        path: this.#config.path,
        field: key,
      });
    this.#dropped.add(key);
  }
}
