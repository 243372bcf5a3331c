/**
 * UTF-8 of a text in another encoding. A byte that is no UTF-8 stands for what is no text there, so
 * that whoever checks the lines finds the right one.
 */
import { TextDecoder } from 'node:util';

/** Gets undefined at the end. */
type Decode = (bytes: Uint8Array | undefined) => Buffer;

const NO_UTF8 = Buffer.from([0xff]);
const BYTE_ORDER_MARK = '\ufeff';
/** What decoders write for what they cannot read. */
const REPLACEMENT = /\ufffd/;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

export async function* inUtf8(
  blocks: AsyncIterable<Uint8Array>,
  encoding: string,
): AsyncGenerator<Uint8Array> {
  const decode = encoding.startsWith('utf-16')
    ? utf16Decoder(encoding === 'utf-16be')
    : decoderOf(encoding);
  for await (const block of blocks) {
    const bytes = decode(block);
    if (bytes.length > 0) yield bytes;
  }
  const rest = decode(undefined);
  if (rest.length > 0) yield rest;
}

/** Their texts have no replacement character of their own. */
function decoderOf(encoding: string): Decode {
  const decoder = new TextDecoder(encoding);
  return (bytes) =>
    marked(
      bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true }),
      REPLACEMENT,
    );
}

function utf16Decoder(isBigEndian: boolean): Decode {
  let held: Uint8Array = new Uint8Array();
  let isFirst = true;
  return (bytes) => {
    const all = Buffer.concat(bytes === undefined ? [held] : [held, bytes]);
    const end = bytes === undefined ? all.length & ~1 : endOfUnits(all, isBigEndian);
    // Copied: a block may be borrowed.
    held = Uint8Array.from(all.subarray(end));
    const units = all.subarray(0, end);
    const text = (isBigEndian ? units.swap16() : units).toString('utf16le');
    const isMarked = isFirst && text.startsWith(BYTE_ORDER_MARK);
    if (end > 0) isFirst = false;
    const utf8 = marked(isMarked ? text.slice(1) : text, LONE_SURROGATE);
    return bytes === undefined && held.length > 0 ? Buffer.concat([utf8, NO_UTF8]) : utf8;
  };
}

/** Before a half of a unit, and before a surrogate whose other half may come. */
function endOfUnits(bytes: Uint8Array, isBigEndian: boolean): number {
  const end = bytes.length & ~1;
  const high = bytes[end - (isBigEndian ? 2 : 1)] ?? 0;
  return end > 0 && (high & 0xfc) === 0xd8 ? end - 2 : end;
}

function marked(text: string, fault: RegExp): Buffer {
  const [first = '', ...rest] = text.split(fault);
  if (rest.length === 0) return Buffer.from(text, 'utf8');
  return Buffer.concat([
    Buffer.from(first),
    ...rest.flatMap((part) => [NO_UTF8, Buffer.from(part)]),
  ]);
}
