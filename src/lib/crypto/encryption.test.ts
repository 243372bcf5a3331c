import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isEncrypted, decrypt, encrypt, DecryptionError } from './encryption.ts';

const hello = new TextEncoder().encode('hello');

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof DecryptionError) return error.code;
    throw error;
  }
  return 'opened';
}

describe('encrypt', () => {
  test('encrypted bytes can be decrypted with the same key, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.uint8Array(), (key, bytes) => {
        expect(Buffer.from(decrypt([key], encrypt(key, bytes)))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test('the layout is magic, format, nonce, ciphertext and tag', () => {
    const encrypted = encrypt('k', hello);
    expect(Buffer.from(encrypted.subarray(0, 5)).toString('latin1')).toBe('HGS1\u0001');
    expect(encrypted.length).toBe(4 + 1 + 12 + hello.length + 16);
    expect(isEncrypted(encrypted)).toBe(true);
    expect(isEncrypted(hello)).toBe(false);
  });

  test('the same bytes never look the same twice', () => {
    expect(Buffer.from(encrypt('k', hello)).equals(Buffer.from(encrypt('k', hello)))).toBe(false);
  });

  test('a previous key decrypts what it encrypted', () => {
    expect(Buffer.from(decrypt(['new', 'old'], encrypt('old', hello))).toString()).toBe('hello');
  });

  test('a wrong key, a changed byte, a cut and an unknown format are told apart', () => {
    const encrypted = Buffer.from(encrypt('k', hello));
    expect(codeOf(() => decrypt(['other'], encrypted))).toBe('seal_wrong_key');
    const changed = Buffer.from(encrypted);
    changed[20] = (changed[20] ?? 0) ^ 1;
    expect(codeOf(() => decrypt(['k'], changed))).toBe('seal_wrong_key');
    expect(codeOf(() => decrypt(['k'], encrypted.subarray(0, 20)))).toBe('seal_truncated');
    const newer = Buffer.from(encrypted);
    newer[4] = 9;
    expect(codeOf(() => decrypt(['k'], newer))).toBe('seal_format');
    expect(codeOf(() => decrypt(['k'], hello))).toBe('seal_missing');
  });
});
