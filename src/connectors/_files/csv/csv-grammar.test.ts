/** The rules of `CsvDialect`, one case each, through every reader of delimited text. */
import { describe, expect, it } from 'vitest';
import { hasCsvLineKernel } from '../../../fast/csv/csv-line-kernel.ts';
import { csvLines } from '../../../fast/fast-paths.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import type { Lane } from '../../../kit/page.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { CellReader } from './csv-cells.ts';
import { csvPages } from './csv-pages.ts';
import { csvRows, withoutBom } from './csv-rows.ts';

interface Case {
  readonly rule: string;
  readonly text: string;
  /** The cells of every row, the header first. */
  readonly rows: readonly (readonly string[])[];
  readonly delimiter?: string;
  readonly quote?: string;
  readonly flexible?: boolean;
  /** Given where a record is not simply the header with the cells below it. */
  readonly records?: readonly JsonObject[];
  /** Rows are found, but pages are refused. */
  readonly error?: RegExp;
}

const HEAD = ['a', 'b'];

const CASES: readonly Case[] = [
  // Quotes.
  { rule: 'plain cells', text: 'a,b\n1,x y\n', rows: [HEAD, ['1', 'x y']] },
  { rule: 'blanks belong to a cell', text: 'a,b\n 1 , x\n', rows: [HEAD, [' 1 ', ' x']] },
  { rule: 'a quoted cell', text: 'a,b\n"1","x"\n', rows: [HEAD, ['1', 'x']] },
  { rule: 'a delimiter in quotes', text: 'a,b\n"1,5",x\n', rows: [HEAD, ['1,5', 'x']] },
  { rule: 'line ends in quotes', text: 'a,b\n"1\n2\r\n3",x\n', rows: [HEAD, ['1\n2\r\n3', 'x']] },
  { rule: 'empty cells', text: 'a,b\n,""\n', rows: [HEAD, ['', '']] },
  { rule: 'a doubled quote', text: 'a,b\n"say ""hi""",x\n', rows: [HEAD, ['say "hi"', 'x']] },
  { rule: 'only doubled quotes', text: 'a,b\n"""",""""""\n', rows: [HEAD, ['"', '""']] },
  { rule: 'a quote inside a plain cell', text: 'a,b\n1"2",x\n', rows: [HEAD, ['1"2"', 'x']] },
  {
    rule: 'text after a closing quote',
    text: 'a,b\n"1"2,"x" "y"\n',
    rows: [HEAD, ['12', 'x "y"']],
  },
  {
    rule: 'a header in quotes',
    text: '"a","b, c"\n1,2\n',
    rows: [
      ['a', 'b, c'],
      ['1', '2'],
    ],
  },
  // Characters that JSON has to escape.
  { rule: 'a backslash is a character', text: 'a,b\nC:\\n,\\"\n', rows: [HEAD, ['C:\\n', '\\"']] },
  {
    rule: 'control characters',
    text: 'a,b\n\t,\u0001\u001f\n',
    rows: [HEAD, ['\t', '\u0001\u001f']],
  },
  { rule: 'beyond ASCII', text: 'a,b\né,"😀"""\n', rows: [HEAD, ['é', '😀"']] },
  {
    rule: 'longer than a vector',
    text: `a,b\n${'x'.repeat(99)},"${'y""'.repeat(33)}"\n`,
    rows: [HEAD, ['x'.repeat(99), 'y"'.repeat(33)]],
  },
  // Line ends.
  { rule: 'CRLF', text: 'a,b\r\n1,2\r\n3,4\r\n', rows: [HEAD, ['1', '2'], ['3', '4']] },
  { rule: 'CR', text: 'a,b\r1,2\r3,4\r', rows: [HEAD, ['1', '2'], ['3', '4']] },
  {
    rule: 'mixed line ends',
    text: 'a,b\n1,2\r3,4\r\n5,6\n',
    rows: [HEAD, ['1', '2'], ['3', '4'], ['5', '6']],
  },
  { rule: 'no line end after the last row', text: 'a,b\n1,2', rows: [HEAD, ['1', '2']] },
  { rule: 'no line end after a quote', text: 'a,b\n1,"2"', rows: [HEAD, ['1', '2']] },
  { rule: 'a last cell that is empty', text: 'a,b\n1,', rows: [HEAD, ['1', '']] },
  // Byte order mark.
  { rule: 'a byte order mark', text: '\uFEFFa,b\n1,2\n', rows: [HEAD, ['1', '2']] },
  { rule: 'a mark before a quote', text: '\uFEFF"a",b\n1,2\n', rows: [HEAD, ['1', '2']] },
  { rule: 'a mark elsewhere is text', text: 'a,b\n\uFEFF1,2\n', rows: [HEAD, ['\uFEFF1', '2']] },
  { rule: 'only a mark', text: '\uFEFF', rows: [] },
  // Empty lines.
  {
    rule: 'empty lines',
    text: '\n\na,b\n\n1,2\r\n\r\n\n3,4\n\n',
    rows: [HEAD, ['1', '2'], ['3', '4']],
  },
  { rule: 'a line of one blank is a row', text: 'a\n \n', rows: [['a'], [' ']] },
  { rule: 'an empty cell in quotes is a row', text: 'a\n""\n', rows: [['a'], ['']] },
  { rule: 'nothing', text: '', rows: [] },
  { rule: 'only a header', text: 'a,b\n', rows: [HEAD] },
  // Rows of another length.
  {
    rule: 'a short row',
    text: 'a,b\n1\n',
    rows: [HEAD, ['1']],
    error: /line 2 of in\.csv has 1 cell/,
  },
  {
    rule: 'a long row',
    text: 'a,b\n1,2\n1,2,3\n',
    rows: [HEAD, ['1', '2'], ['1', '2', '3']],
    error: /line 3 of in\.csv has 3 cells/,
  },
  {
    rule: 'a short row, flexible',
    text: 'a,b\n1\n2,3\n',
    rows: [HEAD, ['1'], ['2', '3']],
    flexible: true,
    records: [{ a: '1' }, { a: '2', b: '3' }],
  },
  {
    rule: 'a long row, flexible',
    text: 'a,b\n1,2,3\n4,5\n',
    rows: [HEAD, ['1', '2', '3'], ['4', '5']],
    flexible: true,
    records: [
      { a: '1', b: '2', column_2: '3' },
      { a: '4', b: '5' },
    ],
  },
  // Other dialects.
  { rule: 'a semicolon', text: 'a;b\n1,5;"x;y"\n', rows: [HEAD, ['1,5', 'x;y']], delimiter: ';' },
  { rule: 'a tab', text: 'a\tb\n1\t\n', rows: [HEAD, ['1', '']], delimiter: '\t' },
  { rule: 'another quote', text: "a,b\n'it''s','\"'\n", rows: [HEAD, ["it's", '"']], quote: "'" },
  // Rows that never end.
  {
    rule: 'an open quote',
    text: 'a,b\n1,"2\n3,4\n',
    rows: [HEAD],
    error: /line 2 of in\.csv: the row that starts here does not end/,
  },
];

