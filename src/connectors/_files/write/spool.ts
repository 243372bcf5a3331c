import { rm } from 'node:fs/promises';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import { recordWriter, type WriteRecord } from '../../../kit/record-text.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { packObject, unpackObject } from '../../../lib/text/packed-json.ts';
import { AppendingFile } from '../output/appending-file.ts';
import { readBlocks } from '../lines/blocks.ts';
import { jsonLines } from '../json/json-lines-file.ts';
import { NameOrder } from '../json/name-order.ts';
import { temporaryPath } from '../output/temporary-path.ts';

/**
 * The records of one file during the run, as JSON Lines in a temporary file. The output is made from
 * it at the end, because some formats need all columns first, or are complete only with their last
 * byte. Where all records are objects, one of which JSON would
 * lose something is a packed line.
 */
export class Spool {
  records = 0;
  bytes = 0;
  readonly path: string;
  readonly #file: AppendingFile;

  readonly #lineOf: (schema: RecordSchema | undefined) => WriteRecord;
  readonly #order = new NameOrder();
  readonly #valueOf: (line: JsonValue) => JsonValue;

  private constructor(path: string, file: AppendingFile, objects: boolean) {
    this.path = path;
    this.#file = file;
    this.#lineOf = objects ? () => (record) => packObject(record as JsonObject) : recordWriter;
    this.#valueOf = objects ? unpackObject : (value) => value;
  }

  /** Opens a spool in the folder of the file that will be made from it. */
  static async open(target: string, options: { objects: boolean }): Promise<Spool> {
    const path = temporaryPath(target);
    return new Spool(
      path,
      await AppendingFile.open({ path, codec: 'none', truncate: true, temporary: true }),
      options.objects,
    );
  }

  async add(records: readonly JsonValue[], schema: RecordSchema | undefined): Promise<void> {
    if (records.length === 0) return;
    const lineOf = this.#lineOf(schema);
    const lines = records.map((record) => `${lineOf(record)}\n`);
    await this.addLines(Buffer.from(lines.join('')), records.length);
  }

  /** Lines of JSON that are added as they are; not where all records are objects. */
  async addLines(lines: Uint8Array, count: number): Promise<void> {
    await this.#file.write(lines);
    this.records += count;
    this.bytes += lines.length;
  }

  /** The lines as they were added; not where all records are objects. */
  lines(signal: AbortSignal): AsyncIterable<Uint8Array> {
    return readBlocks({ path: this.path, codec: 'none', signal });
  }

  /** Of the records that were read so far; not where all records are objects. */
  get schema(): RecordSchema | undefined {
    return this.#order.schema;
  }

  /** The records, batch by batch. */
  async *read(signal: AbortSignal): AsyncGenerator<JsonValue[]> {
    for await (const batch of jsonLines(readBlocks({ path: this.path, codec: 'none', signal }), {
      name: this.path,
      order: this.#order,
    })) {
      yield Array.from(batch, ({ value }) => this.#valueOf(value));
    }
  }

  /** Removes it. Never throws. */
  async discard(): Promise<void> {
    await this.#file.close().catch(() => {});
    await rm(this.path, { force: true }).catch(() => {});
  }
}
