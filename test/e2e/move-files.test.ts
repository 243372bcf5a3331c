/**
 * Files as they are found in the wild: one run, one matrix row a file, records compared value by
 * value.
 */
import { existsSync } from 'node:fs';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { join } from 'node:path';
import { linesOf, makeFolder, type Folder } from './folder.ts';

interface Case {
  readonly title: string;
  readonly type?: 'csv' | 'jsonl' | 'file';
  readonly file?: string;
  readonly content?: string | Uint8Array;
  readonly config?: object;
  readonly gives: readonly unknown[] | { readonly failsWith: string };
}

const WIDE = Array.from({ length: 5000 }, (_, index) => `c${index}`);
const HUGE = 'x'.repeat(5_000_000);
const latin = Uint8Array.of(0x61, 0x2c, 0x62, 0x0a, 0xe9, 0x2c, 0x32, 0x0a);

const CASES: readonly Case[] = [
  {
    title: 'csv: quotes, line breaks and empty cells',
    content: 'a,b\n"x ""q"" y","l1\nl2"\n,"" \n',
    gives: [
      { a: 'x "q" y', b: 'l1\nl2' },
      { a: '', b: ' ' },
    ],
  },
  {
    title: 'csv: CRLF and no last line end',
    content: 'a,b\r\n1,2\r\n3,4',
    gives: [
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ],
  },
  {
    title: 'csv: a byte order mark is no part of the first name',
    content: '\uFEFFa,b\n1,2\n',
    gives: [{ a: '1', b: '2' }],
  },
  {
    title: 'csv: characters of every plane',
    content: 'a,b\nZoë,猫😀\n',
    gives: [{ a: 'Zoë', b: '猫😀' }],
  },
  {
    title: 'csv: text that is not UTF-8 is refused by line',
    content: latin,
    gives: { failsWith: 'line 2' },
  },
  {
    title: 'csv: two columns of one name',
    content: 'a,a\n1,2\n',
    gives: { failsWith: 'two columns called "a"' },
  },
  {
    title: 'csv: a short row names its line',
    content: 'a,b\n1,2\n3\n',
    gives: { failsWith: 'line 3' },
  },
  {
    title: 'csv: flexible rows',
    content: 'a,b\n1\n1,2,3\n',
    config: { flexible: true },
    gives: [{ a: '1' }, { a: '1', b: '2', column_2: '3' }],
  },
  {
    title: 'csv: no header',
    content: '1,2\n',
    config: { has_headers: false },
    gives: [{ column_0: '1', column_1: '2' }],
  },
  { title: 'csv: nothing at all', content: '', gives: [] },
  { title: 'csv: only a header', content: 'a,b\n', gives: [] },
  {
    title: 'csv: another delimiter as a character',
    content: 'a\tb\n1\t2\n',
    config: { delimiter: '\t' },
    gives: [{ a: '1', b: '2' }],
  },
  {
    title: 'csv: another delimiter and quote as byte codes',
    content: "a;b\n'x;y';2\n",
    config: { delimiter: 59, quote: 39 },
    gives: [{ a: 'x;y', b: '2' }],
  },
  {
    title: 'csv: texts that mean null',
    content: 'a,b\nNULL,\n',
    config: { null_values: ['NULL', ''] },
    gives: [{ a: null, b: null }],
  },
  {
    title: 'csv: an open quote names where it starts',
    content: 'a,b\n1,2\n"abc,2\n',
    gives: { failsWith: 'line 3' },
  },
  {
    title: 'csv: 5,000 columns',
    content: `${WIDE.join(',')}\n${WIDE.join(',')}\n`,
    gives: [Object.fromEntries(WIDE.map((name) => [name, name]))],
  },
  {
    title: 'csv: a cell of five million characters',
    content: `a,b\n${HUGE},2\n`,
    gives: [{ a: HUGE, b: '2' }],
  },
  {
    title: 'csv: gzip of several members',
    file: 'members.csv.gz',
    content: Buffer.concat([gzipSync('a,b\n1,2\n'), gzipSync('3,4\n')]),
    gives: [
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ],
  },
  {
    title: 'csv: zstd',
    file: 'packed.csv.zst',
    content: zstdCompressSync('a,b\n1,2\n'),
    gives: [{ a: '1', b: '2' }],
  },
  {
    title: 'csv: gzip that is cut off',
    file: 'cut.csv.gz',
    content: gzipSync('a,b\n1,2\n').subarray(0, -6),
    gives: { failsWith: 'cut off' },
  },
  {
    title: 'csv: a name that promises gzip',
    file: 'plain.csv.gz',
    content: 'a,b\n1,2\n',
    gives: { failsWith: 'not valid gzip' },
  },
  {
    title: 'csv: names that mean something to JavaScript',
    content: '__proto__,constructor\n1,2\n',
    gives: [JSON.parse('{"__proto__":"1","constructor":"2"}')],
  },
  {
    title: 'csv: a file that is not there',
    file: 'missing.csv',
    gives: { failsWith: 'missing.csv: it does not exist' },
  },
  {
    title: 'jsonl: blank lines, CRLF and no last line end',
    type: 'jsonl',
    content: '{"a":1}\r\n\n  \n{"a":2}',
    gives: [{ a: 1 }, { a: 2 }],
  },
  {
    title: 'jsonl: every kind of value',
    type: 'jsonl',
    content: '1\n"x"\nnull\n[1]\n{}\n',
    gives: [1, 'x', null, [1], {}],
  },
  {
    title: 'jsonl: a torn line is told by number',
    type: 'jsonl',
    content: '{"a":1}\n{"a":\n',
    gives: { failsWith: 'line 2' },
  },
  {
    title: 'file: a list of JSON objects',
    type: 'file',
    file: 'list.json',
    content: '[{"a":1},{"a":2}]',
    gives: [{ a: 1 }, { a: 2 }],
  },
  {
    title: 'file: one JSON object',
    type: 'file',
    file: 'lone.json',
    content: '{"a":1}',
    gives: [{ a: 1 }],
  },
  {
    title: 'file: XML records',
    type: 'file',
    file: 'records.xml',
    content: '<r><record><a>1</a></record><record><a>2</a></record></r>',
    config: { xml: { record_element: 'record' } },
    gives: [{ a: '1' }, { a: '2' }],
  },
  {
    title: 'file: broken XML',
    type: 'file',
    file: 'broken.xml',
    content: '<r><record>',
    gives: { failsWith: 'not well-formed' },
  },
  {
    title: 'file: text as it is',
    type: 'file',
    file: 'note.txt',
    content: 'hé\n',
    gives: [{ path: expect.stringContaining('note.txt') as string, content: 'hé\n' }],
  },
  {
    title: 'file: an extension that says nothing',
    type: 'file',
    file: 'what.dat',
    content: 'x',
    gives: { failsWith: 'what.dat' },
  },
  { title: 'file: a pattern that matches nothing', type: 'file', file: 'none-*.csv', gives: [] },
];

