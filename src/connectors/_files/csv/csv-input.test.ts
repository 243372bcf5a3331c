import { describe, expect, it, vi } from 'vitest';
import { openText } from './csv-input.ts';

const log = { warn: vi.fn() } as unknown as Parameters<typeof openText>[1]['log'];

async function open(text: string, size: number, options: { skipped: number; delimiter: 'auto' }) {
  async function* blocks() {
    for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
  }
  const input = { encoding: 'utf-8', quote: 34, name: 'f.csv', log, ...options };
  const opened = await openText(blocks(), input);
  let rest = '';
  for await (const block of opened.blocks) rest += Buffer.from(block).toString();
  return { rest, delimiter: String.fromCharCode(opened.delimiter) };
}

describe.each(['\n', '\r', '\r\n'])('text whose lines end with %j', (end) => {
  const text = `Title, of ${end}${end}a;b${end}1,5;2${end}`;
  it.each([1, 2, 3, 7, 1000])(
    'begins behind the lines that are left out, in blocks of %i',
    async (size) => {
      const { rest } = await open(text, size, { skipped: 2, delimiter: 'auto' });
      expect(rest).toBe(`\n\na;b${end}1,5;2${end}`);
    },
  );

  it.each([
    ['sep=;', ';'],
    ['SEP=#', '#'],
    ['sep=\t', '\t'],
    ['\uFEFFsep=|', '|'],
  ])('has the delimiter that a line above its header tells: %j', async (line, delimiter) => {
    const rows = `a,b${delimiter}c${end}1${delimiter}2${end}`;
    const opened = await open(`${line}${end}${rows}`, 1000, { skipped: 0, delimiter: 'auto' });
    expect(opened).toEqual({ rest: `\n${rows}`, delimiter });
  });

  it('has the delimiter of its first row', async () => {
    const rows = `a;b${end}1,5,7;2${end}`;
    expect((await open(rows, 1000, { skipped: 0, delimiter: 'auto' })).delimiter).toBe(';');
  });
});
