/**
 * What a receipt says of a run that has ended. The command line and the server fill it in, each with
 * what it knows; `receipt-page.ts` draws it.
 */
import type { Balance, NodeOutcome } from '../../wire/outcome.ts';
import type { RunStatus } from '../../wire/run-status.ts';

export interface ReceiptInvocation {
  readonly row: string;
  readonly key: string | null;
  readonly status: string;
  /** Absent in runs that an earlier version recorded. */
  readonly started_at?: string | undefined;
  readonly duration_ms: number;
  readonly balance: Balance;
  readonly error: string | null;
  readonly code?: string | undefined;
  /** `pipeline.sink, line 6`. */
  readonly place?: string | undefined;
  readonly hint?: string | undefined;
  /** What the counts do not say, such as why records were withheld. */
  readonly remarks?: readonly string[];
}

/** A file as it was when the receipt was made. */
export interface ReceiptFile {
  readonly path: string;
  readonly row: string;
  readonly dataset_uri: string;
  readonly bytes?: number;
  readonly sha256?: string;
  /** Why there is no checksum, or why it is not that of the run. */
  readonly note?: string;
}

export interface ReceiptPlan {
  /** How each row ran, as `plan --output json` shows it. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  readonly params: Readonly<Record<string, unknown>>;
  readonly warnings: readonly { readonly path: string; readonly message: string }[];
}

export interface Receipt {
  readonly run_id: string;
  readonly name: string | null;
  readonly status: RunStatus;
  readonly labels: Readonly<Record<string, string>>;
  readonly submitted_at?: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly records_written: number;
  /** What stopped the run as a whole. */
  readonly error: string | null;
  /** What has to be known to read the counts: a dry run, a limit. */
  readonly notes: readonly string[];
  readonly invocations: readonly ReceiptInvocation[];
  readonly nodes: readonly NodeOutcome[];
  /** A text says why the plan is not known. */
  readonly plan: ReceiptPlan | string;
  readonly files: readonly ReceiptFile[];
  /** Of the document, as it was read or submitted; absent where its text is not known. */
  readonly document?: { readonly name: string; readonly sha256: string };
  readonly made: {
    readonly at: string;
    readonly by: string;
    readonly version: string;
    readonly runtime: string;
  };
}

const MEMBERS = [
  'read',
  'filtered',
  'expanded',
  'transformed',
  'written',
  'dead_lettered',
  'withheld',
] as const satisfies readonly (keyof Balance)[];

export function sumOfBalances(invocations: readonly { readonly balance: Balance }[]): Balance {
  const sum = {
    read: 0,
    filtered: 0,
    expanded: 0,
    transformed: 0,
    written: 0,
    dead_lettered: 0,
    withheld: 0,
  };
  for (const { balance } of invocations)
    for (const member of MEMBERS) sum[member] += balance[member];
  return sum;
}

/** Records that neither equation accounts for; 0: both close. */
export function unaccounted(balance: Balance): number {
  const { read, filtered, expanded, transformed, written, dead_lettered, withheld } = balance;
  return (
    Math.abs(read - filtered + expanded - transformed) +
    Math.abs(transformed - written - dead_lettered - withheld)
  );
}

/** Those that failed first, then in the order of their starts. */
export function worstFirst(invocations: readonly ReceiptInvocation[]): ReceiptInvocation[] {
  return invocations.toSorted(
    (one, other) =>
      Number(other.error !== null) - Number(one.error !== null) ||
      (one.started_at ?? '').localeCompare(other.started_at ?? ''),
  );
}
