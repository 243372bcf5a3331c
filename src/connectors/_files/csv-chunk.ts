import { isUtf8 } from 'node:buffer';
import { ByteWriter } from '../../kit/byte-writer.ts';
import { CsvLineKernel } from './csv-line-kernel.ts';
import { CsvScanner, type CsvDialect, type Stretch } from './csv-rows.ts';

const LINE_FEED = 0x0a;

/** What a thread must know of a file to convert a part of it; plain data, so that it can be sent. */
export interface ChunkShape {
  readonly dialect: CsvDialect;
  readonly nullValues: readonly string[];
  readonly names: readonly string[];
  /** Records of a page at most. */
  readonly records: number;
}

/** A part of a file as JSON Lines. */
export interface ConvertedChunk {
  /** The lines of all pages, one page after the other. */
  readonly lines: Uint8Array<ArrayBuffer>;
  /** Where each page ends in `lines`, and how many records it has. */
  readonly pages: readonly { readonly end: number; readonly count: number }[];
  /** Lines of the file that were read. */
  readonly read: number;
}

/** A part of a file to be converted. Its memory goes back and forth, so that none has to be made anew. */
export interface ChunkTask {
  readonly chunk: Uint8Array<ArrayBuffer>;
  /** Where the lines go, when there is some to use again. */
  readonly room: ArrayBuffer | undefined;
}

export interface ChunkAnswer {
  readonly chunk: Uint8Array<ArrayBuffer>;
  /** `undefined` when the part is not whole rows that each end with a line, of the width of the header and in UTF-8. */
  readonly converted: ConvertedChunk | undefined;
}

/** Converts parts of a file that somebody has cut where rows seem to end. */
export class CsvChunkConverter {
  readonly #shape: ChunkShape;
  readonly #kernel: CsvLineKernel;

  constructor(shape: ChunkShape) {
    this.#shape = shape;
    this.#kernel = new CsvLineKernel({ ...shape, flexible: false, pageBytes: Infinity });
    this.#kernel.setColumns(shape.names);
  }

  answer({ chunk, room }: ChunkTask): ChunkAnswer {
    const out = new ByteWriter();
    if (room !== undefined) out.bytes = Buffer.from(room);
    return { chunk, converted: this.#convert(chunk, out) };
  }

  #convert(chunk: Uint8Array<ArrayBuffer>, out: ByteWriter): ConvertedChunk | undefined {
    const { dialect, records } = this.#shape;
    if (chunk.at(-1) !== LINE_FEED || !isUtf8(chunk)) return undefined;
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const stretch: Stretch = { bytes, end: bytes.length, offset: 0, utf8: true, at: 0 };
    const scanner = new CsvScanner(dialect);
    const pages: { end: number; count: number }[] = [];
    let count = 0;
    for (;;) {
      const stop = this.#kernel.convert(stretch, stretch.end, records - count, scanner, { out });
      count += this.#kernel.rows;
      if (stop === 'room') {
        out.ensure(out.bytes.length + 1);
        continue;
      }
      if (count > 0) pages.push({ end: out.length, count });
      count = 0;
      if (stop !== 'rows') break;
    }
    if (stretch.at !== stretch.end) return undefined;
    return { lines: out.bytes.subarray(0, out.length), pages, read: scanner.line - 1 };
  }
}
