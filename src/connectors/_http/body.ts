import { ConnectorError } from '../../lib/errors.ts';
import { isCutJson, jsonFault, parseData, type JsonValue } from '../../lib/text/json.ts';

/** The largest response that is read into memory as a whole. */
export const LONGEST_ANSWER_BYTES = 256 * 1024 * 1024;

/** Reads a body to its end; more than `limitBytes` is an error. */
export async function readBody(
  response: Response,
  url: string,
  limitBytes = LONGEST_ANSWER_BYTES,
): Promise<Uint8Array> {
  if (response.body === null) return new Uint8Array();
  const declared = Number(response.headers.get('content-length') ?? 0);
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body) {
    length += part.length;
    if (Math.max(length, declared) > limitBytes) throw tooLarge(url, limitBytes);
    parts.push(part);
  }
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts, length);
}

export function utf8(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const hasMark = buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf;
  return buffer.toString('utf8', hasMark ? 3 : 0);
}

/** For sources that read other formats too. */
export const OTHER_FORMAT = 'set `response_format` or `decode` when the API uses another format';

/** The JSON value of a body; `where` describes the response in messages. */
export function jsonBody(
  bytes: Uint8Array,
  where: string,
  hint = 'check the address: the service should answer with JSON',
): JsonValue {
  try {
    return parseData(utf8(bytes));
  } catch (error) {
    if (isCutJson(error, utf8(bytes))) throw cutOff(where, bytes);
    const start = utf8(bytes.subarray(0, 100)).trimStart();
    const isPage = start.startsWith('<');
    throw new ConnectorError('data', `${where} ${start === '' ? 'is empty' : jsonFault(error)}`, {
      hint: isPage ? `it is HTML or XML, as login and error pages are: ${hint}` : hint,
      // The words of the parser quote what they could not read.
      ...(error instanceof SyntaxError ? {} : { cause: error }),
    });
  }
}

/**
 * What was sent whole says nothing of its end: a proxy may have lost the rest, or the length it
 * declares be too small.
 */
export function cutOff(where: string, { length }: Uint8Array): ConnectorError {
  return new ConnectorError('connection', `${where} ends in the middle, after ${length} bytes`, {
    hint: 'look at the log of the server, and of what stands before it, then run again',
  });
}

function tooLarge(url: string, limitBytes: number): ConnectorError {
  return new ConnectorError(
    'data',
    `the response of ${url} is larger than ${limitBytes / (1024 * 1024)} MiB`,
    {
      hint: 'request smaller pages',
    },
  );
}
