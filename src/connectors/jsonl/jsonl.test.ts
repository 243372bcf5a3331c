import * as fc from 'fast-check';
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { COLUMNS_LANE, Page, RECORDS_LANE, type Lane } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { schemaText } from '../../kit/type-text.ts';
import type { SinkDefinition } from '../../kit/sink.ts';
import type { SourceDefinition } from '../../kit/source.ts';
import { parseData, stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { jsonLines } from '../_files/json/json-lines-file.ts';
import { cutPages } from '../_files/lines/cut-pages.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { jsonlSink, jsonlSource } from './index.ts';

const BYTES: Lane = { form: 'bytes', encoding: 'jsonl' };
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-jsonl-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function readAll(value: JsonObject, lane: Lane = RECORDS_LANE): Promise<JsonValue[]> {
  const checked = check(jsonlSource.config, { path: 'f.jsonl', ...value });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await jsonlSource.open(checked.value, testContext(folder));
  const records: JsonValue[] = [];
  for await (const page of source.pages({ lane })) {
    expect(page.form).toEqual(lane);
    records.push(...page.records());
  }
  return records;
}

async function openSink(value: JsonObject, context = testContext(folder)) {
  const checked = check(jsonlSink.config, { path: 'f.jsonl', ...value });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return jsonlSink.open(checked.value, context);
}

async function writeAll(value: JsonObject, ...pages: Page[]): Promise<Buffer> {
  const sink = await openSink(value);
  for (const page of pages) {
    expect(await sink.write(page, { partial: false })).toEqual({
      written: page.count,
      rejected: [],
    });
    await sink.flush();
  }
  await sink.finish('success');
  await sink.close();
  return readFile(join(folder, (value.path as string | undefined) ?? 'f.jsonl'));
}

const pageOf = (...records: JsonValue[]): Page => Page.ofRecords(records);

describe('the jsonl source', () => {
  it('reads any JSON value and skips blank lines, in both lanes', async () => {
    await writeFile(
      join(folder, 'f.jsonl'),
      '\uFEFF{"a": 1}\r\n\n  \n[1, 2]\n"x"\nnull\n9007199254740993',
    );
    const values = [{ a: 1 }, [1, 2], 'x', null, 9_007_199_254_740_993n];
    expect(await readAll({})).toEqual(values);
    expect(await readAll({}, BYTES)).toEqual(values);
  });

  it('gives the same pages in both lanes at every block size', async () => {
    const text = fc
      .array(
        fc.oneof(fc.json({ maxDepth: 2 }), fc.constantFrom('', ' ', '{"a" : 1.0}', '"é€😀"')),
        { maxLength: 12 },
      )
      .map((lines) => lines.join('\n'));
    const read = async (bytes: Uint8Array, size: number, lane: Lane) => {
      async function* blocks(): AsyncGenerator<Uint8Array> {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
      }
      const pages: string[] = [];
      for await (const one of cutPages(jsonLines(blocks(), { name: 'f' }), {
        lane,
        bounds: { records: 3, bytes: 60 },
        signal: new AbortController().signal,
      })) {
        pages.push(Buffer.from(one.block(JSON_LINES)).toString());
      }
      return pages;
    };
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 8 }), async (input, size) => {
        const bytes = Buffer.from(input);
        const whole = await read(bytes, 1000, RECORDS_LANE);
        expect(await read(bytes, size, BYTES)).toEqual(whole);
        const wanted = input.split('\n').filter((line) => line.trim() !== '');
        expect(whole.join('')).toBe(
          wanted.map((line) => `${stringifyJson(parseData(line))}\n`).join(''),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('says that values are nested too deeply', async () => {
    await writeFile(
      join(folder, 'deep.jsonl'),
      `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}\n`,
    );
    expect((await failureOf(readAll({ path: 'deep.jsonl' }))).message).toBe(
      'line 1 of deep.jsonl has values in values that are nested too deeply to be read',
    );
  });

  it('says that a number is too large, and that a path is none', async () => {
    await writeFile(join(folder, 'n.jsonl'), '1\n{"a":1e400}\n');
    expect((await failureOf(readAll({ path: 'n.jsonl' }))).message).toBe(
      'line 2 of n.jsonl has a number beyond the range of numbers',
    );
    expect(check(jsonlSink.config, { path: 's3://bucket/x.jsonl' })).toMatchObject({
      ok: false,
      issues: [{ code: 'invalid_value', path: 'path' }],
    });
  });

  describe.each([
    ['records', RECORDS_LANE],
    ['columns', COLUMNS_LANE],
    ['bytes', { form: 'bytes', encoding: 'jsonl' }],
  ] as const)('told of lines, as %s', (_, lane) => {
    const readWarned = async (text: string) => {
      await writeFile(join(folder, 'f.jsonl'), text);
      const context = testContext(folder);
      const checked = check(jsonlSource.config, { path: 'f.jsonl' });
      if (!checked.ok) throw new Error('the config is wrong');
      const source = await jsonlSource.open(checked.value, context);
      const records: JsonValue[] = [];
      for await (const one of source.pages({ lane })) records.push(...one.records());
      await source.close();
      return { records, lines: context.lines.map(({ level, line }) => [level, line]) };
    };

    it('members of one name, and how many records have some', async () => {
      const good = '{"a":1,"b":{"a":2}}\n';
      const { records, lines } = await readWarned(
        `${good}{"a":1,"a":2}\n{"c":[{"x":1,"x":2}]}\n${good}`,
      );
      expect(records[1]).toEqual({ a: 2 });
      expect(lines).toEqual([
        ['WARN', expect.stringMatching(/two members of one name.*line=2/)],
        ['WARN', expect.stringMatching(/two members of one name.*records=2/)],
      ]);
    });

    it('halves of characters, and how many records hold some', async () => {
      const whole = String.raw`{"a":"\ud83d\ude00","b":"\\ud800"}` + '\n';
      const { records, lines } = await readWarned(
        whole +
          String.raw`{"a":"x\ud83d"}` +
          '\n' +
          String.raw`{"a":[{"\uDE00":1}]}` +
          '\n' +
          whole,
      );
      expect(records).toEqual([
        { a: '\u{1f600}', b: String.raw`\ud800` },
        { a: 'x\ud83d' },
        { a: [{ '\ude00': 1 }] },
        { a: '\u{1f600}', b: String.raw`\ud800` },
      ]);
      expect(lines).toEqual([
        ['WARN', expect.stringMatching(/half of a character.*line=2/)],
        ['WARN', expect.stringMatching(/half of a character.*records=2/)],
      ]);
    });
  });

  it('names the file and the line that is not JSON, without showing it', async () => {
    await writeFile(join(folder, 'f.jsonl'), '{"a":1}\n\n{"secret": oops}\n');
    for (const lane of [RECORDS_LANE, BYTES]) {
      const { kind, message } = await failureOf(readAll({}, lane));
      expect({ kind, message }).toEqual({
        kind: 'data',
        message: expect.stringMatching(/^line 3 of f\.jsonl is not JSON/),
      });
      expect(message).not.toContain('oops');
    }
  });

  it('names the line that is not UTF-8', async () => {
    await writeFile(
      join(folder, 'f.jsonl'),
      Buffer.concat([Buffer.from('1\n"'), Buffer.of(0xe9), Buffer.from('"\n')]),
    );
    expect(await failureOf(readAll({}))).toEqual({
      kind: 'data',
      message: 'line 2 of f.jsonl is not UTF-8 text',
    });
  });

  it('reads compressed files', async () => {
    await writeFile(join(folder, 'f.jsonl.gz'), Buffer.concat([gzipSync('1\n'), gzipSync('2\n')]));
    await writeFile(
      join(folder, 'f.data'),
      Buffer.concat([zstdCompressSync('1\n'), zstdCompressSync('2\n')]),
    );
    expect(await readAll({ path: 'f.jsonl.gz' })).toEqual([1, 2]);
    expect(await readAll({ path: 'f.data', compression: 'zstd' })).toEqual([1, 2]);
  });
});

describe('the jsonl sink', () => {
  it('writes blocks as they are and records compactly, in key order', async () => {
    const block = Page.ofBlock(JSON_LINES, Buffer.from('{"b":1,"a":2}\n'), 1);
    expect((await writeAll({}, block, pageOf({ z: 1n << 60n, a: [null] }))).toString()).toBe(
      '{"b":1,"a":2}\n{"z":1152921504606846976,"a":[null]}\n',
    );
  });

  it('replaces an existing file on the first write only, and leaves it alone without one', async () => {
    await writeFile(join(folder, 'f.jsonl'), '"old"\n');
    expect((await writeAll({})).toString()).toBe('"old"\n');
    expect((await writeAll({}, pageOf())).toString()).toBe('"old"\n');
    expect((await writeAll({}, pageOf(1), pageOf(2))).toString()).toBe('1\n2\n');
  });

  it('creates folders and indents when asked', async () => {
    expect(
      (await writeAll({ path: 'x/y/f.jsonl', pretty: true }, pageOf({ a: 1 }))).toString(),
    ).toBe('{\n  "a": 1\n}\n');
  });

  it.each([
    ['{"a":1}\n{"a":2}', '{"a":1}\n{"a":2}\n9\n'],
    ['{"a":1}\n{"a":', '{"a":1}\n9\n'],
    ['{"a":', '9\n'],
    ['{"a":1}\n', '{"a":1}\n9\n'],
    ['', '9\n'],
  ])('continues %j after a killed writer', async (before, after) => {
    await writeFile(join(folder, 'f.jsonl'), before);
    expect((await writeAll({ append: true }, pageOf(9))).toString()).toBe(after);
  });

  it('repairs a long torn line and an indented torn value', async () => {
    await writeFile(join(folder, 'f.jsonl'), `1\n"${'x'.repeat(50_000)}`);
    expect((await writeAll({ append: true }, pageOf(9))).toString()).toBe('1\n9\n');
    await writeFile(join(folder, 'f.jsonl'), '{\n  "a": 1\n}\n{\n  "b": [\n    1,\n');
    expect((await writeAll({ append: true, pretty: true }, pageOf(9))).toString()).toBe(
      '{\n  "a": 1\n}\n9\n',
    );
  });

  it('says so in the log when it cuts something off', async () => {
    await writeFile(join(folder, 'f.jsonl'), '1\n"x');
    const context = testContext(folder);
    const sink = await openSink({ append: true }, context);
    await sink.write(pageOf(9), { partial: false });
    await sink.close();
    expect(context.lines.map((line) => line.line).join()).toMatch(/cut off in the middle.*bytes=2/);
  });

  it('always continues as a dead-letter sink', async () => {
    await writeFile(join(folder, 'f.jsonl'), '1\n');
    const sink = await openSink({}, testContext(folder, { role: 'dlq' }));
    await sink.write(pageOf(2), { partial: false });
    await sink.close();
    expect(await readFile(join(folder, 'f.jsonl'), 'utf8')).toBe('1\n2\n');
  });

  it.each(['f.jsonl.gz', 'f.jsonl.zst'])(
    'writes %s so that every flush leaves a readable file',
    async (path) => {
      const sink = await openSink({ path });
      await sink.write(pageOf(1), { partial: false });
      await sink.write(pageOf(2), { partial: false });
      await sink.flush();
      expect(await readAll({ path })).toEqual([1, 2]);
      await sink.write(pageOf(3), { partial: false });
      await sink.finish('failed');
      await sink.close();
      expect(await readAll({ path })).toEqual([1, 2, 3]);
    },
  );

  it('continues a compressed file whose end is cut off, leaving no scratch file', async () => {
    await writeFile(
      join(folder, 'f.jsonl.gz'),
      Buffer.concat([gzipSync('1\n2\n'), gzipSync('"a torn line"\n').subarray(0, -9)]),
    );
    const text = gunzipSync(
      await writeAll({ path: 'f.jsonl.gz', append: true }, pageOf(3)),
    ).toString();
    expect(text).toMatch(/^1\n2\n("a torn line"\n)?3\n$/);
    expect(await readdir(folder)).toEqual(['f.jsonl.gz']);
  });

  it('seals every line, and only the right key opens them', async () => {
    const sealed = (
      await writeAll({ encryption: { key: 'old' } }, pageOf({ a: 'clear' }, 2))
    ).toString();
    expect(sealed.trim().split('\n')).toHaveLength(2);
    expect(sealed).not.toContain('clear');
    expect(await readAll({ encryption: { key: 'new', previous_keys: ['old'] } })).toEqual([
      { a: 'clear' },
      2,
    ]);
    expect((await failureOf(readAll({ encryption: { key: 'new' } }))).message).toMatch(
      /line 1 of f\.jsonl cannot be decrypted/,
    );
    expect((await failureOf(readAll({}))).message).toBe('line 1 of f.jsonl is encrypted');
  });

  it('refuses to read plain lines as sealed ones', async () => {
    await writeFile(join(folder, 'f.jsonl'), '1\n');
    expect((await failureOf(readAll({ encryption: { key: 'k' } }))).message).toMatch(
      /not encrypted/,
    );
  });

  it('continues a sealed file after a killed writer', async () => {
    const whole = await writeAll({ encryption: { key: 'k' } }, pageOf('one'));
    await appendFile(join(folder, 'f.jsonl'), whole.subarray(0, 30));
    await writeAll({ append: true, encryption: { key: 'k' } }, pageOf('two'));
    expect(await readAll({ encryption: { key: 'k' } })).toEqual(['one', 'two']);
  });

  it('tells the path when the disk refuses', async () => {
    await writeFile(join(folder, 'file'), '');
    const failure = await failureOf(writeAll({ path: 'file/f.jsonl' }, pageOf(1)));
    expect(failure).toEqual({ kind: 'refused', message: expect.stringContaining('file/f.jsonl') });
    expect(await failureOf(writeAll({ path: '/dev/full' }, pageOf(1)))).toEqual({
      kind: 'refused',
      message: 'cannot write /dev/full: no space is left on the device',
    });
  });

  it('refuses encryption together with compression', () => {
    const codes = (value: JsonObject) => {
      const checked = check(jsonlSink.config, {
        path: 'f.jsonl',
        encryption: { key: 'k' },
        ...value,
      });
      return checked.ok ? [] : checked.issues.map((issue) => issue.path);
    };
    expect(codes({})).toEqual([]);
    expect(codes({ compression: 'gzip' })).toEqual(['encryption']);
    expect(codes({ path: 'f.jsonl.zst' })).toEqual(['encryption']);
    expect(codes({ encryption: { key: '' } })).toEqual(['encryption.key']);
  });

  it('probes its folder and leaves nothing behind', async () => {
    const probe = async (path: string) => {
      const checked = check(jsonlSink.config, { path });
      return checked.ok ? jsonlSink.probe?.(checked.value, testContext(folder)) : [];
    };
    expect(await probe('new/deep/f.jsonl')).toEqual([{ name: 'io', status: 'pass' }]);
    expect(await readdir(folder)).toEqual([]);
    await writeFile(join(folder, 'file'), '');
    expect(await probe('file/f.jsonl')).toMatchObject([{ name: 'io', status: 'fail' }]);
    expect(await probe('.')).toMatchObject([
      { name: 'io', status: 'fail', reason: expect.stringContaining('it is a folder') as string },
    ]);
  });
});

describe('both', () => {
  it('have examples that parse', () => {
    const definitions: readonly (SourceDefinition | SinkDefinition)[] = [jsonlSource, jsonlSink];
    for (const definition of definitions) {
      for (const example of definition.examples)
        expect(check(definition.config, example)).toMatchObject({ ok: true });
    }
  });
});

it('types that are inferred leave values as they are, in every lane', async () => {
  const text =
    '{"id":1,"at":"2024-02-29T07:08:09","x":1,"n":null,"f":[1]}\n{"id":2,"at":null,"x":"a"}\n';
  await writeFile(join(folder, 'f.jsonl'), text);
  const expected = [
    { id: 1, at: '2024-02-29T07:08:09', x: 1, n: null, f: [1] },
    { id: 2, at: null, x: 'a' },
  ];
  expect(await readAll({ infer_types: true })).toEqual(expected);
  expect(await readAll({ infer_types: true }, COLUMNS_LANE)).toEqual(expected);
  const checked = check(jsonlSource.config, { path: 'f.jsonl', infer_types: true });
  if (!checked.ok) throw new Error('cannot happen');
  const source = await jsonlSource.open(checked.value, testContext(folder));
  for await (const read of source.pages({ lane: COLUMNS_LANE }))
    expect(read.schema && schemaText(read.schema)).toBe(
      'id: int64, at: timestamp(us), x: json, f: json, …',
    );
});

it('numbers are written as they were read, in every lane', async () => {
  const lines = [
    '{"id":1,"price":1.10,"n":-0,"e":1E5,"in":{"x":[2.0,0.12345678901234567890]}}',
    '{"id":2,"price":2.5,"n":1,"e":2,"in":{}}',
    '{"id":3.0,"price":123456789.123456789,"n":0.0000001,"e":1e22,"in":[1e-7]}',
  ];
  await writeFile(join(folder, 'f.jsonl'), `${lines.join('\n')}\n`);
  const source = check(jsonlSource.config, { path: 'f.jsonl' });
  if (!source.ok) throw new Error('cannot happen');
  for (const lane of [RECORDS_LANE, COLUMNS_LANE, BYTES]) {
    const opened = await jsonlSource.open(source.value, testContext(folder));
    for await (const read of opened.pages({ lane })) {
      expect(Buffer.from(read.block(JSON_LINES)).toString()).toBe(`${lines.join('\n')}\n`);
      expect((await writeAll({ path: `${lane.form}.jsonl` }, read)).toString()).toBe(
        `${lines.join('\n')}\n`,
      );
    }
  }
});
