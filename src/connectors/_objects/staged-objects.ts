/** Objects that are written for a load and read by the database that loads them. */
import type { PartContext } from '../../kit/context.ts';
import { messageOf } from '../../lib/errors.ts';
import { momentAfter } from '../../lib/moment-after.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';

/** Requests of a staged load end after so long. */
export const STAGING_REQUEST_MS = 120_000;

/** `folder/svc-load-<id>`; the folder may end with a slash. */
export function stagedKey(folder: string, id: string): string {
  const prefix = folder === '' || folder.endsWith('/') ? folder : `${folder}/`;
  return `${prefix}svc-load-${id}`;
}

export async function putObject(
  store: ObjectStore,
  key: string,
  {
    bytes,
    contentType,
    signal,
  }: { readonly bytes: Uint8Array; readonly contentType: string; readonly signal: AbortSignal },
): Promise<void> {
  const upload = store.upload(key, { contentType, sendsParts: true, concurrency: 4, signal });
  try {
    await upload.write(bytes);
    await upload.end();
    await upload.commit();
  } catch (error) {
    await upload.abort().catch(() => {});
    throw error;
  }
}

/** What was loaded is loaded; an object that stays is no reason to fail. */
export async function removeStaged(
  store: ObjectStore,
  key: string,
  { env, signal }: Pick<PartContext, 'env' | 'signal'>,
): Promise<void> {
  try {
    await store.remove(key, momentAfter(signal));
  } catch (error) {
    env.log.warn('an object of a staged load could not be removed', {
      object: store.address + key,
      reason: messageOf(error),
    });
  }
}
