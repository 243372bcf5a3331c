import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RECORDS_LANE, type Page } from '../../../kit/page.ts';
import { check } from '../../../kit/schema.ts';
import type { ReadRequest } from '../../../kit/source.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { testContext } from '../../../../test/fakes/env.ts';
import { failureOf } from '../../../../test/fakes/failure.ts';
import { fileSource } from './source.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-file-'));
  await writeFile(join(folder, 'a.csv'), 'id,n\n1,1\n2\n3,x\n');
  await writeFile(join(folder, 'b.csv'), 'id,n\n"4\n');
  await writeFile(join(folder, 'c.csv'), 'id,n\n5,5\n');
  await writeFile(join(folder, 'd.jsonl'), '{"id":"6"}\nno\n');
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function pagesOf(value: JsonObject, request: Partial<ReadRequest> = {}): Promise<Page[]> {
  const checked = check(fileSource.config, { path: '.', on_error: 'dlq', ...value });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await fileSource.open(checked.value, testContext(folder));
  const pages: Page[] = [];
  for await (const page of source.pages({ lane: RECORDS_LANE, rejects: true, ...request }))
    pages.push(page);
  await source.close();
  return pages;
}

const shown = (pages: readonly Page[]) =>
  pages.map((page) => [
    page.bookmark,
    page.records(),
    page.rejected.map(({ payload, input, at: { line } }) => [
      payload,
      input.slice(folder.length + 1),
      line,
    ]),
  ]);

describe('a file source with on_error: dlq', () => {
  it.each<JsonObject>([{}, { infer_types: false, columns: { n: 'int64' } }])(
    'gives what it cannot read with the page of its file, before the bookmark: %j',
    async (types) => {
      const isTyped = 'columns' in types;
      const pages = await pagesOf({ incremental: { by: 'name' }, ...types });
      expect(shown(pages)).toEqual([
        [
          { name: 'a.csv' },
          isTyped
            ? [{ id: '1', n: 1 }]
            : [
                { id: '1', n: '1' },
                { id: '3', n: 'x' },
              ],
          isTyped
            ? [
                ['2', 'a.csv', 3],
                [{ id: '3', n: 'x' }, 'a.csv', 4],
              ]
            : [['2', 'a.csv', 3]],
        ],
        [{ name: 'b.csv' }, [], [['"4', 'b.csv', 2]]],
        [{ name: 'c.csv' }, [{ id: '5', n: isTyped ? 5 : '5' }], []],
        [{ name: 'd.jsonl' }, [{ id: '6' }], [['no', 'd.jsonl', 2]]],
      ]);
    },
  );

  it('counts records where no line is known, over pages and what was rejected there', async () => {
    const values = [{ n: 1 }, { n: 'x' }, { n: 2 }, { n: 'y' }, { n: 3 }];
    await writeFile(join(folder, 'e.json'), JSON.stringify(values));
    const pages = await pagesOf({ path: 'e.json', columns: { n: 'int64' }, batch_size: 2 });
    expect(pages.flatMap((page) => page.records())).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(
      pages.flatMap(({ rejected }) => rejected.map(({ message, at }) => [message, at])),
    ).toEqual([
      [expect.stringMatching(/^`n` in record 2 of .*e.json is no int64$/), {}],
      [expect.stringMatching(/^`n` in record 4 of /), {}],
    ]);
  });

  it('gives none of them again behind the bookmark of their file', async () => {
    const pages = await pagesOf({ incremental: { by: 'name' } }, { bookmark: { name: 'b.csv' } });
    expect(pages.flatMap(({ rejected }) => rejected.map(({ payload }) => payload))).toEqual(['no']);
  });

  it('fails as before for a caller that takes none, and without the key', async () => {
    const message = expect.stringContaining('a.csv has 1 cell, the first row has 2');
    expect(await failureOf(pagesOf({}, { rejects: false }))).toMatchObject({ message });
    expect(await failureOf(pagesOf({ on_error: 'error' }))).toMatchObject({ message });
  });
});
