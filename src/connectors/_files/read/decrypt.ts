import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { isEncrypted, decrypt } from '../../../lib/crypto/encryption.ts';
import { readingKeys, type Encryption } from '../config.ts';
import { decryptedLines } from '../json/json-lines-file.ts';
import { wholeOf } from '../output/whole.ts';
import type { Format } from '../formats.ts';

const MAGIC_BYTES = 4;

interface EncryptedFile {
  readonly config: { readonly encryption?: Encryption | undefined };
  readonly format: Format;
  readonly name: string;
}

/**
 * Decrypts a file that is encrypted as a whole, or line by line. With keys, a file that is not
 * encrypted is an error; without keys, an encrypted file is one.
 */
export async function* decrypted(
  blocks: AsyncIterable<Uint8Array>,
  file: EncryptedFile,
): AsyncGenerator<Uint8Array> {
  const keys = readingKeys(file.config.encryption);
  const { start, all } = await peek(blocks);
  const whole = isEncrypted(start);
  if (keys === undefined) {
    if (whole)
      throw new ConnectorError('data', `${file.name} is encrypted`, {
        hint: 'give the key in `encryption`',
      });
    yield* all;
  } else if (whole) {
    yield decryptWith(keys, await wholeOf(all, file.name), file.name);
  } else if (file.format === 'json_lines' || file.format === 'raw_text') {
    yield* decryptedLines(all, { name: file.name, keys });
  } else if (start.length > 0) {
    throw new ConnectorError('data', `${file.name} is not encrypted`, {
      hint: 'read it without `encryption`',
    });
  }
}

function decryptWith(keys: readonly string[], encrypted: Uint8Array, name: string): Uint8Array {
  try {
    return decrypt(keys, encrypted);
  } catch (error) {
    throw new ConnectorError('data', `cannot open ${name}: ${messageOf(error)}`, {
      hint: 'check `encryption.key` and `previous_keys`',
      cause: error,
    });
  }
}

/** Looks at the first bytes without taking them away. */
async function peek(
  blocks: AsyncIterable<Uint8Array>,
): Promise<{ start: Uint8Array; all: AsyncIterable<Uint8Array> }> {
  const iterator = blocks[Symbol.asyncIterator]();
  let start: Uint8Array = new Uint8Array();
  while (start.length < MAGIC_BYTES) {
    const next = await iterator.next();
    if (next.done === true) break;
    start = Buffer.concat([start, next.value]);
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      if (start.length > 0) yield start;
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
        yield next.value;
    } finally {
      await iterator.return?.();
    }
  }
  return { start, all: all() };
}
