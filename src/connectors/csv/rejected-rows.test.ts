import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { array, assert, asyncProperty, constantFrom, integer, oneof } from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { RejectedRecord } from '../../kit/rejected-record.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { csvSource } from './index.ts';

const textOf = (payload: JsonValue): string =>
  typeof payload === 'string' ? payload : stringifyJson(payload);

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-csv-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function pagesOf(
  value: JsonObject,
  request: { rejects?: boolean; limit?: number } = { rejects: true },
  pageBytes = 1024 * 1024,
): Promise<Page[]> {
  const checked = check(csvSource.config, { path: 'in.csv', on_error: 'dlq', ...value });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await csvSource.open(checked.value, { ...testContext(folder), pageBytes });
  const pages: Page[] = [];
  for await (const page of source.pages({ lane: RECORDS_LANE, ...request })) pages.push(page);
  await source.close();
  return pages;
}

interface Read {
  readonly records: readonly JsonValue[];
  readonly rejected: readonly RejectedRecord[];
}

async function read(text: string | Buffer, value: JsonObject = {}, limit?: number): Promise<Read> {
  await writeFile(join(folder, 'in.csv'), text);
  const request = limit === undefined ? { rejects: true } : { rejects: true, limit };
  const pages = await pagesOf(value, request);
  return {
    records: pages.flatMap((page) => page.records()),
    rejected: pages.flatMap((page) => page.rejected),
  };
}

const ROWS = 'id,name\n1,a\n2,b,c\n3,d\n4,"open\n5,e\n';

