/** What is written and not committed. */
import type { SinkContext } from '../../../kit/context.ts';
import type { Execution } from '../../../kit/execution.ts';
import type { ColumnKind } from '../../_files/typed/column-kinds.ts';
import { CommitUnknown, nameText, type LoadedTable, type TableName } from '../catalog/catalog.ts';
import { RETRY_SETTINGS, type IcebergSinkConfig } from '../config.ts';
import { makeAppend, type Written } from './append.ts';
import type { Committing } from './commit.ts';
import { DataGroup } from './data-group.ts';
import { requireSameColumns } from './table-shape.ts';
import {
  propertiesOfTokens,
  requireOwn,
  summaryOfTokens,
  tokenMoved,
  tokenOf,
  type Tokens,
} from './tokens.ts';

interface Told {
  readonly tokens: Tokens;
  readonly scope?: string | undefined;
  readonly execution?: Execution | undefined;
  /** The token is read when the scope is taken: a page that is committed before that is known. */
  readonly takes: boolean;
}

export class Pending {
  readonly #config: IcebergSinkConfig;
  readonly #context: SinkContext;
  readonly #name: TableName;
  #groups: DataGroup[] = [];
  /** Whether the catalog was asked to take the files, and refused. */
  #isRefused = false;

  constructor(config: IcebergSinkConfig, context: SinkContext, name: TableName) {
    this.#config = config;
    this.#context = context;
    this.#name = name;
  }

  get isEmpty(): boolean {
    return this.#groups.length === 0;
  }

  /** Files with the columns of the table as it is. */
  begin(table: LoadedTable, kinds: ReadonlyMap<string, ColumnKind>): DataGroup {
    const group = new DataGroup(table, {
      kinds,
      context: this.#context,
      config: this.#config,
      table: nameText(this.#name),
    });
    this.#groups.push(group);
    return group;
  }

  /** What adds all of it to the table, together with tokens. */
  async change(
    base: LoadedTable,
    { tokens, scope, execution, takes }: Told,
  ): Promise<Committing['change']> {
    const written: Written[] = [];
    for (const group of this.#groups) written.push(await group.finish());
    const { env, signal } = this.#context;
    const before = scope === undefined ? undefined : tokenOf(base.metadata, scope);
    const own = Object.entries(this.#config.snapshot_properties).filter(
      ([name]) => !RETRY_SETTINGS.has(name),
    );
    return async (table) => {
      const { metadata, storage } = table;
      for (const group of this.#groups) requireSameColumns(metadata, group.fields, this.#name);
      if (execution !== undefined && scope !== undefined) requireOwn(metadata, scope, execution);
      const hasMoved = scope !== undefined && tokenOf(metadata, scope) !== before;
      if (hasMoved && !takes) throw tokenMoved(scope);
      const { id, updates, files } = await makeAppend(metadata, written, {
        storage,
        signal,
        now: env.clock.now().getTime(),
        summary: { ...Object.fromEntries(own), ...summaryOfTokens(tokens) },
      });
      return {
        updates: [...updates, ...propertiesOfTokens(tokens, id)],
        isIn: (now) => now.metadata.snapshots.has(id),
        undo: async () => {
          for (const file of files) await storage.remove(file);
        },
      };
    };
  }

  /** The commit failed. Files that may be part of the table are not touched any more. */
  readonly offered = (error: unknown): void => {
    if (error instanceof CommitUnknown) this.#groups = [];
    else this.#isRefused = true;
  };

  committed(): void {
    this.#groups = [];
    this.#isRefused = false;
  }

  /** Removes what was not committed. Never throws. */
  async discard(): Promise<void> {
    const groups = this.#groups;
    this.#groups = [];
    const keeps = this.#isRefused && !this.#config.cleanup_orphans_on_failure;
    for (const group of groups) await group.discard(keeps);
    if (keeps && groups.length > 0)
      this.#context.env.log.warn('data files of a refused commit are left behind', {
        table: nameText(this.#name),
        hint: 'set `cleanup_orphans_on_failure: true` to have them removed',
      });
  }
}
