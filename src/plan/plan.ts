/**
 * What the plan is: everything decided before the first record moves. Plain data and frozen
 * definitions; no effects.
 */
import type { DlqPlan } from '../blocks/dlq/plan.ts';
import type { PlanMembers, RowMembers } from '../blocks/row-members.ts';
import type { RowStatus } from '../document/structure/source.ts';
import type { JoinSpec } from '../document/structure/topology.ts';
import type { Locate } from '../document/text/locate.ts';
import type { Issue } from '../lib/errors.ts';
import type { JsonObject } from '../lib/text/json.ts';
import type { RetryPolicy } from '../kit/context.ts';
import type { Lane } from '../kit/page.ts';
import type { SinkDefinition } from '../kit/sink.ts';
import type { SourceDefinition } from '../kit/source.ts';
import type { StateStoreDefinition } from '../kit/state-store.ts';
import type { TransformDefinition } from '../kit/transform.ts';

/** A named part with its config, ready to open once the run-time tokens are filled in. */
export interface PlannedPart<D> {
  /** Its path in the document, for issues: `matrix[2].sink`. */
  readonly path: string;
  readonly type: string;
  /** Preset it came from; `default` for the singular block. */
  readonly preset: string;
  readonly definition: D;
  /** After load-time interpolation; may still hold run-time tokens and escape marks. Not parsed. */
  readonly config: JsonObject;
  /**
   * True when `config` holds run-time tokens: it is completed and parsed per invocation
   * (`plan/resolve.ts`).
   */
  readonly deferred: boolean;
  /** The parsed config; `undefined` when deferred. */
  readonly parsed: unknown;
  /**
   * What can be reported about a deferred config before a run: parsed with placeholders where tokens
   * stand. For descriptions, never for work; absent when the config cannot be judged.
   */
  readonly judged?: unknown;
}

export type PlannedSource = PlannedPart<SourceDefinition>;
export type PlannedSink = PlannedPart<SinkDefinition>;
export type PlannedState = PlannedPart<StateStoreDefinition>;
export type PlannedTransform = PlannedPart<TransformDefinition>;

/**
 * The lane of a row and the reason that decided it: `records: transform "filter" reads "amount"`.
 */
export interface LaneChoice {
  readonly lane: Lane;
  readonly reason: string;
  /**
   * Whether everything between source and sink looks at one page at a time and forgets it: several
   * pages can then be worked on at once.
   */
  readonly sideBySide?: true;
}

export interface ParentLink {
  readonly row: string;
  /** Dotted path in the parent record; its value suffixes the child's state key. Default `id`. */
  readonly key: string;
  /** Top-level fields of the parent record that children use; `record` when one needs it whole. */
  readonly fields: readonly string[] | 'record';
}

/** What blocks of the document have become, by name; `blockOf` knows their types. */
export type PlannedBlocks = Readonly<Record<string, unknown>>;

/** One matrix row (or the implicit single row `row-0`). */
export interface PlannedRow extends RowMembers {
  readonly id: string;
  /** Place in the declared order. */
  readonly index: number;
  /**
   * `child` runs once for each record of its parent, `product` once for each tuple of `forEach`.
   */
  readonly role: 'root' | 'child' | 'product';
  readonly parent: ParentLink | undefined;
  /** Rows it waits for; those of `forEach` and `collected` among them. */
  readonly dependsOn: readonly string[];
  /** Fan-out rows whose values it runs for. */
  readonly forEach: readonly string[];
  /** Fan-out rows whose collected lists its tokens name. */
  readonly collected: readonly string[];
  readonly source: PlannedSource;
  readonly sink: PlannedSink;
  /** Already layered: pipeline, source preset, row. */
  readonly transforms: readonly PlannedTransform[];
  /** What it has of the blocks of the document; read with `blockOf`. */
  readonly blocks: PlannedBlocks;
  readonly lane: LaneChoice;
  /**
   * `{name}::{row}`; an invocation appends `::{parent key value}` or `::{alias=value&…}`, and
   * `::partition::{chunk}`.
   */
  readonly stateKey: string;
  /** Whether its source begins at the beginning, whatever position is stored. */
  readonly readsAnew?: boolean;
  /** Set when it reads its own dead letters, which have been masked. */
  readonly replays?: true;
  readonly weight: number | undefined;
  readonly tags: readonly string[];
  /** Tier of the row: by default only `mandatory` and `active` rows run. */
  readonly status: RowStatus;
}

