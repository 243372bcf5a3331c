import * as fc from 'fast-check';
import { zstdCompressSync, constants } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decompress } from './compression.ts';
import { alongFrames } from './zstd-frames.ts';

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function collect(blocks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const block of blocks) parts.push(block);
  return Buffer.concat(parts);
}

const skippable = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
const frame = fc
  .tuple(
    fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.constant(new Uint8Array(200_000)),
      fc.constant(new Uint8Array()),
    ),
    fc.boolean(),
  )
  .map(([plain, checksum]) => ({
    plain,
    packed: zstdCompressSync(plain, {
      params: { [constants.ZSTD_c_checksumFlag]: checksum ? 1 : 0 },
    }),
  }));

describe('zstd frames', () => {
  it('unpack one after the other, at every block size, with skippable frames between', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(frame, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 50 }),
        fc.boolean(),
        async (frames, size, between) => {
          const packed = Buffer.concat(
            frames.flatMap((one) => (between ? [skippable, one.packed] : [one.packed])),
          );
          const plain = await collect(decompress(cut(packed, size), 'zstd', 'f'));
          expect(plain.equals(Buffer.concat(frames.map((one) => one.plain)))).toBe(true);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('are never taken for whole when they are cut off', async () => {
    const packed = Buffer.concat([zstdCompressSync('one'), zstdCompressSync('two')]);
    const whole = zstdCompressSync('one').length;
    for (let length = 1; length < packed.length; length += 1) {
      if (length === whole) continue;
      await expect(collect(alongFrames(cut(packed.subarray(0, length), 7)))).rejects.toThrow(
        'cut off',
      );
    }
  });
});
