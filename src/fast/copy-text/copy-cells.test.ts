import { expect, test } from 'vitest';
import { documentOrText } from '../../connectors/_sql/document-or-text.ts';
import { serverTime } from '../../connectors/mysql/read/literals.ts';
import { ByteWriter } from '../../kit/byte-writer.ts';
import { ColumnBuilder } from '../../kit/cells.ts';
import { Columns } from '../../kit/columns.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { copyCells, newPageBuffer, type CellStyle } from './copy-cells.ts';

const VALUES: readonly JsonValue[] = [
  null,
  '{"a":1,"b":["x\\ny\\\\",1.5]}',
  '{"a":1',
  '{"a":"x"}}',
  '["a"',
  '["a"]\n',
  '["\u0001"]',
  '["\f"]',
  '[x]',
  ' {"a":"b"}',
  '"a"',
  '',
  'tab\tline\nfeed\fback\bslash/\\N"\u0000',
  '2024-02-29T07:08:09.5Z',
  '2024-02-29T07:08:09',
  '2024-02-29T07:08:09+02:00',
  '2024-02-30T07:08:09Z',
  '2024-02-29 07:08:09 and more',
  'no time at all, and long',
  '07:08:09',
  { a: ['b\n\\'] },
  [1, null],
];

/** What a server reads. */
function written(style: CellStyle, encode: (value: JsonValue) => string | null): string[] {
  const columns = new Columns({
    names: ['v'],
    columns: [],
    height: VALUES.length,
    cells: new ByteWriter(),
  });
  const from = new ColumnBuilder(columns);
  for (const [row, value] of VALUES.entries()) from.set(row, value);
  const escapes = (value: JsonValue): string => {
    const text = encode(value);
    return text === null
      ? '\\N'
      : text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
  };
  const lines = copyCells(columns, [{ from, style, encode: escapes }], newPageBuffer());
  // Whether other letters are escaped is all the same to a server.
  return Buffer.from(lines).toString().replaceAll('\\b', '\b').split('\n');
}

test.each<[CellStyle, (value: JsonValue) => string | null]>([
  ['json', documentOrText],
  ['document', (value) => (value === null ? null : JSON.stringify(value))],
  ['plain', textOf],
  ['clock', (value) => (value === null ? null : serverTime(textOf(value) ?? ''))],
])('cells for a column of the style %s are what the encoder makes of their values', (...given) => {
  const [style, encode] = given;
  expect(written(style, encode)).toEqual(written('encoded', encode));
});

function textOf(value: JsonValue): string | null {
  return value === null || typeof value === 'string' ? value : JSON.stringify(value);
}
