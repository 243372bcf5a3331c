/**
 * Authenticated encryption of stored bytes. Layout: magic `HGS1`, one format byte, a 12-byte nonce,
 * then the AES-256-GCM ciphertext with its 16-byte tag. The AES key is the SHA-256 of the key text;
 * every encryption uses a new random nonce.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { AppError } from '../errors.ts';

const MAGIC = Buffer.from('HGS1', 'ascii');
const AES_256_GCM = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = MAGIC.length + 1 + NONCE_BYTES;

export type DecryptionErrorCode =
  | 'seal_missing'
  | 'seal_format'
  | 'seal_truncated'
  | 'seal_wrong_key';

/** Why encrypted bytes cannot be decrypted. This never means "there is no data". */
export class DecryptionError extends AppError {
  declare readonly code: DecryptionErrorCode;

  constructor(code: DecryptionErrorCode, message: string, hint: string) {
    super(code, message, { hint });
  }
}

/**
 * Whether the bytes start with the magic of encrypted data; an incomplete magic is not recognised.
 */
export function isEncrypted(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, index) => bytes[index] === byte);
}

export function encrypt(key: string, plain: Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', aesKey(key), nonce, { authTagLength: TAG_BYTES });
  return Buffer.concat([
    MAGIC,
    Buffer.of(AES_256_GCM),
    nonce,
    cipher.update(plain),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}

/**
 * Tries the keys in order: the current one first, then the ones it replaced. Throws `DecryptionError`.
 */
export function decrypt(keys: readonly string[], encrypted: Uint8Array): Uint8Array {
  if (!isEncrypted(encrypted))
    throw new DecryptionError(
      'seal_missing',
      'the data is not encrypted',
      'read it without `encryption`',
    );
  const format = encrypted[MAGIC.length];
  if (format !== undefined && format !== AES_256_GCM) {
    throw new DecryptionError(
      'seal_format',
      `the data is encrypted in a format (${format}) this version does not know`,
      'use a newer version',
    );
  }
  if (encrypted.length < HEADER_BYTES + TAG_BYTES) {
    throw new DecryptionError(
      'seal_truncated',
      'the encrypted data is cut off',
      'restore it from a backup',
    );
  }
  for (const key of keys) {
    const plain = tryDecrypt(key, encrypted);
    if (plain !== undefined) return plain;
  }
  throw new DecryptionError(
    'seal_wrong_key',
    'the data was encrypted with another key, or it was damaged',
    'add the key it was written with to `previous_keys`',
  );
}

function tryDecrypt(key: string, encrypted: Uint8Array): Uint8Array | undefined {
  const nonce = encrypted.subarray(HEADER_BYTES - NONCE_BYTES, HEADER_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', aesKey(key), nonce, {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(encrypted.subarray(encrypted.length - TAG_BYTES));
  try {
    return Buffer.concat([
      decipher.update(encrypted.subarray(HEADER_BYTES, encrypted.length - TAG_BYTES)),
      decipher.final(),
    ]);
  } catch {
    return undefined;
  }
}

function aesKey(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}
