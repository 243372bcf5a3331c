import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testContext } from '../../../../test/fakes/env.ts';
import type { SourceDefinition } from '../../../kit/source.ts';
import { schemaText } from '../../../kit/type-text.ts';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import { COLUMNS_LANE, RECORDS_LANE, type Lane } from '../../../kit/page.ts';
import { check } from '../../../kit/schema.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { csvSource } from '../../csv/index.ts';
import { fileSource } from '../index.ts';

const BYTES_LANE: Lane = { form: 'bytes', encoding: JSON_LINES.name };

let folder: string;
let context: ReturnType<typeof testContext>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-file-csv-'));
  context = testContext(folder);
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const put = (name: string, content: string | Uint8Array): Promise<void> =>
  writeFile(join(folder, name), content);

const checked = (csv: JsonObject) => check(fileSource.config, { path: '*.csv*', csv });

const issues = (csv: JsonObject): string[] => {
  const result = checked(csv);
  return result.ok ? [] : result.issues.map(({ path, code }) => `${path} ${code}`);
};

async function read(csv: JsonObject, lane: Lane = RECORDS_LANE): Promise<JsonValue[]> {
  const result = checked(csv);
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  const source = await fileSource.open(result.value, context);
  const records: JsonValue[] = [];
  for await (const page of source.pages({ lane })) records.push(...page.records());
  return records;
}

describe.each([
  ['records', RECORDS_LANE],
  ['bytes', BYTES_LANE],
  ['columns', COLUMNS_LANE],
])('delimited text of the file source as %s', (_name, lane) => {
  it('is decoded from its encoding, compressed or not', async () => {
    await put('a.csv', Buffer.from('name\nM\u00fcller\n', 'latin1'));
    await put('b.csv.gz', gzipSync(Buffer.from('name\nM\u00f6ller\n', 'latin1')));
    expect(await read({ encoding: 'windows-1252' }, lane)).toEqual([
      { name: 'M\u00fcller' },
      { name: 'M\u00f6ller' },
    ]);
  });

  it('lacks the lines above the header in every file', async () => {
    for (const name of ['a.csv', 'b.csv'])
      await put(name, `Report of ${name}\r\n\r\nid,name\r\n1,${name}\r\n`);
    expect(await read({ skip_rows: 2 }, lane)).toEqual([
      { id: '1', name: 'a.csv' },
      { id: '1', name: 'b.csv' },
    ]);
  });

  it('gets the delimiter of each file with `auto`, never the quote', async () => {
    await put('a.csv', 'a;b\n1;2\n');
    await put('b.csv', '"a,x"\tb\n1\t2\n');
    await put('c.csv', 'a\n1\n');
    await put('d.csv', '5" disk;b\n1;2\n');
    expect(await read({ delimiter: 'auto' }, lane)).toEqual([
      { a: '1', b: '2' },
      { 'a,x': '1', b: '2' },
      { a: '1' },
      { '5" disk': '1', b: '2' },
    ]);
    await put('a.csv', '|a|;b\n|1|;2\n');
    await put('b.csv', 'x,"y"\n1,2\n');
    expect(await read({ delimiter: 'auto', quote: '|' }, lane)).toEqual([
      { a: '1', b: '2' },
      { x: '1', '"y"': '2' },
      { a: '1' },
      { '5" disk': '1', b: '2' },
    ]);
    expect(context.lines).toEqual([]);
  });
});

