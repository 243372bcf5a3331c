import { rm } from 'node:fs/promises';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { AppendingFile } from '../../_files/output/appending-file.ts';
import { readBlocks } from '../../_files/lines/blocks.ts';
import { jsonLines } from '../../_files/json/json-lines-file.ts';
import { temporaryPath } from '../../_files/output/temporary-path.ts';

/**
 * The records of one file during the run, as JSON Lines in a temporary file. The output is made from
 * it at the end, because some formats need all columns first, or are complete only with their last
 * byte.
 */
export class Spool {
  records = 0;
  bytes = 0;
  readonly path: string;
  readonly #file: AppendingFile;

  private constructor(path: string, file: AppendingFile) {
    this.path = path;
    this.#file = file;
  }

  /** Opens a spool in the folder of the file that will be made from it. */
  static async open(target: string): Promise<Spool> {
    const path = temporaryPath(target);
    return new Spool(
      path,
      await AppendingFile.open({ path, codec: 'none', truncate: true, temporary: true }),
    );
  }

  async add(records: readonly JsonValue[]): Promise<void> {
    if (records.length === 0) return;
    const block = JSON_LINES.encode(records);
    await this.#file.write(block);
    this.records += records.length;
    this.bytes += block.length;
  }

  /** The records, batch by batch. */
  async *read(signal: AbortSignal): AsyncGenerator<JsonValue[]> {
    for await (const batch of jsonLines(readBlocks({ path: this.path, codec: 'none', signal }), {
      name: this.path,
    })) {
      yield Array.from(batch, ({ value }) => value);
    }
  }

  /** Removes it. Never throws. */
  async discard(): Promise<void> {
    await this.#file.close().catch(() => {});
    await rm(this.path, { force: true }).catch(() => {});
  }
}
