/**
 * Fills chunks of the analytical engine column by column. Texts go over as one block of bytes a chunk and sixteen bytes a row that
 * say where in it each stands, the engine's own form of a text; a call for each text would take longer than everything else.
 */
import { createRequire } from 'node:module';
import type { DuckDBDataChunk } from '@duckdb/node-api';
import type * as Bindings from '@duckdb/node-bindings';
import { assert } from './errors.ts';

/** The bindings that the engine's library itself uses. */
function loadBindings(): typeof Bindings {
  const here = createRequire(import.meta.url);
  return createRequire(here.resolve('@duckdb/node-api'))('@duckdb/node-bindings') as typeof Bindings;
}

let loaded: typeof Bindings | undefined;
const bindings = (): typeof Bindings => (loaded ??= loadBindings());

/** Rows a chunk holds at most. */
export const CHUNK_ROWS = 2048;

/** Texts of one column: from `starts` to `ends` in the bytes of the chunk; an end before its start is null. */
export interface TextCells {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

/** A text of this length or less stands in the sixteen bytes themselves. */
const INLINE = 12;
const ENTRY = 16;
const TWO_32 = 2 ** 32;

/** Puts UTF-8 texts into columns of a chunk. `columns` has an entry for each column that is text. */
export function fillTexts(chunk: DuckDBDataChunk, bytes: Uint8Array, columns: ReadonlyMap<number, TextCells>): void {
  const api = bindings();
  let address: Address | undefined;
  for (const [index, cells] of columns) {
    const vector = api.data_chunk_get_vector(chunk.chunk, index);
    address ??= placeBytes(vector, bytes);
    const entries = entriesOf(cells, { bytes, address, rows: chunk.rowCount });
    api.copy_data_to_vector(vector, 0, entries, 0, entries.byteLength);
    fillValidity(vector, cells, chunk.rowCount);
  }
}

/** Where the bytes lie in the memory of the engine, in two halves. */
interface Address {
  readonly low: number;
  readonly high: number;
}

/** The first vector of the chunk owns the bytes as one long text, whose entry is then written over; they live as long as the chunk. */
function placeBytes(vector: Bindings.Vector, bytes: Uint8Array): Address {
  // Shorter ones would have no address, and no text in them needs one.
  if (bytes.length <= INLINE) return { low: 0, high: 0 };
  bindings().vector_assign_string_element_len(vector, 0, bytes);
  const entry = bindings().vector_get_data(vector, ENTRY);
  const view = new DataView(entry.buffer, entry.byteOffset, ENTRY);
  assert(view.getUint32(0, true) === bytes.length, 'the engine keeps texts in another form');
  return { low: view.getUint32(8, true), high: view.getUint32(12, true) };
}

function entriesOf(cells: TextCells, place: { bytes: Uint8Array; address: Address; rows: number }): ArrayBuffer {
  const { starts, ends } = cells;
  const { bytes, address, rows } = place;
  const entries = new ArrayBuffer(rows * ENTRY);
  const words = new Uint32Array(entries);
  const out = new Uint8Array(entries);
  for (let row = 0; row < rows; row += 1) {
    const start = starts[row] as number;
    const end = ends[row] as number;
    if (end < start) continue;
    assert(end <= bytes.length, 'a text ends within the bytes of its chunk');
    const length = end - start;
    const word = row * 4;
    words[word] = length;
    const head = length <= INLINE ? length : 4;
    for (let at = 0, to = row * ENTRY + 4; at < head; at += 1, to += 1) out[to] = bytes[start + at] as number;
    if (length <= INLINE) continue;
    const low = address.low + start;
    words[word + 2] = low;
    words[word + 3] = low < TWO_32 ? address.high : address.high + 1;
  }
  return entries;
}

function fillValidity(vector: Bindings.Vector, { starts, ends }: TextCells, rows: number): void {
  const bits = new Uint8Array(Math.ceil(rows / 64) * 8).fill(255);
  let nulls = false;
  for (let row = 0; row < rows; row += 1) {
    if ((ends[row] as number) >= (starts[row] as number)) continue;
    nulls = true;
    bits[row >> 3] = (bits[row >> 3] as number) & ~(1 << (row & 7));
  }
  if (!nulls) return;
  bindings().vector_ensure_validity_writable(vector);
  bindings().copy_data_to_vector_validity(vector, 0, bits.buffer, 0, bits.byteLength);
}