const READERS: readonly { readonly name: string; readonly lane: Lane }[] = [
  { name: 'record by record', lane: { form: 'records' } },
  { name: 'the kernel to lines', lane: { form: 'bytes', encoding: 'jsonl' } },
  { name: 'the kernel to columns', lane: { form: 'columns' } },
];

/** Every boundary of blocks is tried by the block of one byte. */
const BLOCK_BYTES = [1, 3, 65_536];

async function* blocksOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function dialectOf({ delimiter = ',', quote = '"' }: Case): { delimiter: number; quote: number } {
  return { delimiter: delimiter.charCodeAt(0), quote: quote.charCodeAt(0) };
}

async function rowsOf(one: Case, size: number): Promise<string[][]> {
  const dialect = dialectOf(one);
  const cells = new CellReader(dialect.quote);
  const rows: string[][] = [];
  const blocks = withoutBom(blocksOf(one.text, size));
  for await (const { bytes, scanner } of csvRows(blocks, dialect, 'in.csv')) {
    for (let row = 0; row < scanner.rowCount; row += 1) {
      const [from = 0, to = 0] = scanner.rowCells.slice(row, row + 2);
      rows.push(
        Array.from({ length: to - from }, (_, cell) => cells.string(bytes, scanner, from + cell)),
      );
    }
  }
  return rows;
}

async function recordsOf(one: Case, lane: Lane, size: number): Promise<JsonValue[]> {
  const records: JsonValue[] = [];
  for await (const page of csvPages(blocksOf(one.text, size), {
    shape: {
      dialect: dialectOf(one),
      hasHeaders: true,
      flexible: one.flexible === true,
      nullValues: [],
    },
    lane,
    bounds: { records: 2, bytes: 1_000_000 },
    limit: undefined,
    name: 'in.csv',
    signal: new AbortController().signal,
  })) {
    expect(page.form.form).toBe(lane.form);
    records.push(
      ...(lane.form === 'bytes' ? JSON_LINES.decode(page.block(JSON_LINES)) : page.records()),
    );
    page.release();
  }
  return records;
}

function expectedRecords({ rows, records }: Case): readonly JsonObject[] {
  const [head = [], ...others] = rows;
  return (
    records ??
    others.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ''])))
  );
}

it('the kernel is used on this machine, so that it is compared', () => {
  expect([csvLines.isOn(), hasCsvLineKernel()]).toEqual([true, true]);
});

describe.each(BLOCK_BYTES)('in blocks of %d bytes', (size) => {
  it.each(CASES)('the scanner: $rule', async (one) => {
    const isOpen = one.error?.source.includes('does not end') === true;
    if (isOpen) await expect(rowsOf(one, size)).rejects.toThrow(one.error);
    else expect(await rowsOf(one, size)).toEqual(one.rows);
  });

  describe.each(READERS)('$name', ({ lane }) => {
    it.each(CASES)('$rule', async (one) => {
      if (one.error === undefined)
        expect(await recordsOf(one, lane, size)).toEqual(expectedRecords(one));
      else await expect(recordsOf(one, lane, size)).rejects.toThrow(one.error);
    });
  });
});
