import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SinkContext } from '../../../kit/context.ts';
import { executionOf, type Execution, type HeldScope } from '../../../kit/execution.ts';
import type { Page } from '../../../kit/page.ts';
import {
  requireOpen,
  type DestinationColumn,
  type FinishReason,
  type SchemaAccess,
  type Sink,
  type TokenWriter,
  type WriteResult,
} from '../../../kit/sink.ts';
import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import type { WrittenFile } from '../../../lib/files/written-file.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { requireObjects } from '../../_files/csv/csv-writer.ts';
import { PARQUET_CODECS, type ParquetCodec } from '../../_files/parquet/parquet-file.ts';
import { ColumnLearner } from '../../_files/typed/column-kinds.ts';
import type { DeltaSinkConfig } from '../config.ts';
import { openFiles } from '../open-files.ts';
import type { TableFiles } from '../../_lake/table-files.ts';
import { requireWritable } from '../log/protocol.ts';
import { loadSnapshot, refreshed, type Snapshot } from '../log/snapshot.ts';
import { wantsCheckpoint, writeCheckpoint } from '../log/write-checkpoint.ts';
import { destinationColumns } from '../schema/table-columns.ts';
import { commit, CommitInDoubt } from './commit.ts';
import type { AddAction } from './data-file.ts';
import { dataFiles, type DeltaDataFiles, type TableShape } from './data-files.ts';
import { BLANK, isBlank, shapeOf } from './shape.ts';
import { changeOf } from './table-change.ts';
import {
  executionToken,
  readToken,
  requireOwn,
  tokenVersion,
  withTokens,
  type Tokens,
} from './tokens.ts';

export class DeltaSink implements Sink {
  readonly schema?: SchemaAccess;
  readonly tokens?: TokenWriter;
  readonly takeScope?: (scope: string) => Promise<void>;
  readonly outputs?: () => readonly WrittenFile[];
  readonly #config: DeltaSinkConfig;
  readonly #context: SinkContext;
  readonly #files: TableFiles;
  readonly #execution: Execution | undefined;
  readonly #overwrites: boolean;
  readonly #merges: boolean;
  readonly #written: WrittenFile[] = [];
  #isLoaded = false;
  #snapshot: Snapshot | undefined;
  #learner = new ColumnLearner();
  /** Records of a new table that wait until its columns can be learned. */
  #waiting: JsonObject[] = [];
  #shape: TableShape | undefined;
  #data: DeltaDataFiles | undefined;
  /** Of columns that were replaced by others before they were committed. */
  #earlier: DeltaDataFiles[] = [];
  /** Records whose pages were held for a token. */
  #held = 0;
  #usesTokens = false;
  /** What an overwrite has taken. */
  #scope: HeldScope | undefined;
  #isClosed = false;

