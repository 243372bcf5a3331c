import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import type { SinkContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { batchSize, finding, integer, optional } from '../../kit/schema.ts';
import {
  APPEND_ONLY,
  defineSink,
  requireOpen,
  type FinishReason,
  type Sink,
  type WriteResult,
} from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { fileToWrite, type WrittenFile } from '../../lib/files/written-file.ts';
import { requireObjects } from '../_files/csv/csv-writer.ts';
import { onFailure } from '../_files/config.ts';
import { createParquetFile } from '../_files/parquet/create-parquet.ts';
import { onDisk } from '../_files/io-error.ts';
import { ColumnLearner } from '../_files/typed/column-kinds.ts';
import { PARQUET_CODECS, type ParquetFile } from '../_files/parquet/parquet-file.ts';
import { fileUri, resolvePath } from '../_files/paths.ts';
import { tellOldFileStays } from '../_files/output/no-records.ts';
import { removeLeftovers } from '../_files/output/temporary-path.ts';
import { probeFolder } from '../_files/output/probe-folder.ts';
import { makeFolder } from '../../lib/files/make-folder.ts';
import { addressIn, isStored, openPlace } from '../_objects/places.ts';
import { probeStore } from '../_objects/probe-store.ts';
import { ObjectDelivery, type Bucket } from './deliver-object.ts';
import { destination } from './sink-destination.ts';

const schema = z.lazy(() =>
  z
    .strictObject({
      type: z.string().default('inferred').meta({
        description:
          'Only `inferred`: fields whose type is unknown are learned from the first records.',
      }),
      sample_size: integer({ min: 1 })
        .default(100)
        .meta({ description: 'Records looked at before the columns are fixed.' }),
    })
    .superRefine((value, ctx) => {
      if (value.type === 'inferred') return;
      const hint = 'leave `schema` out, or use the `file` sink, which takes a schema';
      ctx.addIssue(
        finding(
          'not_available',
          `a schema of type ${JSON.stringify(value.type)} cannot be given here`,
          { path: ['type'], hint },
        ),
      );
    }),
);

const config = z.lazy(() =>
  z.strictObject({
    destination,
    schema: schema.prefault({}).meta({ description: 'How the columns are found.' }),
    compression: z
      .enum(PARQUET_CODECS)
      .default('snappy')
      .meta({ description: 'Compression inside the file.' }),
    row_group_size: integer({ min: 1 }).default(1_048_576).meta({
      description: 'Records a row group holds at most; large ones end earlier, to bound memory.',
    }),
    max_rows_per_file: optional(integer({ min: 1 })).meta({
      description: 'Start another file after this many records; looked at after each page.',
    }),
    max_bytes_per_file: optional(integer({ min: 1 })).meta({
      description: 'Start another file at about this size in memory; looked at after each page.',
    }),
    on_failure: onFailure(),
    batch_size: batchSize().meta({
      description: 'Accepted for uniformity; records are written as they come.',
    }),
  }),
);

type ParquetSinkConfig = z.infer<typeof config>;

export const parquetSink = defineSink<ParquetSinkConfig>({
  type: 'parquet',
  description: 'Writes Parquet files; the columns are learned from the first records.',
  config,
  examples: [
    { destination: { type: 'local_path', path: 'out/orders.parquet' } },
    {
      destination: { type: 'local_path', path: 'lake/orders' },
      compression: 'zstd',
      max_rows_per_file: 1_000_000,
    },
    { destination: { type: 's3', bucket: 'lake', prefix: 'orders/', region: 'eu-north-1' } },
    { destination: { type: 'gcs', bucket: 'lake', prefix: 'orders/' } },
    { destination: { type: 'azure-blob', container: 'lake', account: 'acme', prefix: 'orders/' } },
  ],
  capabilities: (value) => ({
    ...APPEND_ONLY,
    columns: true,
    flushDurable: singleFile(value) === undefined,
  }),
  datasetUri: ({ destination: to }) => (isStored(to) ? addressIn(to, to.prefix) : fileUri(to.path)),
  localPath: singleFile,
  readBack: ({ destination: to }) => {
    if (isStored(to)) return { type: 'parquet', config: { source: objectsOf(to) } };
    const { path } = to;
    const source: JsonObject = isFileName(path)
      ? { type: 'local_path', path }
      : { type: 'glob', pattern: join(path, '**', '*.parquet') };
    return { type: 'parquet', config: { source } };
  },
  temporary: (value, folder) => {
    const { destination: to } = value;
    const path = join(folder, to.type === 'local_path' ? basename(to.path) : 'parquet');
    return { ...value, destination: { type: 'local_path' as const, path } };
  },
  open: async (value, context) => {
    const { destination: to } = value;
    return new ParquetSink(
      value,
      context,
      isStored(to) ? await ObjectDelivery.open(to, context) : undefined,
    );
  },
  probe: (value, context) => {
    const { destination: to } = value;
    return isStored(to)
      ? probeStore(() => openPlace(to, context), to.prefix, context.signal)
      : probeFolder(join(folderOf(to.path, context), 'probe'));
  },
});

function objectsOf(place: Bucket): JsonObject {
  // Of S3 only a destination asks whether plain http may be.
  const unknown = place.type === 's3' ? 'allow_http' : undefined;
  const told = Object.entries<JsonValue | undefined>(place).flatMap(([name, value]) =>
    name === unknown || value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries<JsonValue>(told);
}

/** The one file of a run, when there is just one. */
function singleFile(value: ParquetSinkConfig): string | undefined {
  const capped = value.max_rows_per_file !== undefined || value.max_bytes_per_file !== undefined;
  return value.destination.type === 'local_path' && isFileName(value.destination.path) && !capped
    ? value.destination.path
    : undefined;
}

function isFileName(path: string): boolean {
  return path.endsWith('.parquet');
}

function folderOf(to: string, context: SinkContext): string {
  const path = resolvePath(context.env.cwd, to);
  return isFileName(to) ? dirname(path) : path;
}

function recordsOf(page: Page): readonly JsonObject[] {
  return requireObjects(page.records(), 'parquet');
}

class ParquetSink implements Sink {
  readonly outputs?: () => readonly WrittenFile[];
  readonly #config: ParquetSinkConfig;
  readonly #context: SinkContext;
  readonly #folder: string;
  /** Present where files become objects. */
  readonly #delivery: ObjectDelivery | undefined;
  readonly #single: string | undefined;
  /** Records waiting until enough are there to learn the columns from. */
  #waiting: JsonObject[] = [];
  #learner = new ColumnLearner();
  #output: ParquetFile | undefined;
  /** Of the output. */
  #path: string | undefined;
  /** The file that is whole, and perhaps not delivered. */
  #complete: string | undefined;
  readonly #written: WrittenFile[] = [];
  /** Why records that had been accepted could not be written: from then on nothing is. */
  #failure: unknown;
  #isClosed = false;
  #isDiscarded = false;

  constructor(
    value: ParquetSinkConfig,
    context: SinkContext,
    delivery: ObjectDelivery | undefined,
  ) {
    this.#config = value;
    this.#context = context;
    this.#delivery = delivery;
    if (delivery === undefined) this.outputs = () => this.#written;
    const { destination: to } = value;
    this.#folder = isStored(to) ? (delivery?.folder ?? '') : folderOf(to.path, context);
    // Dead letters are durable at every flush and stay when a later run has some: one file cannot
    // do either.
    const single = context.role === 'dlq' ? undefined : singleFile(value);
    this.#single = single === undefined ? undefined : resolvePath(context.env.cwd, single);
    if (
      single === undefined &&
      value.destination.type === 'local_path' &&
      isFileName(value.destination.path)
    ) {
      const why = context.role === 'dlq' ? 'dead letters make' : 'a cap on the file size makes';
      context.env.log.warn(`${why} several files; they go into the folder`, {
        folder: this.#folder,
      });
    }
  }

  async write(page: Page): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    this.#context.signal.throwIfAborted();
    this.#requireWhole();
    if (this.#output === undefined) {
      const records = recordsOf(page);
      this.#learner.learn(records, page.schema);
      this.#waiting = [...this.#waiting, ...records];
      if (this.#waiting.length >= this.#config.schema.sample_size) await this.#start();
    } else {
      this.#learner.takeSchema(page.schema);
      const taken =
        page.columns === undefined ? 0 : ((await this.#output.addColumns?.(page.columns)) ?? 0);
      if (taken < page.count) await this.#output.add(recordsOf(page.slice(taken, page.count)));
    }
    if (this.#output !== undefined && this.#isFull(this.#output)) await this.#endFile();
    return { written: page.count, rejected: [] };
  }

  /** A folder gets a complete file per flush; a single file is complete only at the end. */
  async flush(): Promise<void> {
    this.#requireWhole();
    if (this.#single === undefined) await this.#endFile();
  }

  /** A run that failed leaves the file of an earlier one; where there is none, what was written. */
  async finish(reason: FinishReason): Promise<void> {
    const isKept =
      reason !== 'success' &&
      this.#config.on_failure === 'keep_old' &&
      this.#single !== undefined &&
      existsSync(this.#single);
    if (!isKept) {
      const isEmpty = this.#waiting.length === 0 && this.#written.length === 0;
      if (isEmpty && reason === 'success' && this.#single !== undefined)
        tellOldFileStays(this.#single, this.#context);
      return this.#endFile();
    }
    this.#isDiscarded = true;
    this.#waiting = [];
    this.#written.length = 0;
    await this.#output?.discard();
    this.#output = undefined;
    this.#context.env.log.warn(`the run is ${reason}: the file of an earlier run stays as it was`, {
      path: this.#single,
      hint: 'set `on_failure: keep_partial` to have the part that was written instead',
    });
  }

  discarded(): boolean {
    return this.#isDiscarded;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#output?.discard();
    this.#output = undefined;
    await this.#delivery?.close();
  }

  async #endFile(): Promise<void> {
    if (this.#output === undefined && this.#waiting.length > 0) await this.#start();
    const output = this.#output;
    if (output !== undefined) {
      await output.finish();
      this.#output = undefined;
      this.#learner = new ColumnLearner();
      this.#complete = this.#path;
    }
    // What could not be sent is sent by the next flush.
    if (this.#complete !== undefined) await this.#delivery?.deliver(this.#complete);
    this.#complete = undefined;
  }

  async #start(): Promise<void> {
    const path = this.#single ?? join(this.#folder, this.#newName());
    await onDisk('create the folder', this.#folder, () => makeFolder(this.#folder));
    if (this.#single !== undefined && existsSync(this.#single))
      await removeLeftovers(this.#folder, (name) => name === basename(path));
    this.#path = path;
    if (this.#delivery === undefined) this.#written.push(fileToWrite(path, { append: false }));
    this.#output = await createParquetFile({
      path,
      columns: this.#learner.columns,
      codec: this.#config.compression,
      rowGroupSize: this.#config.row_group_size,
      onDropped: (field) =>
        this.#context.env.log.warn('a field is not a column and is dropped', { path, field }),
    });
    const records = this.#waiting;
    this.#waiting = [];
    try {
      await this.#output.add(records);
    } catch (error) {
      await this.#loseStarted(error);
      throw error;
    }
  }

  /** A record does not fit into the columns that were learned: nothing of the file is written. */
  async #loseStarted(error: unknown): Promise<void> {
    this.#failure = error;
    this.#isDiscarded = this.#single !== undefined;
    await this.#output?.discard();
    this.#output = undefined;
    if (this.#delivery === undefined) this.#written.pop();
  }

  #requireWhole(): void {
    if (this.#failure !== undefined) throw this.#failure as Error;
  }

  /** The files of dead letters carry the name of the file that was asked for. */
  #newName(): string {
    const { destination: to } = this.#config;
    const isNamed = this.#context.role === 'dlq' && to.type === 'local_path' && isFileName(to.path);
    const prefix = isNamed ? `${basename(to.path, '.parquet')}-` : '';
    return `${prefix}${this.#context.env.ids.next()}.parquet`;
  }

  #isFull(output: ParquetFile): boolean {
    const { max_rows_per_file: rows, max_bytes_per_file: bytes } = this.#config;
    return (
      (rows !== undefined && output.rows >= rows) || (bytes !== undefined && output.bytes >= bytes)
    );
  }
}
