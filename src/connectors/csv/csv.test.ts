import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { COLUMNS_LANE, Page, RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { schemaText } from '../../kit/type-text.ts';
import type { SinkDefinition } from '../../kit/sink.ts';
import type { SourceDefinition } from '../../kit/source.ts';
import { parseData, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { columnsOf } from '../../../test/fakes/columns.ts';
import { testContext, testEnv } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { csvSink, csvSource } from './index.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-csv-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function sourceConfig(value: JsonObject) {
  const checked = check(csvSource.config, value);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

async function readAll(value: JsonObject): Promise<JsonValue[]> {
  const source = await csvSource.open(sourceConfig(value), testContext(folder));
  const records: JsonValue[] = [];
  for await (const page of source.pages({ lane: RECORDS_LANE })) records.push(...page.records());
  await source.close();
  return records;
}

async function openSink(value: JsonObject, context = testContext(folder)) {
  const checked = check(csvSink.config, { path: 'out.csv', ...value });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return csvSink.open(checked.value, context);
}

async function writeAll(value: JsonObject, ...pages: JsonValue[][]): Promise<string> {
  const sink = await openSink(value);
  for (const page of pages) await sink.write(Page.ofRecords(page), { partial: false });
  await sink.flush();
  await sink.finish('success');
  await sink.close();
  return readFile(join(folder, (value.path as string | undefined) ?? 'out.csv'), 'utf8');
}

describe('the csv source', () => {
  it('reads plain, gzip and zstd files, several members in a row', async () => {
    const rows = [{ a: '1' }, { a: '2' }];
    await writeFile(join(folder, 'p.csv'), 'a\n1\n2\n');
    await writeFile(join(folder, 'g.csv.gz'), Buffer.concat([gzipSync('a\n1\n'), gzipSync('2\n')]));
    await writeFile(
      join(folder, 'z.csv.zst'),
      Buffer.concat([zstdCompressSync('a\n1\n'), zstdCompressSync('2\n')]),
    );
    for (const path of ['p.csv', 'g.csv.gz', 'z.csv.zst'])
      expect(await readAll({ path })).toEqual(rows);
  });

  it.each<[string, Buffer, string, string]>([
    ['gzip', gzipSync('a\n1\n'), 'compressed with gzip', 'compression: gzip'],
    ['zstd', zstdCompressSync('a\n1\n'), 'compressed with zstd', 'compression: zstd'],
    ['UTF-16', Buffer.from('\ufeffa\n1\n', 'utf16le'), 'UTF-16 text', 'encoding: utf-16le'],
    ['UTF-16 without a mark', Buffer.from('a\n1\n', 'utf16le'), 'UTF-16 text', 'utf-16le'],
    ['UTF-16 the other way', Buffer.from('a\n1\n', 'utf16le').swap16(), 'UTF-16', 'utf-16be'],
    ['a workbook', Buffer.from('PK\u0003\u0004xl'), 'a ZIP archive', 'the source `excel`'],
  ])('recognises a file that is no text: %s', async (_name, bytes, message, hint) => {
    await writeFile(join(folder, 'f.csv'), bytes);
    await expect(readAll({ path: 'f.csv' })).rejects.toMatchObject({
      message: expect.stringContaining(`f.csv is ${message}`) as string,
      hint: expect.stringContaining(hint) as string,
    });
    const told = { encoding: hint.replace('encoding: ', '') };
    if (hint.includes('utf-16'))
      expect(await readAll({ path: 'f.csv', ...told })).toEqual([{ a: '1' }]);
  });

  it('says when the lines that are left out are the whole file', async () => {
    const warnings = async (skipped: number): Promise<string[]> => {
      const context = testContext(folder);
      const env = testEnv({ cwd: folder });
      const config = sourceConfig({ path: 's.csv', skip_rows: skipped });
      const source = await csvSource.open(config, { ...context, env });
      for await (const page of source.pages({ lane: RECORDS_LANE })) page.release();
      return env.lines.map(({ line }) => line);
    };
    await writeFile(join(folder, 's.csv'), 'a\n1\n2');
    expect(await warnings(1)).toEqual([]);
    for (const skipped of [3, 10]) expect((await warnings(skipped))[0]).toContain('it has no row');
  });

  it('fails on compressed files that are cut off or something else', async () => {
    await writeFile(join(folder, 'g.csv.gz'), gzipSync('a\n1\n').subarray(0, -3));
    await writeFile(join(folder, 'z.csv.zst'), zstdCompressSync('a\n1\n').subarray(0, -3));
    await writeFile(join(folder, 'no.csv.gz'), 'a\n1\n');
    await writeFile(join(folder, 'no.csv.zst'), 'a\n1\n');
    expect(await failureOf(readAll({ path: 'g.csv.gz' }))).toEqual({
      kind: 'data',
      message: expect.stringMatching(/gzip data is cut off/),
    });
    expect(await failureOf(readAll({ path: 'z.csv.zst' }))).toEqual({
      kind: 'data',
      message: expect.stringMatching(/zstd data is cut off/),
    });
    expect(await failureOf(readAll({ path: 'no.csv.gz' }))).toEqual({
      kind: 'data',
      message: expect.stringMatching(/not valid gzip/),
    });
    expect(await failureOf(readAll({ path: 'no.csv.zst' }))).toEqual({
      kind: 'data',
      message: expect.stringMatching(/not valid zstd/),
    });
  });

  it('names a file that is missing or a folder', async () => {
    expect(await failureOf(readAll({ path: 'none.csv' }))).toEqual({
      kind: 'missing',
      message: expect.stringMatching(/none\.csv: it does not exist/),
    });
    expect(await failureOf(readAll({ path: '.' }))).toEqual({
      kind: 'refused',
      message: expect.stringMatching(/it is a folder/),
    });
  });

  it('takes delimiters as byte codes and as characters', async () => {
    await writeFile(join(folder, 'p.csv'), "a\tb\n'x\ty'\t2\n");
    for (const delimiter of [9, '\t', '9', '\\t']) {
      expect(await readAll({ path: 'p.csv', delimiter, quote: "'" })).toEqual([
        { a: 'x\ty', b: '2' },
      ]);
    }
  });

  it('refuses separators that cannot work and unknown keys', () => {
    const issues = (value: JsonObject) => {
      const checked = check(csvSource.config, { path: 'a.csv', ...value });
      return checked.ok
        ? []
        : checked.issues.map((issue) => `${issue.path}: ${issue.hint ?? issue.message}`);
    };
    expect(issues({ delimiter: ',', quote: ',' })).toEqual([
      'quote: `delimiter` and `quote` must differ',
    ]);
    expect(issues({ delimiter: '\n' })).toEqual(['delimiter: a line end is not allowed here']);
    for (const delimiter of ['||', '', 'é']) {
      expect(issues({ delimiter })[0]).toContain('write one such as `,`');
      expect(issues({ quote: delimiter })[0]).toContain('write one such as `,`');
    }
    expect(issues({ has_header: true })).toEqual([]);
    expect(issues({ has_header: true, has_headers: true })).toEqual([
      'has_header: did you mean `has_headers`?',
    ]);
  });

  it('with batch size 0 gives one page', async () => {
    await writeFile(join(folder, 'p.csv'), `a\n${'1\n'.repeat(5000)}`);
    const source = await csvSource.open(
      sourceConfig({ path: 'p.csv', batch_size: 0 }),
      testContext(folder, { pageBytes: 100 }),
    );
    const counts: number[] = [];
    for await (const page of source.pages({ lane: RECORDS_LANE })) counts.push(page.count);
    expect(counts).toEqual([5000]);
  });

  it('stops when told to', async () => {
    await writeFile(join(folder, 'p.csv'), `a\n${'1\n'.repeat(200_000)}`);
    const stop = new AbortController();
    const source = await csvSource.open(
      sourceConfig({ path: 'p.csv', batch_size: 10 }),
      testContext(folder, { signal: stop.signal }),
    );
    let count = 0;
    const reading = async () => {
      for await (const page of source.pages({ lane: RECORDS_LANE })) {
        count += page.count;
        stop.abort(new Error('enough'));
      }
    };
    await expect(reading()).rejects.toThrow('enough');
    expect(count).toBeLessThan(200_000);
  });
});

it('numbers of JSON are written as they were read', async () => {
  const records = ['{"a":1.10,"b":2.0,"c":{"x":3.0}}', '{"a":0.12345678901234567890,"b":1E5}'];
  expect(await writeAll({}, records.map(parseData))).toBe(
    'a,b,c\n1.10,2.0,"{""x"":3.0}"\n0.12345678901234567890,1E5,\n',
  );
});

describe('the csv sink', () => {
  it('writes the fields of the first page as columns and quotes what needs it', async () => {
    const text = await writeAll(
      {},
      [
        { a: 1, b: 'x,"y"\n' },
        { b: null, c: { d: [true] } },
      ],
      [{ c: 'late', e: 'dropped' }],
    );
    expect(text).toBe('a,b,c\n1,"x,""y""\n",\n,,"{""d"":[true]}"\n,,late\n');
  });

  it.each(['records', 'columns'])(
    'has the columns in the order of their source, of %s',
    async (form) => {
      const names = ['name', '2024', '2023', 'more'];
      const schema = {
        fields: names.map((name) => ({ name, type: { kind: 'utf8' as const }, nullable: true })),
      };
      const rows = [
        ['a', '1', '2', null],
        ['b', '3', '4', 'x'],
      ];
      const options = { schema: { ...schema, fields: schema.fields.slice(0, 3) } };
      const records = rows.map((row) =>
        Object.fromEntries(names.map((name, at) => [name, row[at]!])),
      );
      const page =
        form === 'records'
          ? Page.ofRecords(records, options)
          : Page.ofColumns(columnsOf(names, rows), options);
      const sink = await openSink({});
      await sink.write(page, { partial: false });
      await sink.finish('success');
      await sink.close();
      const text = await readFile(join(folder, 'out.csv'), 'utf8');
      expect(text).toBe('name,2024,2023,more\na,1,2,\nb,3,4,x\n');
    },
  );

  it('leaves the order of records as it is where a schema knows some of their fields', async () => {
    const schema = {
      fields: [{ name: 'b', type: { kind: 'utf8' as const }, nullable: true }],
      others: true,
    };
    const sink = await openSink({});
    await sink.write(Page.ofRecords([{ a: '1', b: '2', c: '3' }], { schema }), { partial: false });
    await sink.finish('success');
    await sink.close();
    expect(await readFile(join(folder, 'out.csv'), 'utf8')).toBe('a,b,c\n1,2,3\n');
  });

  it('keeps every digit of large integers', async () => {
    expect(await writeAll({}, [{ a: 9_007_199_254_740_993n }])).toBe('a\n9007199254740993\n');
  });

  it('warns once about unknown fields, or fails', async () => {
    const context = testContext(folder);
    const sink = await openSink({}, context);
    await sink.write(Page.ofRecords([{ a: 1 }]), { partial: false });
    await sink.write(Page.ofRecords([{ b: 1 }, { b: 2, c: 3 }]), { partial: false });
    await sink.close();
    expect(context.lines.filter((line) => line.level === 'WARN')).toHaveLength(1);
    await expect(writeAll({ on_unknown_field: 'error' }, [{ a: 1 }], [{ b: 1 }])).rejects.toThrow(
      '"b" is not a column of out.csv',
    );
  });

  it('refuses records that are no objects before anything is written', async () => {
    await expect(writeAll({}, [{ a: 1 }, 5])).rejects.toThrow('a record is not an object');
    await expect(readFile(join(folder, 'out.csv'))).rejects.toThrow('ENOENT');
  });

  it('continues a file under its own header', async () => {
    await writeFile(join(folder, 'out.csv'), 'b,a\n1,2\n');
    expect(await writeAll({ append: true }, [{ a: 'A', b: 'B' }])).toBe('b,a\n1,2\nB,A\n');
    await expect(writeAll({ append: true }, [{ c: 1 }])).rejects.toThrow('its header is b, a');
  });

  it('cuts off what a killed writer left, and completes a last line', async () => {
    await writeFile(join(folder, 'out.csv'), 'a,b\n1,2\n3');
    expect(await writeAll({ append: true }, [{ a: 5, b: 6 }])).toBe('a,b\n1,2\n5,6\n');
    await writeFile(join(folder, 'out.csv'), 'a,b\n1,2\n3,"x\n');
    expect(await writeAll({ append: true }, [{ a: 5, b: 6 }])).toBe('a,b\n1,2\n5,6\n');
    await writeFile(join(folder, 'out.csv'), '\uFEFFa,b\n1,2');
    expect(await writeAll({ append: true }, [{ a: 5, b: 6 }])).toBe('\uFEFFa,b\n1,2\n5,6\n');
    await writeFile(join(folder, 'out.csv'), '"a');
    expect(await writeAll({ append: true }, [{ a: 5, b: 6 }])).toBe('a,b\n5,6\n');
  });

  it('continues a compressed file whose last member is cut off', async () => {
    await writeFile(
      join(folder, 'out.csv.gz'),
      Buffer.concat([gzipSync('a\n1\n'), gzipSync('2\n').subarray(0, -4)]),
    );
    await writeAll({ path: 'out.csv.gz', append: true }, [{ a: 3 }]);
    const text = gunzipSync(await readFile(join(folder, 'out.csv.gz'))).toString();
    expect(text.startsWith('a\n1\n')).toBe(true);
    expect(text.endsWith('3\n')).toBe(true);
  });

  it('is read back by the source, a lone empty cell included', async () => {
    await writeAll({}, [{ a: '' }, { a: 'x' }]);
    expect(await readAll({ path: 'out.csv' })).toEqual([{ a: '' }, { a: 'x' }]);
  });

  it('creates no file when there is nothing to write', async () => {
    await expect(writeAll({}, [])).rejects.toThrow('ENOENT');
  });

  it('keeps dead letters of earlier runs', async () => {
    await writeFile(join(folder, 'out.csv'), 'a\n1\n');
    const sink = await openSink({}, testContext(folder, { role: 'dlq' }));
    await sink.write(Page.ofRecords([{ a: 2 }]), { partial: false });
    await sink.flush();
    await sink.close();
    expect(await readFile(join(folder, 'out.csv'), 'utf8')).toBe('a\n1\n2\n');
  });
});

describe('both', () => {
  it('have examples that parse', () => {
    const definitions: readonly (SourceDefinition | SinkDefinition)[] = [csvSource, csvSink];
    for (const definition of definitions) {
      for (const example of definition.examples)
        expect(check(definition.config, example)).toMatchObject({ ok: true });
    }
  });
});

describe('types that are inferred', () => {
  const lines = (rows: number): string[] =>
    Array.from(
      { length: rows },
      (_, row) => `${row},0${row},${row}.50,2024-02-29,${row % 2 ? '' : 'x'}`,
    );

  async function read(value: JsonObject, request: { columns?: true; limit?: number } = {}) {
    const source = await csvSource.open(
      sourceConfig({ path: 'in.csv', infer_types: true, ...value }),
      testContext(folder),
    );
    const pages: Page[] = [];
    const lane = request.columns === true ? COLUMNS_LANE : RECORDS_LANE;
    const limit = request.limit === undefined ? {} : { limit: request.limit };
    for await (const page of source.pages({ lane, ...limit })) {
      expect(page.form).toEqual(lane);
      pages.push(page);
    }
    return pages;
  }

  it('are those of all values, in every lane and whatever the limit', async () => {
    await writeFile(
      join(folder, 'in.csv'),
      `id,code,price,day,note\n${lines(25).join('\n')}\n9,9,x,,\n`,
    );
    const types = 'id: int64, code: utf8, price: utf8, day: date, note: utf8, …';
    const all = await read({ batch_size: 10 });
    expect(all.map((page) => page.schema && schemaText(page.schema))).toEqual([
      types,
      types,
      types,
    ]);
    expect(all[0]?.records()[1]).toEqual({
      id: 1,
      code: '01',
      price: '1.50',
      day: '2024-02-29',
      note: '',
    });
    expect(all[2]?.records().at(-1)).toEqual({ id: 9, code: '9', price: 'x', day: null, note: '' });
    const columns = await read({ batch_size: 10 }, { columns: true });
    expect(columns.map((page) => page.records())).toEqual(all.map((page) => page.records()));
    const some = await read({ batch_size: 10 }, { columns: true, limit: 13 });
    expect(some.map((page) => page.count)).toEqual([10, 3]);
    expect(some.map((page) => page.schema && schemaText(page.schema))).toEqual([types, types]);
    expect(some[1]?.records()).toEqual(all[1]?.records().slice(0, 3));
  });

  it('are those of the first records, and a later value that does not fit is reported', async () => {
    await writeFile(
      join(folder, 'in.csv'),
      `id,code,price,day,note\n${lines(10_005).join('\n')}\n007,,,,\n`,
    );
    for (const columns of [{}, { columns: true }] as const)
      expect(await failureOf(read({}, columns))).toMatchObject({
        message: '`id` in record 10006 of in.csv is no int64, as 10,000 values before it are',
      });
    const [page] = await read({ columns: { id: 'utf8', price: 'float64' } });
    expect(page?.records()[7]).toMatchObject({ id: '7', code: '07', price: 7.5 });
    expect(page?.schema?.fields.map(({ evidence }) => evidence?.values)).toEqual([
      undefined,
      10_000,
      undefined,
      10_000,
      5000,
    ]);
  });
});
