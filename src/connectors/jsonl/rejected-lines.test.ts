import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { array, assert, asyncProperty, constantFrom, integer, json, oneof } from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { encryptLine } from '../_files/json/json-lines-file.ts';
import { jsonlSource } from './index.ts';

const textOf = (payload: JsonValue): string =>
  typeof payload === 'string' ? payload : stringifyJson(payload);

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-jsonl-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function pagesOf(
  text: string | Buffer,
  value: JsonObject = {},
  rejects = true,
  limit?: number,
): Promise<Page[]> {
  await writeFile(join(folder, 'in.jsonl'), text);
  const checked = check(jsonlSource.config, { path: 'in.jsonl', on_error: 'dlq', ...value });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await jsonlSource.open(checked.value, testContext(folder));
  const pages: Page[] = [];
  for await (const page of source.pages({
    lane: RECORDS_LANE,
    rejects,
    ...(limit === undefined ? {} : { limit }),
  }))
    pages.push(page);
  await source.close();
  return pages;
}

describe('a jsonl source with on_error: dlq', () => {
  it.each([
    ['gzip', gzipSync('{"id":1}\n{"id":2}\n'), 'compressed with gzip'],
    ['UTF-16', Buffer.from('{"id":1}\n{"id":2}\n', 'utf16le'), 'UTF-16 text'],
  ])(
    'does not put a file aside line by line that is no text: %s',
    async (_name, bytes, message) => {
      for (const rejects of [true, false])
        await expect(pagesOf(bytes, {}, rejects)).rejects.toThrow(`in.jsonl is ${message}`);
    },
  );

  it('goes on behind lines that are no JSON, no text, or hold a number beyond the range', async () => {
    const text = Buffer.concat([
      Buffer.from('{"id":1}\nnot json\n\n{"n":1e999}\n"'),
      Buffer.from([0xff]),
      Buffer.from('"\n{"id":2}\n{"id":3'),
    ]);
    const [page, ...more] = await pagesOf(text);
    expect(more).toEqual([]);
    expect(page?.records()).toEqual([{ id: 1 }, { id: 2 }]);
    expect(page?.rejected).toEqual([
      {
        message: 'line 2 of in.jsonl is not JSON',
        payload: 'not json',
        input: 'in.jsonl',
        at: { line: 2, byte: 9 },
        index: 1,
      },
      {
        message: 'line 4 of in.jsonl has a number beyond the range of numbers',
        payload: '{"n":1e999}',
        input: 'in.jsonl',
        at: { line: 4, byte: 19 },
        index: 2,
      },
      {
        message: 'line 5 of in.jsonl is not UTF-8 text',
        payload: '"\ufffd"',
        base64: 'Iv8i',
        input: 'in.jsonl',
        at: { line: 5, byte: 31 },
        index: 3,
      },
      {
        message: expect.stringMatching(/^line 7 of in.jsonl is not JSON/),
        payload: '{"id":3',
        input: 'in.jsonl',
        at: { line: 7, byte: 44 },
        index: 5,
      },
    ]);
  });

  it('fails as before for a caller that takes no rejected records', async () => {
    expect(await failureOf(pagesOf('{}\nno\n', {}, false))).toMatchObject({
      kind: 'data',
      message: expect.stringMatching(/^line 2 of in.jsonl is not JSON/),
    });
  });

  it('does not count rejected lines to a limit', async () => {
    const [page] = await pagesOf('no\n1\nno\n2\n3\n', {}, true, 2);
    expect(page?.records()).toEqual([1, 2]);
    expect(page?.rejected).toHaveLength(2);
  });

  it('fails where the key is missing or wrong: no line could be read', async () => {
    const line = encryptLine('k1', '{"id":1}');
    expect(await failureOf(pagesOf(`${line}\n`))).toMatchObject({
      message: 'line 1 of in.jsonl is encrypted',
    });
    expect(await failureOf(pagesOf(`${line}\n`, { encryption: { key: 'k2' } }))).toMatchObject({
      message: expect.stringMatching(/cannot be decrypted/),
    });
  });

  it('rejects a record with a value that does not fit its type, as it was read', async () => {
    const [page] = await pagesOf('{"n":"x","s":1}\n{"n":2,"s":"a"}\n', { columns: { n: 'int64' } });
    expect(page?.records()).toEqual([{ n: 2, s: 'a' }]);
    expect(page?.rejected).toMatchObject([
      {
        message: '`n` in line 1 of in.jsonl is no int64',
        payload: { n: 'x', s: 1 },
        at: { line: 1, byte: 0 },
      },
    ]);
  });

  it('accounts for every line, at its place, wherever pages and blocks end', async () => {
    const line = oneof(
      { weight: 3, arbitrary: json().map((text) => text.replaceAll('\n', '')) },
      constantFrom('{', 'nope', '', ' ', '"\ud800', '{"a":1}}'),
    );
    await assert(
      asyncProperty(
        array(line, { maxLength: 30 }),
        integer({ min: 1, max: 5 }),
        async (lines, size) => {
          const text = Buffer.from(`\ufeff${lines.map((one) => `${one}\n`).join('')}`);
          const pages = await pagesOf(text, { batch_size: size });
          for (const { payload, at } of pages.flatMap(({ rejected }) => rejected)) {
            const start = at.byte ?? -1;
            const written = Buffer.from(textOf(payload));
            expect(text.subarray(start, start + written.length)).toEqual(written);
            expect(text.toString('latin1', 0, start).split('\n')).toHaveLength(at.line ?? -1);
          }
          const found = pages.map((page) => page.count + page.rejected.length);
          expect(found.every((count) => count > 0 && count <= size)).toBe(true);
          const filled = lines.filter((one) => one.trim() !== '').length;
          expect(found.reduce((sum, count) => sum + count, 0)).toBe(filled);
        },
      ),
      { numRuns: 200 },
    );
  });
});
