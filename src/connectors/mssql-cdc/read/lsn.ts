/** Numbers of the log of SQL Server (LSN): ten bytes, here as `0x` and 20 digits. */
import { ConnectorError } from '../../../lib/errors.ts';
import type { Cell } from '../../_mssql/result-types.ts';

/** Texts of this form are in the order of the numbers. */
export type Lsn = string;

const DIGITS = 20;
export const NO_LSN: Lsn = `0x${'0'.repeat(DIGITS)}`;

/** In any spelling that people copy; `undefined` where it is none. */
export function parseLsn(written: string): Lsn | undefined {
  const [, digits] = /^(?:0x)?([0-9a-f]{20})$/i.exec(written) ?? [];
  return digits === undefined ? undefined : `0x${digits.toUpperCase()}`;
}

/** Binary values of a result are base64. */
export function lsnOf(cell: Cell | undefined): Lsn | undefined {
  if (cell === null || cell === undefined) return undefined;
  const lsn = parseLsn(Buffer.from(String(cell), 'base64').toString('hex'));
  if (lsn !== undefined) return lsn;
  throw new ConnectorError('data', 'the server gives a number of its log that is none');
}

export function bytesOf(lsn: Lsn): Buffer {
  return Buffer.from(lsn.slice(2), 'hex');
}

export function after(lsn: Lsn): Lsn {
  return moved(lsn, 1n);
}

export function before(lsn: Lsn): Lsn {
  return moved(lsn, -1n);
}

function moved(lsn: Lsn, by: bigint): Lsn {
  return `0x${(BigInt(lsn) + by).toString(16).toUpperCase().padStart(DIGITS, '0')}`;
}

export function later(one: Lsn, other: Lsn): Lsn {
  return one > other ? one : other;
}
