/**
 * Rows in the binary form of COPY, passed from one server to another without decoding. Every row
 * stays in its message (a kind and a length), which is sent to the other server. A row is the
 * number of its values (two bytes) and, for each value, its length (four bytes, -1 for null) and
 * its bytes.
 */
import { setField, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import type { Encoding, Page } from '../../../kit/page.ts';
import { BINARY_TEXTS } from '../types/binary-text.ts';
import { FRAME_HEAD, frameEnd } from '../../_sql/copy-text/frames.ts';
import { decoderOf, type BigNumbers, type CopyColumn } from '../../_postgres/decode.ts';

export const COPY_BINARY = 'pg_copy_binary';

/** The bytes before the rows: the signature, no flags, no extension. */
export const BINARY_HEAD = Buffer.from([
  ...Buffer.from('PGCOPY\n'),
  0xff,
  0x0d,
  0x0a,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
  0,
]);
/** The bytes after the last row. */
export const BINARY_TAIL = Buffer.from([0xff, 0xff]);
const NULL_LENGTH = -1;

/**
 * Whether every column has a type whose binary form is the same on every server, and a unique name.
 */
export function canPass(columns: readonly CopyColumn[]): boolean {
  return (
    new Set(columns.map((column) => column.name)).size === columns.length &&
    columns.every(({ oid }) => BINARY_TEXTS[oid] !== undefined)
  );
}

/** The columns of each block. A page only passes on the block itself, so the block is the key. */
const COLUMNS = new WeakMap<ArrayBufferLike, readonly CopyColumn[]>();

export function columnsOfBlock(block: Uint8Array): readonly CopyColumn[] | undefined {
  return COLUMNS.get(block.buffer);
}

/** Decodes the value of a column from what `valueOf` returned. */
export function binaryDecoder(
  column: CopyColumn,
  bigNumbers: BigNumbers,
): (raw: string) => JsonValue {
  const read = readerOf(column, bigNumbers);
  return (raw) => read(Buffer.from(raw, 'latin1'));
}

function readerOf(column: CopyColumn, bigNumbers: BigNumbers): (bytes: Buffer) => JsonValue {
  const [text, decode] = [BINARY_TEXTS[column.oid], decoderOf(column, bigNumbers)];
  if (text === undefined)
    throw new Error(`cannot happen: column ${column.name} has no binary form`);
  return (bytes) => decode(text(bytes));
}

/** Whether any row of a block is null in one of these columns. */
export function hasNull(block: Uint8Array, columns: readonly number[]): boolean {
  if (columns.length === 0) return false;
  const bytes = asBuffer(block);
  for (let row = 0; row < bytes.length; row = frameEnd(bytes, row)) {
    const values = bytes.readInt16BE(row + FRAME_HEAD);
    let at = row + FRAME_HEAD + 2;
    for (let index = 0; index < values; index += 1) {
      const length = bytes.readInt32BE(at);
      if (length === NULL_LENGTH && columns.includes(index)) return true;
      at += length > 0 ? 4 + length : 4;
    }
  }
  return false;
}

/** Whether a value of a block fulfils the test of its column; columns without a test are passed. */
export function anyValue(
  block: Uint8Array,
  tests: readonly (((bytes: Buffer) => boolean) | undefined)[],
): boolean {
  if (tests.every((test) => test === undefined)) return false;
  const bytes = asBuffer(block);
  for (let row = 0; row < bytes.length; row = frameEnd(bytes, row)) {
    let at = row + FRAME_HEAD + 2;
    for (const test of tests) {
      const length = bytes.readInt32BE(at);
      at += 4;
      if (length <= 0) continue;
      if (test?.(bytes.subarray(at, at + length)) === true) return true;
      at += length;
    }
  }
  return false;
}

export function binaryEncoding(columns: readonly CopyColumn[], bigNumbers: BigNumbers): Encoding {
  const fields = columns.map((column) => ({
    name: column.name,
    read: readerOf(column, bigNumbers),
  }));
  const recordAt = (block: Buffer, from: number): JsonObject => {
    const record: JsonObject = {};
    let at = from + FRAME_HEAD + 2;
    for (const { name, read } of fields) {
      const length = block.readInt32BE(at);
      at += 4;
      setField(record, name, length === NULL_LENGTH ? null : read(block.subarray(at, at + length)));
      if (length > 0) at += length;
    }
    return record;
  };
  return {
    name: COPY_BINARY,
    decode(block) {
      const bytes = asBuffer(block);
      const records: JsonObject[] = [];
      for (let at = 0; at < bytes.length; at = frameEnd(bytes, at))
        records.push(recordAt(bytes, at));
      return records;
    },
    encode() {
      throw new Error('cannot happen: records are not written as binary rows');
    },
    offsetOf(block, index) {
      const bytes = asBuffer(block);
      let at = 0;
      for (let passed = 0; passed < index && at < bytes.length; passed += 1)
        at = frameEnd(bytes, at);
      return at;
    },
  };
}

function asBuffer(block: Uint8Array): Buffer {
  return Buffer.from(block.buffer, block.byteOffset, block.byteLength);
}

/** Stores the columns of a block; it must be a separate buffer. */
export function nameColumns(block: Uint8Array, columns: readonly CopyColumn[]): void {
  COLUMNS.set(block.buffer, columns);
}

/** The block of a page that holds binary rows, with its columns. */
export function binaryBlock(
  page: Page,
): { readonly block: Uint8Array; readonly columns: readonly CopyColumn[] } | undefined {
  if (page.form.form !== 'bytes' || page.form.encoding !== COPY_BINARY) return undefined;
  const block = page.block(ANY_COLUMNS);
  const columns = columnsOfBlock(block);
  return columns === undefined ? undefined : { block, columns };
}

const ANY_COLUMNS = binaryEncoding([], 'fail');
