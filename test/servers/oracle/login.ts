/**
 * How a client proves that it knows a password without sending it (verifier of Oracle 12c): both
 * sides send half of a key, encrypted with a hash of the password, and the whole key encrypts what
 * follows.
 */
import { createCipheriv, createDecipheriv, createHash, pbkdf2Sync, randomBytes } from 'node:crypto';

const KEY_BYTES = 32;
const BLOCK_BYTES = 16;
const HASH_BYTES = 64;
const HASH_ROUNDS = 64;
const KEY_ROUNDS = 3;
const IS_12C = 0x4815;

function cipher(key: Buffer, bytes: Buffer): Buffer {
  const made = createCipheriv('aes-256-cbc', key, Buffer.alloc(BLOCK_BYTES)).setAutoPadding(false);
  return Buffer.concat([made.update(bytes), made.final()]);
}

function plain(key: Buffer, bytes: Buffer): Buffer {
  const made = createDecipheriv('aes-256-cbc', key, Buffer.alloc(BLOCK_BYTES));
  made.setAutoPadding(false);
  return Buffer.concat([made.update(bytes), made.final()]);
}

function hex(bytes: Buffer): string {
  return bytes.toString('hex').toUpperCase();
}

export interface Pair {
  readonly key: string;
  readonly value: string;
  readonly flag?: number;
}

export class Login {
  readonly #salt = randomBytes(BLOCK_BYTES);
  readonly #keySalt = randomBytes(BLOCK_BYTES);
  readonly #half = randomBytes(KEY_BYTES);
  readonly #hash: Buffer;
  readonly #password: string;

  constructor(password: string) {
    this.#password = password;
    const salted = Buffer.concat([this.#salt, Buffer.from('AUTH_PBKDF2_SPEEDY_KEY')]);
    const key = pbkdf2Sync(password, salted, HASH_ROUNDS, HASH_BYTES, 'sha512');
    this.#hash = createHash('sha512')
      .update(key)
      .update(this.#salt)
      .digest()
      .subarray(0, KEY_BYTES);
  }

  /** What the client needs to make its half. */
  challenge(): Pair[] {
    return [
      { key: 'AUTH_SESSKEY', value: hex(cipher(this.#hash, this.#half)) },
      { key: 'AUTH_VFR_DATA', value: hex(this.#salt), flag: IS_12C },
      { key: 'AUTH_PBKDF2_CSK_SALT', value: hex(this.#keySalt) },
      { key: 'AUTH_PBKDF2_VGEN_COUNT', value: String(HASH_ROUNDS) },
      { key: 'AUTH_PBKDF2_SDER_COUNT', value: String(KEY_ROUNDS) },
    ];
  }

  /** The proof that the server knows the password too; `undefined` for a wrong password. */
  answer(pairs: ReadonlyMap<string, string>): string | undefined {
    const half = plain(this.#hash, Buffer.from(pairs.get('AUTH_SESSKEY') ?? '', 'hex'));
    const both = hex(Buffer.concat([half.subarray(0, KEY_BYTES), this.#half]));
    const key = pbkdf2Sync(both, this.#keySalt, KEY_ROUNDS, KEY_BYTES, 'sha512');
    const sent = plain(key, Buffer.from(pairs.get('AUTH_PASSWORD') ?? '', 'hex'));
    const padding = sent.at(-1) ?? 0;
    const password = sent.subarray(BLOCK_BYTES, sent.length - padding).toString();
    if (password !== this.#password) return undefined;
    return hex(
      cipher(key, Buffer.concat([randomBytes(BLOCK_BYTES), Buffer.from('SERVER_TO_CLIENT')])),
    );
  }
}
