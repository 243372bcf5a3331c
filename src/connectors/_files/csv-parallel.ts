/** One delimited file over several threads: parts are converted side by side and handed on in the order of the file. */
import { isUtf8 } from 'node:buffer';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { Page } from '../../kit/page.ts';
import type { ChunkShape, ConvertedChunk } from './csv-chunk.ts';
import { cutRows } from './csv-cut.ts';
import type { CsvPageOptions } from './csv-page-maker.ts';
import { columnsOf, csvPages } from './csv-pages.ts';
import { CsvScanner, withoutBom } from './csv-rows.ts';
import { CsvHere, CsvTeam, CsvThread, type TeamMember } from './csv-team.ts';
import { SpareBuffers } from './spare-buffers.ts';

/** Large enough that sending it costs nothing beside converting it. */
const PART_BYTES = 512 * 1024;

export interface ParallelOptions extends CsvPageOptions {
  readonly threads: number;
  readonly partBytes?: number;
  /** Starts a thread that converts; a test may have something lighter. */
  readonly start?: (shape: ChunkShape) => TeamMember;
}

/**
 * The records of `csvPages` in the bytes lane, cut to pages elsewhere. A part is taken only when it turns out to end with a row, so that
 * the next one is known to start with one; from the first part on that does not, or that holds anything unusual, the file is read by
 * one thread.
 */
export async function* csvPagesInThreads(blocks: AsyncIterable<Uint8Array>, options: ParallelOptions): AsyncGenerator<Page> {
  const { signal, shape, partBytes = PART_BYTES } = options;
  const inputs = new SpareBuffers();
  const outputs: ArrayBuffer[] = [];
  const parts = cutRows(withoutBom(blocks), { size: partBytes, quote: shape.dialect.quote, spare: inputs });
  const head = await parts.next();
  if (head.done === true) return;
  const start = startOf(head.value, options);
  if (start === undefined) {
    yield* csvPages(again([head.value], parts), options);
    return;
  }
  const thread = options.start ?? ((one) => new CsvThread(one));
  const others = Array.from({ length: options.threads - 1 }, () => thread(start.shape));
  await using team = new CsvTeam([...others, new CsvHere(start.shape)]);
  let { line } = start;
  for await (const { chunk, converted } of team.answers(again([start.rest], parts), () => outputs.pop())) {
    if (converted === undefined) {
      const rest = again([chunk, ...(await team.leave())], parts);
      yield* csvPages(rest, { ...options, from: { names: start.shape.names, line } });
      return;
    }
    line += converted.read;
    inputs.give(chunk.buffer);
    for (const page of pagesOf(converted, () => outputs.push(converted.lines.buffer))) {
      signal.throwIfAborted();
      yield page;
    }
  }
  signal.throwIfAborted();
}

/** `release` is called when every page has been released. */
function* pagesOf({ lines, pages }: ConvertedChunk, release: () => void): Generator<Page> {
  let held = pages.length;
  let from = 0;
  for (const { end, count } of pages) {
    yield Page.ofBlock(JSON_LINES, lines.subarray(from, end), count, {
      release: () => {
        held -= 1;
        if (held === 0) release();
      },
    });
    from = end;
  }
}

interface Start {
  readonly shape: ChunkShape;
  /** What follows the header. */
  readonly rest: Uint8Array<ArrayBuffer>;
  readonly line: number;
}

/** The names of the columns, when the first part tells them. */
function startOf(head: Uint8Array<ArrayBuffer>, options: ParallelOptions): Start | undefined {
  const { shape, bounds } = options;
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  if (!isUtf8(bytes)) return undefined;
  const scanner = new CsvScanner(shape.dialect);
  const stretch = { bytes, end: bytes.length, offset: 0, utf8: true, at: 0 };
  const columns = columnsOf(stretch, scanner, options);
  if (columns === undefined) return undefined;
  const { dialect, nullValues } = shape;
  return {
    shape: { dialect, nullValues, names: columns.names, records: bounds.records },
    rest: head.subarray(stretch.at),
    line: scanner.line,
  };
}

async function* again<T>(first: readonly T[], rest: AsyncGenerator<T>): AsyncGenerator<T> {
  yield* first;
  yield* rest;
}
