import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseData, type JsonValue } from '../../lib/text/json.ts';
import { parts } from '../../parts.ts';
import { runCli } from '../framework/run-cli.ts';
import {
  type Done,
  type TestWorldOptions,
  runCommand,
  testWiring,
  testWorld,
} from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-init-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function cli(words: readonly string[], options: TestWorldOptions = {}): Promise<Done> {
  return runCommand(words, testWiring(parts), { cwd, ...options });
}

function read(name: string): string {
  return readFileSync(path.join(cwd, name), 'utf8');
}

function write(name: string, content: string | Buffer): void {
  writeFileSync(path.join(cwd, name), content);
}

function lines(name: string): JsonValue[] {
  return read(name)
    .split('\n')
    .filter((line) => line !== '')
    .map(parseData);
}

/** The document is written, valid, formatted, runs, and its cases pass; gives what was written. */
async function started(file: string, ...more: string[]): Promise<JsonValue[]> {
  const init = await cli(['init', 'it', '--from', file, ...more]);
  expect(init.err).toContain('wrote headgate.yaml');
  for (const command of [['validate'], ['fmt', '--check'], ['run', '--quiet'], ['test']])
    expect([command, await cli(command)]).toEqual([command, expect.objectContaining({ code: 0 })]);
  return existsSync(path.join(cwd, 'it-out.jsonl')) ? lines('it-out.jsonl') : [];
}

interface Awkward {
  readonly name: string;
  readonly content: string | Buffer;
  /** What the document has to say. */
  readonly says: readonly string[];
  readonly records: readonly JsonValue[];
  /** Records that are put aside. */
  readonly rejected?: number;
}

