/** What comes before the rows of delimited text: its encoding, lines above the header, its delimiter. */
import { TextDecoder } from 'node:util';
import { CARRIAGE_RETURN, LINE_FEED } from '../../../kit/csv-dialect.ts';
import type { Log } from '../../../lib/log.ts';
import { inUtf8 } from '../lines/in-utf8.ts';
import { textBlocks } from '../lines/other-formats.ts';

type Blocks = AsyncIterable<Uint8Array>;

export interface TextInput {
  readonly encoding: string;
  /** Lines before the first row that are left out. */
  readonly skipped: number;
  /** A byte code, or `auto`. */
  readonly delimiter: number | 'auto';
  /** Never the delimiter that `auto` finds. */
  readonly quote: number;
  /** What messages call the input. */
  readonly name: string;
  readonly log: Log;
}

export interface OpenedText {
  readonly delimiter: number;
  /** Where the blocks begin in the file; absent when they are not the bytes of the file. */
  readonly firstByte: number | undefined;
  /** Of the file; absent for UTF-8. */
  readonly encoding: string | undefined;
  /**
   * UTF-8 from the first row on; a file that is so already is passed on as it is. What is no text in
   * the encoding of the file is no UTF-8 either.
   */
  readonly blocks: Blocks;
}

export async function openText(stored: Blocks, input: TextInput): Promise<OpenedText> {
  const { encoding } = new TextDecoder(input.encoding);
  const isUtf8 = encoding === 'utf-8';
  const text = isUtf8
    ? textBlocks(stored, { name: input.name, hasEncodings: true })
    : inUtf8(stored, encoding);
  const first = await peek(input.skipped === 0 ? text : withoutLines(text, input));
  tellOtherText(first.line, input);
  const told = toldDelimiter(first.line, input);
  const { line, blocks } =
    told === undefined ? first : await peek(withoutLines(first.blocks, { ...input, skipped: 1 }));
  const firstByte = isUtf8 && input.skipped === 0 && told === undefined ? 0 : undefined;
  const delimiter =
    input.delimiter === 'auto' && told !== undefined ? told : delimiterOf(line, input);
  return { delimiter, firstByte, encoding: isUtf8 ? undefined : encoding, blocks };
}

const OTHER_TEXTS = [
  {
    is: 'a page of HTML',
    begins: /^<(?:!doctype\s+html|html)\b/i,
    hint: 'it is often what a server answers in place of a file: look into it, and get the file again',
  },
  {
    is: 'JSON',
    begins: /^(?:\[\s*)?\{\s*(?:"[^"]*"\s*:|\}|$)/,
    hint: 'read it with the source `jsonl`, or with `format: json_lines` or `json_array` of the source `file`',
  },
];

/** Text of other kinds reads as rows of few columns without an error. */
function tellOtherText(line: string, { name, log }: TextInput): void {
  const found = OTHER_TEXTS.find(({ begins }) => begins.test(line));
  if (found === undefined) return;
  log.warn(`the file is probably ${found.is}, and no delimited text`, {
    path: name,
    hint: found.hint,
  });
}

/** A line above the header with which files tell spreadsheet programs their delimiter: `sep=;`. */
function toldDelimiter(line: string, { quote }: TextInput): number | undefined {
  // Of a tab nothing is left at the end of a line.
  const told = /^sep=(?<one>[!-~]?)$/i.exec(line)?.groups?.['one'];
  if (told === undefined) return undefined;
  const code = told === '' ? TAB : told.charCodeAt(0);
  return code === quote ? undefined : code;
}

/** A file with another delimiter reads as one column without an error: that is told. */
function delimiterOf(line: string, { delimiter, quote, name, log }: TextInput): number {
  const likely = likelyDelimiter(line, String.fromCharCode(quote));
  if (delimiter === 'auto') return (likely ?? ',').charCodeAt(0);
  const chosen = String.fromCharCode(delimiter);
  if (likely !== undefined && !line.includes(chosen))
    log.warn('the first row has one column: the delimiter is probably another one', {
      path: name,
      delimiter: chosen,
      hint: `set \`delimiter: ${JSON.stringify(likely)}\`, or \`delimiter: auto\``,
    });
  return delimiter;
}

/** Whether the runtime knows the encoding, by any of its names. */
export function isEncoding(name: string): boolean {
  try {
    return new TextDecoder(name).encoding !== '';
  } catch {
    return false;
  }
}

/**
 * Empties the first lines. Their line ends stay, so that messages count lines as the file does;
 * empty lines are no rows.
 */
async function* withoutLines(
  blocks: Blocks,
  { skipped, name, log }: TextInput,
): AsyncGenerator<Uint8Array> {
  let left = skipped;
  let hasMore = false;
  let afterReturn = false;
  for await (const block of blocks) {
    // The second byte of CRLF may be in the next block; it does not end another line.
    let at: number = afterReturn && block[0] === LINE_FEED ? 1 : 0;
    if (block.length > 0) afterReturn = false;
    while (left > 0) {
      const end = endOfLine(block, at);
      if (end === block.length) break;
      left -= 1;
      at = end + 1;
      afterReturn = block[end] === CARRIAGE_RETURN && at === block.length;
      if (block[end] === CARRIAGE_RETURN && block[at] === LINE_FEED) at += 1;
      yield Buffer.from([LINE_FEED]);
    }
    if (left > 0 || at >= block.length) continue;
    hasMore = true;
    yield at === 0 ? block : block.subarray(at);
  }
  if (!hasMore)
    log.warn('the file ends with the lines that are left out, so it has no row', {
      path: name,
      skip_rows: skipped,
    });
}

interface Peeked {
  /** The bytes of the first line that is not empty, as far as the first block has it. */
  readonly line: string;
  /** All blocks, the first one too. */
  readonly blocks: Blocks;
}

async function peek(blocks: Blocks): Promise<Peeked> {
  const iterator = blocks[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  let line = '';
  while (line === '') {
    const next = await iterator.next();
    if (next.done === true) break;
    // What is borrowed must not be asked beyond before it is used, unless it is copied.
    held.push(next.value);
    line = firstLine(next.value);
    if (line === '') held[held.length - 1] = Uint8Array.from(next.value);
  }
  const all = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* held;
      for (;;) {
        const next = await iterator.next();
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  };
  return { line, blocks: all() };
}

function firstLine(bytes: Uint8Array): string {
  let at = 0;
  while (at < bytes.length && (bytes[at] === LINE_FEED || bytes[at] === CARRIAGE_RETURN)) at += 1;
  return Buffer.from(bytes.subarray(at, endOfLine(bytes, at)))
    .toString('utf8')
    .trim();
}

/** Where the line that starts at `from` ends; the length where it does not. */
function endOfLine(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== LINE_FEED && bytes[at] !== CARRIAGE_RETURN) at += 1;
  return at;
}

const TAB = 9;
const CANDIDATES = [',', ';', '\t', '|'];

/** The candidate that occurs most often outside of quotes; `undefined` when none does. */
function likelyDelimiter(line: string, quote: string): string | undefined {
  const bare = withoutQuoted(line, quote);
  const counts = CANDIDATES.map((one) => ({
    one,
    count: bare.split(one).length - 1,
  }));
  const best = counts.sort((a, b) => b.count - a.count)[0];
  return best === undefined || best.count === 0 ? undefined : best.one;
}

/** Every other piece stands between quotes; a quote that is not closed is a letter. */
function withoutQuoted(line: string, quote: string): string {
  return line
    .split(quote)
    .filter((_, index, all) => index % 2 === 0 || index === all.length - 1)
    .join('');
}