  private constructor(config: DeltaSinkConfig, context: SinkContext, files: TableFiles) {
    this.#config = config;
    this.#context = context;
    this.#files = files;
    this.#execution = executionOf(context);
    const isMain = context.role === 'main';
    this.#overwrites = isMain && config.write_mode === 'overwrite';
    // Dead letters have fields that those of the first page lack.
    this.#merges = config.merge_schema || !isMain;
    if (!config.merge_schema) this.schema = { current: () => this.#columns() };
    if (config.write_mode === 'append') this.tokens = this.#tokenWriter();
    if (this.#overwrites) this.takeScope = (scope) => this.#takeScope(scope);
    if (files.isLocal) this.outputs = () => this.#written;
  }

  static async open(config: DeltaSinkConfig, context: SinkContext): Promise<DeltaSink> {
    return new DeltaSink(config, context, await openFiles(config, context));
  }

  async write(page: Page): Promise<WriteResult> {
    requireOpen(this.#isClosed);
    this.#context.signal.throwIfAborted();
    const records = requireObjects(page.records(), 'delta');
    if (records.length === 0) return { written: 0, rejected: [] };
    await this.#load();
    if (this.#data !== undefined && this.#merges && this.#hasNewFields(records))
      await this.#endColumns();
    if (this.#data === undefined) {
      const waits = this.#waiting.length;
      this.#learner.learn(records, page.schema);
      this.#waiting = [...this.#waiting, ...records];
      const isNew = isBlank(this.#snapshot);
      if (!isNew || this.#waiting.length >= this.#config.schema_sample_size)
        await this.#start(waits);
    } else {
      this.#learner.takeSchema(page.schema);
      await this.#data.add(records);
    }
    const unknownFields = this.#unknownIn(records);
    return {
      written: page.count,
      rejected: [],
      ...(unknownFields.size === 0 ? {} : { unknownFields }),
    };
  }

  /** An overwrite is one commit, at the end; pages that are held wait for their token. */
  async flush(): Promise<void> {
    if (this.#overwrites || this.#usesTokens) return;
    if (this.#data !== undefined || this.#waiting.length > 0 || this.#earlier.length > 0)
      await this.#commit();
  }

  async finish(reason: FinishReason): Promise<void> {
    if (this.#overwrites && reason === 'success') {
      await this.#load();
      const hasRecords = this.#data !== undefined || this.#waiting.length > 0;
      if (hasRecords || this.#snapshot !== undefined)
        await this.#commit({ tokens: {}, ...this.#scope });
    }
    await this.#discard();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#discard();
    await this.#files.close();
  }

  #tokenWriter(): TokenWriter {
    const execution = this.#execution;
    return {
      last: async (scope) => {
        this.#usesTokens = true;
        await this.#refresh();
        if (execution !== undefined) await this.#take(scope, execution);
        return readToken(this.#files, this.#snapshot, scope);
      },
      hold: async (page) => {
        this.#usesTokens = true;
        this.#held += (await this.write(page)).written;
      },
      write: async (page, scope, token) => {
        this.#usesTokens = true;
        const result = await this.write(page);
        const written = result.written + this.#held;
        await this.#load();
        const begun = execution === undefined ? {} : executionToken(scope, execution);
        await this.#commit({ tokens: { ...begun, [scope]: token }, scope, execution });
        this.#held = 0;
        return { ...result, written };
      },
      forget: async (scope) => {
        await this.#load();
        const known = await readToken(this.#files, this.#snapshot, scope);
        if (known !== undefined) await this.#commit({ tokens: { [scope]: null } });
      },
    };
  }

  async #takeScope(scope: string): Promise<void> {
    const execution = this.#execution;
    if (execution === undefined) return;
    await this.#refresh();
    await this.#take(scope, execution);
    this.#scope = { scope, execution };
  }

  /**
   * From now on only this execution commits in the scope. Where there is no table, one without
   * columns keeps the first page of an execution before it out.
   */
  async #take(scope: string, execution: Execution): Promise<void> {
    await requireOwn(this.#files, this.#snapshot, { scope, execution });
    if (this.#snapshot === undefined) {
      if (execution.claim === 1 || !this.#config.create_table) return;
      this.#shape = BLANK;
    }
    const tokens = executionToken(scope, execution);
    await this.#commit({ tokens, scope, execution, takes: true });
  }

  async #refresh(): Promise<void> {
    // It may have been made meanwhile.
    this.#isLoaded &&= this.#snapshot !== undefined;
    if (this.#isLoaded && this.#snapshot !== undefined)
      this.#snapshot = await refreshed(this.#files, this.#snapshot);
    else await this.#load();
  }

  async #load(): Promise<void> {
    if (this.#isLoaded) return;
    this.#snapshot = await loadSnapshot(this.#files);
    this.#isLoaded = true;
    if (this.#snapshot !== undefined) requireWritable(this.#snapshot, this.#files.address);
  }

  async #columns(): Promise<readonly DestinationColumn[] | undefined> {
    await this.#load();
    const snapshot = this.#snapshot;
    return snapshot === undefined || isBlank(snapshot)
      ? undefined
      : destinationColumns(snapshot.schema);
  }

  /** Fixes the columns. The first `before` of the records that wait were accepted already. */
  async #start(before: number): Promise<void> {
    const records = this.#waiting;
    try {
      this.#shape = shapeOf(this.#snapshot, this.#learner.columns, {
        table: this.#files.address,
        creates: this.#config.create_table,
        merges: this.#merges,
        partitionBy: this.#config.partition_by,
        earlier: this.#shape?.fields,
      });
      const data = dataFiles({
        files: this.#files,
        context: this.#context,
        shape: this.#shape,
        codec: codecOf(this.#snapshot),
        targetBytes: this.#config.target_file_size,
      });
      await data.add(records);
      this.#data = data;
      this.#waiting = [];
    } catch (error) {
      this.#waiting = records.slice(0, before);
      throw error;
    }
  }

  /** The files so far keep their columns; those to come have more. */
  async #endColumns(): Promise<void> {
    if (this.#data === undefined) return;
    await this.#data.finish();
    this.#earlier.push(this.#data);
    this.#data = undefined;
    this.#learner = new ColumnLearner();
  }

  async #commit(told: Told = { tokens: {} }): Promise<void> {
    const { tokens, scope, execution, takes = false } = told;
    if (this.#waiting.length > 0) await this.#start(this.#waiting.length);
    const all = [...this.#earlier, ...(this.#data === undefined ? [] : [this.#data])];
    const adds: AddAction[] = [];
    for (const data of all) adds.push(...(await data.finish()));
    const base = this.#snapshot;
    const hasTokens = Object.keys(tokens).length > 0;
    // Without a table and without records there is nothing that could hold a token.
    if (base === undefined && this.#shape === undefined) return;
    const change = async (before: Snapshot | undefined, version: number) => {
      if (execution !== undefined && scope !== undefined)
        await requireOwn(this.#files, before, { scope, execution });
      const hasMoved =
        scope !== undefined && tokenVersion(before, scope) !== tokenVersion(base, scope);
      if (hasMoved && !takes) throw tokenMoved(scope);
      const now = this.#context.env.clock.now().getTime();
      const made = changeOf(before, {
        table: this.#files.address,
        shape: this.#shape,
        adds,
        overwrites: this.#overwrites && !takes,
        merges: this.#merges,
        now,
      });
      return hasTokens ? withTokens(made, tokens, { version, now }) : made;
    };
    try {
      this.#snapshot = await commit(base, { files: this.#files, context: this.#context, change });
    } catch (error) {
      // Files that may be part of the table stay.
      if (error instanceof CommitInDoubt) this.#forgetFiles();
      throw error;
    }
    for (const { path } of adds) this.#note(decodeURIComponent(path));
    this.#forgetFiles();
    await this.#checkpoint(this.#snapshot);
  }

  #forgetFiles(): void {
    this.#data = undefined;
    this.#earlier = [];
    this.#shape = undefined;
    this.#learner = new ColumnLearner();
  }

  /** The table is whole without it. */
  async #checkpoint(snapshot: Snapshot): Promise<void> {
    if (!wantsCheckpoint(snapshot)) return;
    const { env } = this.#context;
    try {
      await writeCheckpoint(this.#files, snapshot, env.clock.now().getTime());
    } catch (error) {
      env.log.warn(
        'the checkpoint of the table could not be written; the table is whole without it',
        {
          table: this.#files.address,
          version: snapshot.version,
          reason: messageOf(error),
        },
      );
    }
  }

  #note(path: string): void {
    if (!this.#files.isLocal) return;
    this.#written.push({ path: join(fileURLToPath(this.#files.address), path), before: 'nothing' });
  }

  #hasNewFields(records: readonly JsonObject[]): boolean {
    return this.#unknownIn(records).size > 0;
  }

  /** Fields with a value that no column holds, and how many records have one. */
  #unknownIn(records: readonly JsonObject[]): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    const kinds = this.#shape?.kinds;
    if (kinds === undefined) return counts;
    for (const record of records)
      for (const name of Object.keys(record))
        if (!kinds.has(name) && record[name] !== null && record[name] !== undefined)
          counts.set(name, (counts.get(name) ?? 0) + 1);
    return counts;
  }

  async #discard(): Promise<void> {
    this.#waiting = [];
    for (const data of [...this.#earlier, ...(this.#data === undefined ? [] : [this.#data])])
      await data.discard();
    this.#forgetFiles();
  }
}

interface Told {
  readonly tokens: Tokens;
  readonly scope?: string;
  readonly execution?: Execution | undefined;
  /** The token is read when the scope is taken: a page that is committed before that is known. */
  readonly takes?: boolean;
}

/** Another run of the same row has written in the meantime. */
function tokenMoved(scope: string): ConnectorError {
  return new ConnectorError('refused', `another run has written for \`${scope}\` in the meantime`, {
    hint: 'let one run at a time write for a row',
  });
}

/** As the table asks for; readers take all of them. */
function codecOf(snapshot: Snapshot | undefined): ParquetCodec {
  const asked = snapshot?.metadata.configuration['delta.parquet.compression.codec']?.toLowerCase();
  if (asked === 'none') return 'uncompressed';
  return PARQUET_CODECS.find((codec) => codec === asked) ?? 'snappy';
}
