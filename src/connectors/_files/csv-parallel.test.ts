import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JSON_LINES } from '../../kit/json-lines.ts';
import type { Page } from '../../kit/page.ts';
import { messageOf } from '../../lib/errors.ts';
import { cutRows } from './csv-cut.ts';
import type { CsvPageOptions } from './csv-page-maker.ts';
import { csvPages } from './csv-pages.ts';
import { csvPagesInThreads, type ParallelOptions } from './csv-parallel.ts';
import { CsvHere, CsvThread } from './csv-team.ts';
import { SpareBuffers } from './spare-buffers.ts';

const OPTIONS: CsvPageOptions = {
  shape: { dialect: { delimiter: 44, quote: 34 }, hasHeaders: true, flexible: false, nullValues: ['NULL'] },
  lane: { form: 'bytes', encoding: 'jsonl' },
  bounds: { records: 3, bytes: 1_000_000 },
  name: 'in.csv',
  signal: new AbortController().signal,
};

async function* blocksOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

interface Reading {
  readonly lines: string;
  readonly records: number;
  readonly error: string | undefined;
}

async function drain(pages: AsyncIterable<Page>): Promise<Reading> {
  const reading = { lines: '', records: 0 };
  try {
    for await (const page of pages) {
      expect(page.count).toBeLessThanOrEqual(3);
      reading.lines += Buffer.from(page.block(JSON_LINES)).toString();
      reading.records += page.count;
      page.release();
    }
    return { ...reading, error: undefined };
  } catch (error) {
    return { ...reading, error: messageOf(error) };
  }
}

const alone = (text: string | Uint8Array): Promise<Reading> => drain(csvPages(blocksOf(Buffer.from(text), 64), OPTIONS));
const together = (text: string | Uint8Array, options: Partial<ParallelOptions> = {}): Promise<Reading> =>
  drain(
    csvPagesInThreads(blocksOf(Buffer.from(text), 16), {
      ...OPTIONS,
      threads: 2,
      partBytes: 64,
      start: (shape) => new CsvHere(shape),
      ...options,
    }),
  );

const ROWS = Array.from({ length: 200 }, (_, index) => `${index},"text, ${index}",ü${index}\n`).join('');

describe('a file read by several threads', () => {
  it.each([
    ['plain rows', `a,b,c\n${ROWS}`],
    ['quoted line ends everywhere', `a,b\n${'1,"x\ny\n\nz"\n'.repeat(100)}`],
    ['a quote that means nothing', `a,b\n${'1,2\n'.repeat(50)}5",6\n${'1,"a\nb"\n'.repeat(50)}`],
    ['quoted line ends that come late', `a,b\n${'1,2\n'.repeat(200)}${'1,"x\ny\n\nz"\n'.repeat(100)}`],
    ['CRLF and blank lines', `a,b\r\n${'1,2\r\n\r\n'.repeat(80)}`],
    ['CR alone', `a,b\r${'1,2\r'.repeat(80)}`],
    ['no line end at the end', `a,b\n${'1,2\n'.repeat(40)}3,4`],
    ['nulls and escapes', `a,b\n${'NULL,"say ""x"""\n\t,\\\n'.repeat(40)}`],
    ['a byte order mark', `\ufeffa,b\n${'1,2\n'.repeat(40)}`],
    ['one long cell', `a,b\n1,${'x'.repeat(5000)}\n2,"${'y\n'.repeat(3000)}"\n${'3,4\n'.repeat(50)}`],
    ['a header and nothing else', 'a,b\n'],
    ['nothing', ''],
    ['blank lines before the header', '\n\n\na,b\n1,2\n'],
  ])('gives the same records in the same order: %s', async (_, text) => {
    const expected = await alone(text);
    expect(expected.error).toBeUndefined();
    expect(await together(text)).toEqual(expected);
  });

  it.each([
    ['a row of another length', `a,b\n${'1,2\n'.repeat(60)}1,2,3\n${'1,2\n'.repeat(60)}`],
    ['a quote that is never closed', `a,b\n${'1,2\n'.repeat(60)}1,"2\n${'1,2\n'.repeat(60)}`],
    ['bytes that are no UTF-8', Buffer.concat([Buffer.from(`a,b\n${'1,2\n'.repeat(60)}`), Buffer.of(0xff), Buffer.from(',2\n')])],
    ['a header twice', `a,a\n${'1,2\n'.repeat(60)}`],
  ])('fails at the same line with the same words: %s', async (_, text) => {
    const expected = await alone(text);
    expect(expected.error).toMatch(/line \d+/);
    expect((await together(text)).error).toBe(expected.error);
  });

  it('is converted by real threads, that end with the reading', async () => {
    const text = `a,b,c\n${ROWS}`;
    expect(await together(text, { start: (shape) => new CsvThread(shape) })).toEqual(await alone(text));
  });

  it('reads whatever there is as one thread does', async () => {
    const piece = fc.constantFrom(',', '"', '\n', '\r\n', 'a', 'bc', '""', '1,2\n', '"x\ny",z\n', 'NULL', ' ', 'ü');
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 120 }), async (pieces) => {
        const text = `h1,h2\n1,2\n${pieces.join('')}`;
        const expected = await alone(text);
        const given = await together(text, { partBytes: 24 });
        expect(given.error).toBe(expected.error);
        if (expected.error === undefined) expect(given).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('is cut without losing a byte, wherever the cuts fall', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 9 }), async (text, size, block) => {
        const bytes = Buffer.from(text);
        const found: Uint8Array[] = [];
        for await (const part of cutRows(blocksOf(bytes, block), { size, quote: 34, spare: new SpareBuffers() })) found.push(part);
        const ended = bytes.length === 0 || bytes.at(-1) === 10 ? bytes : Buffer.concat([bytes, Buffer.of(10)]);
        expect(Buffer.concat(found).equals(ended)).toBe(true);
      }),
    );
  });
});
