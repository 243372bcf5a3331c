/**
 * Pages that name rows of a table by a range of row ids; the sink has SQLite fetch the rows. A block
 * has one byte for each row, without content: the offset of the block in its buffer identifies the
 * rows.
 */
import type { SQLInputValue } from 'node:sqlite';
import type { JsonObject } from '../../lib/text/json.ts';
import type { Encoding, Page } from '../../kit/page.ts';
import type { PlainQuery } from './plain-query.ts';
import { rangeOf, rowIdOf } from './plain-query.ts';

export const SQLITE_ROWS = 'sqlite_rows';

/** Selects the rows of one read. */
export interface RowSource {
  /** Of the database file. */
  readonly path: string;
  readonly query: PlainQuery;
  readonly values: readonly SQLInputValue[];
  readonly columns: readonly { readonly name: string; readonly declared: string | null }[];
  /** Whether the file still has the content with which the read began. */
  isUnchanged(): boolean;
}

export interface RowRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** The rows of a block: all of the range, or `count` of them behind the first `skip`. */
export interface RowsOfBlock {
  readonly source: RowSource;
  readonly range: RowRange;
  readonly part: { readonly skip: number; readonly count: number } | undefined;
}

interface Named {
  readonly source: RowSource;
  readonly range: RowRange;
}

/** A page hands its block on without its encoding, so the buffer is what the rows are known by. */
const NAMED = new WeakMap<ArrayBufferLike, Named>();

export function blockOfRows(source: RowSource, range: RowRange, count: number): Uint8Array {
  const block = new Uint8Array(count);
  NAMED.set(block.buffer, { source, range });
  return block;
}

/** The rows a page names; `undefined` when it holds anything else. */
export function rowsOfPage(page: Page): RowsOfBlock | undefined {
  if (page.form.form !== 'bytes' || page.form.encoding !== SQLITE_ROWS) return undefined;
  return rowsOfBlock(page.block(ANY_ROWS));
}

function rowsOfBlock(block: Uint8Array): RowsOfBlock | undefined {
  const named = NAMED.get(block.buffer);
  if (named === undefined) return undefined;
  const isWhole = block.length === block.buffer.byteLength;
  return { ...named, part: isWhole ? undefined : { skip: block.byteOffset, count: block.length } };
}

/** A SELECT of the rows, and the values of its parameters. */
export function selectRows(
  { source, range, part }: RowsOfBlock,
  schema: string,
): { sql: string; values: SQLInputValue[] } {
  const { query } = source;
  const cut = part === undefined ? '' : ' LIMIT ? OFFSET ?';
  return {
    sql: `SELECT ${query.list} ${rangeOf(query, schema)} ORDER BY ${rowIdOf(query)}${cut}`,
    values: [
      ...source.values,
      range.from,
      range.to,
      ...(part === undefined ? [] : [part.count, part.skip]),
    ],
  };
}

/** Runs a SELECT on the connection that named the rows. */
export type ReadRecords = (sql: string, values: readonly SQLInputValue[]) => JsonObject[];

export function rowEncoding(read: ReadRecords): Encoding {
  return {
    ...ANY_ROWS,
    decode(block) {
      const rows = rowsOfBlock(block);
      if (rows === undefined) throw new Error('cannot happen: the block names no rows');
      const { sql, values } = selectRows(rows, 'main');
      return read(sql, values);
    },
  };
}

const ANY_ROWS: Encoding = {
  name: SQLITE_ROWS,
  decode() {
    throw new Error('cannot happen: rows are read by the connection that named them');
  },
  encode() {
    throw new Error('cannot happen: records are not named by row ids');
  },
  offsetOf: (_block, index) => index,
};
