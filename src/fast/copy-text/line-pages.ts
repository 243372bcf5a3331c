import { isUtf8 } from 'node:buffer';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { Page, type PageOptions } from '../../kit/page.ts';
import { CopyTextWriter, type CopyField } from './copy-text-writer.ts';

/** Collects rows of COPY text, whose places are given, into pages. */
export interface Collector {
  add(chunk: Buffer, from: number, to: number): void;
  /** The page so far; starts the next one. */
  take(options: PageOptions): Page;
}

const FIRST_CAPACITY = 64 * 1024;

/**
 * How many blocks are reused: for the page being written, the page in the queue and the page being
 * filled.
 */
const SPARE_BLOCKS = 3;

/** Pages of JSON Lines. */
export function collectLines(fields: readonly CopyField[]): Collector {
  const writer = new CopyTextWriter(fields, FIRST_CAPACITY);
  const spare: Buffer[] = [];
  let count = 0;
  return {
    add(chunk, from, to) {
      writer.row(chunk, from, to - 1);
      count += 1;
    },
    take(options) {
      const block = writer.take(
        spare.pop() ??
          Buffer.allocUnsafeSlow(Math.max(FIRST_CAPACITY, Math.ceil(writer.length * 1.1))),
      );
      const whole = Buffer.from(block.buffer);
      const release = (): void => void (spare.length < SPARE_BLOCKS && spare.push(whole));
      // A database without an encoding may hold any bytes; those that are no text become replacement
      // characters.
      const text = isUtf8(block) ? block : Buffer.from(block.toString('utf8'));
      const page = Page.ofBlock(JSON_LINES, text, count, { ...options, release });
      count = 0;
      return page;
    },
  };
}
