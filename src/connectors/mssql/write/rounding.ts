/** Values that the server would round, or cut, on their way into a column of a narrow type. */
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
import { lettersOutside } from './code-pages.ts';
import type { TableColumn } from './schema.ts';

const MONEY_SCALE = 4;
const MILLIS = 3;

/** `undefined` where the column holds all values of the type. */
export function roundingOf(live: LiveColumn, type: RecordType | undefined): Rounding | undefined {
  const { type: name, scale, length, codePage } = live as TableColumn;
  if (name.endsWith('int'))
    return isKind(type, 'int', 'bool') ? undefined : { ...scaleRounding(0), refuses: () => true };
  switch (name) {
    case 'decimal':
    case 'numeric':
      if (type?.kind === 'decimal' && (type.scale ?? Infinity) <= scale) return undefined;
      return isKind(type, 'int') ? undefined : scaleRounding(scale);
    case 'money':
    case 'smallmoney':
      return scaleRounding(MONEY_SCALE);
    case 'real':
      return type?.kind === 'float32' ? undefined : { ...FLOAT_ROUNDING, refuses: isWhole };
    case 'float':
      return isKind(type, 'float') ? undefined : { ...DOUBLE_ROUNDING, refuses: isWhole };
    case 'date':
      return type?.kind === 'date' ? undefined : DATE_ROUNDING;
    case 'datetime':
      return { rounds: (text) => secondsRounding(MILLIS).rounds(text) || !isTick(text) };
    case 'smalldatetime':
      return { rounds: (text) => /:\d\d:(?!00(?:\.0*)?(?:\D|$))\d\d/.test(text) };
    case 'time':
    case 'datetime2':
    case 'datetimeoffset':
      return secondsRounding(scale);
    case 'varchar':
    case 'char':
    case 'text': {
      // A letter that the code page does not have becomes a question mark.
      const lost = lettersOutside(codePage);
      return { rounds: (text) => lost(text) || hasNoRoom(text, length), refuses: lost };
    }
    case 'nvarchar':
      return length === -1 ? undefined : { rounds: (text) => hasNoRoom(text, length) };
    default:
      return undefined;
  }
}

/** Times are stored in steps of a 300th of a second, which end in 0, 3 and 7. */
function isTick(text: string): boolean {
  const [, fraction = ''] = /:\d\d\.(\d+)/.exec(text) ?? [];
  const millis = fraction.padEnd(MILLIS, '0').slice(0, MILLIS);
  return /[037]$/.test(millis);
}

function isKind(type: RecordType | undefined, ...starts: readonly string[]): boolean {
  return type !== undefined && starts.some((start) => type.kind.startsWith(start));
}

/** Spaces at the end that have no room go without an error; any other letter is refused. */
function hasNoRoom(text: string, length: number): boolean {
  return length > 0 && text.length > length && text.endsWith(' ');
}
