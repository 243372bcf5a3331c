import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Page, RECORDS_LANE } from '../../../kit/page.ts';
import { check } from '../../../kit/schema.ts';
import type { RecordType } from '../../../kit/record-schema.ts';
import { replacedOutput, type FinishReason } from '../../../kit/sink.ts';
import { JSON_NULL, withSourceText } from '../../../lib/text/json-literal.ts';
import { parseData, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { testContext } from '../../../../test/fakes/env.ts';
import { failureOf } from '../../../../test/fakes/failure.ts';
import { ParquetReader } from '../../_files/parquet/parquet-reader.ts';
import { fileSink, fileSource } from '../index.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-file-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function open(value: JsonObject, context = testContext(folder)) {
  const checked = check(fileSink.config, value);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return fileSink.open(checked.value, context);
}

async function write(
  value: JsonObject,
  pages: JsonValue[][],
  reason: FinishReason = 'success',
): Promise<void> {
  const sink = await open(value);
  try {
    for (const page of pages) {
      await sink.write(Page.ofRecords(page), { partial: false });
      await sink.flush();
    }
    await sink.finish(reason);
  } finally {
    await sink.close();
  }
}

async function read(value: JsonObject): Promise<JsonValue[]> {
  const checked = check(fileSource.config, value);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await fileSource.open(checked.value, testContext(folder));
  const records: JsonValue[] = [];
  for await (const page of source.pages({ lane: RECORDS_LANE })) records.push(...page.records());
  return records;
}

/** Names and types of the columns of a Parquet file. */
async function schemaOfFile(path: string): Promise<(readonly [string, RecordType])[]> {
  const file = await ParquetReader.open({
    path: join(folder, path),
    signal: new AbortController().signal,
    omitNulls: false,
  });
  try {
    return file.schema.fields.map(({ name, type }) => [name, type] as const);
  } finally {
    await file.close();
  }
}

const text = (name: string): Promise<string> => readFile(join(folder, name), 'utf8');
const codes = (value: JsonObject): string[] => {
  const checked = check(fileSink.config, value);
  return checked.ok ? [] : checked.issues.map((issue) => `${issue.code} ${issue.path}`);
};

