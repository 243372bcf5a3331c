import type { SinkContext } from '../../../kit/context.ts';
import { executionOf } from '../../../kit/execution.ts';
import type { Page } from '../../../kit/page.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import {
  requireOpen,
  type DestinationColumn,
  type FinishReason,
  type SchemaAccess,
  type Sink,
  type TokenWriter,
  type WriteOptions,
  type WriteResult,
} from '../../../kit/sink.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { ColumnLearner } from '../../_files/typed/column-kinds.ts';
import {
  noTable,
  type Catalog,
  type LoadedTable,
  type NewTable,
  type TableName,
} from '../catalog/catalog.ts';
import { openCatalog } from '../catalog/open-catalog.ts';
import type { IcebergSinkConfig } from '../config.ts';
import type { IcebergField } from '../schema/iceberg-types.ts';
import { destinationColumns } from '../schema/new-columns.ts';
import { accepted, learned, type Accepted } from './accept.ts';
import { addedColumns } from './added-columns.ts';
import { commit, commitRetry, type Committing } from './commit.ts';
import { DataGroup } from './data-group.ts';
import { Pending } from './pending.ts';
import { firstColumns, isBlank, kindsOf, newTable, requireSamePartitions } from './table-shape.ts';
import { executionToken, requireOwn, tokenOf, type Tokens } from './tokens.ts';
import { requireWritable } from './writable.ts';

export class IcebergSink implements Sink {
  readonly schema?: SchemaAccess;
  readonly tokens: TokenWriter;
  readonly #config: IcebergSinkConfig;
  readonly #context: SinkContext;
  readonly #catalog: Catalog;
  readonly #name: TableName;
  /** Dead letters have fields that those of the first page lack. */
  readonly #merges: boolean;
  readonly #pending: Pending;
  #table: LoadedTable | undefined;
  #isLoaded = false;
  #learner = new ColumnLearner();
  #group: DataGroup | undefined;
  /** Records whose pages were held for a token. */
  #held = 0;
  #usesTokens = false;
  #isClosed = false;

  private constructor(config: IcebergSinkConfig, context: SinkContext, catalog: Catalog) {
    this.#config = config;
    this.#context = context;
    this.#catalog = catalog;
    this.#name = { namespace: config.namespace, table: config.table };
    this.#pending = new Pending(config, context, this.#name);
    this.#merges = config.merge_schema || context.role !== 'main';
    if (!config.merge_schema) this.schema = { current: () => this.#columns() };
    this.tokens = this.#tokenWriter();
  }

  static async open(config: IcebergSinkConfig, context: SinkContext): Promise<IcebergSink> {
    return new IcebergSink(config, context, await openCatalog(config.catalog, context, true));
  }

  async write(page: Page, { partial }: WriteOptions): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    this.#context.signal.throwIfAborted();
    if (page.count === 0) return { written: 0, rejected: [] };
    const wanted = learned(page.records(), {
      learner: this.#learner,
      schema: page.schema,
      partial,
    });
    const table = await this.#tableFor(wanted);
    if (table === undefined) return { written: 0, rejected: wanted.rejected };
    await this.#addNewColumns(table, wanted, page.schema);
    const group = await this.#groupOf();
    const { entries, rejected } = accepted(wanted, group, partial);
    const records = entries.map(({ record }) => record);
    if (records.length > 0) await group.add(records);
    const unknownFields = group.unknownIn(records);
    return {
      written: records.length,
      rejected: rejected.toSorted((a, b) => a.index - b.index),
      ...(unknownFields.size === 0 ? {} : { unknownFields }),
    };
  }

