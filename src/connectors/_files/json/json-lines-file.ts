import { isUtf8 } from 'node:buffer';
import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { parseData, type JsonValue, jsonFault, jsonHint } from '../../../lib/text/json.ts';
import { isEncrypted, decrypt, encrypt } from '../../../lib/crypto/encryption.ts';
import { unreadText } from '../../../kit/rejected-record.ts';
import type { LineDoubts } from './line-doubts.ts';
import type { NameOrder } from './name-order.ts';
import { ownSpelling } from '../../../lib/text/number-spelling.ts';
import { withoutBom } from '../csv/csv-rows.ts';
import type { ReadLine, Sized } from '../lines/cut-pages.ts';

const LINE_FEED = 10;

const MIB = 1024 * 1024;

/** A line that does not end within this many bytes is refused. */
export const MAX_LINE_BYTES = 128 * MIB;

const LONG_LINE_HINT =
  'the file is probably no JSON Lines: read one JSON document with the source `file` and `format: json_array`, or have each record written on a line of its own';

export interface LineOptions {
  /** Name of the input in errors. */
  readonly name: string;
  /** Looks at the lines that are JSON. */
  readonly doubts?: LineDoubts | undefined;
  /** Learns from the lines that are parsed. */
  readonly order?: NameOrder | undefined;
}

/**
 * The values of a JSON Lines stream; blank lines are skipped. One batch per stretch of complete
 * lines.
 */
export function jsonLines(
  blocks: AsyncIterable<Uint8Array>,
  options: LineOptions,
): AsyncGenerator<Iterable<Sized>> {
  return stretchesOf(blocks, options, valuesOf);
}

/** The same, with the place of each value; lines that are no JSON do not end the read. */
export function jsonLinesOrRejected(
  blocks: AsyncIterable<Uint8Array>,
  options: LineOptions,
): AsyncGenerator<Iterable<ReadLine>> {
  return stretchesOf(blocks, options, valuesOrRejected);
}

async function* stretchesOf<T>(
  blocks: AsyncIterable<Uint8Array>,
  options: LineOptions,
  valuesIn: (stretch: Buffer, state: StretchState, options: LineOptions) => Iterable<T>,
): AsyncGenerator<Iterable<T>> {
  const state = { line: 1, byte: 0 };
  const unmarked = withoutBom(blocks, (length) => (state.byte = length));
  for await (const stretch of wholeLines(unmarked, options.name, () => state.line)) {
    yield valuesIn(stretch, state, options);
    state.byte += stretch.length;
  }
}

interface StretchState {
  /** The next line. */
  line: number;
  /** Where the stretch begins. */
  readonly byte: number;
}

function* valuesOf(stretch: Buffer, state: StretchState, options: LineOptions): Generator<Sized> {
  const utf8 = isUtf8(stretch);
  let start = 0;
  while (start < stretch.length) {
    const newline = stretch.indexOf(LINE_FEED, start);
    const end = newline === -1 ? stretch.length : newline;
    const bytes = stretch.subarray(start, end);
    const value = valueOfLine(bytes, { utf8, line: state.line, options });
    if (value !== undefined)
      yield { value, size: end - start + 1, spelled: spellingOfLine(value, bytes) };
    start = end + 1;
    state.line += 1;
  }
}

function* valuesOrRejected(
  stretch: Buffer,
  state: StretchState,
  options: LineOptions,
): Generator<ReadLine> {
  let start = 0;
  while (start < stretch.length) {
    const newline = stretch.indexOf(LINE_FEED, start);
    const end = newline === -1 ? stretch.length : newline;
    const bytes = stretch.subarray(start, end);
    const place = { line: state.line, byte: state.byte + start };
    const size = end - start + 1;
    try {
      const value = valueOfLine(bytes, { utf8: false, line: state.line, options });
      if (value !== undefined) yield { value, size, place, spelled: spellingOfLine(value, bytes) };
    } catch (error) {
      if (!(error instanceof BrokenLine)) throw error;
      const { message } = error;
      const text = unreadText(bytes, isUtf8(bytes));
      yield { rejected: { message, ...text, input: options.name, at: place }, size };
    }
    start = end + 1;
    state.line += 1;
  }
}

/** How the number of a line is written, where that is not the usual way. */
export function spellingOfLine(value: JsonValue, bytes: Buffer): string | undefined {
  return typeof value === 'number' ? ownSpelling(value, bytes.toString('utf8').trim()) : undefined;
}

