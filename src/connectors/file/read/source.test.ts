import { schemaText } from '../../../kit/type-text.ts';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';
import avro from 'avsc';
import { parquetWriteFile } from 'hyparquet-writer';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import writeXlsx from 'write-excel-file/node';
import { RECORDS_LANE, type Lane, type Page } from '../../../kit/page.ts';
import { check } from '../../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { encrypt } from '../../../lib/crypto/encryption.ts';
import { testContext } from '../../../../test/fakes/env.ts';
import { failureOf } from '../../../../test/fakes/failure.ts';
import { fileSource } from '../index.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-file-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const put = async (name: string, content: string | Uint8Array, mtimeSecs = 1000): Promise<void> => {
  await mkdir(join(folder, name, '..'), { recursive: true });
  await writeFile(join(folder, name), content);
  await utimes(join(folder, name), mtimeSecs, mtimeSecs);
};

interface Options {
  readonly lane?: Lane;
  readonly bookmark?: JsonValue;
  readonly limit?: number;
  readonly context?: ReturnType<typeof testContext>;
}

function parse(value: JsonObject) {
  const checked = check(fileSource.config, value);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

async function readPages(value: JsonObject, options: Options = {}): Promise<Page[]> {
  const source = await fileSource.open(parse(value), options.context ?? testContext(folder));
  const request = {
    lane: options.lane ?? RECORDS_LANE,
    ...(options.bookmark === undefined ? {} : { bookmark: options.bookmark }),
    ...(options.limit === undefined ? {} : { limit: options.limit }),
  };
  const pages: Page[] = [];
  for await (const page of source.pages(request)) pages.push(page);
  return pages;
}

async function read(value: JsonObject, options: Options = {}): Promise<JsonValue[]> {
  return (await readPages(value, options)).flatMap((page) => [...page.records()]);
}

describe('the file source', () => {
  it.each<[string, string, JsonValue[]]>([
    ['a.jsonl', '{"a":1}\n\n2\n', [{ a: 1 }, 2]],
    ['a.ndjson', '[1]\n', [[1]]],
    ['a.json', '[{"a":1},2]', [{ a: 1 }, 2]],
    ['b.json', '{"a":1}', [{ a: 1 }]],
    ['a.csv', 'a,b\n1,\n', [{ a: '1', b: '' }]],
    [
      'a.xml',
      '<r v="1"><x id="7">t<y/></x><x>&lt;2</x></r>',
      [{ '@id': '7', '#text': 't', y: null }, '<2'],
    ],
  ])('reads %s by its extension, in both lanes and packed', async (name, content, records) => {
    await put(name, content);
    await put(`${name}.gz`, gzipSync(content));
    await put(`${name}.zst`, zstdCompressSync(content));
    for (const path of [name, `${name}.gz`, `${name}.zst`]) {
      expect(await read({ path })).toEqual(records);
      expect(await read({ path }, { lane: { form: 'bytes', encoding: 'jsonl' } })).toEqual(records);
    }
  });

  it('reads text files whole', async () => {
    await put('a.txt', 'one\ntwo\n');
    expect(await read({ path: 'a.txt' })).toEqual([
      { path: join(folder, 'a.txt'), content: 'one\ntwo\n' },
    ]);
  });

  it('finds record elements at any depth', async () => {
    await put('a.xml', '<?xml version="1.0"?><r><g><o>1</o></g><o><n:k>2</n:k></o></r>');
    expect(await read({ path: 'a.xml', xml: { record_element: 'o' } })).toEqual([
      '1',
      { 'n:k': '2' },
    ]);
    await put('bad.xml', '<r>\n<o></r>');
    expect((await failureOf(read({ path: 'bad.xml' }))).message).toMatch(
      /^line \d of .*bad\.xml is not well-formed XML/,
    );
    await put('open.xml', '<r>\n<o>');
    expect((await failureOf(read({ path: 'open.xml' }))).message).toMatch(
      /: <r>, <o> are not closed$/,
    );
  });

  it('reads spreadsheets', async () => {
    const rows = [
      ['top'],
      ['id', 'name', 'on'],
      [1, 'x', new Date('2024-01-02T00:00:00Z')],
      [2, null, null],
    ];
    const sheet = rows.map((row) =>
      row.map((value) =>
        value === null
          ? null
          : value instanceof Date
            ? { value, type: Date, format: 'yyyy-mm-dd' }
            : { value },
      ),
    );
    await put('a.xlsx', await writeXlsx(sheet, { sheet: 'S' }).toBuffer());
    const records = [
      { id: 1, name: 'x', on: '2024-01-02T00:00:00.000Z' },
      { id: 2, name: null, on: null },
    ];
    for (const chosen of ['S', 0, '0'])
      expect(await read({ path: 'a.xlsx', excel: { header_row: 1, sheet: chosen } })).toEqual(
        records,
      );
    const [whole] = await read({ path: 'a.xlsx', excel: { header_row: 0 } });
    expect(whole).toEqual({ top: 'id', column_1: 'name', column_2: 'on' });
    expect((await failureOf(read({ path: 'a.xlsx', excel: { sheet: 'none' } }))).kind).toBe(
      'missing',
    );
  });

  it('reads Parquet with explicit nulls, in place and packed', async () => {
    const columnData = [
      { name: 'a', data: [1, 2] },
      { name: 'b', data: ['x', null] },
    ];
    parquetWriteFile({ filename: join(folder, 'a.parquet'), columnData });
    await put('b.parquet.gz', gzipSync(await readFile(join(folder, 'a.parquet'))));
    for (const path of ['a.parquet', 'b.parquet.gz'])
      expect(await read({ path })).toEqual([
        { a: 1, b: 'x' },
        { a: 2, b: null },
      ]);
    expect(await read({ path: 'a.parquet', parquet: { columns: ['b'] } })).toEqual([
      { b: 'x' },
      { b: null },
    ]);
    parquetWriteFile({
      filename: join(folder, 'c.parquet'),
      columnData: [{ name: 'a', data: ['x'] }],
    });
    expect((await failureOf(read({ path: '*.parquet' }))).message).toMatch(
      /differ in the field "a"/,
    );
  });

  it('refuses an Avro file with a field, or a unit, that the first one does not have', async () => {
    const file = (...fields: object[]) =>
      avroFile({ type: 'record', name: 'r', fields }, 'null', [{ id: 5, at: 1000 }]);
    const id = { name: 'id', type: 'long' };
    const at = (unit: string) => ({
      name: 'at',
      type: { type: 'long', logicalType: `timestamp-${unit}` },
    });
    await put('a.avro', await file(id));
    await put('b.avro', await file(id, at('micros')));
    await put('c.avro', await file(id, at('millis')));
    expect((await failureOf(read({ path: '[ab].avro' }))).message).toMatch(
      /the files differ in the field "at": missing in .*a\.avro, timestamp-micros in .*b\.avro/,
    );
    expect((await failureOf(read({ path: '[bc].avro' }))).message).toMatch(
      /the files differ in the field "at": timestamp-micros in .*b\.avro, timestamp-millis in .*c\.avro/,
    );
    const schema = JSON.stringify({ type: 'record', name: 'r', fields: [id] });
    expect(await read({ path: '*.avro', avro: { schema } })).toEqual([
      { id: 5 },
      { id: 5 },
      { id: 5 },
    ]);
  });

  it.each(['null', 'deflate', 'snappy', 'zstandard'])(
    'reads Avro with the codec %s',
    async (codec) => {
      const schema = {
        type: 'record',
        name: 'r',
        fields: [
          { name: 'id', type: 'long' },
          { name: 'at', type: ['null', { type: 'long', logicalType: 'timestamp-millis' }] },
          { name: 'tags', type: { type: 'array', items: 'string' } },
          {
            name: 'price',
            type: { type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2 },
          },
          { name: 'next', type: ['null', 'r'] },
        ],
      };
      const bytes = await avroFile(schema, codec, [
        {
          id: 5,
          at: 1000,
          tags: ['x'],
          price: Buffer.of(0xff, 0x85),
          next: { id: 6, at: null, tags: [], price: Buffer.of(1), next: null },
        },
      ]);
      await put('a.avro', bytes);
      expect(await read({ path: 'a.avro' })).toEqual([
        {
          id: 5,
          at: '1970-01-01T00:00:01Z',
          tags: ['x'],
          price: '-1.23',
          next: { id: 6, at: null, tags: [], price: '0.01', next: null },
        },
      ]);
      const avroText = JSON.stringify({
        type: 'record',
        name: 'r',
        fields: [
          { name: 'id', type: 'long' },
          { name: 'new', type: 'string', default: 'd' },
        ],
      });
      expect(await read({ path: 'a.avro', avro: { schema: avroText } })).toEqual([
        { id: 5, new: 'd' },
      ]);
    },
  );

  it('fails on Avro that is cut off anywhere, and reads none of it as the whole', async () => {
    const schema = { type: 'record', name: 'r', fields: [{ name: 'n', type: 'long' }] };
    const one = await avroFile(schema, 'deflate', [{ n: 1 }, { n: 2 }]);
    const header = (await avroFile(schema, 'deflate', [])).length - 20;
    const bytes = Buffer.concat([one, one.subarray(header)]);
    await put('a.avro', bytes);
    expect(await read({ path: 'a.avro' })).toHaveLength(4);
    for (let length = 0; length < bytes.length; length += 1) {
      if (length === header || length === one.length) continue;
      await put('a.avro', bytes.subarray(0, length));
      expect(await failureOf(read({ path: 'a.avro' })), String(length)).toMatchObject({
        kind: 'data',
      });
    }
  });

  it('reads Avro values that are null, and days beyond the calendar of the runtime', async () => {
    await put('n.avro', await avroFile(['null', 'long'] as never, 'null', [1, null, 2] as never));
    expect(await read({ path: 'n.avro' })).toEqual([1, null, 2]);
    const field = (name: string, type: string, logicalType: string) => ({
      name,
      type: { type, logicalType },
    });
    const schema = {
      type: 'record',
      name: 'r',
      fields: [field('d', 'int', 'date'), field('t', 'long', 'timestamp-millis')],
    };
    await put(
      'd.avro',
      await avroFile(schema, 'null', [
        { d: 2_932_897, t: 253_402_300_800_000 },
        { d: 2 ** 31 - 1, t: 8_640_000_000_000_001 },
      ]),
    );
    expect(await read({ path: 'd.avro' })).toEqual([
      { d: '+010000-01-01', t: '+010000-01-01T00:00:00Z' },
      { d: '+5881580-07-11', t: '+275760-09-13T00:00:00.001Z' },
    ]);
  });

  it.each(['a.csv.gz', 'a.csv.zst', 'a.json.gz', 'a.jsonl.zst'])(
    'does not take %s without a byte for a file without records',
    async (path) => {
      await put(path, '');
      expect(await failureOf(read({ path }))).toMatchObject({ kind: 'data' });
    },
  );

  it('decodes the references of XML once, and refuses those that are not defined', async () => {
    await put(
      'a.xml',
      `<!DOCTYPE r [<!ENTITY co "A + B">]><r><a t="&#233;">&#xE9;&#128512; &amp;#65; &lt;&co;<![CDATA[&amp;]]></a></r>`,
    );
    expect(await read({ path: 'a.xml' })).toEqual([
      { '@t': 'é', '#text': 'é😀 &#65; <A + B&amp;' },
    ]);
    for (const [text, why] of [
      ['&nbsp;', '&nbsp;'],
      ['&#0;', 'malformed character'],
      ['&#xD800;', 'malformed character'],
    ] as const) {
      await put('b.xml', `<r><a>${text}</a></r>`);
      expect(await failureOf(read({ path: 'b.xml' }))).toMatchObject({
        kind: 'data',
        message: expect.stringContaining(why),
      });
    }
  });

  it.each([
    ['ISO-8859-1', 'latin1', ''],
    ['UTF-16', 'utf16le', '\uFEFF'],
    ['utf-8', 'utf8', '\uFEFF'],
  ] as const)('reads XML in the encoding that it declares: %s', async (label, encoding, mark) => {
    const text = `${mark}<?xml version="1.0" encoding="${label}"?><r><a>é</a></r>`;
    await put('a.xml', Buffer.from(text, encoding));
    expect(await read({ path: 'a.xml' })).toEqual(['é']);
    await put('b.xml', '<?xml version="1.0" encoding="no-such"?><r><a>x</a></r>');
    expect((await failureOf(read({ path: 'b.xml' }))).message).toContain('"no-such"');
  });

  it('tells that XML with characters of windows-1252 declares another encoding', async () => {
    const text = '<?xml version="1.0" encoding="ISO-8859-1"?><r><a>#</a></r>';
    const warned = async (byte: number): Promise<[JsonValue[], string]> => {
      await put(
        'a.xml',
        Buffer.from(text, 'latin1').map((one) => (one === 0x23 ? byte : one)),
      );
      const context = testContext(folder);
      const records = await read({ path: 'a.xml' }, { context });
      return [records, context.lines.map(({ line }) => line).join('\n')];
    };
    expect(await warned(0x80)).toEqual([['€'], expect.stringContaining('declared=ISO-8859-1')]);
    expect(await warned(0xe9)).toEqual([['é'], '']);
  });

  it('tells that a pattern or a folder has no file', async () => {
    await mkdir(join(folder, 'empty'));
    for (const path of ['*.csv', 'empty']) {
      const context = testContext(folder);
      expect(await read({ path }, { context })).toEqual([]);
      expect(context.lines).toMatchObject([
        { level: 'WARN', line: expect.stringContaining(join(folder, path)) },
      ]);
    }
  });

  it('says which record is nested too deeply', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    await put('a.json', `[1, 2,\n${deep}]`);
    await put('a.jsonl', `1\n${deep}\n`);
    for (const [path, place] of [
      ['a.json', 'record 3'],
      ['a.jsonl', 'line 2'],
    ] as const) {
      const failure: unknown = await read({ path }).catch((error: unknown) => error);
      // An overflow as its cause would be told in its place.
      expect(failure).not.toMatchObject({ cause: expect.any(RangeError) });
      expect(failure).toMatchObject({
        code: 'connector_data',
        message: `${place} of ${join(folder, path)} has values in values that are nested too deeply to be read`,
        hint: 'take the record out of the source, or have it written flatter',
      });
    }
  });

  it('fails on damaged Avro', async () => {
    await put('a.avro', 'not avro');
    expect(await failureOf(read({ path: 'a.avro' }))).toMatchObject({ kind: 'data' });
  });

  it('reads folders in the order of paths, into sub-folders when asked, following links once', async () => {
    await put('in/b.jsonl', '2\n');
    await put('in/a.jsonl', '1\n');
    await put('in/sub/c.jsonl', '3\n');
    await put('in/.x.jsonl.12345678.svc-tmp', '99\n');
    await symlink(join(folder, 'in'), join(folder, 'in/sub/loop'));
    await symlink(join(folder, 'in/a.jsonl'), join(folder, 'in/z.jsonl'));
    expect(await read({ path: 'in' })).toEqual([1, 2, 1]);
    expect(await read({ path: 'in', recursive: true })).toEqual([1, 2, 3, 1]);
    expect(await read({ path: 'in/**/[bc].jsonl' })).toEqual([2, 3]);
    expect(await read({ path: 'in/{b,sub/c}.jsonl' })).toEqual([2, 3]);
    expect(await read({ path: 'in/*.none' })).toEqual([]);
    await symlink(join(folder, 'gone'), join(folder, 'in/broken.jsonl'));
    expect((await failureOf(read({ path: 'in' }))).message).toContain('broken.jsonl');
  });

  it('skips unknown extensions with a warning, or fails', async () => {
    await put('in/a.jsonl', '1\n');
    await put('in/b.pdf', 'x');
    const context = testContext(folder);
    expect(await read({ path: 'in' }, { context })).toEqual([1]);
    expect(context.lines.some((line) => line.line.includes('b.pdf'))).toBe(true);
    expect((await failureOf(read({ path: 'in', strict: true }))).message).toMatch(
      /format of .*b\.pdf/,
    );
    expect((await failureOf(read({ path: 'in/b.pdf' }))).message).toMatch(/format of .*b\.pdf/);
    expect((await failureOf(read({ path: 'x.orc' }))).kind).toBe('missing');
    await put('x.orc', '');
    expect((await failureOf(read({ path: 'x.orc' }))).message).toMatch(
      /orc files is not available/,
    );
  });

  it('never lets a page span two files', async () => {
    await put('in/a.jsonl', '1\n2\n3\n');
    await put('in/b.jsonl', '4\n');
    expect((await readPages({ path: 'in', batch_size: 2 })).map((page) => page.count)).toEqual([
      2, 1, 1,
    ]);
    expect((await readPages({ path: 'in', batch_size: 0 })).map((page) => page.count)).toEqual([
      3, 1,
    ]);
  });

  it('makes values of the types that `columns` declares, by the format of each file', async () => {
    await put('in/a.csv', 'id,doc\n1,\n2,"{""a"":1}"\n');
    await put('in/b.jsonl', '{"id":3,"doc":"text"}\n');
    const pages = await readPages({ path: 'in', columns: { id: 'int64', doc: 'json' } });
    expect(pages.flatMap((page) => [...page.records()])).toEqual([
      { id: 1, doc: null },
      { id: 2, doc: { a: 1 } },
      { id: 3, doc: 'text' },
    ]);
    expect(pages.map((page) => page.schema && schemaText(page.schema))).toEqual([
      'id: int64, doc: json, …',
      'id: int64, doc: json, …',
    ]);
    await put('in/c.jsonl', '{"id":"x"}\n');
    expect((await failureOf(read({ path: 'in', columns: { id: 'int64' } }))).message).toMatch(
      /`id` in record 1 of .*c\.jsonl is no int64/,
    );
  });

  it('infers one schema for all files', async () => {
    await put('in/a.csv', 'id,zip\n1,01\n');
    await put('in/b.csv', 'id,zip\n2,\n');
    const pages = await readPages({ path: 'in', infer_types: true }, { limit: 2 });
    expect(pages.flatMap((page) => [...page.records()])).toEqual([
      { id: 1, zip: '01' },
      { id: 2, zip: '' },
    ]);
    expect(new Set(pages.map((page) => page.schema)).size).toBe(1);
    await put('in/c.jsonl', '{"id":"3","day":"2024-02-29"}\n');
    const mixed = await readPages({ path: 'in', infer_types: true, columns: { id: 'int64' } });
    expect(mixed.map((page) => page.schema && schemaText(page.schema))[2]).toBe(
      'id: int64, zip: utf8, day: date, …',
    );
  });

  it('fills in values of the parent record, but none that lead elsewhere', async () => {
    await put('in/7.jsonl', '1\n');
    const at = (parent: JsonValue) => testContext(folder, { parent });
    expect(
      await read({ path: 'in/{user.id}.jsonl' }, { context: at({ user: { id: 7 } }) }),
    ).toEqual([1]);
    expect(
      (await failureOf(read({ path: 'in/{id}.jsonl' }, { context: at({}) }))).message,
    ).toContain('{id}');
    expect(
      (await failureOf(read({ path: 'in/{id}/x.jsonl' }, { context: at({ id: '../..' }) }))).kind,
    ).toBe('refused');
  });

  it.each([
    ['format', { format: 'orc' }],
    ['orc', { orc: { columns: ['a'] } }],
  ])('refuses orc, said by `%s`, and says how to go on', (path, more) => {
    const checked = check(fileSource.config, { path: 'a', ...more });
    expect(checked.ok ? [] : checked.issues).toMatchObject([
      { code: 'not_available', path, hint: expect.stringContaining('Parquet') },
    ]);
  });

  it('discovers files without opening them', async () => {
    await put('in/a.csv', 'broken"');
    expect(await fileSource.discover?.(parse({ path: 'in' }), testContext(folder))).toEqual([
      {
        name: join(folder, 'in/a.csv'),
        kind: 'file',
        config_patch: { path: join(folder, 'in/a.csv'), format: 'csv' },
      },
    ]);
  });
});

