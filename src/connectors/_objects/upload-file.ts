/** A file of this machine that becomes an object. */
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import { readBlocks } from '../_files/lines/blocks.ts';

const PARTS_AT_ONCE = 4;

interface FileUpload {
  readonly path: string;
  readonly key: string;
  readonly contentType: string;
  readonly signal: AbortSignal;
}

/** The object is there as a whole, or not at all. */
export async function uploadFile(
  store: ObjectStore,
  { path, key, contentType, signal }: FileUpload,
): Promise<void> {
  const upload = store.upload(key, {
    contentType,
    sendsParts: false,
    concurrency: PARTS_AT_ONCE,
    signal,
  });
  try {
    for await (const block of readBlocks({ path, codec: 'none', signal }))
      await upload.write(block);
    await upload.commit();
  } finally {
    await upload.abort();
  }
}
