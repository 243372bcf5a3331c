/**
 * CSV → JSON Lines with the loop of `csv-line-code.ts`: its memory, its arguments and its results.
 */
import type { ByteWriter } from '../../kit/byte-writer.ts';
import { wasmApi, type WasmModule } from '../../lib/wasm/wasm-api.ts';
import type { CellMarks } from '../../kit/cell-marks.ts';
import type { CsvDialect } from '../../kit/csv-dialect.ts';
import {
  csvLineModule,
  ESCAPE_BYTES,
  ESCAPES_AT,
  LABEL_HEAD,
  NULL_HEAD,
  STOPS,
  TABLES_END,
  VECTOR_BYTES,
  WORDS,
  type CsvLineExports,
} from './csv-line-code.ts';

/**
 * Why the kernel stopped: at the end of the complete rows, after the requested number of rows, at a
 * row that would make the page too large, or at a row with another number of cells than there are
 * labels.
 */
export type KernelStop = Exclude<(typeof STOPS)[number], 'room'>;

/** Bytes that hold whole rows; one object for as long as they are the same. */
export interface KernelInput {
  readonly bytes: Buffer;
  /** Where the first row not read yet starts; moved on by the kernel. */
  at: number;
}

/** Position of a reader in its file; updated by the kernel. */
export interface LinePosition {
  /** The line on which the next row starts. */
  line: number;
  /** Whether the last byte read was a carriage return. */
  afterReturn: boolean;
}

export interface KernelTarget {
  readonly out: ByteWriter;
  /** For columns: the position of each cell in the output. */
  readonly marks?: CellMarks;
}

export interface KernelOptions {
  readonly dialect: CsvDialect;
  readonly flexible: boolean;
  readonly nullValues: readonly string[];
  readonly pageBytes: number;
}

const PAGE_OF_MEMORY = 64 * 1024;
/**
 * Initial size of input and output; small enough for the caches of a processor. Both grow for longer
 * rows.
 */
const IN_BYTES = 128 * 1024;
const OUT_BYTES = 128 * 1024;
/** Rows of a call for which there are marks, and fewer where there are many columns. */
const MARKED_ROWS = 528;
const MARKED_CELLS = 32 * 1024;
const MARK_BYTES = 9;
const MOST = 0x7fff_ffff;

/**
 * Instances kept for the next file: creating one takes longer than converting a small file, and
 * leaves its memory to the garbage collector.
 */
const IDLE_MACHINES = 4;
const IDLE_BYTES = 1024 * 1024;
const idle: CsvLineExports[] = [];

/** What each byte becomes in a JSON text. */
const JSON_ESCAPES = Array.from({ length: 256 }, (_, byte) =>
  Buffer.from(JSON.stringify(String.fromCharCode(byte)).slice(1, -1)),
);

let compiled: WasmModule | undefined;

/** Whether this machine has the vectors that the kernel works with. */
export function hasCsvLineKernel(): boolean {
  if (compiled !== undefined) return true;
  const code = csvLineModule();
  if (!wasmApi.validate(code)) return false;
  compiled = new wasmApi.Module(code);
  return true;
}

/**
 * Writes rows as lines of JSON, after the columns are set. A row that cannot be written leaves
 * nothing in the output: the kernel stops before it and reports why.
 */
export class CsvLineKernel {
  /** Rows written by the last call. */
  rows = 0;
  readonly #options: KernelOptions;
  readonly #nulls: readonly Uint8Array[];
  readonly #exports: CsvLineExports;
  #labels: readonly Uint8Array[] = [];
  #places = placesOf({ tables: 0, width: 0, out: OUT_BYTES, in: IN_BYTES });
  #bytes = Buffer.alloc(0);
  #words = new DataView(new ArrayBuffer(0));
  /** What lies in the memory. */
  #loaded: KernelInput | undefined;

  constructor(options: KernelOptions) {
    this.#options = options;
    this.#nulls = options.nullValues.map((text) => Buffer.from(JSON.stringify(text).slice(1, -1)));
    this.#exports = idle.pop() ?? newMachine();
  }

  /** Lets go of the memory; afterwards nothing can be converted. To be called once. */
  close(): void {
    if (idle.length < IDLE_MACHINES && this.#exports.memory.buffer.byteLength <= IDLE_BYTES)
      idle.push(this.#exports);
  }

  setColumns(names: readonly string[]): void {
    this.#labels = names.map((name, index) =>
      Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(name)}:"`),
    );
    this.#layOut(this.#places.sizes);
  }

  /**
   * Writes rows of `input` up to `end`, where a row ends, and advances `input.at` and the line of
   * `position`. With `marks`, which have room for `most` rows, it also stores the place of each cell.
   */
  convert(
    input: KernelInput,
    end: number,
    most: number,
    position: LinePosition,
    { out, marks }: KernelTarget,
  ): KernelStop {
    this.#load(input);
    this.rows = 0;
    for (;;) {
      const asked = Math.min(most - this.rows, marks === undefined ? MOST : this.#places.markStep);
      const stop = this.#call(input, end, asked, position, {
        out,
        ...(marks === undefined ? {} : { marks }),
      });
      if (stop === 'room') {
        if (this.#words.getInt32(WORDS.rows, true) === 0)
          this.#layOut({ ...this.#places.sizes, out: this.#places.sizes.out * 2 });
        this.#load(input);
      } else if (stop !== 'rows' || this.rows === most) return stop;
    }
  }

