/**
 * A block of the document, declared once in a folder of its own: how it is written, what the plan
 * makes of it, the rules for it, and how it is explained.
 */
import type { BlockGrammar } from '../document/block.ts';
import type { Placed } from '../document/parse/read-blocks.ts';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import type { IssueList } from '../plan/issue-list.ts';
import type { Plan, PlannedBlocks, PlannedRow, PlannedSource } from '../plan/plan.ts';
import type { FoundToken } from '../document/tokens/find-tokens.ts';
import type { SinkDefinition } from '../kit/sink.ts';
import type { StateStoreDefinition } from '../kit/state-store.ts';
import type { AssembledRow, UnjudgedRow } from '../plan/assembled-row.ts';
import type { AssembledPart } from '../plan/plan-part.ts';
import type { Parts } from '../kit/parts.ts';
import type { ResolvedPart } from '../plan/resolve-part.ts';
import type { EventKind } from '../kit/notification-event.ts';

/**
 * `Spec` is what the document says, `Planned` what a row or the plan has of it, `Prepared` what is
 * worked out once for all rows that share the block. All that is not declared is left out: a block
 * with a schema alone is read and kept in the plan as it is.
 */
export interface BlockDefinition<
  Spec = unknown,
  Planned = unknown,
  Prepared = unknown,
> extends BlockGrammar<Spec> {
  /**
   * Whose it is: each row has it (`blockOf(row, block)`), or the plan (`blockOf(plan, block)`).
   * `members` for the blocks that shape rows themselves, such as `partition`: what they find out is
   * read as members of rows and plan (`row-members.ts`). Absent where only loading needs it.
   */
  readonly plannedFor?: 'rows' | 'plan' | 'members';
  /** Present when rows that run for the records or values of others do not inherit it. */
  readonly inheritedBy?: 'roots';

  /** Called once for each occurrence of the block; the spec itself when absent. */
  prepare?(given: Placed<Spec>, tools: BlockTools): Prepared | undefined;
  /** What of it holds for one row, if anything; all of it when absent. */
  forRow?(prepared: Prepared, row: AssembledRow): Planned | undefined;
  /**
   * Finds the parts that it names; what it returns becomes members of the assembled row, which the
   * rules of all blocks see. Rows that share the block share the result.
   */
  assemble?(given: Placed<Spec>, tools: BlockTools): Partial<AssembledRow>;
  /** The same, for what depends on the row and on the parts of its other blocks. */
  conclude?(
    given: Placed<Spec> | undefined,
    row: UnjudgedRow,
    tools: BlockTools,
  ): Partial<AssembledRow>;
  /** Members of the planned row that this block alone decides. */
  planRow?(given: Placed<Spec> | undefined, row: AssembledRow): Partial<PlannedRow>;
  /** Members of the plan that this block alone decides. */
  planDocument?(given: Placed<Spec> | undefined, tools: BlockTools): Partial<Plan>;

  /** What must be true of the document, with the block or without it. */
  checkDocument?(given: Placed<Spec> | undefined, tools: BlockTools): void;
  /** What must be true of every row, with the block or without it. */
  checkEveryRow?(given: Placed<Spec> | undefined, row: AssembledRow, place: RowPlace): void;
  /** What must be true of all rows together. */
  checkRows?(rows: readonly AssembledRow[], among: AssembledRows): void;
  /** What must be true of a row that has it. */
  checkRow?(planned: Planned, row: AssembledRow, place: BlockPlace): void;
  /** What must be true of the plan as a whole. */
  checkPlan?(prepared: Prepared, plan: PlanInMaking, place: BlockPlace): void;

  /** Whether it sends records to the dead-letter queue, which the row then has to have. */
  quarantines?(planned: Planned): boolean;
  /** Whether it stores something in the state store, even where the source keeps no bookmarks. */
  usesState?(prepared: Prepared): boolean;
  /** What it does with records on their way, which decides their lane; nothing when `undefined`. */
  readsRecords?(prepared: Prepared, row: AssembledRow): RecordReader | undefined;
  /** Events that happen only in rows with this block. */
  readonly events?: readonly BlockEvent<Planned>[];
  /** Why it cannot be combined with `pipeline.nodes`, as a hint; it can when absent. */
  readonly notBesideNodes?: string;
  /** Keys of it that change nothing beside `pipeline.nodes`. */
  withoutEffectBesideNodes?(spec: Spec): readonly WithoutEffect[];
  /** Of a block of sources: what a node would not do that its preset asks for. */
  readonly notOnNodes?: { readonly what: string; readonly hint: string };
  /** Whether a row with this source runs in several parts, each an invocation of its own. */
  cuts?(
    given: Placed<Spec>,
    source: Pick<ResolvedPart, 'type' | 'config'> | undefined,
    sources: Parts['sources'],
  ): Cut | undefined;
  /** What it needs the column with the id of the run for. */
  readonly needsRunId?: RunIdNeed;

  /** Run-time tokens that it fills in for sources and sinks: `${<root>.<name>}`. */
  readonly tokens?: {
    readonly root: string;
    /** Which there are is said in the block: nothing is known of them while it is faulty. */
    readonly namedByBlock?: true;
    /** Where else they cannot stand, as a hint. */
    readonly hint: string;
    granted(
      this: void,
      given: Placed<Spec> | undefined,
      use: TokenScopeUse,
    ): GrantedTokens | undefined;
  };
  /** Run-time tokens in the block itself, which the row fills in. */
  tokensIn?(given: Placed<Spec>): TokenUse;
  /** Keys of it whose tokens the block judges itself. */
  readonly judgesTokensOf?: readonly string[];

  /** Of a block of the plan: a sentence for the head of `explain`. */
  introduce?(this: void, planned: Planned): string;
  /** Of a block of rows: what `plan`, `explain` and `--diff` show of it. */
  explain?(planned: Planned, row: PlannedRow): readonly Fact[];
  /** The same, for its members of the row, which also a row without the block has. */
  explainRow?(row: PlannedRow): readonly Fact[];
  /** What `--diff` compares key by key, besides the facts. */
  settings?(planned: Planned): unknown;
  /** Its member in `plan --json`; `null` where a row does not have it. */
  readonly listed?: { readonly key: string; value(planned: Planned, row: PlannedRow): JsonValue };
}

