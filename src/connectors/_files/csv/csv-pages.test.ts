import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeLines } from '../../../kit/column-lines.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import type { Lane } from '../../../kit/page.ts';
import { messageOf } from '../../../lib/errors.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import type { CsvShape } from './csv-page-maker.ts';
import { csvPages } from './csv-pages.ts';

const PLAIN: CsvShape = {
  dialect: { delimiter: 44, quote: 34 },
  hasHeaders: true,
  flexible: false,
  nullValues: [],
};
const BYTES: Lane = { form: 'bytes', encoding: 'jsonl' };
const RECORDS: Lane = { form: 'records' };
const COLUMNS: Lane = { form: 'columns' };

interface Reading {
  readonly lines: readonly string[];
  readonly pages: readonly number[];
  readonly error?: string;
}

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

interface ReadOptions {
  readonly lane?: Lane;
  readonly size?: number;
  readonly shape?: Partial<CsvShape>;
  readonly records?: number;
  readonly bytes?: number;
  readonly limit?: number;
}

async function read(input: Uint8Array | string, options: ReadOptions = {}): Promise<Reading> {
  const lines: string[] = [];
  const pages: number[] = [];
  try {
    const blocks = cut(
      typeof input === 'string' ? Buffer.from(input) : input,
      options.size ?? 65_536,
    );
    for await (const page of csvPages(blocks, {
      shape: { ...PLAIN, ...options.shape },
      lane: options.lane ?? RECORDS,
      bounds: { records: options.records ?? 1000, bytes: options.bytes ?? 1_000_000 },
      limit: options.limit,
      name: 'in.csv',
      signal: new AbortController().signal,
    })) {
      pages.push(page.count);
      const { form } = page.form;
      expect(form).toBe(options.lane?.form ?? 'records');
      const records = form === 'bytes' ? JSON_LINES.decode(page.block(JSON_LINES)) : page.records();
      expect(records).toHaveLength(page.count);
      if (form === 'records') lines.push(...records.map((record) => stringifyJson(record)));
      else lines.push(...Buffer.from(page.block(JSON_LINES)).toString().split('\n').slice(0, -1));
      if (form === 'columns')
        expect(lines.slice(-page.count)).toEqual(records.map((record) => stringifyJson(record)));
      page.release();
    }
    return { lines, pages };
  } catch (error) {
    return { lines, pages, error: messageOf(error) };
  }
}

/** The same rules once more, over characters and without any cleverness. */
function model(text: string, shape: CsvShape): { rows: string[][]; open: boolean } {
  const delimiter = String.fromCharCode(shape.dialect.delimiter);
  const quote = String.fromCharCode(shape.dialect.quote);
  const rows: string[][] = [];
  const isLineEnd = (c: string | undefined): boolean => c === '\n' || c === '\r';
  let at = 0;
  while (at < text.length) {
    if (isLineEnd(text[at])) {
      at += 1;
      continue;
    }
    const row: string[] = [];
    for (;;) {
      let cell = '';
      if (text[at] === quote) {
        at += 1;
        for (;;) {
          if (at >= text.length) return { rows, open: true };
          if (text[at] !== quote) cell += text[at];
          else if (text[at + 1] === quote) {
            cell += quote;
            at += 1;
          } else break;
          at += 1;
        }
        at += 1;
      }
      while (at < text.length && text[at] !== delimiter && !isLineEnd(text[at])) {
        cell += text[at];
        at += 1;
      }
      row.push(cell);
      if (text[at] !== delimiter) break;
      at += 1;
    }
    rows.push(row);
  }
  return { rows, open: false };
}

function modelLines(text: string, shape: CsvShape): { lines: string[]; failed: boolean } {
  const { rows, open } = model(text, shape);
  const [first] = rows;
  if (first === undefined) return { lines: [], failed: open };
  const names = shape.hasHeaders ? first : first.map((_, index) => `column_${index}`);
  const lines: string[] = [];
  if (new Set(names).size < names.length) return { lines, failed: true };
  for (const row of shape.hasHeaders ? rows.slice(1) : rows) {
    if (!shape.flexible && row.length !== names.length) return { lines, failed: true };
    const fields = row.map((cell, index): [string, JsonValue] => [
      names[index] ?? `column_${index}`,
      shape.nullValues.includes(cell) ? null : cell,
    ]);
    if (new Set(fields.map(([name]) => name)).size < fields.length) return { lines, failed: true };
    lines.push(
      `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`,
    );
  }
  return { lines, failed: open };
}

