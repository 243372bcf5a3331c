/** Values that BigQuery would cut, or round, on their way into a column of a narrow type. */
import type { RecordType } from '../../../kit/record-schema.ts';
import type { LiveColumn } from '../../_sql/driver.ts';
import {
  DATE_ROUNDING,
  DOUBLE_ROUNDING,
  isWhole,
  scaleRounding,
  secondsRounding,
  type Rounding,
} from '../../_sql/rounding.ts';
import { recordTypeOf, type BigqueryColumn } from './fields.ts';

/** Digits of a second that BigQuery holds. */
export const SECOND_DIGITS = 6;

/** `undefined` where the column holds all values of the type, or refuses those that it does not. */
export function roundingOf(column: LiveColumn, type: RecordType | undefined): Rounding | undefined {
  const { field } = column as BigqueryColumn;
  const own = recordTypeOf({ ...field, isRepeated: false });
  switch (own.kind) {
    case 'decimal': {
      const { scale = 0 } = own;
      const fits = type?.kind === 'decimal' && (type.scale ?? Infinity) <= scale;
      return fits ? undefined : scaleRounding(scale);
    }
    case 'float64':
      return type?.kind.startsWith('float') === true
        ? undefined
        : { ...DOUBLE_ROUNDING, refuses: isWhole };
    case 'date':
      return type?.kind === 'date' ? undefined : DATE_ROUNDING;
    case 'time':
    case 'timestamp':
      return secondsRounding(SECOND_DIGITS);
    default:
      return undefined;
  }
}
