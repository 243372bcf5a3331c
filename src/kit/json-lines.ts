import { ConnectorError } from '../lib/errors.ts';
import { jsonFault, parseData, type JsonValue } from '../lib/text/json.ts';
import {
  hasSpellings,
  ownSpelling,
  rememberSpelling,
  spellingOf,
} from '../lib/text/number-spelling.ts';
import { writeLines, type CellsOfLines } from './column-lines.ts';
import type { Columns } from './columns.ts';
import { hasOwnOrder, inSchemaOrder, type RecordSchema } from './record-schema.ts';
import { recordWriter } from './record-text.ts';
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
      if (line.trim() !== '') addLine(line, records);
      start = end + 1;
    }
    return records;
  },
  encode(records, schema) {
    let text = '';
    const write = recordWriter(schema);
    const isSpelled = hasSpellings(records);
    for (const [index, record] of records.entries()) {
      const own = isSpelled ? spellingOf(records, String(index)) : undefined;
      text += `${own ?? write(record)}\n`;
    }
    return encoder.encode(text);
  },
  encodeColumns: (columns, schema) => writeLines(inOrder(columns, schema)),
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

/** Columns in the order of the source, where that is another one. */
function inOrder(columns: Columns, schema: RecordSchema | undefined): CellsOfLines {
  if (schema === undefined || !hasOwnOrder(schema)) return columns;
  const { rows, cells, lines } = columns;
  const names = inSchemaOrder(columns.names, schema);
  const ordered = names.flatMap((name) => columns.column(name) ?? []);
  return { names, columns: ordered, rows, cells, lines };
}

function addLine(line: string, records: JsonValue[]): void {
  const value = parseLine(line, records.length);
  const own = ownSpelling(value, line.trim());
  const length = records.push(value);
  if (own !== undefined) rememberSpelling(records, String(length - 1), own);
}

function parseLine(line: string, index: number): JsonValue {
  try {
    return parseData(line);
  } catch (error) {
    throw new ConnectorError('data', `a record ${jsonFault(error)}`, { record: index });
  }
}
