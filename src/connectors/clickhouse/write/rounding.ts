/** Values that the server would cut, or round, on their way into a column of a narrow type. */
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
import { bareType, parseType } from '../types/parse-type.ts';

/** `undefined` where the column holds all values of the type, or refuses those that it does not. */
export function roundingOf(
  { sqlType }: Pick<LiveColumn, 'sqlType'>,
  type: RecordType | undefined,
): Rounding | undefined {
  const { name, args } = bareType(parseType(sqlType)).type;
  const last = Number(args.at(-1)?.text ?? 0);
  if (name.startsWith('Decimal'))
    return type?.kind === 'decimal' && (type.scale ?? Infinity) <= last
      ? undefined
      : scaleRounding(last);
  switch (name) {
    case 'Float32':
      return type?.kind === 'float32' ? undefined : { ...FLOAT_ROUNDING, refuses: isWhole };
    case 'Float64':
      return type?.kind.startsWith('float') === true
        ? undefined
        : { ...DOUBLE_ROUNDING, refuses: isWhole };
    case 'Date':
    case 'Date32':
      return type?.kind === 'date' ? undefined : DATE_ROUNDING;
    case 'DateTime':
    case 'DateTime32':
      return timeRounding(0);
    case 'DateTime64':
      return timeRounding(Number(args[0]?.text ?? 3));
    default:
      return undefined;
  }
}

/** A number is seconds, with a fraction of its own. */
function timeRounding(digits: number): Rounding {
  const [texts, numbers] = [secondsRounding(digits), scaleRounding(digits)];
  return { rounds: (text) => texts.rounds(text) || numbers.rounds(text) };
}