describe('a csv source with on_error: dlq', () => {
  it('goes on behind a row of another width, and behind the line of a quote that is not closed', async () => {
    const { records, rejected } = await read(ROWS);
    expect(records).toEqual([
      { id: '1', name: 'a' },
      { id: '3', name: 'd' },
      { id: '5', name: 'e' },
    ]);
    expect(rejected).toEqual([
      {
        message: 'line 3 of in.csv has 3 cells, the first row has 2',
        payload: '2,b,c',
        input: 'in.csv',
        at: { line: 3, byte: 12 },
        index: 1,
      },
      {
        message: 'line 5 of in.csv: the row that starts here does not end',
        payload: '4,"open',
        input: 'in.csv',
        at: { line: 5, byte: 22 },
        index: 3,
      },
    ]);
  });

  it('fails as before for a caller that takes no rejected records', async () => {
    await writeFile(join(folder, 'in.csv'), ROWS);
    expect(await failureOf(pagesOf({}, {}))).toMatchObject({
      kind: 'data',
      message: expect.stringContaining('line 3 of in.csv has 3 cells'),
    });
  });

  it('fails where nothing can be read behind: a header that does not end, a file cut off', async () => {
    await writeFile(join(folder, 'in.csv'), 'id,"name\n1,a\n');
    expect(await failureOf(pagesOf({}))).toMatchObject({
      message: expect.stringContaining('line 1 of in.csv: the row that starts here does not end'),
    });
    await writeFile(join(folder, 'in.csv.gz'), gzipSync(ROWS).subarray(0, -4));
    expect(await failureOf(pagesOf({ path: 'in.csv.gz' }))).toMatchObject({
      message: expect.stringContaining('cut off'),
    });
  });

  it('keeps the bytes of a row that is no text', async () => {
    const bad = Buffer.from([0x32, 0x2c, 0xff]);
    const { records, rejected } = await read(
      Buffer.concat([Buffer.from('id,name\n'), bad, Buffer.from('\n3,d\n')]),
    );
    expect(records).toEqual([{ id: '3', name: 'd' }]);
    expect(rejected).toMatchObject([
      { payload: '2,\ufffd', base64: bad.toString('base64'), at: { line: 2, byte: 8 } },
    ]);
  });

  it('rejects a record with a value that does not fit its type, as it was read', async () => {
    const { records, rejected } = await read('id,n\n1,5\n2\n3,many\n4,6\n', {
      columns: { n: 'int64' },
    });
    expect(records).toEqual([
      { id: '1', n: 5 },
      { id: '4', n: 6 },
    ]);
    expect(rejected).toMatchObject([
      { payload: '2', at: { line: 3 }, index: 1 },
      {
        message: '`n` in line 4 of in.csv is no int64',
        payload: { id: '3', n: 'many' },
        at: { line: 4, byte: 11 },
        index: 2,
      },
    ]);
  });

  it('rejects a value that does not fit the type that those before it show', async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => `${index}\n`).join('');
    const { records, rejected } = await read(`n\n${many}x\n7\n`, { infer_types: true });
    expect(records).toHaveLength(10_001);
    expect(rejected).toMatchObject([{ payload: { n: 'x' }, at: { line: 10_002 }, index: 0 }]);
  });

  it('says no byte where the file has other bytes: another encoding, lines left out', async () => {
    const latin = await read(Buffer.from('id\n1\n2,\xe9\n', 'latin1'), { encoding: 'latin1' });
    expect(latin.rejected).toMatchObject([{ payload: '2,é', at: { line: 3 } }]);
    expect(latin.rejected[0]?.at).not.toHaveProperty('byte');
    const skipped = await read('made by hand\nid\n2,x\n', { skip_rows: 1 });
    expect(skipped.rejected[0]?.at).toEqual({ line: 3 });
  });

  it('counts bytes from the start of the file, also behind a byte order mark', async () => {
    const { rejected } = await read('\ufeffid\n1\n2,x\n');
    expect(rejected[0]?.at).toEqual({ line: 3, byte: 8 });
  });

  it('does not count rejected rows to a limit', async () => {
    const { records, rejected } = await read('id\n1,x\n2\n3,x\n4\n5\n', {}, 2);
    expect(records).toEqual([{ id: '2' }, { id: '4' }]);
    expect(rejected.map(({ payload }) => payload)).toEqual(['1,x', '3,x']);
  });

  it('ends pages where rejected rows fill them', async () => {
    await writeFile(join(folder, 'in.csv'), `id\n${'x,y\n'.repeat(10)}1\n`);
    const small = await pagesOf({ batch_size: 4 });
    expect(small.map((page) => [page.count, page.rejected.length])).toEqual([
      [0, 4],
      [0, 4],
      [1, 2],
    ]);
    expect(small[2]?.rejected.map(({ index }) => index)).toEqual([0, 1]);
    const short = await pagesOf({ batch_size: 0 }, { rejects: true }, 8);
    expect(short.map((page) => [page.count, page.rejected.length])).toEqual([[1, 10]]);
    const bytes = await pagesOf({}, { rejects: true }, 8);
    expect(bytes.length).toBeGreaterThan(3);
    expect(bytes.every((page) => page.count + page.rejected.length > 0)).toBe(true);
  });

  it('accounts for every line, each at its place', async () => {
    const row = oneof(
      { weight: 4, arbitrary: constantFrom('1,a', '"2",b', '3,"c""d"', '4,"e,f"') },
      constantFrom('5', '6,7,8', '"9', 'x,"y', ',,'),
    );
    await assert(
      asyncProperty(
        array(row, { maxLength: 30 }),
        integer({ min: 1, max: 5 }),
        async (rows, size) => {
          const text = ['id,name', ...rows].map((line) => `${line}\n`).join('');
          await writeFile(join(folder, 'in.csv'), text);
          const pages = await pagesOf({ batch_size: size });
          const found = pages.flatMap(({ rejected }) => rejected);
          for (const { payload, at } of found) {
            const start = at.byte ?? -1;
            expect(text.slice(start, start + textOf(payload).length)).toBe(payload);
            expect(text.slice(0, start).split('\n')).toHaveLength(at.line ?? -1);
          }
          // A quoted cell may reach over line ends: the lines of a record are those it takes.
          const taken = pages
            .flatMap((page) => page.records())
            .reduce<number>((sum, record) => sum + JSON.stringify(record).split('\\n').length, 0);
          const lines = found.reduce(
            (sum, { payload }) => sum + textOf(payload).split('\n').length,
            0,
          );
          expect(taken + lines).toBe(rows.length);
        },
      ),
      { numRuns: 200 },
    );
  });
});
