/** Values that the server would round, or change, on their way into a column. */
import type { RecordType } from '../../../kit/record-schema.ts';
import type { LiveColumn } from '../../_sql/driver.ts';
import {
  DOUBLE_ROUNDING,
  FLOAT_ROUNDING,
  isWhole,
  scaleRounding,
  secondsRounding,
  type Rounding,
} from '../../_sql/rounding.ts';
import { partsOf } from '../encode.ts';
import type { TableColumn } from './schema.ts';

/** An empty text becomes null. */
const EMPTY: Rounding = { rounds: (text) => text === '' };

/** `undefined` where the column holds all values of the type. */
export function roundingOf(live: LiveColumn, type: RecordType | undefined): Rounding | undefined {
  const { sqlType, scale } = live as TableColumn;
  const { base } = partsOf(sqlType);
  switch (base) {
    case 'NUMBER':
      if (scale === undefined) return undefined;
      if (type?.kind === 'decimal' && (type.scale ?? Infinity) <= scale) return undefined;
      return {
        ...scaleRounding(scale),
        ...(scale === 0 ? { refuses: () => true } : {}),
      };
    case 'BINARY_FLOAT':
      return type?.kind === 'float32' ? undefined : { ...FLOAT_ROUNDING, refuses: isWhole };
    case 'BINARY_DOUBLE':
      return type?.kind.startsWith('float') === true
        ? undefined
        : { ...DOUBLE_ROUNDING, refuses: isWhole };
    case 'DATE':
    case 'TIMESTAMP':
    case 'TIMESTAMP WITH TIME ZONE':
    case 'TIMESTAMP WITH LOCAL TIME ZONE':
      return secondsRounding(scale ?? 0);
    case 'CHAR':
    case 'VARCHAR2':
    case 'NCHAR':
    case 'NVARCHAR2':
    case 'CLOB':
    case 'NCLOB':
      return EMPTY;
    default:
      return undefined;
  }
}
