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

/** `undefined` where the column holds all values of the type. */
export function roundingOf(
  { sqlType }: Pick<LiveColumn, 'sqlType'>,
  type: RecordType | undefined,
): Rounding | undefined {
  const [, name = '', first = '0', second = '0'] =
    /^(\w+)(?:\((\d+)(?:,(\d+))?\))?/.exec(sqlType) ?? [];
  const digits = Number(first);
  if (/int$|^year$/.test(name))
    return isKind(type, 'int', 'bool') ? undefined : { ...scaleRounding(0), refuses: () => true };
  switch (name) {
    case 'decimal':
      if (type?.kind === 'decimal' && (type.scale ?? Infinity) <= Number(second)) return undefined;
      return isKind(type, 'int') ? undefined : scaleRounding(Number(second));
    case 'float':
      return type?.kind === 'float32' ? undefined : { ...FLOAT_ROUNDING, refuses: isWhole };
    case 'double':
      return isKind(type, 'float') ? undefined : { ...DOUBLE_ROUNDING, refuses: isWhole };
    case 'date':
      return type?.kind === 'date' ? undefined : DATE_ROUNDING;
    case 'time':
    case 'datetime':
    case 'timestamp':
      return secondsRounding(digits);
    case 'varchar':
      return spacesRounding(digits);
    default:
      return undefined;
  }
}

function isKind(type: RecordType | undefined, ...starts: readonly string[]): boolean {
  return type !== undefined && starts.some((start) => type.kind.startsWith(start));
}

/** Spaces at the end that have no room go without an error; any other letter is refused. */
function spacesRounding(length: number): Rounding {
  return { rounds: (text) => text.endsWith(' ') && Array.from(text).length > length };
}
