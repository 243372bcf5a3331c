import { ConnectorError } from '../errors.ts';
import type { Log } from '../log.ts';
import { lineNotUtf8 } from '../text/utf8-fault.ts';

/** The text of a document in the encoding that it declares, or that its first bytes show. */
export function xmlText(bytes: Uint8Array, name: string): string {
  return [...xmlChunks(bytes, name, bytes.length)].join('');
}

const CHUNK_BYTES = 1024 * 1024;

/** The same piece by piece, for documents that are longer than a string can be. */
export function* xmlChunks(
  bytes: Uint8Array,
  name: string,
  chunkBytes = CHUNK_BYTES,
): Generator<string> {
  const label = encodingOf(bytes);
  try {
    const decoder = new TextDecoder(label, { fatal: true });
    for (let at = 0; at < bytes.length; at += chunkBytes)
      yield decoder.decode(bytes.subarray(at, at + chunkBytes), { stream: true });
    yield decoder.decode();
  } catch (error) {
    const line = label.toLowerCase() === 'utf-8' ? lineNotUtf8(bytes) : undefined;
    throw notText(label, line === undefined ? name : `line ${line} of ${name}`, error);
  }
}

/**
 * Bytes from 0x80 to 0x9F are control characters in ISO-8859-1, and letters in windows-1252. What
 * declares the first and has them means the second, and is read so, as browsers do.
 */
export function tellMisnamedEncoding(
  bytes: Uint8Array,
  name: string,
  log: Pick<Log, 'warn'>,
): void {
  const declared = encodingOf(bytes);
  if (!/^(?:iso[-_]?8859-1|latin1|us-ascii)$/i.test(declared)) return;
  if (!bytes.some((byte) => byte >= 0x80 && byte <= 0x9f)) return;
  log.warn('the XML has characters that its encoding does not have: read as windows-1252', {
    path: name,
    declared,
    hint: 'have `encoding="windows-1252"` or UTF-8 declared where it is written',
  });
}

function notText(label: string, where: string, cause: unknown): ConnectorError {
  const why =
    cause instanceof RangeError
      ? `${where} declares the encoding ${JSON.stringify(label)}, which is not known`
      : `${where} is not text in ${label}`;
  return new ConnectorError('data', why, {
    hint: 'correct the encoding that it declares, or convert the file to UTF-8',
    cause,
  });
}

/** The declaration is at the start, in characters that most encodings share. */
const DECLARATION_BYTES = 200;

function encodingOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return 'utf-16be';
  if (first === 0xef) return 'utf-8';
  const start = Buffer.from(bytes.subarray(0, DECLARATION_BYTES)).toString('latin1');
  return /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"']+)["']/.exec(start)?.[1] ?? 'utf-8';
}
