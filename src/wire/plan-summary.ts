/** What a server needs to know of a plan; the plan itself stays in the process that made it. */
import type { JsonObject } from '../lib/text/json.ts';

export interface PlanSummary {
  /** Drives state keys and metric labels. */
  readonly name: string;
  /** False when neither the submission nor the document gives a name. */
  readonly is_named: boolean;
  /** Of the resolved document; decides whether a repeated submission is the same request. */
  readonly fingerprint: string;
  readonly warnings: readonly { readonly path: string; readonly message: string }[];
  /** Rows that may write a record a second time when another server goes on with the run. */
  readonly repeating?: readonly string[];
  /** The values of its parameters, secret ones masked; present when it has any. */
  readonly params?: JsonObject;
  /** Present when the document says who is told how its runs ended. */
  readonly notified?: NotifiedPlan;
  /** Present when the document was prepared for a backfill. */
  readonly range?: RangeSummary;
}

/** What notifications are made from. */
export interface NotifiedPlan {
  readonly name: string;
  /** As the block `notifications` was parsed; opened by the feature that sends them. */
  readonly rules: readonly JsonObject[];
  /** The document is one pipeline and no matrix: receivers are told no row. */
  readonly is_one_row: boolean;
  readonly rows: readonly NotifiedRow[];
  /** Rows that only list values for others. */
  readonly listing: readonly string[];
}

export interface NotifiedRow {
  readonly id: string;
  /** The row for whose records it runs. */
  readonly parent: string | null;
  readonly breaker: { readonly failures: number; readonly cooldown_secs: number } | null;
}

/** How a document can be cut into windows. */
export interface RangeSummary {
  readonly window: string | number | null;
  readonly timezone: string | null;
  /** Rows whose source reads the same in every window. */
  readonly unscoped_sources: readonly string[];
  /** What is wrong with rows that would remove the records of other windows. */
  readonly clean_up_fault: string | null;
}
