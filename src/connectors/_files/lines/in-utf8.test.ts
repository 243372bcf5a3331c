import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { inUtf8 } from './in-utf8.ts';

async function converted(blocks: readonly Uint8Array[], encoding: string): Promise<Buffer> {
  async function* given() {
    // A reader may use one buffer for all blocks.
    for (const block of blocks) {
      const borrowed = Uint8Array.from(block);
      yield borrowed;
      borrowed.fill(0);
    }
  }
  const parts: Uint8Array[] = [];
  for await (const part of inUtf8(given(), encoding)) parts.push(Uint8Array.from(part));
  return Buffer.concat(parts);
}

function cut(bytes: Buffer, size: number): Buffer[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

const little = (text: string): Buffer => Buffer.from(text, 'utf16le');
const big = (text: string): Buffer => little(text).swap16();

it('any text is the same in UTF-16, whatever the blocks, and where text is not whole is marked', async () => {
  const letter = fc.constantFrom('a', '\n', 'é', '\ufffd', '😀', '\ud83d', '\ude00');
  const text = fc.array(letter, { maxLength: 20 }).map((letters) => letters.join(''));
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 7 }), async (written, size) => {
      const marked = written.replaceAll(
        /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
        '\u0000',
      );
      const expected = Buffer.from(marked).toString('latin1').replaceAll('\u0000', '\xff');
      for (const [bytes, encoding] of [
        [little(written), 'utf-16le'],
        [big(written), 'utf-16be'],
      ] as const)
        expect((await converted(cut(bytes, size), encoding)).toString('latin1')).toBe(expected);
    }),
  );
});

it('a byte order mark is no text, and half a letter at the end is marked', async () => {
  const bytes = Buffer.concat([little('\ufeffa'), Buffer.from([0x62])]);
  for (const size of [1, 2, 3, 9])
    expect(await converted(cut(bytes, size), 'utf-16le')).toEqual(Buffer.from([0x61, 0xff]));
});

it('other encodings mark what they do not have', async () => {
  expect(await converted([Buffer.from([0x4d, 0xfc, 0x0a, 0x41])], 'shift_jis')).toEqual(
    Buffer.from([0x4d, 0xff, 0x0a, 0x41]),
  );
  expect((await converted([Buffer.from([0xfc])], 'windows-1252')).toString()).toBe('ü');
});