describe('delimited text of the file source', () => {
  it('tells a delimiter that is probably another one, with the file', async () => {
    await put('a.csv', 'a;b\n1;2\n');
    await put('b.csv', 'a\n1\n');
    expect(await read({})).toEqual([{ 'a;b': '1;2' }, { a: '1' }]);
    const warnings = context.lines.filter(({ level }) => level === 'WARN');
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.line).toContain('the delimiter is probably another one');
    expect(warnings[0]?.line).toContain(join(folder, 'a.csv'));
    expect(warnings[0]?.line).toContain('or `delimiter: auto`');
  });

  it.each([
    ['<!DOCTYPE html>\n<html><body>Not found</body></html>\n', 'a page of HTML'],
    ['\ufeff<HTML lang="en">\n', 'a page of HTML'],
    ['{"a":1}\n{"a":2}\n', 'JSON'],
    ['[\n{"a":1}\n]\n', undefined],
    ['[{"a": 1, "b": 2}]\n', 'JSON'],
    ['{\n"a": 1}\n', 'JSON'],
    ['{id},"{""a"": 1}"\n1,2\n', undefined],
    ['<name>,b\n1,2\n', undefined],
  ])('tells that %j is no delimited text', async (text, told) => {
    await put('a.csv', text);
    await read({ flexible: true }).catch(() => []);
    const warnings = context.lines.filter(({ line }) => line.includes('no delimited text'));
    expect(warnings.map(({ line }) => /probably (.*?), and/.exec(line)?.[1])).toEqual(
      told === undefined ? [] : [told],
    );
  });

  it('recognises another encoding and lines above the header', async () => {
    const hintOf = async (csv: JsonObject): Promise<unknown> => {
      const failure: unknown = await read(csv).catch((error: unknown) => error);
      if (!(failure instanceof ConnectorError)) throw new Error('it does not fail');
      return [failure.message.replace(folder, ''), failure.hint];
    };
    await put('a.csv', Buffer.from('name\nM\u00fcller\n', 'latin1'));
    expect(await hintOf({})).toEqual([
      'line 2 of /a.csv is not UTF-8 text',
      expect.stringContaining('`encoding`, such as'),
    ]);
    expect(await hintOf({ encoding: 'shift_jis' })).toEqual([
      'line 2 of /a.csv is not shift_jis text',
      'name the `encoding` in which the file was written',
    ]);
    await put('a.csv', 'Report\nid,name\n1,a\n');
    expect(await hintOf({})).toEqual([
      'line 2 of /a.csv has 2 cells, the first row has 1',
      expect.stringMatching(/`skip_rows`$/),
    ]);
    await put('a.csv', 'Report\n\na,b\n1,2\n1,2,3\n');
    expect(await hintOf({ skip_rows: 1 })).toEqual([
      'line 5 of /a.csv has 3 cells, the first row has 2',
      expect.stringContaining('`flexible: true`'),
    ]);
  });

  it('checks the values', () => {
    expect(issues({ delimiter: 'auto', encoding: 'utf-16le', skip_rows: 3 })).toEqual([]);
    expect(issues({ delimiter: ';;' })).toEqual(['csv.delimiter out_of_range']);
    expect(issues({ delimiter: 'é' })).toEqual(['csv.delimiter invalid_value']);
    expect(issues({ delimiter: '"' })).toEqual(['csv.quote invalid_value']);
    expect(issues({ encoding: 'klingon' })).toEqual(['csv.encoding invalid_value']);
    expect(issues({ skip_rows: -1 })).toEqual(['csv.skip_rows out_of_range']);
  });
});

interface Given {
  readonly form: string;
  readonly types: string;
  readonly records: readonly JsonValue[];
}

async function pagesOf(
  definition: SourceDefinition,
  config: JsonObject,
  lane: Lane,
): Promise<{ pages: Given[]; bookmark: JsonValue | undefined }> {
  const result = check<unknown>(definition.config, config);
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  const source = await definition.open(result.value, context);
  const pages: Given[] = [];
  let bookmark: JsonValue | undefined;
  for await (const page of source.pages({ lane })) {
    const types = page.schema === undefined ? 'unknown' : schemaText(page.schema);
    pages.push({ form: page.form.form, types, records: page.records() });
    bookmark = page.bookmark;
    page.release();
  }
  return { pages, bookmark };
}

const ROWS = Array.from(
  { length: 25 },
  (_, id) => `${id},${id / 4},${id % 3 === 0 ? '' : `0${id}`},"a ""${id}"", b"`,
);

describe.each<[string, JsonObject]>([
  ['plain', {}],
  ['declared', { columns: { id: 'int64', price: 'decimal(9, 3)' } }],
  ['inferred', { infer_types: true, columns: { zip: 'utf8' } }],
])('%s columns', (_name, types) => {
  it.each([[COLUMNS_LANE], [RECORDS_LANE]])('are those of the source csv as %j', async (lane) => {
    await put('a.csv', `id,price,zip,text\n${ROWS.join('\n')}\n`);
    const path = join(folder, 'a.csv');
    const config = { path, batch_size: 10, ...types };
    const [plain, file] = [
      await pagesOf(csvSource, config, lane),
      await pagesOf(fileSource, config, lane),
    ];
    expect(file).toEqual(plain);
    expect(file.pages.map(({ form }) => form)).toEqual([lane.form, lane.form, lane.form]);
    const marked = await pagesOf(fileSource, { ...config, incremental: { by: 'name' } }, lane);
    expect(marked).toEqual({ pages: file.pages, bookmark: { name: 'a.csv' } });
  });
});

it.each<[JsonObject, boolean]>([
  [{ path: 'a.csv' }, true],
  [{ path: 'in/*.csv.gz' }, true],
  [{ path: 'in', format: 'csv' }, true],
  [{ path: 'in' }, false],
  [{ path: 'a.jsonl' }, false],
  [{ path: 'a.csv', on_error: 'dlq' }, false],
])('%j gives columns: %s', (config, columns) => {
  const result = check(fileSource.config, config);
  expect(result.ok && fileSource.capabilities(result.value).columns).toBe(columns);
});