interface RowReport {
  readonly row_id: string;
  readonly status: string;
  readonly error?: string;
}

let folder: Folder;
let reports: Map<string, RowReport>;

beforeAll(async () => {
  folder = makeFolder('files');
  const matrix = CASES.map(({ type = 'csv', file, content, config }, index) => {
    const path = file ?? `in-${index}.${type}`;
    if (content !== undefined) folder.write(path, content);
    return {
      id: `case-${index}`,
      source: { type, config: { path, ...config } },
      sink: { config: { path: `out-${index}.jsonl` } },
    };
  });
  folder.document(
    'all.json',
    { source: { type: 'csv' }, sink: { type: 'jsonl' } },
    { matrix, execution: { on_error: 'continue' } },
  );
  const { stdout, stderr } = await folder.run([
    'run',
    'all.json',
    '--output',
    'ndjson',
    '--log-level',
    'error',
  ]);
  if (stdout === '') throw new Error(stderr);
  reports = new Map((linesOf(stdout) as RowReport[]).map((row) => [row.row_id, row]));
});
afterAll(() => folder.remove());

it.each(CASES.map((each, index) => [each.title, each, index] as const))(
  '%s',
  (_title, { gives }, index) => {
    const report = reports.get(`case-${index}`);
    if ('failsWith' in gives) {
      expect(report).toMatchObject({
        status: 'error',
        error: expect.stringContaining(gives.failsWith) as string,
      });
      return;
    }
    expect(report).toMatchObject({ status: 'ok' });
    const output = `out-${index}.jsonl`;
    // A run without records makes no file.
    expect(existsSync(join(folder.path, output)) ? folder.lines(output) : []).toEqual(gives);
  },
);

it('a CSV written from records is read back as their text', async () => {
  const records = [
    { a: 1, b: 'x,"y"\nz', c: true, d: null },
    { b: '', extra: [1], a: 'é' },
    { a: { deep: 1 } },
  ];
  folder.records('back.jsonl', records);
  folder.document('there.json', {
    source: { type: 'jsonl', config: { path: 'back.jsonl' } },
    sink: { type: 'csv', config: { path: 'back.csv' } },
  });
  folder.document('back.json', {
    source: { type: 'csv', config: { path: 'back.csv' } },
    sink: { type: 'jsonl', config: { path: 'back.out.jsonl' } },
  });
  for (const name of ['there.json', 'back.json'])
    expect((await folder.run(['run', name, '--quiet'])).code).toBe(0);
  expect(folder.lines('back.out.jsonl')).toEqual([
    { a: '1', b: 'x,"y"\nz', c: 'true', d: '', extra: '' },
    { a: 'é', b: '', c: '', d: '', extra: '[1]' },
    { a: '{"deep":1}', b: '', c: '', d: '', extra: '' },
  ]);
});

it('Parquet keeps types, and leaves out what is null', async () => {
  const records = [
    { i: 1, f: 1.5, s: 'ü', b: true, o: { x: [1, 2] }, n: null },
    { i: 2, s: null },
  ];
  folder.records('pq.jsonl', records);
  const path = 'pq.parquet';
  folder.document('pq-there.json', {
    source: { type: 'jsonl', config: { path: 'pq.jsonl' } },
    sink: { type: 'parquet', config: { destination: { type: 'local_path', path } } },
  });
  folder.document('pq-back.json', {
    source: { type: 'parquet', config: { source: { type: 'local_path', path } } },
    sink: { type: 'jsonl', config: { path: 'pq.out.jsonl' } },
  });
  for (const name of ['pq-there.json', 'pq-back.json'])
    expect((await folder.run(['run', name, '--quiet'])).stderr).toBe('');
  expect(folder.lines('pq.out.jsonl')).toEqual([
    { i: 1, f: 1.5, s: 'ü', b: true, o: { x: [1, 2] } },
    { i: 2 },
  ]);
});