  /** Pages that are held wait for their token. */
  async flush(): Promise<void> {
    if (!this.#usesTokens && !this.#pending.isEmpty) await this.#commit({});
  }

  async finish(_reason: FinishReason): Promise<void> {
    await this.#pending.discard();
    this.#group = undefined;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#pending.discard();
    await this.#catalog.close();
  }

  #tokenWriter(): TokenWriter {
    const execution = executionOf(this.#context);
    return {
      last: async (scope) => {
        this.#usesTokens = true;
        this.#isLoaded = false;
        let table = await this.#load();
        // Without columns: it keeps the first page of an execution before this one out.
        if (table === undefined && (execution?.claim ?? 1) > 1 && this.#config.create_table)
          this.#table = table = await this.#make(this.#blank());
        if (table === undefined) return undefined;
        if (execution !== undefined) {
          requireOwn(table.metadata, scope, execution);
          await this.#commit(executionToken(scope, execution), scope, true);
        }
        return tokenOf((this.#table ?? table).metadata, scope);
      },
      hold: async (page) => {
        this.#usesTokens = true;
        this.#held += (await this.write(page, { partial: false })).written;
      },
      write: async (page, scope, token) => {
        this.#usesTokens = true;
        const result = await this.write(page, { partial: false });
        const written = result.written + this.#held;
        await this.#load();
        const begun = execution === undefined ? {} : executionToken(scope, execution);
        await this.#commit({ ...begun, [scope]: token }, scope);
        this.#held = 0;
        return { ...result, written };
      },
      forget: async (scope) => {
        this.#isLoaded = false;
        const table = await this.#load();
        if (table === undefined || tokenOf(table.metadata, scope) === undefined) return;
        await this.#commit({ [scope]: null });
      },
    };
  }

  async #load(): Promise<LoadedTable | undefined> {
    if (this.#isLoaded) return this.#table;
    this.#table = await this.#catalog.load(this.#name);
    this.#isLoaded = true;
    if (this.#table !== undefined) {
      requireWritable(this.#table.metadata, this.#name);
      requireSamePartitions(this.#table.metadata, this.#config.partition_spec, this.#name);
    }
    return this.#table;
  }

  async #columns(): Promise<readonly DestinationColumn[] | undefined> {
    const table = await this.#load();
    return table === undefined || isBlank(table.metadata)
      ? undefined
      : destinationColumns(table.metadata.schema.fields);
  }

  /** The table, which is made where it is not there; `undefined` when no record could make one. */
  async #tableFor({ entries }: Accepted): Promise<LoadedTable | undefined> {
    const there = await this.#load();
    if (there !== undefined && !isBlank(there.metadata)) return there;
    if (there === undefined && !this.#config.create_table) throw noTable(this.#name);
    if (entries.length === 0) return undefined;
    const { partition_spec: spec, parquet } = this.#config;
    const made = newTable(this.#learner.columns, spec, this.#name, parquet.compression);
    this.#table = there ?? (await this.#make(made));
    await this.#change((table) => firstColumns(table, made));
    return this.#table;
  }

  #blank(): NewTable {
    return newTable(new Map(), [], this.#name, this.#config.parquet.compression);
  }

  async #make(made: NewTable): Promise<LoadedTable> {
    const table = await this.#catalog.create(this.#name, made);
    requireWritable(table.metadata, this.#name);
    return table;
  }

  async #addNewColumns(
    { metadata }: LoadedTable,
    { entries }: Accepted,
    schema: RecordSchema | undefined,
  ): Promise<void> {
    if (!this.#merges) return;
    const known = new Set(metadata.schema.fields.map(({ name }) => name));
    const isNew = (record: JsonObject): boolean =>
      Object.keys(record).some((name) => !known.has(name) && record[name] !== null);
    const records = entries.map(({ record }) => record).filter(isNew);
    if (records.length === 0) return;
    const learner = new ColumnLearner();
    learner.learn(records, schema);
    const kinds = [...learner.columns].filter(
      ([name, { is }]) => !known.has(name) && is !== 'unknown',
    );
    await this.#change((table) => addedColumns(table, kinds));
  }

  async #change(make: (table: LoadedTable) => ReturnType<typeof addedColumns>): Promise<void> {
    const table = await this.#load();
    if (table === undefined) return;
    await this.#endGroup();
    this.#table = await commit(
      table,
      this.#committing((now) => Promise.resolve(make(now))),
    );
  }

  /** The files so far keep their columns; those to come have those of the table as it is now. */
  async #endGroup(): Promise<void> {
    await this.#group?.finish();
    this.#group = undefined;
  }

  async #groupOf(): Promise<DataGroup> {
    const table = await this.#load();
    if (table === undefined) throw noTable(this.#name);
    const fields: readonly IcebergField[] = table.metadata.schema.fields;
    this.#group ??= this.#pending.begin(table, kindsOf(fields, this.#learner.columns));
    return this.#group;
  }

  async #commit(tokens: Tokens, scope?: string, takes = false): Promise<void> {
    const base = await this.#load();
    // Without a table there is nothing that could hold a token.
    if (base === undefined) return;
    const execution = executionOf(this.#context);
    const change = await this.#pending.change(base, { tokens, scope, execution, takes });
    const { offered } = this.#pending;
    try {
      this.#table = await commit(base, this.#committing(change));
    } catch (error) {
      offered(error);
      throw error;
    }
    this.#pending.committed();
    this.#group = undefined;
    this.#learner = new ColumnLearner();
  }

  #committing(change: Committing['change']): Committing {
    const retry = commitRetry(this.#config.snapshot_properties);
    return { catalog: this.#catalog, name: this.#name, context: this.#context, retry, change };
  }
}