describe('reading only what is new', () => {
  const bookmarks = (pages: Page[]) =>
    pages.map((page) => page.bookmark).filter((bookmark) => bookmark !== undefined);

  it('goes by the time of change, ties by path, and sees a rewritten file again', async () => {
    await put('in/b.jsonl', '1\n2\n', 10);
    await put('in/a.jsonl', '3\n', 20);
    await put('in/c.jsonl', '4\n', 20);
    await put('in/empty.jsonl', '', 30);
    const value = { path: 'in', incremental: { by: 'mtime' }, batch_size: 1 };
    const pages = await readPages(value);
    expect(pages.flatMap((page) => [...page.records()])).toEqual([1, 2, 3, 4]);
    expect(bookmarks(pages)).toEqual([
      { mtime_ms: 10_000, path: 'b.jsonl' },
      { mtime_ms: 20_000, path: 'a.jsonl' },
      { mtime_ms: 20_000, path: 'c.jsonl' },
      { mtime_ms: 30_000, path: 'empty.jsonl' },
    ]);
    expect(await read(value, { bookmark: { mtime_ms: 20_000, path: 'a.jsonl' } })).toEqual([4]);
    await put('in/b.jsonl', '9\n', 40);
    expect(await read(value, { bookmark: { mtime_ms: 30_000, path: 'empty.jsonl' } })).toEqual([9]);
  });

  it('goes by name', async () => {
    await put('in/2024-01.jsonl', '1\n');
    await put('in/2024-02.jsonl', '2\n');
    const value = { path: 'in', incremental: { by: 'name' } };
    expect(bookmarks(await readPages(value))).toEqual([
      { name: '2024-01.jsonl' },
      { name: '2024-02.jsonl' },
    ]);
    expect(await read(value, { bookmark: { name: '2024-01.jsonl' } })).toEqual([2]);
    expect(
      (await failureOf(read(value, { bookmark: { mtime_ms: 1, path: 'x' } }))).message,
    ).toMatch(/bookmark does not fit/);
  });

  it('does not call a file done that the limit cut short', async () => {
    await put('in/a.jsonl', '1\n2\n');
    const pages = await readPages({ path: 'in', incremental: { by: 'name' } }, { limit: 1 });
    expect(pages.flatMap((page) => [...page.records()])).toEqual([1]);
    expect(bookmarks(pages)).toEqual([]);
  });

  it('leaves files alone that changed just now', async () => {
    await put('in/old.jsonl', '1\n');
    await put('in/new.jsonl', '2\n', Date.now() / 1000 + 5);
    expect(await read({ path: 'in', stable_for_secs: 60 })).toEqual([1]);
  });
});

