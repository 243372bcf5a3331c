import type { Page, PageOptions } from '../../kit/page.ts';
import { FIRST_CAPACITY, linePages } from '../json/line-blocks.ts';
import { CopyTextWriter, type CopyField } from './copy-text-writer.ts';

/** Collects rows of COPY text, whose places are given, into pages. */
export interface Collector {
  add(chunk: Buffer, from: number, to: number): void;
  /** The page so far; starts the next one. */
  take(options: PageOptions): Page;
}

/** Pages of JSON Lines. */
export function collectLines(fields: readonly CopyField[]): Collector {
  const writer = new CopyTextWriter(fields, FIRST_CAPACITY);
  const pageOf = linePages(writer);
  let count = 0;
  return {
    add(chunk, from, to) {
      writer.row(chunk, from, to - 1);
      count += 1;
    },
    take(options) {
      const page = pageOf(count, options);
      count = 0;
      return page;
    },
  };
}
