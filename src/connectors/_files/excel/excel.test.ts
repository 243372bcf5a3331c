import { strToU8, unzipSync, zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../lib/text/json.ts';
import { kindOfCode } from './number-formats.ts';
import { sheetRecords, type SheetOptions } from './sheet-records.ts';

const MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const relation = (id: string, type: string, target: string) =>
  `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`;

interface Parts {
  readonly strings?: string;
  /** Number formats of the styles 0, 1, …: ids below 164, or codes. */
  readonly formats?: readonly (number | string)[];
  readonly properties?: string;
  readonly others?: Readonly<Record<string, string>>;
}

/** A workbook of a chart and a sheet with the given rows. */
function workbook(rows: string, { strings, formats = [0], properties = '', others }: Parts = {}) {
  const codes = formats.map((format, index) =>
    typeof format === 'number'
      ? ''
      : `<numFmt numFmtId="${200 + index}" formatCode="${format.replaceAll('"', '&quot;')}"/>`,
  );
  const styles = formats.map(
    (format, index) => `<xf numFmtId="${typeof format === 'number' ? format : 200 + index}"/>`,
  );
  const parts: Record<string, string> = {
    '_rels/.rels': `<Relationships>${relation('m', 'officeDocument', '/xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<workbook ${MAIN} xmlns:r="${RELATIONS}"><workbookPr ${properties}/><sheets><sheet name="Chart" sheetId="1" r:id="r4"/><sheet name="Data" sheetId="2" r:id="r1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${relation('r1', 'worksheet', 'worksheets/s.xml')}${relation('r2', 'sharedStrings', '/xl/sharedStrings.xml')}${relation('r3', 'styles', 'styles.xml')}${relation('r4', 'chartsheet', 'chartsheets/c.xml')}</Relationships>`,
    'xl/sharedStrings.xml': `<sst ${MAIN}>${strings ?? ''}</sst>`,
    'xl/styles.xml': `<styleSheet ${MAIN}><numFmts>${codes.join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${styles.join('')}</cellXfs></styleSheet>`,
    'xl/worksheets/s.xml': `<worksheet ${MAIN}><sheetData>${rows}</sheetData></worksheet>`,
    'xl/chartsheets/c.xml': `<chartsheet ${MAIN}/>`,
    ...others,
  };
  return zipSync(
    Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)])),
  );
}

const OPTIONS: SheetOptions = { sheet: {}, headerRow: 0, name: 'book.xlsx' };
const HEADER = '<row r="1"><c r="A1" t="inlineStr"><is><t>v</t></is></c></row>';

/** The value of one cell. */
function valueOf(cell: string, parts: Parts = {}): JsonValue | undefined {
  const bytes = workbook(`${HEADER}<row r="2">${cell}<c r="B2"><v>1</v></c></row>`, parts);
  return sheetRecords(bytes, OPTIONS)[0]?.['v'];
}

it.each(['', '<v></v>', '<v/>'])('formulas that were never computed are told once: %j', (none) => {
  const told: unknown[] = [];
  const log = { warn: (...words: unknown[]) => void told.push(words) };
  const computed = '<row r="2"><c r="A2"><f>1+1</f><v>2</v></c></row>';
  const empty = '<row r="3"><c r="A3" t="str"><f>""</f><v></v></c></row>';
  const read = (rows: string) => sheetRecords(workbook(HEADER + rows), { ...OPTIONS, log });
  read(computed + empty);
  expect(told).toEqual([]);
  const never = [4, 5].map((row) => `<row r="${row}"><c r="A${row}"><f>1+1</f>${none}</c></row>`);
  read(computed + never.join(''));
  expect(told).toEqual([
    [
      'formulas of the sheet have no stored value, and are null',
      {
        path: 'book.xlsx',
        cell: 'A4',
        hint: 'open the workbook in a spreadsheet program and save it, which computes them',
      },
    ],
  ]);
});