describe('the file sink', () => {
  it.each([
    'a.jsonl',
    'a.json',
    'a.xlsx',
    'a.parquet',
    'a.csv',
    'a.xml',
    'a.jsonl.gz',
    'a.parquet.zst',
    'a.json.gz',
  ])('writes %s so that the source reads it back', async (path) => {
    const records = [
      { id: 'x', n: '<é> "1",\n2' },
      { id: 'y', n: 'b' },
    ];
    for (const encryption of [undefined, { key: 'k' }]) {
      const value: JsonObject = encryption === undefined ? { path } : { path, encryption };
      await write(value, [records.slice(0, 1), records.slice(1)]);
      expect(await read(value)).toEqual(records);
      expect(await readdir(folder)).toEqual([path]);
    }
  });

  it('keeps numbers and nested values where the format can', async () => {
    const records = [{ id: 9_007_199_254_740_993n, at: { x: [1.5, 2, null] } }];
    for (const path of ['a.jsonl', 'a.json', 'a.parquet']) {
      await write({ path }, [records]);
      expect(await read({ path })).toEqual(records);
    }
    await write({ path: 'a.xml' }, [[{ '@v': 1, o: [1, 2], e: null, '#text': 't\u0001' }]]);
    expect(await text('a.xml')).toBe(
      '<?xml version="1.0" encoding="UTF-8"?>\n<records>\n  <record v="1"><o>1</o><o>2</o><e/>t\uFFFD</record>\n</records>\n',
    );
    expect((await failureOf(write({ path: 'b.xml' }, [[{ 'no name': 1 }]]))).message).toContain(
      '"no name"',
    );
    await write({ path: 'a.txt' }, [['one', { content: 'two\n' }]]);
    expect(await text('a.txt')).toBe('one\ntwo\n');
  });

  it('writes every character that the format can hold, and U+FFFD for half of one', async () => {
    const strange = [
      '\u0000 \u0001 \u001f \u007f \u0085 \u0090',
      '\ud83d \ufffd \ufdd0 \ufffe \u{1f600} \u{1fffe}x',
      '_x0041_ \r\n\r_x0041_',
    ];
    const records = strange.map((s) => ({ _x0041_: s }));
    const whole = strange.map((s) => ({ _x0041_: s.toWellFormed() }));
    for (const path of ['a.xlsx', 'a.csv', 'a.parquet', 'a.avro']) {
      await write({ path }, [records]);
      expect([path, await read({ path })]).toEqual([path, whole]);
    }
    await write({ path: 'a.xml' }, [[{ s: strange[0] as string }, { s: strange[1] as string }]]);
    expect(await read({ path: 'a.xml' })).toEqual([
      { s: '\ufffd \ufffd \ufffd \u007f \u0085 \u0090' },
      { s: '\ufffd \ufffd \ufdd0 \ufffd \u{1f600} \u{1fffe}x' },
    ]);
  });

  it('takes names of members that all objects have for names and texts like others', async () => {
    const records = [parseData('{"constructor":"toString","__proto__":"a"}'), { b: '__proto__' }];
    await write({ path: 'a.xlsx' }, [records]);
    expect(JSON.stringify(await read({ path: 'a.xlsx' }))).toBe(
      '[{"constructor":"toString","__proto__":"a","b":null},{"constructor":null,"__proto__":null,"b":"__proto__"}]',
    );
    for (const path of ['a.avro', 'a.parquet']) {
      await write({ path }, [[{ constructor: 'a' }, { toString: 'b' }]]);
      expect(JSON.stringify(await read({ path }))).toBe(
        '[{"constructor":"a","toString":null},{"constructor":null,"toString":"b"}]',
      );
    }
  });

  it('writes numbers with all their digits, and documents that are one value', async () => {
    const record = { ...(parseData('{"p":1.10,"l":[12345.678901234567890123]}') as JsonObject) };
    const page = [{ ...record, d: withSourceText(1, '1.0'), n: JSON_NULL }];
    await write({ path: 'a.xml' }, [page]);
    expect(await text('a.xml')).toContain(
      '<record><p>1.10</p><l>12345.678901234567890123</l><d>1.0</d><n/></record>',
    );
    await write({ path: 'a.xlsx' }, [[parseData('{"p":1.10,"l":12345.678901234567890123}')]]);
    expect(await read({ path: 'a.xlsx' })).toEqual([{ p: 1.1, l: '12345.678901234567890123' }]);
  });

  it('tells what the cells of a sheet do not hold', async () => {
    const context = testContext(folder);
    const sink = await open({ path: 'a.xlsx' }, context);
    await sink.write(Page.ofRecords([{ a: '', b: -0 }, { a: '' }]), { partial: false });
    await sink.finish('success');
    await sink.close();
    expect(context.lines.map(({ line }) => line)).toEqual([
      'WARN test: a sheet does not hold all values: an empty text is an empty cell, as null is path=a.xlsx field=a records=2',
      'WARN test: a sheet does not hold all values: a negative zero is zero path=a.xlsx field=b records=1',
    ]);
  });

  it('tells which characters XML does not hold, and keeps the line ends of attributes', async () => {
    const context = testContext(folder);
    const records: JsonObject[] = [
      { a: 'x\u0001', '@b': 'one\ntwo\tthree' },
      { a: ['\u0002', '\u0003'] },
    ];
    const sink = await open({ path: 'a.xml' }, context);
    await sink.write(Page.ofRecords(records), { partial: false });
    await sink.finish('success');
    await sink.close();
    expect(context.lines.map(({ line }) => line)).toEqual([
      'WARN test: the file does not hold all values: characters that XML cannot have are U+FFFD path=a.xml field=a records=2',
    ]);
    expect(await read({ path: 'a.xml' })).toEqual([
      { '@b': 'one\ntwo\tthree', a: 'x\uFFFD' },
      { a: ['\uFFFD', '\uFFFD'] },
    ]);
  });

  it('has the columns of tables in the order of their source', async () => {
    const fields = ['name', '2024', '2023'].map((name) => ({
      name,
      type: { kind: 'utf8' as const },
      nullable: true,
    }));
    const sink = await open({ path: 'a.csv' });
    const record = { name: 'a', 2024: '1', 2023: '2' };
    await sink.write(Page.ofRecords([record], { schema: { fields } }), { partial: false });
    await sink.finish('success');
    await sink.close();
    expect(await text('a.csv')).toBe('name,2024,2023\na,1,2\n');
  });

  it('widens delimited text, drops with one warning, or fails', async () => {
    const pages = [[{ a: 1 }], [{ a: 2, b: 3 }]];
    await write({ path: 'a.csv' }, pages);
    expect(await text('a.csv')).toBe('a,b\n1,\n2,3\n');
    await write({ path: 'a.csv', csv: { on_unknown_field: 'warn', delimiter: ';' } }, pages);
    expect(await text('a.csv')).toBe('a\n1\n2\n');
    expect(
      (await failureOf(write({ path: 'b.csv', csv: { on_unknown_field: 'error' } }, pages)))
        .message,
    ).toContain('"b" is not a column');
    expect(await readdir(folder)).toEqual(['a.csv']);
  });

  it.each<FinishReason>(['failed', 'cancelled'])(
    'leaves everything as it was when the run is %s',
    async (reason) => {
      await writeFile(join(folder, 'a.jsonl'), '"old"\n');
      await write({ path: 'a.jsonl' }, [[1]], reason);
      expect(await text('a.jsonl')).toBe('"old"\n');
      expect(await readdir(folder)).toEqual(['a.jsonl']);
    },
  );

  it('continues json_lines, csv and raw_text, repairing what a killed writer left', async () => {
    await writeFile(join(folder, 'a.jsonl'), '1\n{"x"');
    await write({ path: 'a.jsonl', if_exists: 'append' }, [[2]]);
    expect(await text('a.jsonl')).toBe('1\n2\n');
    await writeFile(join(folder, 'a.csv'), 'b,a\n1,2\n');
    await write({ path: 'a.csv', mode: 'append' }, [[{ a: 'A', b: 'B' }]]);
    expect(await text('a.csv')).toBe('b,a\n1,2\nB,A\n');
    expect(
      (await failureOf(write({ path: 'a.csv', if_exists: 'append' }, [[{ c: 1 }]]))).message,
    ).toContain('"c" is no column');
    await write({ path: 'a.jsonl.gz', if_exists: 'append' }, [[1]]);
    await write({ path: 'a.jsonl.gz', if_exists: 'append' }, [[2]]);
    expect(await read({ path: 'a.jsonl.gz' })).toEqual([1, 2]);
  });

  it('numbers files at the caps and goes on numbering when it continues', async () => {
    await write({ path: 'o.csv', max_records_per_file: 2 }, [[{ a: 1 }, { a: 2 }, { a: 3 }]]);
    expect(await readdir(folder)).toEqual(['o-00001.csv', 'o-00002.csv']);
    await write({ path: 'd/', format: 'json_array', compression: 'gzip', max_bytes_per_file: 4 }, [
      [11, 22, 33],
    ]);
    expect(await read({ path: 'd/part-00001.json.gz' })).toEqual([11, 22]);
    expect(await readdir(join(folder, 'd'))).toEqual(['part-00001.json.gz', 'part-00002.json.gz']);
    await write({ path: 'd/', format: 'json_array', compression: 'gzip', if_exists: 'append' }, [
      [44],
    ]);
    expect(await read({ path: 'd' })).toEqual([11, 22, 33, 44]);
  });

  it('removes older parts in overwrite mode, and empties the destination without records', async () => {
    const value = { path: 'd/p-{part}.jsonl', write_mode: 'overwrite', max_records_per_file: 1 };
    await write(value, [[1, 2, 3]]);
    await write(value, [[9]], 'failed');
    expect(await read({ path: 'd' })).toEqual([1, 2, 3]);
    await write(value, [[4]]);
    expect(await readdir(join(folder, 'd'))).toEqual(['p-00001.jsonl']);
    await write(value, []);
    expect(await text('d/p-00001.jsonl')).toBe('');
  });

  it('replaces all parts of the run before, also with nothing', async () => {
    const value = { path: 'd/p.json', max_records_per_file: 1 };
    await write(value, [[1, 2, 3]]);
    await write(value, [[4]]);
    expect(await readdir(join(folder, 'd'))).toEqual(['p-00001.json']);
    for (const path of ['a.csv', 'a.jsonl.gz', 'a.json']) {
      await write({ path }, [[{ a: 1 }]]);
      await write({ path }, [], 'failed');
      expect(await read({ path })).toHaveLength(1);
      await write({ path }, []);
      expect(await read({ path })).toEqual([]);
    }
    for (const pages of [[[{ a: 1 }]], []]) await write({ path: 'a.parquet' }, pages);
    await write({ path: 'none.csv' }, []);
    expect((await readdir(folder)).sort()).toEqual(['a.csv', 'a.json', 'a.jsonl.gz', 'd']);
  });

  it('does not write rows of empty cells below the header of another table', async () => {
    await writeFile(join(folder, 'a.csv'), 'x,y\n1,2\n');
    const value = { path: 'a.csv', if_exists: 'append', csv: { on_unknown_field: 'warn' } };
    expect((await failureOf(write(value, [[{ a: 1 }]]))).message).toContain('its header is x, y');
    expect(await text('a.csv')).toBe('x,y\n1,2\n');
  });

  it('removes the spools of killed runs', async () => {
    const host = createHash('sha256').update(hostname()).digest('hex').slice(0, 6);
    const left = `.p-00003.jsonl.${host}-4000000-0123abcd.svc-tmp`;
    const other = `.q-00003.jsonl.${host}-4000000-0123abcd.svc-tmp`;
    const inner = `.${left}.${host}-4000000-0123abcd.svc-tmp`;
    for (const name of [left, inner, other]) await writeFile(join(folder, name), 'x');
    await write({ path: 'p-{part}.jsonl' }, [[1]]);
    expect(await readdir(folder)).toEqual([other, 'p-00001.jsonl']);
  });

  it('gives all files the same columns, and refuses a misfit with its page', async () => {
    await write({ path: 'd/', format: 'csv', max_records_per_file: 1 }, [[{ a: 1 }], [{ b: 2 }]]);
    expect(await text('d/part-00001.csv')).toBe('a,b\n1,\n');
    const sink = await open({ path: 'a.parquet' });
    await sink.write(Page.ofRecords([{ a: 1 }]), { partial: false });
    expect(
      (await failureOf(sink.write(Page.ofRecords([{ z: 1 }, { a: 'x' }]), { partial: false })))
        .message,
    ).toContain('"a"');
    await sink.write(Page.ofRecords([{ z: 'text' }]), { partial: false });
    await sink.finish('success');
    await sink.close();
    expect(await read({ path: 'a.parquet' })).toEqual([
      { a: 1, z: null },
      { a: null, z: 'text' },
    ]);
  });

  it('refuses an existing file when asked to, and a missing folder', async () => {
    await write({ path: 'a.jsonl', if_exists: 'error' }, [[1]]);
    expect(
      (await failureOf(write({ path: 'a.jsonl', mode: 'error_if_exists' }, [[2]]))).message,
    ).toMatch(/exists already/);
    expect((await failureOf(write({ path: 'no/a.jsonl', create_dirs: false }, [[1]]))).kind).toBe(
      'missing',
    );
  });

  it('makes dead letters durable at every flush and keeps earlier ones', async () => {
    await writeFile(join(folder, 'dlq.jsonl'), '1\n');
    const sink = await open({ path: 'dlq.jsonl' }, testContext(folder, { role: 'dlq' }));
    for (const [record, after] of [
      [2, '1\n2\n'],
      [3, '1\n2\n3\n'],
    ] as const) {
      await sink.write(Page.ofRecords([record]), { partial: false });
      await sink.flush();
      expect(await text('dlq.jsonl')).toBe(after);
    }
    await sink.finish('failed');
    await sink.close();
    expect(
      await failureOf(open({ path: 'dlq.json' }, testContext(folder, { role: 'dlq' }))),
    ).toMatchObject({ kind: 'refused' });
  });

  it('refuses what it cannot do, by name', () => {
    expect(codes({ path: 'a.x', format: 'orc' })).toEqual(['not_available format']);
    expect(codes({ path: 'a.pdf' })).toEqual(['invalid_value path']);
    expect(codes({ path: 'd/' })).toEqual(['invalid_value path']);
    expect(codes({ path: 'a.json', if_exists: 'append' })).toEqual(['invalid_value if_exists']);
    expect(codes({ path: 'a.csv', write_mode: 'overwrite', if_exists: 'append' })).toEqual([
      'invalid_value if_exists',
    ]);
    expect(codes({ path: 'a.csv', encryption: { key: 'k' }, if_exists: 'append' })).toEqual([
      'invalid_value if_exists',
    ]);
  });

  describe('with declared columns of Parquet', () => {
    const schema: JsonObject[] = [
      { name: 'id', type: 'int64', nullable: false },
      { name: 'small', type: 'int32' },
      { name: 'large', type: 'uint64' },
      { name: 'ratio', type: 'float64' },
      { name: 'rough', type: 'float32' },
      { name: 'on', type: 'boolean' },
      { name: 'text', type: 'string' },
      { name: 'day', type: 'date' },
      { name: 'at', type: 'timestamp_us' },
      { name: 'price', type: { decimal: { precision: 9, scale: 2 } } },
    ];
    const path = 'a.parquet';
    const into = (columns: JsonValue, records: JsonValue[]) =>
      write({ path, parquet: { schema: columns } }, [records]);

    it('has those, in their order and of their types, whatever the values are', async () => {
      const record = {
        price: '12.50',
        at: '2024-05-06T07:08:09.500',
        day: '2024-05-06',
        text: '1',
        on: true,
        rough: 0.5,
        ratio: 2,
        large: 18446744073709551615n,
        small: 7,
        id: 1,
      };
      await into(schema, [record, { id: 2 }]);
      const [first, second] = await read({ path });
      expect(Object.keys(first ?? {})).toEqual(schema.map(({ name }) => name));
      expect(first).toEqual(record);
      expect(second).toMatchObject({ id: 2, small: null, price: null });
      await into([{ name: 'a', type: 'float64' }], [{ a: 1 }]);
      const types = await schemaOfFile(path);
      expect(types).toEqual([['a', { kind: 'float64' }]]);
    });

    it('has them in a file without records', async () => {
      await write({ path, write_mode: 'overwrite', parquet: { schema: schema.slice(0, 1) } }, []);
      expect(await schemaOfFile(path)).toEqual([['id', { kind: 'int64' }]]);
    });

    it.each<[string, JsonObject, string]>([
      ['another field', { id: 1, z: 1 }, 'the field "z" is not in the schema of the file'],
      ['a value of another type', { id: 1, on: 'yes' }, 'the field "on" is boolean'],
      ['too large a value', { id: 1, small: 2 ** 31 }, 'the field "small" is int32'],
      ['too many digits', { id: 1, price: '1.005' }, 'cannot hold 1.005'],
      ['no value where there must be one', { small: 1 }, 'a record has no value there'],
      [
        'null where there must be a value',
        { id: null },
        'the field "id" is integer and not nullable',
      ],
    ])('refuses a page with %s', async (_what, record, message) => {
      const sink = await open({ path, parquet: { schema } });
      const failure = await failureOf(
        sink.write(Page.ofRecords([{ id: 1 }, record]), { partial: false }),
      );
      expect(failure.message).toContain(message);
      await sink.finish('failed');
      await sink.close();
    });

    it('are checked', () => {
      const found = (columns: JsonValue) => codes({ path, parquet: { schema: columns } });
      expect(found([])).toEqual(['out_of_range parquet.schema']);
      expect(found([{ name: 'a', type: 'text' }])).toEqual([
        expect.stringContaining('parquet.schema[0].type'),
      ]);
      expect(found([{ name: 'a', type: { decimal: { precision: 2, scale: 3 } } }])).toEqual([
        expect.stringContaining('parquet.schema[0].type'),
      ]);
      expect(
        found([
          { name: 'a', type: 'date' },
          { name: 'a', type: 'string' },
        ]),
      ).toEqual(['invalid_value parquet.schema[1].name']);
    });
  });

  it('probes its folder', async () => {
    await mkdir(join(folder, 'd'));
    const checked = check(fileSink.config, { path: 'd/', format: 'csv' });
    expect(checked.ok && (await fileSink.probe?.(checked.value, testContext(folder)))).toEqual([
      { name: 'io', status: 'pass' },
    ]);
  });

  it.each<[JsonObject, string | undefined]>([
    [{ path: 'out/p-{part}.csv' }, 'out/p-{part}.csv'],
    [{ path: './out//p-{part}.csv', if_exists: 'error' }, 'out/p-{part}.csv'],
    [{ path: 'out/p.csv.gz', max_records_per_file: 5 }, 'out/p-{part}.csv.gz'],
    [{ path: 'out/', format: 'csv', compression: 'zstd' }, 'out/part-{part}.csv.zst'],
    [{ path: 'out/p-{part}.csv', if_exists: 'append' }, undefined],
  ])('says which files it replaces: %j', (value, output) => {
    const checked = check(fileSink.config, value);
    expect(checked.ok && replacedOutput(fileSink, checked.value)?.output).toBe(output);
  });
});
