import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isSealed, open, seal, SealError } from './seal.ts';

const hello = new TextEncoder().encode('hello');

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof SealError) return error.code;
    throw error;
  }
  return 'opened';
}

describe('seal', () => {
  test('what was sealed opens again with the same key, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.uint8Array(), (key, bytes) => {
        expect(Buffer.from(open([key], seal(key, bytes)))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test('the layout is magic, format, nonce, ciphertext and tag', () => {
    const sealed = seal('k', hello);
    expect(Buffer.from(sealed.subarray(0, 5)).toString('latin1')).toBe('HGS1\u0001');
    expect(sealed.length).toBe(4 + 1 + 12 + hello.length + 16);
    expect(isSealed(sealed)).toBe(true);
    expect(isSealed(hello)).toBe(false);
  });

  test('the same bytes never look the same twice', () => {
    expect(Buffer.from(seal('k', hello)).equals(Buffer.from(seal('k', hello)))).toBe(false);
  });

  test('a previous key opens what it sealed', () => {
    expect(Buffer.from(open(['new', 'old'], seal('old', hello))).toString()).toBe('hello');
  });

  test('a wrong key, a changed byte, a cut and an unknown format are told apart', () => {
    const sealed = Buffer.from(seal('k', hello));
    expect(codeOf(() => open(['other'], sealed))).toBe('seal_wrong_key');
    const changed = Buffer.from(sealed);
    changed[20] = (changed[20] ?? 0) ^ 1;
    expect(codeOf(() => open(['k'], changed))).toBe('seal_wrong_key');
    expect(codeOf(() => open(['k'], sealed.subarray(0, 20)))).toBe('seal_truncated');
    const newer = Buffer.from(sealed);
    newer[4] = 9;
    expect(codeOf(() => open(['k'], newer))).toBe('seal_format');
    expect(codeOf(() => open(['k'], hello))).toBe('seal_missing');
  });
});
