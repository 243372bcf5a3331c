/** Files that become objects of a bucket as soon as they are complete. */
import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import type { z } from 'zod';
import type { SinkContext } from '../../kit/context.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import { contentTypeOf } from '../_objects/content-type.ts';
import { openPlace } from '../_objects/places.ts';
import { temporaryFolder } from '../_objects/temporary-folder.ts';
import { uploadFile } from '../_objects/upload-file.ts';
import type { destination } from './sink-destination.ts';

export type Bucket = Exclude<z.output<typeof destination>, { readonly type: 'local_path' }>;

export class ObjectDelivery {
  /** Where files are made. */
  readonly folder: string;
  readonly #to: Bucket;
  readonly #store: ObjectStore;
  readonly #context: SinkContext;

  private constructor(
    to: Bucket,
    context: SinkContext,
    made: { store: ObjectStore; folder: string },
  ) {
    this.#to = to;
    this.#context = context;
    this.#store = made.store;
    this.folder = made.folder;
  }

  static async open(to: Bucket, context: SinkContext): Promise<ObjectDelivery> {
    const store = await openPlace(to, context);
    try {
      return new ObjectDelivery(to, context, { store, folder: await temporaryFolder() });
    } catch (error) {
      store.close();
      throw error;
    }
  }

  /** The object is there as a whole, or not at all. */
  async deliver(path: string): Promise<void> {
    await uploadFile(this.#store, {
      path,
      key: this.#to.prefix + basename(path),
      contentType: contentTypeOf('parquet'),
      signal: this.#context.signal,
    });
    await rm(path, { force: true });
  }

  /** Never throws. */
  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true }).catch(() => {});
    this.#store.close();
  }
}
