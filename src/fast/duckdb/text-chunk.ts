/**
 * Fills chunks of DuckDB column by column. Texts are passed as one block of bytes per chunk and one
 * entry of sixteen bytes per row, which is DuckDB's own form of a text; a call for each text would
 * take longer than everything else.
 */
import { createRequire } from 'node:module';
import type { DuckDBDataChunk } from '@duckdb/node-api';
import type * as Bindings from '@duckdb/node-bindings';
import { assert } from '../../lib/errors.ts';
import { CHUNK_ROWS } from '../../lib/sql/duckdb.ts';

/** The bindings that the engine's library itself uses. */
function loadBindings(): typeof Bindings {
  const here = createRequire(import.meta.url);
  return createRequire(here.resolve('@duckdb/node-api'))(
    '@duckdb/node-bindings',
  ) as typeof Bindings;
}

let loaded: typeof Bindings | undefined;
const bindings = (): typeof Bindings => (loaded ??= loadBindings());

/**
 * Texts of one column, each from its start to its end in a buffer; an end before its start means null.
 */
export interface TextCells {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

/** The part of the texts that goes into a chunk. */
export interface TextRange {
  /** UTF-8. The engine copies the part that is named. */
  readonly bytes: Uint8Array;
  readonly bytesFrom: number;
  readonly bytesTo: number;
  /** First row of the cells; the chunk says how many. */
  readonly row: number;
}

/** A text of at most this length is stored in the sixteen bytes themselves. */
const INLINE = 12;
const ENTRY = 16;
const TWO_32 = 2 ** 32;

/** Reused for every column, because DuckDB copies its content. */
const entries = new ArrayBuffer(CHUNK_ROWS * ENTRY);
const words = new Uint32Array(entries);
const letters = new Uint8Array(entries);
const validity = new Uint8Array(CHUNK_ROWS / 8);

/** Puts texts into columns of a chunk, which knows how many rows it has. */
export function fillTexts(
  chunk: DuckDBDataChunk,
  columns: ReadonlyMap<number, TextCells>,
  range: TextRange,
): void {
  const api = bindings();
  const rows = chunk.rowCount;
  let address: Address | undefined;
  for (const [index, cells] of columns) {
    const vector = api.data_chunk_get_vector(chunk.chunk, index);
    address ??= placeBytes(vector, range.bytes.subarray(range.bytesFrom, range.bytesTo));
    const nulls = writeEntries(cells, { ...range, address, rows });
    api.copy_data_to_vector(vector, 0, entries, 0, rows * ENTRY);
    if (nulls) fillValidity(vector, cells, { row: range.row, rows });
  }
}

/** Where the bytes lie in the memory of the engine, in two halves. */
interface Address {
  readonly low: number;
  readonly high: number;
}

/**
 * The first vector of the chunk owns the bytes as one long text, whose entry is overwritten
 * afterwards; they live as long as the chunk.
 */
function placeBytes(vector: Bindings.Vector, bytes: Uint8Array): Address {
  // A shorter text has no address, and no text within it needs one.
  if (bytes.length <= INLINE) return { low: 0, high: 0 };
  bindings().vector_assign_string_element_len(vector, 0, bytes);
  const entry = bindings().vector_get_data(vector, ENTRY);
  const view = new DataView(entry.buffer, entry.byteOffset, ENTRY);
  assert(view.getUint32(0, true) === bytes.length, 'the engine keeps texts in another form');
  return { low: view.getUint32(8, true), high: view.getUint32(12, true) };
}

/** Says whether there is a null among them. */
function writeEntries(
  { starts, ends }: TextCells,
  place: TextRange & { address: Address; rows: number },
): boolean {
  const { bytes, bytesFrom, bytesTo, row: first, rows, address } = place;
  let nulls = false;
  for (let row = 0; row < rows; row += 1) {
    const start = starts[first + row] as number;
    const end = ends[first + row] as number;
    if (end < start) {
      nulls = true;
      continue;
    }
    assert(start >= bytesFrom && end <= bytesTo, 'a text lies within the bytes of its chunk');
    const length = end - start;
    const word = row * 4;
    words[word] = length;
    words[word + 1] = 0;
    words[word + 2] = 0;
    words[word + 3] = 0;
    const head = length <= INLINE ? length : 4;
    for (let at = 0, to = row * ENTRY + 4; at < head; at += 1, to += 1)
      letters[to] = bytes[start + at] as number;
    if (length <= INLINE) continue;
    const low = address.low + (start - bytesFrom);
    words[word + 2] = low;
    words[word + 3] = low < TWO_32 ? address.high : address.high + 1;
  }
  return nulls;
}

function fillValidity(
  vector: Bindings.Vector,
  { starts, ends }: TextCells,
  { row: first, rows }: { row: number; rows: number },
): void {
  validity.fill(255);
  for (let row = 0; row < rows; row += 1) {
    if ((ends[first + row] as number) >= (starts[first + row] as number)) continue;
    validity[row >> 3] = (validity[row >> 3] as number) & ~(1 << (row & 7));
  }
  bindings().vector_ensure_validity_writable(vector);
  bindings().copy_data_to_vector_validity(vector, 0, validity.buffer, 0, Math.ceil(rows / 64) * 8);
}
