/** Pages of the lines that a writer of JSON Lines collected, whose memory it gets again. */
import { isUtf8 } from 'node:buffer';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { Page, type PageOptions } from '../../kit/page.ts';

export const FIRST_CAPACITY = 64 * 1024;

/**
 * How many blocks are reused: for the page being written, the page in the queue and the page being
 * filled.
 */
const SPARE_BLOCKS = 3;

export interface LineWriter {
  /** Bytes since `take`. */
  readonly length: number;
  /** What was collected; the writer goes on in `next`. */
  take(next: Buffer): Buffer;
}

/** Makes a page of what the writer has collected, so many records. */
export function linePages(writer: LineWriter): (count: number, options: PageOptions) => Page {
  const spare: Buffer[] = [];
  return (count, options) => {
    const block = writer.take(
      spare.pop() ??
        Buffer.allocUnsafeSlow(Math.max(FIRST_CAPACITY, Math.ceil(writer.length * 1.1))),
    );
    const whole = Buffer.from(block.buffer);
    const release = (): void => void (spare.length < SPARE_BLOCKS && spare.push(whole));
    // A database without an encoding may hold any bytes; those that are no text become replacement
    // characters.
    const text = isUtf8(block) ? block : Buffer.from(block.toString('utf8'));
    return Page.ofBlock(JSON_LINES, text, count, { ...options, release });
  };
}
