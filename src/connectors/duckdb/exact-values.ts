/** Values that the engine would round on their way into a column. */
import { ConnectorError } from '../../lib/errors.ts';
import { isLiteral, literalValue } from '../../lib/text/json-literal.ts';
import { jsonText, type JsonValue } from '../../lib/text/json.ts';
import type { LiveColumn, RowSet } from '../_sql/driver.ts';

/** Refuses the rows when a number has digits that its column cannot hold. */
export function refuseRounding({ columns, rows }: RowSet): void {
  for (const [place, column] of columns.entries()) {
    const rounds = roundingOf(column);
    if (rounds === undefined) continue;
    const value = rows.find((row) => rounds(exactValue(row[place] ?? null)))?.[place];
    if (value === undefined) continue;
    throw new ConnectorError(
      'data',
      `the column \`${column.name}\` is ${column.sqlType}, which would round ${jsonText(value)}`,
      { hint: 'give the column a wider type, or let `schema.on_drift: evolve` widen it' },
    );
  }
}

/** A number of more digits than a double holds is one text. */
function exactValue(value: JsonValue): JsonValue {
  return isLiteral(value) ? literalValue(value) : value;
}

type Rounds = (value: JsonValue) => boolean;

function roundingOf({ sqlType }: LiveColumn): Rounds | undefined {
  if (/^U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?$/.test(sqlType))
    return (value) => isNumber(value) && decimalsOf(value) > 0;
  if (sqlType === 'DOUBLE' || sqlType === 'FLOAT')
    return (value) => typeof value === 'bigint' && BigInt(Number(value)) !== value;
  const scale = /^DECIMAL\(\d+,\s*(\d+)\)$/.exec(sqlType)?.[1];
  return scale === undefined
    ? undefined
    : (value) => isNumber(value) && decimalsOf(value) > Number(scale);
}

const NUMBER = /^\s*[+-]?(?:\d+\.?(\d*)|\.(\d+))(?:[eE]([+-]?\d+))?\s*$/;

function isNumber(value: JsonValue): value is number | bigint | string {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string';
}

/** Decimal places without zeros at the end; none for what is no number: the engine refuses that. */
function decimalsOf(value: number | bigint | string): number {
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return 0;
  const [match, fraction = '', bare = '', exponent = '0'] = NUMBER.exec(String(value)) ?? [];
  if (match === undefined) return 0;
  const digits = (fraction + bare).replace(/0+$/, '');
  return Math.max(0, digits.length - Number(exponent));
}