/** Text made of the characters that matter. */
const soup = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      ',',
      ',',
      '"',
      '"',
      '\n',
      '\n',
      '\r',
      '\r\n',
      'é',
      '€',
      '😀',
      '\\',
      '\t',
      '\u0001',
      ';',
      ' ',
    ),
    {
      maxLength: 60,
    },
  )
  .map((parts) => parts.join(''));

const shapes = fc.record({
  dialect: fc.constantFrom(
    { delimiter: 44, quote: 34 },
    { delimiter: 59, quote: 97 },
    { delimiter: 9, quote: 34 },
  ),
  hasHeaders: fc.boolean(),
  flexible: fc.boolean(),
  nullValues: fc.constantFrom([], [''], ['b', 'é']),
});

describe('csv pages', () => {
  it('read like the model in every lane, at every block size', async () => {
    await fc.assert(
      fc.asyncProperty(
        soup,
        shapes,
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 5 }),
        async (text, shape, size, records) => {
          const wanted = modelLines(text, shape);
          const asRecords = await read(text, { lane: RECORDS, size, shape, records });
          const asBytes = await read(text, { lane: BYTES, size, shape, records });
          expect(asBytes).toEqual(asRecords);
          expect(await read(text, { lane: COLUMNS, size, shape, records })).toEqual(asRecords);
          expect(asRecords.error !== undefined).toBe(wanted.failed);
          if (wanted.failed)
            expect(wanted.lines.slice(0, asRecords.lines.length)).toEqual(asRecords.lines);
          else expect(asRecords.lines).toEqual(wanted.lines);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('give the same pages and errors whatever the block size', async () => {
    await fc.assert(
      fc.asyncProperty(
        soup,
        shapes,
        fc.integer({ min: 20, max: 80 }),
        async (text, shape, bytes) => {
          const whole = await read(text, { lane: BYTES, shape, bytes });
          for (const size of [1, 2, 3, 7]) {
            for (const lane of [RECORDS, COLUMNS])
              expect(await read(text, { lane, shape, bytes, size })).toEqual(whole);
          }
        },
      ),
      {
        numRuns: 300,
        // A page that is full when the text ends in a row that does not.
        examples: [
          [
            '\u0001\n"',
            {
              dialect: { delimiter: 44, quote: 34 },
              hasHeaders: false,
              flexible: false,
              nullValues: [],
            },
            20,
          ],
        ],
      },
    );
  });

  it('read what any RFC 4180 writer writes', async () => {
    const cell = fc.string({ unit: 'grapheme', maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell, cell), { minLength: 1 }),
        fc.integer({ min: 1, max: 40 }),
        async (rows, size) => {
          const text = [['x', 'y', 'z'], ...rows]
            .map((row) => row.map((c) => `"${c.replaceAll('"', '""')}"`).join(','))
            .join('\r\n');
          const { lines } = await read(text, { lane: BYTES, size });
          expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
            rows.map(([x, y, z]) => ({ x, y, z })),
          );
        },
      ),
    );
  });

  it('see what is special at any place of a longer cell', async () => {
    const plain = fc.string({
      unit: fc.constantFrom('a', 'Z', '~', '\u007f', 'é', '€', ' ', '!', '#', '-', '['),
      maxLength: 40,
    });
    const special = fc.constantFrom('', '""', '\n', '\r', ',', '\\', '\t', '\u0000', '\u001f');
    const cell = fc
      .tuple(plain, special, plain)
      .map(([before, mark, after]) => `"${before}${mark}${after}"`);
    const bare = fc
      .tuple(plain, fc.constantFrom('', '\\', '\t', '"', '\u001f'), plain)
      .map(([before, mark, after]) => `x${before}${mark}${after}`);
    const rows = fc.array(fc.tuple(fc.oneof(cell, bare), fc.oneof(cell, bare)), {
      minLength: 1,
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 1, max: 30 }), async (cells, size) => {
        const text = ['k,v', ...cells.map((row) => row.join(','))].join('\n');
        const wanted = modelLines(text, PLAIN).lines;
        for (const lane of [BYTES, RECORDS, COLUMNS])
          expect((await read(text, { lane, size })).lines).toEqual(wanted);
      }),
      { numRuns: 1000 },
    );
  });

  it('hold the same in every lane where rows, cells and names are longer than what is worked on at once', async () => {
    const names = Array.from(
      { length: 200 },
      (_, index) => `${'a rather long name '.repeat(index % 4)}n${index}`,
    );
    const long = `"${'""x\n'.repeat(200)}"`;
    const rows = Array.from({ length: 300 }, (_, row) =>
      names.map((_name, index) => (index === row ? long : `${row}.${index}`)),
    );
    const wide = [names, ...rows].map((row) => row.join(',')).join('\n');
    const tall = `k,v\n1,${'long '.repeat(60_000)}\n2,"${'""'.repeat(70_000)}"\n${'3,4\n'.repeat(2000)}`;
    for (const [text, nullValues] of [
      [wide, ['7.7', '8.8']],
      [tall, ['4']],
    ] as const) {
      const wanted = modelLines(text, { ...PLAIN, nullValues }).lines.join('\n');
      for (const lane of [BYTES, COLUMNS]) {
        const { lines } = await read(text, {
          lane,
          shape: { nullValues },
          records: 10_000,
          bytes: 1e9,
        });
        expect(lines.join('\n') === wanted).toBe(true);
      }
    }
  });

  it('keep pages within their bounds of records and bytes, but never empty', async () => {
    const text = `a,b\n${Array.from({ length: 100 }, (_, i) => `${i},${'x'.repeat(i)}`).join('\n')}\n`;
    for (const lane of [RECORDS, BYTES, COLUMNS]) {
      const { pages } = await read(text, { lane, records: 7, bytes: 150 });
      expect(Math.max(...pages)).toBeLessThanOrEqual(7);
      expect(Math.min(...pages)).toBe(1);
      expect(pages.reduce((sum, count) => sum + count, 0)).toBe(100);
    }
    expect((await read(text, { records: 7, bytes: 150, lane: BYTES })).pages).toEqual(
      (await read(text, { records: 7, bytes: 150 })).pages,
    );
  });

  it('name the line where a row has another length, counting line ends inside quotes', async () => {
    const { error, lines } = await read('a,b\r\n"1\n2",3\r\n\r\n4\r\n', { records: 1 });
    expect(lines).toEqual(['{"a":"1\\n2","b":"3"}']);
    expect(error).toBe('line 5 of in.csv has 1 cell, the first row has 2');
  });

  it('with flexible rows, short ones lack keys and long ones gain column_N', async () => {
    const { lines } = await read('a,b\n1\n1,2,3,4\n1,2\n', { shape: { flexible: true } });
    expect(lines).toEqual([
      '{"a":"1"}',
      '{"a":"1","b":"2","column_2":"3","column_3":"4"}',
      '{"a":"1","b":"2"}',
    ]);
  });

  it('refuse duplicate headers, blank ones too', async () => {
    expect((await read('a,a\n1,2\n')).error).toBe(
      'line 1 of in.csv: there are two columns called "a"',
    );
    expect((await read('x,,\n1,2,3\n')).error).toBe(
      'line 1 of in.csv: there are two columns called ""',
    );
  });

  it('name the line of an unclosed quote and of text that is not UTF-8', async () => {
    expect((await read('a\n1\n"2\n3\n')).error).toBe(
      'line 3 of in.csv: the row that starts here does not end',
    );
    const latin = Buffer.concat([
      Buffer.from('a\n1\n'),
      Buffer.from([0xe9, 10]),
      Buffer.from('2\n'),
    ]);
    for (const size of [1, 100]) {
      const reading = await read(latin, { size, lane: BYTES, records: 1 });
      expect(reading).toEqual({
        lines: ['{"a":"1"}'].slice(0, reading.lines.length),
        pages: reading.pages,
        error: 'line 3 of in.csv is not UTF-8 text',
      });
    }
  });

  it('skip the byte order mark however it is cut', async () => {
    for (const size of [1, 2, 3, 50])
      expect((await read('\uFEFFa\n1\n', { size })).lines).toEqual(['{"a":"1"}']);
    expect((await read('')).lines).toEqual([]);
    expect((await read('\uFEFF')).lines).toEqual([]);
    expect((await read('a,b\n')).lines).toEqual([]);
  });

  it('keep a column called __proto__ as data', async () => {
    expect((await read('__proto__,b\n1,2\n')).lines).toEqual(['{"__proto__":"1","b":"2"}']);
  });

  it('stop at the limit', async () => {
    expect((await read('a\n1\n2\n3\n', { limit: 2 })).lines).toHaveLength(2);
    expect((await read('a\n1\n2\n3\n', { limit: 2, lane: BYTES })).lines).toHaveLength(2);
  });

  it.each([BYTES, COLUMNS])(
    'of several files at once are each read by their own rules, in $form',
    async (lane) => {
      const files = Array.from({ length: 12 }, (_, file) => ({
        text: Array.from(
          { length: 40 },
          (_row, row) =>
            `${file}${file % 2 === 0 ? ',' : ';'}${row === 3 ? '' : 'x'.repeat(row)}\n`,
        ).join(''),
        options: {
          lane,
          size: 7 + file,
          records: 5,
          shape: {
            dialect: { delimiter: file % 2 === 0 ? 44 : 59, quote: 34 },
            hasHeaders: file % 3 === 0,
            nullValues: file < 6 ? [''] : [],
          },
        },
      }));
      const expected = await Promise.all(
        files.map(({ text, options }) => read(text, { ...options, lane: RECORDS })),
      );
      for (let round = 0; round < 2; round += 1) {
        expect(await Promise.all(files.map(({ text, options }) => read(text, options)))).toEqual(
          expected,
        );
      }
    },
  );

  it('take the columns apart of a page of any number of rows', async () => {
    const text = `a,b\n${Array.from({ length: 5000 }, (_, i) => (i % 7 === 0 ? `${i}` : `${i},"x""${i}"`)).join('\n')}\n1,2,3\n`;
    const reading = { records: Infinity, shape: { flexible: true } };
    expect(await read(text, { ...reading, lane: COLUMNS })).toEqual(
      await read(text, { ...reading, lane: RECORDS }),
    );
  });

  it('leave a page as it is when later rows bring more columns', async () => {
    const blocks = cut(Buffer.from('a,b\n1,2\n3,4,5\n'), 100);
    const shape = { ...PLAIN, flexible: true };
    const options = {
      shape,
      lane: COLUMNS,
      bounds: { records: 1, bytes: 1000 },
      name: 'in.csv',
      signal: new AbortController().signal,
    };
    const pages = await allOf(csvPages(blocks, options));
    expect(pages.map((page) => page.columns?.names)).toEqual([
      ['a', 'b'],
      ['a', 'b', 'column_2'],
    ]);
    expect(pages.map((page) => page.records())).toEqual([
      [{ a: '1', b: '2' }],
      [{ a: '3', b: '4', column_2: '5' }],
    ]);
  });

  it('can be written again with any of their columns, under any name and in any order', async () => {
    const text = 'a,1,b,c,d\n1,2,"x""y",,5\n6\n7,8,NULL,é,NULL\n,,\n';
    const options = {
      name: 'in.csv',
      signal: new AbortController().signal,
      bounds: { records: 10, bytes: 1000 },
    };
    const shape = { ...PLAIN, flexible: true, nullValues: ['NULL'] };
    const [page] = await allOf(
      csvPages(cut(Buffer.from(text), 100), { ...options, shape, lane: COLUMNS }),
    );
    const columns = page?.columns;
    if (page === undefined || columns === undefined) throw new Error('there is a page of columns');
    const whole = page.records() as JsonObject[];
    fc.assert(
      fc.property(
        fc.shuffledSubarray([...columns.names]),
        fc.constantFrom('b', '0', 'z'),
        (names, renamed) => {
          const places = new Map(names.map((name) => [name === 'b' ? renamed : name, name]));
          const found = columns.picked(names);
          const picked = found.renamed(found.names.map((name) => (name === 'b' ? renamed : name)));
          const expected = whole.map((record) =>
            Object.fromEntries(
              [...places].flatMap(([name, from]) =>
                Object.hasOwn(record, from) ? [[name, record[from]]] : [],
              ),
            ),
          );
          const lines = Buffer.from(writeLines(picked)).toString();
          expect(lines).toBe(
            expected.map((record) => `${stringifyJson(record as JsonValue)}\n`).join(''),
          );
        },
      ),
      { numRuns: 400 },
    );
  });

  it('read a row many blocks long without looking at it again and again', async () => {
    const long = 'x'.repeat(3_000_000);
    const { lines } = await read(`a\n"${long}"\n`, { lane: BYTES, size: 1000 });
    expect(lines[0]?.length).toBe(long.length + 8);
  });
});
