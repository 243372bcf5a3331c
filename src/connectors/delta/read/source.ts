import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import { pageBounds } from '../../../kit/page-bounds.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import type { ReadRequest, Source } from '../../../kit/source.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { cutPages, unsized } from '../../_files/lines/cut-pages.ts';
import { chosenColumns } from '../../_lake/chosen-columns.ts';
import { momentOf } from '../../_lake/moment.ts';
import type { DeltaSourceConfig } from '../config.ts';
import { openFiles } from '../open-files.ts';
import type { TableFiles } from '../../_lake/table-files.ts';
import { loadSnapshot, type Snapshot } from '../log/snapshot.ts';
import { versionAt } from '../log/version-at.ts';
import { recordTypeOf, type DeltaField } from '../schema/delta-types.ts';
import { readFile } from './read-file.ts';

export class DeltaSource implements Source {
  readonly #config: DeltaSourceConfig;
  readonly #context: SourceContext;
  readonly #files: TableFiles;

  private constructor(config: DeltaSourceConfig, context: SourceContext, files: TableFiles) {
    this.#config = config;
    this.#context = context;
    this.#files = files;
  }

  static async open(config: DeltaSourceConfig, context: SourceContext): Promise<DeltaSource> {
    return new DeltaSource(config, context, await openFiles(config, context));
  }

  /** All files of one version, whatever other programs do in the meantime. */
  async *pages({ lane, limit = Infinity }: ReadRequest): AsyncGenerator<Page> {
    if (limit <= 0) return;
    const { batch_size: size, columns: names } = this.#config;
    const { pageBytes, signal, env } = this.#context;
    const snapshot = await this.#snapshot();
    const columns = chosenColumns(snapshot.schema.fields, names, this.#files.address);
    const schema = recordSchema(columns);
    env.log.debug('reading a version of the table', {
      table: this.#files.address,
      version: snapshot.version,
      files: snapshot.files.size,
    });
    let left = limit;
    for (const file of snapshot.files.values()) {
      const batches = unsized(readFile(file, { files: this.#files, snapshot, columns }));
      const bounds = pageBounds(size, pageBytes);
      for await (const page of cutPages(batches, { lane, bounds, limit: left, signal })) {
        left -= page.count;
        yield page.withSchema(schema);
      }
      if (left <= 0) return;
    }
  }

  close(): Promise<void> {
    return this.#files.close();
  }

  async #snapshot(): Promise<Snapshot> {
    const { version, timestamp } = this.#config;
    const wanted = timestamp === undefined ? version : await this.#versionAt(timestamp);
    const snapshot = await loadSnapshot(this.#files, wanted);
    if (snapshot === undefined) throw noTable(this.#files.address);
    return snapshot;
  }

  async #versionAt(timestamp: string): Promise<number> {
    const version = await versionAt(this.#files, momentOf(timestamp) ?? Number.NaN);
    if (version === undefined) throw noTable(this.#files.address);
    return version;
  }
}

export function noTable(address: string): ConnectorError {
  return new ConnectorError('missing', `there is no table of Delta at ${address}`, {
    hint: 'check `table_uri`: a table is a folder that holds a folder `_delta_log`',
  });
}

function recordSchema(columns: readonly DeltaField[]): RecordSchema {
  return {
    fields: columns.map(({ name, type, nullable }) => ({
      name,
      type: recordTypeOf(type),
      nullable,
    })),
  };
}
