/** Plans pages of columns that go into LOAD DATA without making records. */
import type { Page } from '../../../kit/page.ts';
import { copyCellPieces, type CellColumn } from '../../../fast/copy-text/copy-cells.ts';
import { filledColumns, roundedCells, type FilledColumn } from '../../_sql/cell-columns.ts';
import type { NameRules, UnknownFields } from '../../_sql/column-names.ts';
import type { LiveColumn } from '../../_sql/driver.ts';
import type { OnRounding } from '../../_sql/rounding.ts';
import { encoderOf, type Encoder } from './encode.ts';
import { fieldOf, PIECE_SIZE } from './load.ts';
import { cellRoundingOf, roundingOf } from './rounding.ts';

export interface LoadPlan {
  readonly encoders: readonly Encoder[];
  /** The lines of the file. Throws `ConnectorError` at a value that its column does not take. */
  readonly pieces: Iterable<Buffer>;
  readonly unknown: UnknownFields;
  /** How many values each column does not hold exactly. */
  readonly rounded: ReadonlyMap<string, number>;
}

interface LoadTarget {
  readonly live: readonly LiveColumn[];
  readonly rules: NameRules;
  readonly policy: OnRounding | undefined;
}

/**
 * `undefined` where records have to decide: which of them has a value that no column takes, or that
 * may not be rounded.
 */
export function planLoad(page: Page, { live, rules, policy }: LoadTarget): LoadPlan | undefined {
  const { columns, schema } = page;
  if (columns === undefined) return undefined;
  const filled = filledColumns(columns, { live, rules, schema });
  if (filled === undefined) return undefined;
  const { known, unknown } = filled;
  const rounded = roundedCells(columns, known, (to) => cellRoundingOf(to, to.type));
  if (known.some(({ to }) => rounded.has(to.name) && mayRefuse(to, policy))) return undefined;
  const encoders = known.map(({ to }) => encoderOf(to, to.type));
  const writers = encoders.map(({ style, encode }, index): CellColumn => {
    const { from } = known[index] as FilledColumn<LiveColumn>;
    return { from, style, encode: (value) => fieldOf(encode(value)) };
  });
  return { encoders, pieces: copyCellPieces(columns, writers, PIECE_SIZE), unknown, rounded };
}

function mayRefuse(to: FilledColumn<LiveColumn>['to'], policy: OnRounding | undefined): boolean {
  if (policy === 'warn') return false;
  return policy === 'error' || roundingOf(to, to.type)?.refuses !== undefined;
}