describe('encrypted files', () => {
  const encryption = { key: 'new', previous_keys: ['old'] };

  it('are opened whole or line by line', async () => {
    await put('a.csv', encrypt('old', Buffer.from('a\n1\n')));
    await put('b.csv.gz', encrypt('new', gzipSync('a\n2\n')));
    await put('c.jsonl', encrypt('new', Buffer.from('3\n')));
    await put('d.jsonl', `${Buffer.from(encrypt('old', Buffer.from('4'))).toString('base64')}\n`);
    expect(await read({ path: '*', encryption })).toEqual([{ a: '1' }, { a: '2' }, 3, 4]);
  });

  it('are errors without the key, and plain ones are with it', async () => {
    await put('a.csv', encrypt('old', Buffer.from('a\n1\n')));
    await put('b.csv', 'a\n1\n');
    await put('c.jsonl', '1\n');
    expect((await failureOf(read({ path: 'a.csv' }))).message).toMatch(/a\.csv is encrypted/);
    expect((await failureOf(read({ path: 'a.csv', encryption: { key: 'x' } }))).message).toMatch(
      /cannot open .*a\.csv/,
    );
    expect((await failureOf(read({ path: 'b.csv', encryption }))).message).toMatch(
      /b\.csv is not encrypted/,
    );
    expect((await failureOf(read({ path: 'c.jsonl', encryption }))).message).toMatch(
      /line 1 of .*c\.jsonl cannot be decrypted/,
    );
  });
});