describe('dates and times of a cell', () => {
  it.each<[number | string, number, JsonValue]>([
    [14, 45_292, '2024-01-01T00:00:00.000Z'],
    [22, 45_293.127_843_495_37, '2024-01-02T03:04:05.678Z'],
    [22, 45_292.999_999_999, '2024-01-02T00:00:00.000Z'],
    [14, 1, '1900-01-01T00:00:00.000Z'],
    [14, 59, '1900-02-28T00:00:00.000Z'],
    [14, 60, '1900-02-29T00:00:00.000Z'],
    [14, 61, '1900-03-01T00:00:00.000Z'],
    [14, 2_958_465, '9999-12-31T00:00:00.000Z'],
    [14, 2_958_466, 2_958_466],
    [14, -1, -1],
    [20, 0.572_916_666_666_666_7, '13:45:00'],
    ['h:mm:ss.000', 0.500_002_893_518_518_5, '12:00:00.250'],
    [20, 45_292.75, '2024-01-01T18:00:00.000Z'],
    [46, 1.0625, 'PT25H30M'],
    ['[h]:mm', -1.25, '-PT30H'],
    ['[ss].00', 0.000_002_893_518_518_5, 'PT0.25S'],
    ['[mm]', 0, 'PT0S'],
    [2, 45_292, 45_292],
  ])('with the format %s, %d is %s', (format, number, value) => {
    expect(valueOf(`<c r="A2" s="1"><v>${number}</v></c>`, { formats: [0, format] })).toBe(value);
  });

  it.each<[string, number, JsonValue]>([
    ['1', 0, '1904-01-01T00:00:00.000Z'],
    ['true', 60, '1904-03-01T00:00:00.000Z'],
    ['0', 61, '1900-03-01T00:00:00.000Z'],
  ])('with date1904="%s", day %d is %s', (flag, number, value) => {
    expect(
      valueOf(`<c r="A2" s="0"><v>${number}</v></c>`, {
        formats: [14],
        properties: `date1904="${flag}"`,
      }),
    ).toBe(value);
  });

  it.each([
    ['yyyy\\-mm\\-dd;@', 'date'],
    ['[$-409]d\\-mmm;@', 'date'],
    ['mm/yy', 'date'],
    ['mmmm', 'date'],
    ['[$-F400]h:mm:ss AM/PM', 'time'],
    ['mm:ss.0', 'time'],
    ['h"h "mm', 'time'],
    ['[m]:ss', 'duration'],
    ['General', 'number'],
    ['0.00E+00', 'number'],
    ['#,##0 "days"', 'number'],
    ['[Red]0;[Blue]-0', 'number'],
    ['0 \\h', 'number'],
    ['_-* #,##0.00 _d', 'number'],
    ['@', 'number'],
    [';;;', 'number'],
  ])('%s shows a %s', (code, kind) => {
    expect(kindOfCode(code)).toBe(kind);
  });

  it('are read from ISO text in files of the strict kind', () => {
    expect(valueOf('<c r="A2" t="d"><v>2024-01-02T03:04:05.5</v></c>')).toBe(
      '2024-01-02T03:04:05.500Z',
    );
    expect(valueOf('<c r="A2" t="d"><v>2024-01-02T03:04:05.123456</v></c>')).toBe(
      '2024-01-02T03:04:05.123456Z',
    );
    expect(valueOf('<c r="A2" t="d"><v>2024-01-02</v></c>')).toBe('2024-01-02T00:00:00.000Z');
    expect(valueOf('<c r="A2" t="d"><v>13:45:00</v></c>')).toBe('13:45:00');
  });
});