const AWKWARD: readonly Awkward[] = [
  {
    name: 'semicolons',
    content: 'id;name\n1;Ada\n2;Bo\n3;Cy\n',
    says: ["delimiter: ';'", 'id: int64', '# Key: `id` has 3 different values'],
    records: [
      { id: 1, name: 'Ada' },
      { id: 2, name: 'Bo' },
      { id: 3, name: 'Cy' },
    ],
  },
  {
    name: 'tabs',
    content: 'id\tday\n1\t2024-01-31\n2\t2024-02-01\n',
    says: ['delimiter: "\\t"', 'day: date'],
    records: [
      { id: 1, day: '2024-01-31' },
      { id: 2, day: '2024-02-01' },
    ],
  },
  {
    name: 'UTF-16 with a mark',
    content: Buffer.from('\ufeffid,name\n1,Jürgen\n2,Zoë\n', 'utf16le'),
    says: ['encoding: utf-16le', 'FF FE'],
    records: [
      { id: 1, name: 'Jürgen' },
      { id: 2, name: 'Zoë' },
    ],
  },
  {
    name: 'UTF-16 without one, big end first',
    content: Buffer.from('id,name\n1,Jan\n2,Zoe\n', 'utf16le').swap16(),
    says: ['encoding: utf-16be', 'the first byte of most letters is empty'],
    records: [
      { id: 1, name: 'Jan' },
      { id: 2, name: 'Zoe' },
    ],
  },
  {
    name: 'windows-1252',
    content: Buffer.from('id,city\n1,Köln\n2,Málaga\n', 'latin1'),
    says: ['encoding: windows-1252', 'line 2 has the byte 0xF6', '"Köln"'],
    records: [
      { id: 1, city: 'Köln' },
      { id: 2, city: 'Málaga' },
    ],
  },
  {
    name: 'a byte order mark before the header',
    content: '\ufeffid,name\n1,Ada\n2,Bo\n',
    says: ['id: int64'],
    records: [
      { id: 1, name: 'Ada' },
      { id: 2, name: 'Bo' },
    ],
  },
  {
    name: 'lines above the table',
    content: 'Sales report\nMade on 2024-01-31, by "finance"\n\nid,total\n1,10\n2,20\n3,5\n',
    says: ['skip_rows: 3', 'such as "Sales report"'],
    records: [
      { id: 1, total: 10 },
      { id: 2, total: 20 },
      { id: 3, total: 5 },
    ],
  },
  {
    name: 'titles that a spreadsheet filled up with empty cells',
    content:
      'Sales report;;;\r\nMade on;2024-01-31;;\r\n;;;\r\nid;name;total;paid\r\n1;Ada;10;x\r\n2;Bo;;\r\n',
    says: ['skip_rows: 3', 'such as "Sales report;;;"', 'id: int64', 'total: int64'],
    records: [
      { id: 1, name: 'Ada', total: 10, paid: 'x' },
      { id: 2, name: 'Bo', total: null, paid: '' },
    ],
  },
  {
    name: 'records with empty cells above a full one, no header',
    content: 'Ada;;;\nBo;;;\nCy;Rome;12;3\nDi;;;\n',
    says: ['column_0: text'],
    records: [
      { column_0: 'Ada', column_1: '', column_2: null, column_3: null },
      { column_0: 'Bo', column_1: '', column_2: null, column_3: null },
      { column_0: 'Cy', column_1: 'Rome', column_2: 12, column_3: 3 },
      { column_0: 'Di', column_1: '', column_2: null, column_3: null },
    ],
  },
  {
    name: 'no header',
    content: '1,Ada,36\n2,Bo,72\n3,Cy,41\n',
    says: ['has_headers: false', 'the first row has the value "1"', 'column_0: int64'],
    records: [
      { column_0: 1, column_1: 'Ada', column_2: 36 },
      { column_0: 2, column_1: 'Bo', column_2: 72 },
      { column_0: 3, column_1: 'Cy', column_2: 41 },
    ],
  },
  {
    name: 'decimal commas, with points between thousands and an empty one',
    content: 'id;price\n1;12,50\n2;1.234,00\n3;\n',
    says: ["decimal_separator: ','", 'price: float', 'such as "12,50"'],
    records: [
      { id: 1, price: 12.5 },
      { id: 2, price: 1234 },
      { id: 3, price: null },
    ],
  },
  {
    name: 'leading zeros',
    content: 'zip,n\n01067,1\n80331,2\n',
    says: ['# zip: text (2 values; record 1 has a leading zero)', 'n: int64'],
    records: [
      { zip: '01067', n: 1 },
      { zip: '80331', n: 2 },
    ],
  },
  {
    name: 'big numbers, each with all its digits',
    content: 'id,big,huge,price\n1,9223372036854775807,92233720368547758070,0.10\n2,5,6,1.25\n',
    says: ['big: int64', '# huge: text', 'has more than 64 bits', "price: 'decimal(38, 2)'"],
    records: [
      { id: 1, big: 9223372036854775807n, huge: '92233720368547758070', price: '0.10' },
      { id: 2, big: 5, huge: '6', price: '1.25' },
    ],
  },
  {
    name: 'empty columns and texts that mean nothing',
    content: 'id,none,n\n1,,NULL\n2,,7\n3,,8\n',
    says: ["null_values: ['NULL']", '# none: text (no value in the sample)', 'n: int64'],
    records: [
      { id: 1, none: '', n: null },
      { id: 2, none: '', n: 7 },
      { id: 3, none: '', n: 8 },
    ],
  },
  {
    name: 'a header with two equal names and one that is empty',
    content: 'id,name,name,\n1,Ada,L,x\n2,Bo,M,y\n',
    says: ['the header has two columns called "name"', 'skip_rows: 1', 'column_2: name_2'],
    records: [
      { id: 1, name: 'Ada', name_2: 'L', column_3: 'x' },
      { id: 2, name: 'Bo', name_2: 'M', column_3: 'y' },
    ],
  },
  {
    name: 'quoted cells with delimiters, quotes and line ends, after CRLF',
    content: 'id,note\r\n1,"a, b"\r\n2,"say ""hi""\r\nthere"\r\n3,c\r\n',
    says: ['id: int64'],
    records: [
      { id: 1, note: 'a, b' },
      { id: 2, note: 'say "hi"\r\nthere' },
      { id: 3, note: 'c' },
    ],
  },
  {
    name: 'a row that is too short',
    content: `id,n\n${[1, 2, 3, 4, 5, 6, 7].map((id) => `${id},${id}`).join('\n')}\nTotal 28\n`,
    says: ['1 row of the sample (line 9) has another number of cells than 2'],
    records: [1, 2, 3, 4, 5, 6, 7].map((id) => ({ id, n: id })),
    rejected: 1,
  },
  {
    name: 'names that look like tokens and YAML',
    content: '"${env:HOME}","a: b","#c"\n1,x,y\n2,z,w\n',
    says: ['$${env:HOME}'],
    records: [
      { '${env:HOME}': 1, 'a: b': 'x', '#c': 'y' },
      { '${env:HOME}': 2, 'a: b': 'z', '#c': 'w' },
    ],
  },
  {
    name: 'a column of different values that is no key, as one is empty',
    content: 'code,n\na,1\nb,1\nc,1\n,1\n',
    says: ['# Key: no field of the sample has a value of its own in each record.'],
    records: ['a', 'b', 'c', ''].map((code) => ({ code, n: 1 })),
  },
  {
    name: 'one column',
    content: 'email\na@x.example\nb@x.example\n',
    says: ['path: data.csv'],
    records: [{ email: 'a@x.example' }, { email: 'b@x.example' }],
  },
];