  #call(
    input: KernelInput,
    end: number,
    most: number,
    position: LinePosition,
    { out, marks }: KernelTarget,
  ): (typeof STOPS)[number] {
    const { inAt, outAt } = this.#places;
    this.#set('at', inAt + input.at);
    this.#set('end', inAt + end);
    this.#set('to', outAt);
    this.#set('base', out.length - outAt);
    this.#set('most', Math.min(most, MOST));
    this.#set('line', position.line);
    this.#set('afterReturn', position.afterReturn ? 1 : 0);
    this.#set('markStep', marks === undefined ? 0 : this.#places.markStep);
    const stop = STOPS[this.#exports.convert()] ?? 'input';
    const rows = this.#get('rows');
    input.at = this.#get('at') - inAt;
    position.line = this.#get('line');
    position.afterReturn = this.#get('afterReturn') === 1;
    if (marks !== undefined) this.#takeMarks(marks, marks.count + this.rows, rows);
    out.append(this.#bytes.subarray(outAt, this.#get('to')));
    this.rows += rows;
    return stop;
  }

  #takeMarks({ starts, ends, kinds, capacity }: CellMarks, row: number, rows: number): void {
    const { startsAt, endsAt, kindsAt, markStep } = this.#places;
    const { buffer } = this.#bytes;
    for (let column = 0; column < this.#labels.length; column += 1) {
      const [from, to] = [column * markStep, column * capacity + row];
      starts.set(new Uint32Array(buffer, startsAt + from * 4, rows), to);
      ends.set(new Uint32Array(buffer, endsAt + from * 4, rows), to);
      kinds.set(new Uint8Array(buffer, kindsAt + from, rows), to);
    }
  }

  #load(input: KernelInput): void {
    if (this.#loaded === input) return;
    const { sizes } = this.#places;
    const { bytes } = input;
    if (bytes.length > sizes.in) this.#layOut({ ...sizes, in: bytes.length * 2 });
    this.#bytes.set(bytes, this.#places.inAt);
    this.#loaded = input;
  }

  /** Divides the memory anew, and writes into it what the loop goes by. What was loaded is lost. */
  #layOut(sizes: Sizes): void {
    const labels = this.#labels.map((label) => LABEL_HEAD + upToVector(label.length));
    const nulls = this.#nulls.map((text) => NULL_HEAD + text.length);
    const tables = upToVector(sum(labels)) + upToVector(sum(nulls));
    const places = placesOf({ ...sizes, tables, width: this.#labels.length });
    const { memory } = this.#exports;
    if (memory.buffer.byteLength < places.end)
      memory.grow(Math.ceil((places.end - memory.buffer.byteLength) / PAGE_OF_MEMORY));
    this.#places = places;
    this.#bytes = Buffer.from(memory.buffer);
    this.#words = new DataView(memory.buffer);
    this.#loaded = undefined;
    this.#writeTables(TABLES_END, TABLES_END + upToVector(sum(labels)));
    this.#writeSettings();
  }

  #writeTables(labelsAt: number, nullsAt: number): void {
    const bytes = this.#bytes;
    this.#set('labels', labelsAt);
    let at = labelsAt;
    for (const label of this.#labels) {
      this.#words.setInt32(at, label.length, true);
      bytes.set(label, at + LABEL_HEAD);
      at += LABEL_HEAD + upToVector(label.length);
    }
    this.#set('nulls', nullsAt);
    at = nullsAt;
    for (const text of this.#nulls) {
      this.#words.setInt32(at, text.length, true);
      bytes.set(text, at + NULL_HEAD);
      at += NULL_HEAD + text.length;
    }
    this.#set('nullsEnd', at);
  }

  #writeSettings(): void {
    const { dialect, flexible, pageBytes } = this.#options;
    const { startsAt, endsAt, kindsAt, inAt } = this.#places;
    this.#set('delimiter', dialect.delimiter);
    this.#set('quote', dialect.quote);
    this.#set('flexible', flexible ? 1 : 0);
    this.#set('pageBytes', Math.min(pageBytes, MOST));
    this.#set('width', this.#labels.length);
    this.#set('starts', startsAt);
    this.#set('ends', endsAt);
    this.#set('kinds', kindsAt);
    this.#set('toEnd', inAt);
  }

  #set(name: keyof typeof WORDS, value: number): void {
    this.#words.setInt32(WORDS[name], value, true);
  }

  #get(name: keyof typeof WORDS): number {
    return this.#words.getInt32(WORDS[name], true);
  }
}

function newMachine(): CsvLineExports {
  if (compiled === undefined)
    throw new Error('cannot happen: the kernel is used before it was compiled');
  const machine = new wasmApi.Instance(compiled, {}).exports as unknown as CsvLineExports;
  const bytes = Buffer.from(machine.memory.buffer);
  for (const [byte, escape] of JSON_ESCAPES.entries()) {
    const at = ESCAPES_AT + byte * ESCAPE_BYTES;
    bytes.set(escape, at);
    bytes[at + ESCAPE_BYTES - 1] = escape.length;
  }
  return machine;
}

interface Sizes {
  readonly tables: number;
  readonly width: number;
  readonly out: number;
  readonly in: number;
}

/** The layout of the memory. */
function placesOf(sizes: Sizes) {
  const { width } = sizes;
  const markStep = Math.max(
    VECTOR_BYTES,
    Math.min(MARKED_ROWS, upToVector(MARKED_CELLS / Math.max(1, width))),
  );
  const startsAt = TABLES_END + sizes.tables;
  const endsAt = startsAt + markStep * width * 4;
  const kindsAt = endsAt + markStep * width * 4;
  const outAt = startsAt + upToVector(markStep * width * MARK_BYTES);
  const inAt = outAt + sizes.out;
  return {
    sizes,
    markStep,
    startsAt,
    endsAt,
    kindsAt,
    outAt,
    inAt,
    end: inAt + sizes.in + VECTOR_BYTES,
  };
}

function upToVector(size: number): number {
  return Math.ceil(size / VECTOR_BYTES) * VECTOR_BYTES;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