describe('the value of a cell', () => {
  const strings =
    '<si><t xml:space="preserve"> two  spaces </t></si>' +
    '<si><r><rPr><b/></rPr><t>bo</t></r><r><t xml:space="preserve">ld </t></r><rPh sb="0" eb="1"><t>guide</t></rPh></si>' +
    '<si><t/></si><si><t>a_x000D_b_x005F_x000D_</t></si><si><t><![CDATA[<&>]]></t></si>';
  it.each<[string, string, JsonValue]>([
    ['a shared text with spaces', '<c r="A2" t="s"><v>0</v></c>', ' two  spaces '],
    ['runs of fonts without phonetic guides', '<c r="A2" t="s"><v>1</v></c>', 'bold '],
    ['an empty text', '<c r="A2" t="s"><v>2</v></c>', ''],
    ['escaped characters', '<c r="A2" t="s"><v>3</v></c>', 'a\rb_x000D_'],
    ['CDATA', '<c r="A2" t="s"><v>4</v></c>', '<&>'],
    [
      'an inline text',
      '<c r="A2" t="inlineStr"><is><t> a </t><r><t><![CDATA[ <b> ]]></t></r><rPh><t>no</t></rPh></is></c>',
      ' a  <b> ',
    ],
    ['the result of a formula', '<c r="A2"><f>1+1</f><v>2</v></c>', 2],
    ['the text of a formula', '<c r="A2" t="str"><f>"x"</f><v> x </v></c>', ' x '],
    ['the truth of a formula', '<c r="A2" t="b"><f>TRUE</f><v>1</v></c>', true],
    ['a formula that was never computed', '<c r="A2"><f>1+1</f></c>', null],
    ['false', '<c r="A2" t="b"><v>0</v></c>', false],
    ['an error', '<c r="A2" t="e"><v>#N/A</v></c>', '#N/A'],
    ['a number in full', '<c r="A2"><v>0.30000000000000004</v></c>', 0.30000000000000004],
    ['a whole number of many digits', '<c r="A2"><v>9007199254740993</v></c>', 9007199254740993n],
    ['one that is exact', '<c r="A2"><v>9007199254740994</v></c>', 9007199254740994],
    ['a large number', '<c r="A2"><v>1E+20</v></c>', 1e20],
    ['a style without a value', '<c r="A2" s="0"/>', null],
    ['an empty element', '<c r="A2"><v/></c>', null],
    ['no shared text', '<c r="A2" t="s"><v></v></c>', null],
    ['no truth', '<c r="A2" t="b"><v/></c>', null],
    ['an inline text without its element', '<c r="A2" t="inlineStr"><v>7</v></c>', '7'],
  ])('%s', (_title, cell, value) => {
    expect(valueOf(cell, { strings })).toBe(value);
  });

  it('is where its address says, or behind the one before', () => {
    const rows =
      '<row><c t="str"><v>a</v></c><c r="C1" t="str"><v>c</v></c></row>' +
      '<row r="4"><c r="C4"><v>3</v></c></row><row><c><v>1</v></c><c><v>2</v></c></row>';
    expect(sheetRecords(workbook(rows), OPTIONS)).toEqual([
      { a: null, column_1: null, c: null },
      { a: null, column_1: null, c: null },
      { a: null, column_1: null, c: 3 },
      { a: 1, column_1: 2, c: null },
    ]);
  });

  it('is null in a row without values, unless there are millions of such cells', () => {
    const told: unknown[] = [];
    const log = { warn: (...warning: unknown[]) => void told.push(...warning) };
    const read = (last: string, row: number) => {
      const cells = `<c r="A${row}"><v>1</v></c><c r="${last}${row}"><v>2</v></c>`;
      const bytes = workbook(
        `${HEADER}<row r="3"/><row r="${row}">${cells}</row><row r="${row + 1}"/>`,
      );
      return sheetRecords(bytes, { ...OPTIONS, log });
    };
    const none = { v: null, column_1: null };
    expect(read('B', 4)).toEqual([none, none, { v: 1, column_1: 2 }]);
    expect(told).toEqual([]);
    expect(read('AA', 1_000_000)).toEqual([expect.objectContaining({ v: 1, column_26: 2 })]);
    expect(told).toEqual([
      expect.stringContaining('left out'),
      expect.objectContaining({ rows: 999_998, last_row: 1_000_000 }),
    ]);
  });

  it('is not looked for behind the data', () => {
    const rows = '<row r="2"><c r="A2"><v>1</v></c></row><row r="1"><c t="str"><v>a</v></c></row>';
    const sheet = `<worksheet ${MAIN}><sheetData>${rows}</sheetData><controls><anchor><row>7</row></anchor></controls></worksheet>`;
    const bytes = workbook('', { others: { 'xl/worksheets/s.xml': sheet } });
    expect(sheetRecords(bytes, OPTIONS)).toEqual([{ a: 1 }]);
  });

  it('is found whatever prefix the elements have', () => {
    const sheet = `<x:worksheet xmlns:x="urn:x"><x:sheetData><x:row><x:c t="str"><x:v>a</x:v></x:c></x:row><x:row><x:c><x:v>1</x:v></x:c></x:row></x:sheetData></x:worksheet>`;
    const bytes = workbook('', { others: { 'xl/worksheets/s.xml': sheet } });
    expect(sheetRecords(bytes, OPTIONS)).toEqual([{ a: 1 }]);
  });

  it.each([
    ['<c r="A2"><v>abc</v></c>', 'the cell A2 holds no number'],
    ['<c r="A2"><v>0x10</v></c>', 'the cell A2 holds no number'],
    ['<c r="A2"><v>1E400</v></c>', 'the cell A2 holds no number'],
    ['<c r="A2" t="b"><v>yes</v></c>', 'the cell A2 holds neither 0 nor 1'],
    ['<c r="A2"><v>1</v></c><c r="A2"><v>2</v></c>', 'the cell A2 is there twice'],
    ['</row><row r="1"><c r="A1"><v>2</v></c>', 'it has two rows with the number 1'],
    ['</row><row r="x"><c r="A2"><v>2</v></c>', '"x" is no number of a row'],
    ['</row><row r="0"><c r="A2"><v>2</v></c>', '"0" is no number of a row'],
    ['<c r="A2" t="s"><v>9</v></c>', 'the cell A2 refers to a text that is missing'],
    ['<c r="ZZZZ2"><v>1</v></c>', '"ZZZZ2" is no address of a cell'],
  ])('%s is refused', (cell, why) => {
    expect(() => valueOf(cell)).toThrow(`book.xlsx cannot be read as a spreadsheet: ${why}`);
  });
});

