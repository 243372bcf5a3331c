import type { SourceContext } from '../../../kit/context.ts';
import { Page } from '../../../kit/page.ts';
import { pageBounds } from '../../../kit/page-bounds.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import { isInShare } from '../../../kit/share.ts';
import type { ReadRequest, Source } from '../../../kit/source.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { cutPages, unsized } from '../../_files/lines/cut-pages.ts';
import { chosenColumns } from '../../_lake/chosen-columns.ts';
import { noTable, type Catalog, type LoadedTable, type TableName } from '../catalog/catalog.ts';
import { openCatalog } from '../catalog/open-catalog.ts';
import type { IcebergSourceConfig } from '../config.ts';
import type { TableSchema } from '../metadata/table-metadata.ts';
import { parseNameMapping } from '../schema/file-columns.ts';
import { recordTypeOf, type IcebergField } from '../schema/iceberg-types.ts';
import { recordFilter, type RecordFilter } from './filter.ts';
import { planAdded, planSnapshot, type PlannedFile } from './plan-files.ts';
import { Deletes, readFile, type FileReading } from './read-file.ts';
import { bookmarkOf, chosenSnapshot, stepsSince, type ReadStep } from './snapshots.ts';

export class IcebergSource implements Source {
  readonly #config: IcebergSourceConfig;
  readonly #context: SourceContext;
  readonly #catalog: Catalog;

  private constructor(config: IcebergSourceConfig, context: SourceContext, catalog: Catalog) {
    this.#config = config;
    this.#context = context;
    this.#catalog = catalog;
  }

  static async open(config: IcebergSourceConfig, context: SourceContext): Promise<IcebergSource> {
    return new IcebergSource(config, context, await openCatalog(config.catalog, context, false));
  }

  /** The state of the table when the read begins, whatever other programs do in the meantime. */
  async *pages({ bookmark, lane, limit = Infinity }: ReadRequest): AsyncGenerator<Page> {
    if (limit <= 0) return;
    const { pageBytes, signal, env } = this.#context;
    const name = tableName(this.#config.table);
    const table = await this.#catalog.load(name);
    if (table === undefined) throw noTable(name);
    const { steps, schema } = this.#stepsOf(table, bookmark);
    const columns = chosenColumns(schema.fields, this.#config.columns, this.#config.table);
    const reading = this.#reading(table, schema, columns);
    const recordSchema = schemaOf(columns);
    const bounds = pageBounds(this.#config.batch_size, pageBytes);
    let left = limit;
    for (const step of steps) {
      const files = await this.#planned(step, table, reading.filter);
      env.log.debug('reading a snapshot of the table', {
        table: this.#config.table,
        snapshot: String(step.snapshot.id),
        files: files.length,
      });
      for (const file of files) {
        const batches = unsized(readFile(file, reading));
        for await (const page of cutPages(batches, { lane, bounds, limit: left, signal })) {
          left -= page.count;
          if (page.count > 0) yield page.withSchema(recordSchema);
        }
        if (left <= 0) return;
      }
      if (this.#config.mode === 'incremental')
        yield Page.ofRecords([], { bookmark: bookmarkOf(step.snapshot) }).withSchema(recordSchema);
    }
  }

  close(): Promise<void> {
    return this.#catalog.close();
  }

  #stepsOf(
    { metadata }: LoadedTable,
    bookmark: JsonValue | undefined,
  ): { readonly steps: readonly ReadStep[]; readonly schema: TableSchema } {
    const { mode, table } = this.#config;
    const { schema } = metadata;
    if (mode === 'incremental')
      return { steps: stepsSince(metadata, bookmark, this.#config), schema };
    const snapshot = chosenSnapshot(metadata, this.#config, table);
    if (snapshot === undefined) return { steps: [], schema };
    const isEarlier =
      this.#config.snapshot_id !== undefined || this.#config.as_of_timestamp !== undefined;
    const { schemaId } = snapshot;
    const own = isEarlier && schemaId !== undefined ? metadata.schemas.get(schemaId) : undefined;
    return { steps: [{ snapshot, isWhole: true }], schema: own ?? schema };
  }

  #reading(
    { metadata, storage }: LoadedTable,
    schema: TableSchema,
    columns: readonly IcebergField[],
  ): FileReading {
    const mapping = parseNameMapping(metadata.properties['schema.name-mapping.default']);
    const { filter: text, table } = this.#config;
    const filter = text === undefined ? undefined : recordFilter(text, schema.fields, table);
    const shared = { storage, metadata, mapping };
    return { ...shared, columns, filter, deletes: new Deletes(shared) };
  }

  async #planned(
    { snapshot, isWhole }: ReadStep,
    { storage }: LoadedTable,
    filter: RecordFilter | undefined,
  ): Promise<readonly PlannedFile[]> {
    const { signal, share } = this.#context;
    const { concurrency, table } = this.#config;
    const planning = { storage, signal, concurrency, table };
    const files = await (isWhole
      ? planSnapshot(snapshot, planning)
      : planAdded(snapshot, planning));
    return files.filter(
      ({ file }) => isInShare(file.path, share) && (filter === undefined || filter.mayHave(file)),
    );
  }
}

export function tableName(written: string): TableName {
  const steps = written.split('.');
  return { namespace: steps.slice(0, -1), table: steps.at(-1) ?? '' };
}

function schemaOf(columns: readonly IcebergField[]): RecordSchema {
  if (new Set(columns.map(({ name }) => name)).size < columns.length)
    throw new ConnectorError('data', '`columns` names a column twice', { hint: 'remove one' });
  return {
    fields: columns.map(({ name, type, required }) => ({
      name,
      type: recordTypeOf(type),
      nullable: !required,
    })),
  };
}