describe('init --from a file of delimited text', () => {
  it.each(AWKWARD)('with $name', async ({ content, says, records, rejected = 0 }) => {
    write('data.csv', content);
    expect(await started('data.csv')).toEqual(records);
    const document = read('headgate.yaml');
    for (const text of says) expect(document).toContain(text);
    const aside = path.join(cwd, 'it-rejected.jsonl');
    expect(existsSync(aside) ? lines('it-rejected.jsonl').length : 0).toBe(rejected);
  });

  it('reads a compressed file', async () => {
    write('data.csv.gz', gzipSync('id;n\n1;2\n3;4\n'));
    expect(await started('data.csv.gz')).toEqual([
      { id: 1, n: 2 },
      { id: 3, n: 4 },
    ]);
  });

  it('has cases that fail when the document changes', async () => {
    write('data.csv', 'id,name\n1,Ada\n2,Bo\n3,Cy\n');
    await started('data.csv');
    const document = read('headgate.yaml');
    write('headgate.yaml', document.replace('name: id, type: integer', 'name: id, type: string'));
    const failed = await cli(['test']);
    expect(failed.code).toBe(1);
    write('headgate.yaml', document.replace('type: integer', 'type: integer, nullable: true'));
    expect((await cli(['test'])).out).toContain('FAIL  a record without id is put aside');
  });

  it('says what is missing, empty or in the way', async () => {
    expect((await cli(['init', '--from', 'no.csv'])).err).toContain('it does not exist');
    write('empty.csv', '');
    expect((await cli(['init', '--from', 'empty.csv'])).err).toContain('has no record to look at');
    write('data.csv', 'id\n1\n');
    write('headgate.test.yaml', 'mine');
    const { code, err } = await cli(['init', '--from', 'data.csv']);
    expect([code, err]).toEqual([1, expect.stringContaining('headgate.test.yaml exists')]);
    expect(existsSync(path.join(cwd, 'headgate.yaml'))).toBe(false);
    expect((await cli(['init', '--from', 'data.csv', '--to', 'x.doc'])).err).toContain('--to');
    expect((await cli(['init', '--from', 'ftp://x/y'])).err).toContain('an address of ftp');
  });
});

