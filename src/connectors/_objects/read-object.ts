/** The content of an object, read through connections that break off. */
import { ConnectorError } from '../../lib/errors.ts';
import type { ObjectContent, ObjectStore } from '../../lib/objects/object-store.ts';
import { digestFor } from './digests.ts';
import { mayRepeat, type Requesting } from '../_http/run-requests.ts';

export interface ReadOptions {
  readonly store: ObjectStore;
  readonly key: string;
  readonly verifyLength: boolean;
  readonly verifyChecksum: boolean;
  readonly context: Requesting;
  readonly signal: AbortSignal;
}

/** The first request for an object, which may be sent before its content is needed. */
export function requestObject({
  store,
  key,
  verifyChecksum,
  signal,
}: ReadOptions): Promise<ObjectContent> {
  return store.read(key, { checksums: verifyChecksum, signal });
}

/**
 * The bytes of an object. Where the connection breaks off, the rest of the same version is asked
 * for; attempts count from the last byte that came.
 */
export async function* readObject(
  options: ReadOptions,
  first: Promise<ObjectContent> = requestObject(options),
): AsyncGenerator<Uint8Array> {
  const { store, key, context, signal } = options;
  const name = `${store.address}${key}`;
  let content = await first;
  const check = contentCheck(content, options);
  const { version } = content;
  let at = 0;
  let failures = 0;
  for (;;) {
    try {
      for await (const block of content.blocks) {
        at += block.length;
        failures = 0;
        check.take(block);
        yield block;
      }
      if (!check.isShort(at)) break;
      throw new ConnectorError('connection', `${name} ended after ${at} bytes`);
    } catch (error) {
      const again = { attempt: failures++, what: `read ${name}`, signal, context };
      if (!(await mayRepeat(error, again))) throw error;
    } finally {
      content.cancel();
    }
    content = await store.read(key, { from: at, version, signal });
  }
  check.end(at);
}

interface ContentCheck {
  take(block: Uint8Array): void;
  isShort(length: number): boolean;
  end(length: number): void;
}

function contentCheck(content: ObjectContent, options: ReadOptions): ContentCheck {
  const { store, key, verifyLength, verifyChecksum, context } = options;
  const name = `${store.address}${key}`;
  const isKnown = content.isTranscoded !== true;
  const length = verifyLength && isKnown ? content.length : undefined;
  const sum = verifyChecksum && isKnown ? digestFor(content.checksums) : undefined;
  if (verifyChecksum && sum === undefined)
    context.env.log.warn('the store has no checksum of the whole object; it is not compared', {
      object: name,
    });
  return {
    take: (block) => sum?.digest.update(block),
    isShort: (read) => length !== undefined && read < length,
    end: (read) => {
      if (length !== undefined && read !== length)
        throw damaged(name, `it has ${read} bytes, and the store says ${length}`);
      if (sum !== undefined && sum.digest.value() !== sum.expected)
        throw damaged(name, `its ${sum.digest.name} checksum is not the one that the store has`);
    },
  };
}

function damaged(name: string, why: string): ConnectorError {
  return new ConnectorError('data', `${name} was not read as it was stored: ${why}`, {
    hint: 'run it again; if it stays so, have the object stored again',
  });
}
