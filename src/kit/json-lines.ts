import { ConnectorError, messageOf } from '../lib/errors.ts';
import { parseData, stringifyJson, type JsonValue } from '../lib/text/json.ts';
import { writeLines } from './column-lines.ts';
import type { Encoding } from './page.ts';

const NEWLINE = 10;
const decoder = new TextDecoder('utf-8');
const encoder = new TextEncoder();

/** One compact JSON value per line, each ended by a line feed. */
export const JSON_LINES: Encoding = {
  name: 'jsonl',
  decode(block) {
    const records: JsonValue[] = [];
    const text = decoder.decode(block);
    let start = 0;
    while (start < text.length) {
      const newline = text.indexOf('\n', start);
      const end = newline === -1 ? text.length : newline;
      const line = text.slice(start, end);
      if (line.trim() !== '') records.push(parseLine(line, records.length));
      start = end + 1;
    }
    return records;
  },
  encode(records) {
    let text = '';
    for (const record of records) text += `${stringifyJson(record)}\n`;
    return encoder.encode(text);
  },
  encodeColumns: writeLines,
  offsetOf(block, index) {
    let offset = 0;
    for (let passed = 0; passed < index; passed += 1) {
      const newline = block.indexOf(NEWLINE, offset);
      if (newline === -1) return block.length;
      offset = newline + 1;
    }
    return offset;
  },
};

function parseLine(line: string, index: number): JsonValue {
  try {
    return parseData(line);
  } catch (error) {
    throw new ConnectorError(
      'data',
      `record ${index} of the page is not JSON: ${messageOf(error)}`,
      { cause: error },
    );
  }
}
