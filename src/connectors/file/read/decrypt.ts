import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { isSealed, open } from '../../../lib/crypto/seal.ts';
import { readingKeys, type Encryption } from '../../_files/config.ts';
import { openedLines } from '../../_files/json/json-lines-file.ts';
import { wholeOf } from '../../_files/output/whole.ts';
import type { Format } from './source-config.ts';

const MAGIC_BYTES = 4;

interface Sealing {
  readonly config: { readonly encryption?: Encryption | undefined };
  readonly format: Format;
  readonly name: string;
}

/**
 * Opens what is sealed: a whole file, or the lines of a text file one by one. With keys given,
 * nothing unsealed is let through; without keys, a sealed file is an error and not data.
 */
export async function* unsealed(
  blocks: AsyncIterable<Uint8Array>,
  sealing: Sealing,
): AsyncGenerator<Uint8Array> {
  const keys = readingKeys(sealing.config.encryption);
  const { start, all } = await peek(blocks);
  const whole = isSealed(start);
  if (keys === undefined) {
    if (whole)
      throw new ConnectorError('data', `${sealing.name} is encrypted`, {
        hint: 'give the key in `encryption`',
      });
    yield* all;
  } else if (whole) {
    yield openWith(keys, await wholeOf(all, sealing.name), sealing.name);
  } else if (sealing.format === 'json_lines' || sealing.format === 'raw_text') {
    yield* openedLines(all, { name: sealing.name, keys });
  } else if (start.length > 0) {
    throw new ConnectorError('data', `${sealing.name} is not encrypted`, {
      hint: 'read it without `encryption`',
    });
  }
}

function openWith(keys: readonly string[], sealed: Uint8Array, name: string): Uint8Array {
  try {
    return open(keys, sealed);
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