describe('init --from other data', () => {
  it('reads JSON lines and arrays of JSON', async () => {
    write('data.jsonl', '{"id":1,"at":"2024-01-31T08:00:00Z"}\n{"id":2,"at":null}\n{"id":3}\n');
    expect(await started('data.jsonl')).toEqual([
      { id: 1, at: '2024-01-31T08:00:00Z' },
      { id: 2, at: null },
      { id: 3 },
    ]);
    expect(read('headgate.yaml')).toContain("at: 'timestamp(us, UTC)'");
    write('data.json', '[{"id":1},{"id":2}]');
    expect(await started('data.json', '--force')).toEqual([{ id: 1 }, { id: 2 }]);
  });

  it('reads what an address answers, JSON in an object too', async () => {
    const answer =
      (body: string, type: string): typeof fetch =>
      () =>
        Promise.resolve(new Response(body, { headers: { 'content-type': type } }));
    const login = await cli(['init', '--from', 'https://u:hush@127.0.0.1:1/a.csv']);
    expect([login.code, login.err]).toEqual([2, expect.stringContaining('cannot hold a login')]);
    expect(login.err).not.toContain('hush');
    const refused = await cli(['init', '--from', 'https://x.test/a.csv?key=hush']);
    expect(refused.err).toContain('https://x.test/a.csv cannot be read');
    expect(refused.err).not.toContain('hush');
    const world = testWorld({ cwd });
    const init = async (url: string, body: string, type: string): Promise<string> => {
      const fetching = { ...world, fetch: answer(body, type) };
      const words = ['init', 'web', '--from', url, '--force'];
      expect([await runCli(words, testWiring(parts), fetching), world.err()]).toEqual([
        0,
        expect.stringContaining('next:'),
      ]);
      return read('headgate.yaml');
    };
    const json = await init(
      'https://api.example/v1/orders?size=2',
      '{"total":2,"items":[{"id":1},{"id":2}]}',
      'application/json',
    );
    expect(json).toContain('base_url: https://api.example');
    expect(json).toContain('$["items"][*]');
    expect(json).not.toContain('?size');
    const keyed = await init(
      'https://api.example/v1/orders?size=2&api_key=hu%2Fsh&Access-Token=hush2',
      '{"total":2,"items":[{"id":1},{"id":2}]}',
      'application/json',
    );
    expect(keyed).toContain('api_key: ${env:HEADGATE_FROM_API_KEY}');
    expect(keyed).not.toMatch(/hu.?sh|hu%2Fsh/);
    expect(read('.env')).toContain("HEADGATE_FROM_API_KEY='hu/sh'\n");
    expect(read('.env')).toContain("HEADGATE_FROM_ACCESS_TOKEN='hush2'\n");
    expect(world.out() + world.err()).not.toMatch(/hu.?sh/);
    rmSync(path.join(cwd, '.env'));
    const file = await init('https://x.test/a.csv?key=hu%2Fsh#top', 'id,n\n1,2\n2,3\n', 'text/csv');
    expect(file).toContain('https://x.test/a.csv?key=${env:HEADGATE_FROM_KEY}#top');
    expect(read('.env')).toBe("HEADGATE_FROM_KEY='hu%2Fsh'\n");
  });

  it('reads a table of a SQLite file into another one, by its key', async () => {
    const db = new DatabaseSync(path.join(cwd, 'shop.db'));
    db.exec('CREATE TABLE orders (id INTEGER, total REAL); CREATE TABLE other (n INTEGER)');
    db.exec('INSERT INTO orders VALUES (1, 2.5), (2, 3.5), (3, 4.5); INSERT INTO other VALUES (1)');
    db.close();
    const many = await cli(['init', '--from', 'shop.db']);
    expect(many.err).toContain('the database has 2 tables');
    expect(many.err).toContain('orders, other');
    await started('shop.db', '--table', 'orders', '--to', 'out.db');
    expect((await cli(['run', '--quiet'])).code).toBe(0);
    const out = new DatabaseSync(path.join(cwd, 'out.db'));
    expect(out.prepare('SELECT count(*) AS n FROM it').get()).toEqual({ n: 3 });
    out.close();
  });

  it('writes a row for each table with --discover', async () => {
    const db = new DatabaseSync(path.join(cwd, 'shop.db'));
    db.exec('CREATE TABLE a (id INTEGER); CREATE TABLE b (id INTEGER)');
    db.exec('INSERT INTO a VALUES (1); INSERT INTO b VALUES (2)');
    db.close();
    const { code, err } = await cli(['init', '--from', 'shop.db', '--to', 'all.db', '--discover']);
    expect([code, err]).toEqual([0, expect.stringContaining('2 data sets found: a, b')]);
    expect((await cli(['run', '--quiet'])).code).toBe(0);
    const out = new DatabaseSync(path.join(cwd, 'all.db'));
    expect(out.prepare('SELECT (SELECT id FROM a) + (SELECT id FROM b) AS n').get()).toEqual({
      n: 3,
    });
    out.close();
  });

  it('keeps an address with a password out of the document', async () => {
    write('data.csv', 'id\n1\n2\n3\n');
    const to = 'postgres://me:pass-word@db.example/shop';
    const { code, err } = await cli(['init', '--from', 'data.csv', '--to', to]);
    expect([code, err]).toEqual([0, expect.stringContaining('do not commit it')]);
    expect(read('headgate.yaml')).toContain('${env:HEADGATE_TO_URL}');
    expect(read('headgate.yaml') + err).not.toContain('pass-word');
    expect(read('.env')).toBe(`HEADGATE_TO_URL='${to}'\n`);
    expect(statSync(path.join(cwd, '.env')).mode & 0o777).toBe(0o600);
    const other = await cli(['init', '--from', 'data.csv', '--to', `${to}2`, '--force']);
    expect(other.err).toContain('.env has another value of HEADGATE_TO_URL');
  });
});

describe('init at a terminal', () => {
  it('asks for the data and where it goes', async () => {
    write('data.csv', 'id\n1\n2\n3\n');
    const answers = ['file', 'data.csv', 'sqlite', ''];
    const { code, err } = await cli(['init'], { answers });
    expect([code, err]).toEqual([0, expect.stringContaining('What do you want to move?')]);
    expect(read('headgate.yaml')).toContain('sqlite:out.db?mode=rwc');
    expect((await cli(['run', '--quiet'])).code).toBe(0);
  });

  it('writes the example for who has nothing yet, and nothing for who cancels', async () => {
    expect((await cli(['init'], { answers: [] })).code).toBe(130);
    expect(existsSync(path.join(cwd, 'headgate.yaml'))).toBe(false);
    expect((await cli(['init'], { answers: ['example'] })).code).toBe(0);
    expect((await cli(['run', '--quiet'])).code).toBe(0);
    expect((await cli(['init', '--interactive', '--force'])).code).toBe(2);
  });
});
