import { createHash, createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { MOST_TEXT_BYTES, ROOM_BEHIND, shortDigests } from './short-digests.ts';

const texts = fc.array(fc.uint8Array({ maxLength: MOST_TEXT_BYTES }), { maxLength: 11 });

/** The texts lie one behind the other, their digests behind them. */
function digestsOf(key: string | undefined, parts: readonly Uint8Array[], digits = 64): string[] {
  const bytes = Buffer.concat([...parts, Buffer.alloc(parts.length * digits + ROOM_BEHIND)]);
  const digester = shortDigests(key, digits);
  if (digester === undefined) throw new Error('this machine has no vectors');
  digester.begin(bytes);
  const first = parts.reduce((sum, { length }) => sum + length, 0);
  let start = 0;
  for (const [index, { length }] of parts.entries()) {
    digester.add(start, start + length, first + index * digits);
    start += length;
  }
  digester.flush();
  return parts.map((_, index) =>
    bytes.toString('latin1', first + index * digits, first + (index + 1) * digits),
  );
}

it('gives the SHA-256 that the system gives, for every length of a text and any number of texts', () => {
  const lengths = Array.from({ length: MOST_TEXT_BYTES + 1 }, (_, length) =>
    new Uint8Array(length).fill(0xff),
  );
  fc.assert(
    fc.property(texts, (parts) => {
      expect(digestsOf(undefined, parts)).toEqual(
        parts.map((part) => createHash('sha256').update(part).digest('hex')),
      );
    }),
    { examples: [[lengths]] },
  );
});

it('gives the HMAC-SHA256 that the system gives, for keys of every kind and length', () => {
  const key = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 130 }),
    fc.string({ minLength: 60, maxLength: 70 }),
  );
  fc.assert(
    fc.property(key, texts, (secret, parts) => {
      expect(digestsOf(secret, parts)).toEqual(
        parts.map((part) => createHmac('sha256', secret).update(part).digest('hex')),
      );
    }),
  );
});

it('writes no more digits than are wanted', () => {
  const parts = [Buffer.from('a'), Buffer.from('b')];
  const whole = digestsOf('key', parts);
  expect(digestsOf('key', parts, 16)).toEqual(whole.map((digest) => digest.slice(0, 16)));
});
