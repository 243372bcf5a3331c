import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JSON_LINES } from '../../../kit/json-lines.ts';
import { RECORDS_LANE, type Page } from '../../../kit/page.ts';
import { messageOf } from '../../../lib/errors.ts';
import { jsonLines } from './json-lines-file.ts';
import { jsonLinePages } from './json-line-pages.ts';
import { cutPages } from '../lines/cut-pages.ts';

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function textsOf(pages: AsyncIterable<Page>): Promise<{ pages: string[]; error?: string }> {
  const texts: string[] = [];
  try {
    for await (const page of pages) {
      texts.push(`${page.count} ${Buffer.from(page.block(JSON_LINES)).toString()}`);
      page.release();
    }
    return { pages: texts };
  } catch (error) {
    return { pages: texts, error: messageOf(error) };
  }
}

const line = fc.oneof(
  fc.json({ maxDepth: 2 }),
  fc.constantFrom(
    '',
    ' ',
    '\r',
    '{"a" : 1.0}',
    '{"a":1,"b":"x"}',
    '{"a":2,"b":"y"}',
    '{"a":1,"a":2}',
    '"é€😀"',
    '{"a":',
    '\uFEFF1',
  ),
);
const options = { name: 'f', signal: new AbortController().signal };

describe('pages of JSON Lines in the bytes lane', () => {
  it('are those of the records lane, with its errors, at every block size', async () => {
    const text = fc
      .tuple(fc.array(line, { maxLength: 12 }), fc.boolean())
      .map(([lines, closed]) => lines.join('\n') + (closed ? '\n' : ''));
    const limits = fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 9 }), limits, async (input, size, limit) => {
        const bytes = Buffer.from(input);
        const bounds = { records: 3, bytes: 60 };
        const records = cutPages(jsonLines(cut(bytes, 1000), options), {
          ...options,
          bounds,
          limit,
          lane: RECORDS_LANE,
        });
        const { pages, error } = await textsOf(
          jsonLinePages(cut(bytes, size), { ...options, bounds, limit }),
        );
        const wanted = await textsOf(records);
        expect(error).toBe(wanted.error);
        expect(pages).toEqual(wanted.pages);
      }),
      { numRuns: 2000 },
    );
  });

  it('name the line that is not UTF-8', async () => {
    const { error } = await textsOf(
      jsonLinePages(cut(Buffer.from([0x31, 10, 0x22, 0xe9, 0x22, 10]), 2), {
        ...options,
        bounds: { records: 1, bytes: 100 },
      }),
    );
    expect(error).toBe('line 2 of f is not UTF-8 text');
  });
});

it('a line without an end is named by its number, in every form of pages', async () => {
  const endless = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('1\n2\n3');
    const block = Buffer.alloc(8 * 1024 * 1024, '3');
    for (let blocks = 0; blocks < 17; blocks += 1) yield block;
  };
  const bounds = { records: 10, bytes: 1000 };
  const failure = { message: 'line 3 of f does not end within 128 MiB' };
  await expect(async () => {
    for await (const batch of jsonLines(endless(), options)) expect([...batch]).toHaveLength(2);
  }).rejects.toMatchObject(failure);
  await expect(async () => {
    for await (const page of jsonLinePages(endless(), { ...options, bounds })) page.release();
  }).rejects.toMatchObject(failure);
});