describe('a workbook', () => {
  it('names its sheets when one is missing, and says which have no cells', () => {
    const bytes = workbook(HEADER);
    expect(sheetRecords(bytes, { ...OPTIONS, sheet: { index: 1 } })).toEqual([]);
    expect(() => sheetRecords(bytes, { ...OPTIONS, sheet: { name: 'None' } })).toThrow(
      expect.objectContaining({ kind: 'missing', hint: 'its sheets are: Chart, Data' }),
    );
    expect(() => sheetRecords(bytes, { ...OPTIONS, sheet: { index: 0 } })).toThrow(
      'the sheet `Chart` of book.xlsx has no cells',
    );
  });

  it('tells that a hidden sheet is read where none was named', () => {
    const book = (state: string) =>
      workbook(HEADER, {
        others: {
          'xl/workbook.xml': `<workbook ${MAIN} xmlns:r="${RELATIONS}"><sheets><sheet name="Notes" state="${state}" r:id="r1"/><sheet name="Data" r:id="r1"/></sheets></workbook>`,
        },
      });
    const told = (state: string, sheet: SheetOptions['sheet'] = {}): unknown[] => {
      const warnings: unknown[] = [];
      const log = { warn: (...warning: unknown[]) => void warnings.push(...warning) };
      sheetRecords(book(state), { ...OPTIONS, sheet, log });
      return warnings;
    };
    for (const state of ['hidden', 'veryHidden'])
      expect(told(state)).toEqual([
        expect.stringContaining('hidden'),
        expect.objectContaining({ sheet: 'Notes', hint: expect.stringContaining('Notes, Data') }),
      ]);
    expect(told('visible')).toEqual([]);
    expect(told('hidden', { name: 'Notes' })).toEqual([]);
  });

  it.each<[string, Uint8Array, string]>([
    [
      'a password',
      Buffer.from('d0cf11e0a1b11ae10000', 'hex'),
      'it is a workbook of Excel 97 to 2003 (.xls), or has a password',
    ],
    ['text', Buffer.from('a,b\n'), 'it is no .xlsx file'],
    [
      'another kind of archive',
      zipSync({ mimetype: strToU8('x') }),
      'its part "xl/_rels/workbook.xml.rels" is missing',
    ],
    [
      'a binary workbook',
      zipSync({
        '_rels/.rels': strToU8(
          `<Relationships>${relation('m', 'officeDocument', 'xl/workbook.bin')}</Relationships>`,
        ),
      }),
      'it is a binary workbook (.xlsb)',
    ],
  ])('with %s is refused', (_title, bytes, why) => {
    expect(() => sheetRecords(bytes, OPTIONS)).toThrow(
      `book.xlsx cannot be read as a spreadsheet: ${why}`,
    );
  });

  it('that is cut off is refused', () => {
    expect(() => sheetRecords(workbook(HEADER).subarray(0, 900), OPTIONS)).toThrow(
      'book.xlsx is not a valid ZIP archive',
    );
  });

  it('is damaged where a part is not what its checksum says', () => {
    const bytes = zipSync(
      unzipSync(workbook(`${HEADER}<row r="2"><c r="A2"><v>12345</v></c></row>`)),
      {
        level: 0,
      },
    );
    expect(sheetRecords(bytes, OPTIONS)).toEqual([{ v: 12345 }]);
    const damaged = Buffer.from(bytes);
    damaged.write('2', damaged.indexOf('12345'));
    expect(() => sheetRecords(damaged, OPTIONS)).toThrow(
      'its part "xl/worksheets/s.xml" is not what its checksum says',
    );
  });

  it('needs a name of its own for each column', () => {
    const twice = HEADER.replace('</row>', '<c r="B1" t="str"><v>v</v></c></row>');
    expect(() => sheetRecords(workbook(twice), OPTIONS)).toThrow(
      'row 1 of book.xlsx has two columns called "v"',
    );
  });
});