/** A row that lists values instead of moving records (`fan_out`). */
export interface FanOutPlan {
  readonly role: 'discovery';
  readonly id: string;
  readonly index: number;
  readonly dependsOn: readonly string[];
  /** Fan-out rows for whose values it lists again: then it has one list for each tuple. */
  readonly forEach: readonly string[];
  readonly collected: readonly string[];
  /** Its lists are given as texts, and are no dimension of other rows. */
  readonly collect: boolean;
  readonly source: PlannedSource;
  /** Steps to the value in each record; none for the whole record. */
  readonly select: readonly string[];
  /** Tokens call the value `${<id>.<alias>}`. */
  readonly alias: string;
  readonly retry: RetryPolicy | undefined;
  readonly weight: number | undefined;
  readonly tags: readonly string[];
  readonly status: RowStatus;
}

interface NodePlace {
  readonly id: string;
  /** Its path in the document. */
  readonly path: string;
}

/** A node of a graph; what a sink node does is described by the row of the same id. */
export type PlannedNode = NodePlace &
  (
    | { readonly kind: 'source'; readonly source: PlannedSource }
    | { readonly kind: 'transform'; readonly transforms: readonly PlannedTransform[] }
    | { readonly kind: 'tee' | 'merge' | 'sink' }
    | { readonly kind: 'join'; readonly join: JoinSpec }
  );

export interface PlannedEdge {
  readonly from: string;
  readonly to: string;
  /** What a join calls it. */
  readonly label: string | undefined;
  /** Pages it holds before its producer waits. */
  readonly capacity: number;
  /**
   * Its producer must never wait, or the graph could deadlock: what does not fit goes to disk.
   */
  readonly spills: boolean;
  /** Nobody but the consumer holds the records that travel on it. */
  readonly owned: boolean;
}

/** A graph of nodes instead of a matrix of rows. */
export interface TopologyPlan {
  /** Every node after those that feed it. */
  readonly nodes: readonly PlannedNode[];
  readonly edges: readonly PlannedEdge[];
  /** Why no run can go on where another one stopped; `undefined` when it can. */
  readonly startsOver: string | undefined;
  /** Takes what the nodes before the sinks put aside. */
  readonly dlq: DlqPlan | undefined;
}

export interface Plan extends PlanMembers {
  /** Drives state keys and metric labels. */
  readonly name: string;
  /** The rows that run, in declared order. */
  readonly rows: readonly PlannedRow[];
  /** Declared rows that this run leaves out. */
  readonly unselected: readonly PlannedRow[];
  /** The rows that list values for others. */
  readonly fanOuts: readonly FanOutPlan[];
  readonly unselectedFanOuts: readonly FanOutPlan[];
  /** Whether flags or statuses decided which rows run. */
  readonly selectionActive: boolean;
  /** The document's `auth` map: provider name to `{type, config}`. */
  readonly auth: Readonly<Record<string, { readonly type: string; readonly config: JsonObject }>>;
  /** Doubts that do not stop a run. */
  readonly warnings: readonly Issue[];
  /** Present when the document has nodes; `rows` are then its sink nodes. */
  readonly topology?: TopologyPlan;
  /** What the plan as a whole has of the blocks of the document; read with `blockOf`. */
  readonly blocks: PlannedBlocks;
  /** Finds a path in the text of the document, for errors of a run. */
  readonly locate?: Locate;
}