describe('http addresses', () => {
  let server: Server;
  let base: string;
  let answers: Array<
    (path: string) => { status: number; headers?: Record<string, string>; body?: string }
  >;
  let seen: Array<Record<string, unknown>>;

  beforeEach(async () => {
    answers = [];
    seen = [];
    server = createServer((request, response) => {
      seen.push(request.headers);
      const { status, headers, body } = (answers.length > 1 ? answers.shift() : answers[0])?.(
        request.url ?? '',
      ) ?? { status: 500 };
      response.writeHead(status, headers).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterEach(() => {
    server.close();
  });

  it('are read with headers, again after 429 and 5xx, and without credentials in messages', async () => {
    answers = [
      () => ({ status: 429, headers: { 'retry-after': '0' } }),
      () => ({ status: 503, headers: { 'retry-after': '0' } }),
      () => ({ status: 200, body: '1\n2\n' }),
    ];
    expect(
      await read({ path: `http://u:p@${base}/x.jsonl?token=t`, headers: { 'x-a': 'b' } }),
    ).toEqual([1, 2]);
    expect(seen).toHaveLength(3);
    expect(seen[0]).toMatchObject({
      'x-a': 'b',
      authorization: `Basic ${Buffer.from('u:p').toString('base64')}`,
    });
    answers = [() => ({ status: 404 })];
    const path = `http://u:p@${base}/x.jsonl?token=t`;
    expect(await failureOf(read({ path }))).toEqual({
      kind: 'missing',
      message: `http://${base}/x.jsonl answered 404`,
    });
    expect(fileSource.datasetUri(parse({ path }))).toBe(`http://${base}/x.jsonl`);
  });

  it('give up after the retries', async () => {
    answers = [() => ({ status: 503, headers: { 'retry-after': '0' } })];
    expect((await failureOf(read({ path: `http://${base}/x.jsonl`, http_retries: 2 }))).kind).toBe(
      'http_5xx',
    );
    expect(seen).toHaveLength(3);
    server.close();
    expect(
      (await failureOf(read({ path: 'http://127.0.0.1:1/x.jsonl', http_retries: 0 }))).kind,
    ).toBe('connection');
  });

  it('go by Last-Modified when only new ones count', async () => {
    const lastModified = 'Tue, 02 Jan 2024 00:00:00 GMT';
    answers = [() => ({ status: 200, body: '1\n', headers: { 'last-modified': lastModified } })];
    const value = { path: `http://${base}/x.jsonl`, incremental: { by: 'mtime' } };
    const [page] = await readPages(value);
    expect(page?.bookmark).toEqual({ mtime_ms: Date.parse(lastModified), path: 'x.jsonl' });
    expect(await read(value, { bookmark: page?.bookmark ?? null })).toEqual([]);
    answers = [() => ({ status: 200, body: '1\n' })];
    expect((await failureOf(read(value))).message).toMatch(/does not say when it changed/);
  });
});

/** Writes an Avro container by hand: the library would leave logical types out of the header. */
async function avroFile(schema: object, codec: string, values: object[]): Promise<Buffer> {
  const { snappyCompress } = await import('hyparquet-writer/src/snappy.js');
  const packers: Record<string, (plain: Buffer) => Uint8Array> = {
    null: (plain) => plain,
    deflate: (plain) => deflateRawSync(plain),
    snappy: (plain) => {
      const checksum = Buffer.alloc(4);
      checksum.writeUInt32BE(crc32(plain));
      return Buffer.concat([snappyCompress(plain), checksum]);
    },
    zstandard: (plain) => zstdCompressSync(plain),
  };
  const type = avro.Type.forSchema(schema as never, { wrapUnions: 'never' });
  const long = avro.Type.forSchema('long');
  const text = avro.Type.forSchema('string');
  const meta = { 'avro.schema': JSON.stringify(schema), 'avro.codec': codec };
  const entries = Object.entries(meta).map(([key, value]) =>
    Buffer.concat([text.toBuffer(key), text.toBuffer(value)]),
  );
  const sync = Buffer.alloc(16, 7);
  const packed =
    packers[codec]?.(Buffer.concat(values.map((value) => type.toBuffer(value)))) ?? Buffer.of();
  return Buffer.concat([
    Buffer.from('Obj\u0001'),
    long.toBuffer(entries.length),
    ...entries,
    long.toBuffer(0),
    sync,
    long.toBuffer(values.length),
    long.toBuffer(packed.length),
    packed,
    sync,
  ]);
}
