/** Values of a row of the text protocol of MySQL: each is NULL, or its size and its bytes. */
import { ConnectorError } from '../../lib/errors.ts';

/** Marks in front of a value. */
export const NULL_VALUE = 0xfb;
export const TWO_BYTES = 0xfc;
const THREE_BYTES = 0xfd;
const EIGHT_BYTES = 0xfe;

const ZERO = 48;
const ONE = 49;

/** The size behind a mark from `TWO_BYTES` on. */
export function sizeAt(row: Buffer, at: number, mark: number): number {
  switch (mark) {
    case TWO_BYTES:
      return row.readUInt16LE(at);
    case THREE_BYTES:
      return row.readUIntLE(at, 3);
    case EIGHT_BYTES:
      return Number(row.readBigUInt64LE(at));
    default:
      throw unreadableRow();
  }
}

/** How many bytes that size takes. */
export function sizeBytes(mark: number): number {
  return mark === TWO_BYTES ? 2 : mark === THREE_BYTES ? 3 : 8;
}

/** The number that bits spell. */
export function bitsOf(row: Buffer, from: number, to: number): string {
  let value = 0n;
  for (let at = from; at < to; at += 1) value = value * 256n + BigInt(row[at] ?? ZERO);
  return String(value);
}

/** The truth value that a digit stands for. */
// oxlint-disable-next-line max-params
export function truthOf(column: string, row: Buffer, from: number, to: number): boolean {
  const digit = row[from];
  if (to - from === 1 && (digit === ZERO || digit === ONE)) return digit === ONE;
  const digits = row.toString('latin1', from, to);
  throw new ConnectorError(
    'data',
    `the column \`${column}\` is tinyint(1), a truth value, and holds ${digits}`,
    { hint: `select it as a number, with \`${column}\` + 0` },
  );
}

export function unreadableRow(): ConnectorError {
  return new ConnectorError('connection', 'the server sent a row that cannot be read');
}
