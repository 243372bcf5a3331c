/** Positions in the binary log: a file of the server, and a byte in it. */
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';

export interface BinlogPosition {
  readonly file: string;
  readonly pos: number;
}

/** Where the events of a file begin, behind its four magic bytes. */
export const FIRST_POS = 4;

export function isAfter(one: BinlogPosition, other: BinlogPosition): boolean {
  const files = one.file === other.file ? 0 : fileNumber(one.file) - fileNumber(other.file);
  return files === 0 ? one.pos > other.pos : files > 0;
}

/** Files are numbered: `binlog.000042`. */
function fileNumber(file: string): number {
  return Number(file.slice(file.lastIndexOf('.') + 1)) || 0;
}

export function formatPosition({ file, pos }: BinlogPosition): string {
  return `${file}:${pos}`;
}

/** The end of the last transaction that was given whole. */
export function bookmarkOf({ file, pos }: BinlogPosition): JsonObject {
  return { file, pos };
}

export function positionOf(bookmark: JsonValue): BinlogPosition {
  if (isObject(bookmark)) {
    const { file, pos } = bookmark;
    if (typeof file === 'string' && file !== '' && isPos(pos)) return { file, pos };
  }
  throw new ConnectorError('data', 'the bookmark is none of the source mysql-cdc', {
    hint: 'remove it from the state store to start over',
  });
}

function isPos(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= FIRST_POS;
}