export function defineBlock<Spec, Planned = Spec, Prepared = Spec>(
  definition: BlockDefinition<Spec, Planned, Prepared>,
): BlockDefinition<Spec, Planned, Prepared> {
  return Object.freeze(definition);
}

/** The place of the block, and where its issues are reported. */
export interface BlockPlace {
  readonly path: string;
  readonly issues: IssueList;
}

/** What a rule for every row is given. */
export interface RowPlace {
  readonly issues: IssueList;
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** The blocks of the row that send records to the dead-letter queue. */
  readonly quarantining: readonly { readonly name: string; readonly path: string }[];
}

export interface AssembledRows {
  readonly issues: IssueList;
  /** Whether a block stores something for the row besides bookmarks. */
  storesMore(this: void, row: AssembledRow): boolean;
}

export interface WithoutEffect {
  readonly key: string;
  readonly message: string;
}

/** How the invocations of a row that is cut are distinguished. */
export interface Cut {
  /** The root of tokens that differ; empty when there are none. */
  readonly name: string;
  readonly per: string;
  readonly example?: string;
  /** Each reads a share of what the source divides. */
  readonly isInShares?: boolean;
}

/** The issue when the column is not added. */
export interface RunIdNeed {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

export interface TokenScopeUse {
  /** Whether the document is looked at for a backfill. */
  readonly backfill: boolean;
}

export interface GrantedTokens {
  readonly names: readonly string[];
  /** The message for a token that is not one of them. */
  unknown(this: void, body: string): string;
}

export interface TokenUse {
  readonly path: string;
  readonly tokens: readonly FoundToken[];
  /** Whether the row needs their values. */
  readonly isFilledIn: boolean;
}

/** What a block may look at while it is prepared. */
export interface BlockTools {
  readonly issues: IssueList;
  /** CPUs of the machine that runs the plan. */
  readonly cpus: number;
  /** The document as loaded. */
  readonly tree: JsonObject;
  /** Whether its one row has no name of its own: there are neither rows nor nodes. */
  readonly isOneRow: boolean;
  /** The presets under `pipeline.sinks`, and the types of sinks. */
  readonly sinks: { readonly names: readonly string[]; has(name: string): boolean };
  /** Resolves and parses a source inside the block, like any other source. */
  planSource(this: void, given: Placed<PartSpec>): PlannedSource | undefined;
  assembleSink(this: void, given: Placed<PartSpec>): AssembledPart<SinkDefinition> | undefined;
  assembleState(
    this: void,
    given: Placed<PartSpec>,
  ): AssembledPart<StateStoreDefinition> | undefined;
  /** What a block of the document needs the id of the run for, if one does. */
  needsRunId(this: void): RunIdNeed | undefined;
}

interface PartSpec {
  readonly type: string;
  readonly config?: PlannedSource['config'] | undefined;
}

/** The plan when its rows are known. */
export interface PlanInMaking {
  /** Every row that is declared. */
  readonly rows: readonly PlannedRow[];
  /** Those that run. */
  readonly chosen: readonly PlannedRow[];
  /** What the blocks of this build make happen; other events can always happen. */
  readonly events: readonly RowEvent[];
  readonly topology: Plan['topology'] | undefined;
}

/** Something that looks at records, in the order in which they pass. */
export interface RecordReader {
  /** What it does, as a sentence. */
  readonly why: string;
  /** Whether it can do with columns. */
  readonly onColumns: boolean;
  /** Whether it has to see the pages one after the other. */
  readonly inOrder?: boolean;
}

export interface BlockEvent<Planned> {
  readonly kind: EventKind;
  /** What a row needs for it, as messages say it. */
  readonly needs: string;
  canHappen(this: void, planned: Planned, row: PlannedRow): boolean;
}

export interface RowEvent {
  readonly kind: EventKind;
  readonly needs: string;
  canHappen(this: void, row: PlannedRow): boolean;
}

/** The heading under which a fact is shown. */
export type FactTopic =
  | 'checks'
  | 'stamped'
  | 'dead letters'
  | 'state'
  | 'guarantee'
  | 'taken over'
  | 'retries'
  | 'expects'
  | 'undo'
  | 'chunks'
  | 'shards';

export interface Fact {
  readonly topic: FactTopic;
  /** For `plan`. */
  readonly short: string;
  /** A sentence, for `explain`. */
  readonly words: string;
}

type PlannedBy<Planned> = BlockDefinition<unknown, Planned>;

/** What a row or a plan has of a block; `undefined` where it has none. */
export function blockOf<Planned>(
  { blocks }: { readonly blocks: PlannedBlocks },
  { name }: PlannedBy<Planned>,
): Planned | undefined {
  return blocks[name] as Planned | undefined;
}

/** The row with another value of a block, or without it. */
export function withBlock<Planned>(
  row: PlannedRow,
  { name }: PlannedBy<Planned>,
  planned: Planned | undefined,
): PlannedRow {
  const { [name]: _old, ...others } = row.blocks;
  return { ...row, blocks: planned === undefined ? others : { ...others, [name]: planned } };
}

/** Only these blocks of a row. */
export function onlyBlocks(
  { blocks }: Pick<PlannedRow, 'blocks'>,
  kept: readonly { readonly name: string }[],
): PlannedBlocks {
  const names = new Set(kept.map(({ name }) => name));
  return Object.fromEntries(Object.entries(blocks).filter(([name]) => names.has(name)));
}