interface LinePlace {
  /** Whether the line is known to be UTF-8. */
  readonly utf8: boolean;
  /** Counted from 1. */
  readonly line: number;
  readonly options: LineOptions;
}

/** The value of a line without its line feed; `undefined` when it is blank. */
export function valueOfLine(
  bytes: Buffer,
  { utf8, line, options }: LinePlace,
): JsonValue | undefined {
  if (!utf8 && !isUtf8(bytes))
    throw new BrokenLine('is not UTF-8 text', line, options, 'convert the file to UTF-8');
  const text = bytes.toString('utf8').trim();
  return text === '' ? undefined : readLine(text, line, options);
}

function readLine(text: string, line: number, options: LineOptions): JsonValue {
  try {
    const value = parseData(text);
    options.doubts?.look(text, value, line);
    options.order?.look(text, value);
    return value;
  } catch (error) {
    if (isEncrypted(Buffer.from(text, 'base64')))
      throw new LineError('is encrypted', line, options, 'give the key in `encryption`');
    const isDocument = text === '{' || text === '[';
    const hint = isDocument
      ? 'this is one JSON document on several lines: read it with the source `file` and `format: json_array`'
      : jsonHint(error, text);
    // Its own sentence says it all; with the overflow as its cause another one would replace it.
    const cause = error instanceof RangeError ? undefined : error;
    throw new BrokenLine(jsonFault(error), line, options, hint, cause);
  }
}

/** What a rejected line holds by now; a value that is no text was read before. */
export function jsonOf(payload: JsonValue, options: LineOptions): JsonValue {
  return typeof payload === 'string' ? readLine(payload, 1, options) : payload;
}

/**
 * Decrypts text whose lines are encrypted one by one; line numbers stay the same. Every line that
 * is not blank must be encrypted.
 */
export async function* decryptedLines(
  blocks: AsyncIterable<Uint8Array>,
  options: LineOptions & { readonly keys: readonly string[] },
): AsyncGenerator<Uint8Array> {
  let line = 1;
  for await (const stretch of wholeLines(blocks, options.name, () => line)) {
    const texts = stretch.toString('latin1').replace(/\n$/, '').split('\n');
    const plain = texts.map((text, index) =>
      text.trim() === '' ? '' : decryptLine(text, line + index, options),
    );
    yield Buffer.from(`${plain.join('\n')}\n`);
    line += texts.length;
  }
}

function decryptLine(
  text: string,
  line: number,
  options: LineOptions & { readonly keys: readonly string[] },
): string {
  try {
    return Buffer.from(decrypt(options.keys, Buffer.from(text, 'base64'))).toString('utf8');
  } catch (error) {
    throw new LineError(
      `cannot be decrypted: ${messageOf(error)}`,
      line,
      options,
      'check `encryption.key` and `previous_keys`',
      error,
    );
  }
}

/** One encrypted line, without the line end. */
export function encryptLine(key: string, json: string): string {
  return Buffer.from(encrypt(key, Buffer.from(json))).toString('base64');
}

class LineError extends ConnectorError {
  constructor(says: string, line: number, options: LineOptions, hint?: string, cause?: unknown) {
    super('data', `line ${line} of ${options.name} ${says}`, {
      ...(hint === undefined ? {} : { hint }),
      ...(cause === undefined ? {} : { cause }),
    });
  }
}

/** Only this line is wrong; the lines behind it can be read. */
class BrokenLine extends LineError {}

/**
 * Pieces of bytes that end with a line end, except perhaps the last. Input blocks may be reused by
 * their owner; the pieces are copies.
 */
export async function* wholeLines(
  blocks: AsyncIterable<Uint8Array>,
  name: string,
  /** The number of the first line that was not handed out yet. */
  lineAt: () => number,
): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const block of blocks) {
    const newline = block.lastIndexOf(LINE_FEED);
    if (newline === -1) {
      parts.push(Buffer.from(block));
      length += block.length;
      if (length > MAX_LINE_BYTES)
        throw new ConnectorError(
          'data',
          `line ${lineAt()} of ${name} does not end within ${MAX_LINE_BYTES / MIB} MiB`,
          { hint: LONG_LINE_HINT },
        );
      continue;
    }
    yield Buffer.concat([...parts, block.subarray(0, newline + 1)]);
    const rest = Buffer.from(block.subarray(newline + 1));
    parts = [rest];
    length = rest.length;
  }
  if (length > 0) yield Buffer.concat(parts);
}
