/** Values that Spanner would cut or round on their way into a column of a narrow type. */
import type { RecordType } from '../../../kit/record-schema.ts';
import type { LiveColumn } from '../../_sql/driver.ts';
import {
  DATE_ROUNDING,
  DOUBLE_ROUNDING,
  FLOAT_ROUNDING,
  isWhole,
  scaleRounding,
  secondsRounding,
  type Rounding,
} from '../../_sql/rounding.ts';
import { ownColumn } from './columns.ts';

/** Digits of a second that Spanner holds. */
export const SECOND_DIGITS = 9;
export const NUMERIC_SCALE = 9;

/** `undefined` where the column holds all values of the type, or refuses those that it does not. */
export function roundingOf(column: LiveColumn, type: RecordType | undefined): Rounding | undefined {
  switch (ownColumn(column).base) {
    case 'NUMERIC':
      return type?.kind === 'decimal' && (type.scale ?? Infinity) <= NUMERIC_SCALE
        ? undefined
        : scaleRounding(NUMERIC_SCALE);
    case 'FLOAT64':
      return type?.kind.startsWith('float') === true
        ? undefined
        : { ...DOUBLE_ROUNDING, refuses: isWhole };
    case 'FLOAT32':
      return type?.kind === 'float32' ? undefined : { ...FLOAT_ROUNDING, refuses: isWhole };
    case 'DATE':
      return type?.kind === 'date' ? undefined : DATE_ROUNDING;
    case 'TIMESTAMP':
      return secondsRounding(SECOND_DIGITS);
    default:
      return undefined;
  }
}
