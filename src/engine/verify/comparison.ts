/** What is compared, and what is found. */
import type { VerifySpec } from '../../blocks/verify/schema.ts';
import type { Log } from '../../lib/log.ts';
import type { VerifyReport } from '../../wire/verify.ts';
import type { Found, KeyedDiffOptions } from './keyed-diff.ts';
import type { RecordForms } from './normal-form.ts';
import type { RowBudget } from './row-budget.ts';
import type { Side } from './side.ts';

export interface Comparison {
  readonly source: Side;
  readonly destination: Side;
  readonly key: readonly string[];
  readonly forms: RecordForms;
  /** Whether a field counts. */
  readonly counts: (name: string) => boolean;
  readonly spec: Pick<VerifySpec, 'ranges' | 'leaf_rows'>;
  readonly maxDifferences: number;
  readonly budget: RowBudget;
  readonly isDeletion: KeyedDiffOptions['isDeletion'];
  readonly heldBack?: KeyedDiffOptions['heldBack'];
  readonly log: Log;
}

export type Compared = Pick<
  VerifyReport,
  'strategy' | 'ranges_compared' | 'ranges_differing' | 'server_digests' | 'truncated'
> & {
  readonly found: readonly Found[];
};
