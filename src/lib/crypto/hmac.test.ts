import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { hmacSha256 } from './hmac.ts';

it('gives what the system gives, for keys and texts of every kind and length', () => {
  const key = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 130 }),
    fc.string({ minLength: 60, maxLength: 70 }),
  );
  fc.assert(
    fc.property(key, fc.array(fc.string({ unit: 'binary', maxLength: 150 })), (secret, texts) => {
      const digest = hmacSha256(secret);
      for (const text of texts)
        expect(digest(text)).toBe(createHmac('sha256', secret).update(text).digest('hex'));
    }),
    { numRuns: 300 },
  );
});
