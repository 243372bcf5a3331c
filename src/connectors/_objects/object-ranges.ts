/** Parts of an object for formats that read here and there, fetched in blocks that are kept a while. */
import { ConnectorError } from '../../lib/errors.ts';
import type { ObjectStore, StoredObject } from '../../lib/objects/object-store.ts';
import type { ByteRanges } from '../_files/parquet/parquet-reader.ts';
import { mayRepeat, type Requesting } from '../_http/run-requests.ts';

const BLOCK_BYTES = 1024 * 1024;
const KEPT_BLOCKS = 32;

interface RangeOptions {
  readonly store: ObjectStore;
  readonly object: StoredObject;
  readonly context: Requesting;
  readonly signal: AbortSignal;
}

export function objectRanges(options: RangeOptions): ByteRanges {
  const blocks = new Map<number, Promise<Uint8Array>>();
  const { size } = options.object;
  return {
    byteLength: size,
    slice: async (start, end = size) => {
      const first = Math.floor(start / BLOCK_BYTES);
      const last = Math.max(first, Math.ceil(end / BLOCK_BYTES) - 1);
      fetchMissing({ first, last }, blocks, options);
      const parts: Uint8Array[] = [];
      for (let index = first; index <= last; index += 1)
        parts.push((await blocks.get(index)) ?? new Uint8Array());
      forget(blocks);
      const from = first * BLOCK_BYTES;
      const all = Buffer.concat(parts).subarray(start - from, end - from);
      return new Uint8Array(all).buffer;
    },
  };
}

/** One request for each stretch of blocks that are not there. */
function fetchMissing(
  { first, last }: { readonly first: number; readonly last: number },
  blocks: Map<number, Promise<Uint8Array>>,
  options: RangeOptions,
): void {
  for (let index = first; index <= last; index += 1) {
    if (blocks.has(index)) continue;
    let end = index;
    while (end < last && !blocks.has(end + 1)) end += 1;
    const from = index * BLOCK_BYTES;
    const to = Math.min(options.object.size, (end + 1) * BLOCK_BYTES);
    const stretch = fetchRange(from, to, options);
    for (let one = index; one <= end; one += 1) {
      const block = stretch.then((bytes) =>
        bytes.subarray(one * BLOCK_BYTES - from, (one + 1) * BLOCK_BYTES - from),
      );
      block.catch(() => blocks.delete(one));
      blocks.set(one, block);
    }
    index = end;
  }
}

/** The oldest go first. */
function forget(blocks: Map<number, Promise<Uint8Array>>): void {
  for (const index of blocks.keys()) {
    if (blocks.size <= KEPT_BLOCKS) return;
    blocks.delete(index);
  }
}

async function fetchRange(from: number, to: number, options: RangeOptions): Promise<Buffer> {
  const { store, object, context, signal } = options;
  const { key, version } = object;
  for (let attempt = 0; ; attempt += 1) {
    const content = await store.read(key, { from, to, version, signal });
    const name = `${store.address}${key}`;
    try {
      const parts: Uint8Array[] = [];
      for await (const block of content.blocks) parts.push(block);
      const bytes = Buffer.concat(parts);
      if (bytes.length === to - from) return bytes;
      throw new ConnectorError(
        'connection',
        `${name} ended after ${bytes.length} of ${to - from} bytes`,
      );
    } catch (error) {
      const what = `read ${name}`;
      if (!(await mayRepeat(error, { attempt, what, signal, context }))) throw error;
    }
  }
}
