/** Numbers that the affinity of a column turns into other ones. */
import type { LiveColumn } from '../_sql/driver.ts';
import { DOUBLE_ROUNDING, isWhole, type Rounding } from '../_sql/rounding.ts';
import { isReal } from './column-types.ts';

/** Columns of these types store each value as it comes. */
const AS_IT_IS = /char|clob|text|blob/i;

export function roundingOf({ sqlType }: Pick<LiveColumn, 'sqlType'>): Rounding | undefined {
  if (isReal(sqlType)) return { ...DOUBLE_ROUNDING, refuses: isWhole };
  const isAny = sqlType === '' || sqlType.toUpperCase() === 'ANY';
  if (isAny || (AS_IT_IS.test(sqlType) && !/int/i.test(sqlType))) return undefined;
  return NUMERIC_ROUNDING;
}

/** Integers of 64 bits stay what they are; other numbers that are texts become doubles. */
const NUMERIC_ROUNDING: Rounding = {
  holdsDoubles: true,
  rounds: (text) => !isInt64(text) && DOUBLE_ROUNDING.rounds(text),
};

function isInt64(text: string): boolean {
  if (!/^-?\d{1,19}$/.test(text)) return false;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value;
}
