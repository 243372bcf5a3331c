/** Values that the engine would round on their way into a column. */
import type { RecordType } from '../../kit/record-schema.ts';
import type { LiveColumn } from '../_sql/driver.ts';
import {
  DATE_ROUNDING,
  DOUBLE_ROUNDING,
  FLOAT_ROUNDING,
  isWhole,
  scaleRounding,
  secondsRounding,
  type Rounding,
} from '../_sql/rounding.ts';

const INTEGER = /^U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?$/;
const FLOATS = new Set(['float32', 'float64']);

export function roundingOf(
  { sqlType }: LiveColumn,
  type: RecordType | undefined,
): Rounding | undefined {
  if (INTEGER.test(sqlType)) return { ...scaleRounding(0), refuses: () => true };
  const scale = /^DECIMAL\(\d+,\s*(\d+)\)$/.exec(sqlType)?.[1];
  if (scale !== undefined) return { ...scaleRounding(Number(scale)), refuses: () => true };
  if (type !== undefined && FLOATS.has(type.kind) && sqlType === 'DOUBLE') return undefined;
  if (type?.kind === 'float32' && sqlType === 'FLOAT') return undefined;
  return NARROW[sqlType];
}

const NARROW: Readonly<Record<string, Rounding>> = {
  DOUBLE: { ...DOUBLE_ROUNDING, refuses: isWhole },
  FLOAT: { ...FLOAT_ROUNDING, refuses: isWhole },
  DATE: DATE_ROUNDING,
  TIMESTAMP_S: secondsRounding(0),
  TIMESTAMP_MS: secondsRounding(3),
  TIMESTAMP: secondsRounding(6),
  'TIMESTAMP WITH TIME ZONE': secondsRounding(6),
  TIME: secondsRounding(6),
};
