/**
 * Reads a result in the format JSONCompact as it comes. Its end says how many rows there were: a
 * result that an error or a proxy has cut off, which HTTP does not always tell, is not taken for a
 * whole one.
 */
import { ConnectorError } from '../../../lib/errors.ts';
import {
  isObject,
  parseJson,
  parseWith,
  type JsonObject,
  type JsonValue,
} from '../../../lib/text/json.ts';
import type { Redactor } from '../../../lib/redact.ts';
import { serverError } from '../errors.ts';

export interface ResultRow {
  readonly values: readonly JsonValue[];
  /** Of its text, in bytes. */
  readonly size: number;
}

export interface ResultOptions {
  readonly redactor: Redactor;
  /** Whether numbers are given as their texts. */
  readonly keepsDigits: boolean;
}

const LONGEST_END = 1024 * 1024;

/** The rows of each block of the answer. */
export async function* rowsOf(
  blocks: AsyncIterable<Uint8Array>,
  { redactor, keepsDigits }: ResultOptions,
): AsyncGenerator<readonly ResultRow[], void> {
  const parse = keepsDigits ? parseDigits : parseJson;
  let place: 'head' | 'rows' | 'end' = 'head';
  let end = '';
  let last = '';
  let count = 0;
  const cutOff = (): ConnectorError =>
    serverError(last, redactor) ?? serverError(end, redactor) ?? incomplete(count);
  const rowOf = (line: string): ResultRow => {
    try {
      const values = parse(line.endsWith(',') ? line.slice(0, -1) : line);
      if (Array.isArray(values)) return { values, size: line.length };
    } catch {
      // An error of the server stands there, or half a row.
    }
    throw serverError(line, redactor) ?? incomplete(count);
  };
  for await (const lines of linesOf(blocks)) {
    const rows: ResultRow[] = [];
    for (const line of lines) {
      if (line !== '') last = line;
      if (place === 'head') {
        if (line === '[' && end === '"data":') place = 'rows';
        end = line === '' ? end : line;
      } else if (place === 'end') {
        if (end.length < LONGEST_END) end += line;
      } else if (line.startsWith('[')) {
        rows.push(rowOf(line));
        count += 1;
      } else if (line === ']' || line === '],') {
        place = 'end';
        end = line === ']' ? '' : ',';
      } else if (line !== '') throw serverError(line, redactor) ?? incomplete(count);
    }
    if (rows.length > 0) yield rows;
  }
  if (place !== 'end') throw cutOff();
  const told = endOf(end);
  const { exception } = told ?? {};
  if (typeof exception === 'string') throw serverError(exception, redactor) ?? cutOff();
  if (told === undefined || told['rows'] !== count) throw cutOff();
}

/** What stands behind the rows: their number, totals, statistics. */
function endOf(text: string): JsonObject | undefined {
  try {
    const end = parseJson(`{"":0${text}`);
    return isObject(end) ? end : undefined;
  } catch {
    return undefined;
  }
}

function incomplete(count: number): ConnectorError {
  return new ConnectorError(
    'connection',
    `the result ends in the middle, after ${count} rows: the server or the network broke off`,
    { hint: 'look at the log of the server' },
  );
}

function parseDigits(text: string): JsonValue {
  return parseWith(text, (_key, value, context) =>
    typeof value === 'number' ? (context?.source ?? value) : value,
  );
}

const NEWLINE = 10;

/** Whole lines of each block, without the blanks around them; the last one may lack its end. */
async function* linesOf(blocks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  let open: Uint8Array[] = [];
  for await (const block of blocks) {
    const bytes = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
    const end = bytes.lastIndexOf(NEWLINE);
    if (end === -1) {
      open.push(bytes);
      continue;
    }
    const whole = Buffer.concat([...open, bytes.subarray(0, end)]);
    open = end + 1 === bytes.length ? [] : [bytes.subarray(end + 1)];
    yield whole.toString('utf8').split('\n').map(trimmed);
  }
  if (open.length > 0) yield [trimmed(Buffer.concat(open).toString('utf8'))];
}

function trimmed(line: string): string {
  return line.trim();
}
