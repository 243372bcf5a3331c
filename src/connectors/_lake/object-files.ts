import { randomUUID } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ConnectorError } from '../../lib/errors.ts';
import type { ObjectStore } from '../../lib/objects/object-store.ts';
import { wholeOf } from '../_files/output/whole.ts';
import { ParquetReader } from '../_files/parquet/parquet-reader.ts';
import { contentTypeOf } from '../_objects/content-type.ts';
import { objectRanges } from '../_objects/object-ranges.ts';
import { readObject } from '../_objects/read-object.ts';
import { temporaryFolder } from '../_objects/temporary-folder.ts';
import { uploadFile } from '../_objects/upload-file.ts';
import type { ListedFile, OpenParquet, TableContext, TableFiles } from './table-files.ts';

const JSON_TYPE = 'application/json';

interface ObjectFilesOptions {
  readonly store: ObjectStore;
  /** Ends with a `/`. */
  readonly prefix: string;
  /** Whether the store may be one that takes no notice of conditions. */
  readonly isDoubtful: boolean;
  readonly context: TableContext;
}

export class ObjectFiles implements TableFiles {
  readonly isLocal = false;
  readonly address: string;
  readonly #store: ObjectStore;
  readonly #prefix: string;
  readonly #context: TableContext;
  #isDoubtful: boolean;
  #folder: Promise<string> | undefined;

  constructor({ store, prefix, isDoubtful, context }: ObjectFilesOptions) {
    this.address = store.address + prefix;
    this.#store = store;
    this.#prefix = prefix;
    this.#isDoubtful = isDoubtful;
    this.#context = context;
  }

  async list(below: string, after?: string): Promise<readonly ListedFile[]> {
    const folder = this.#prefix + below;
    const request = {
      prefix: folder,
      signal: this.#context.signal,
      ...(after === undefined ? {} : { after: folder + after }),
    };
    const files: ListedFile[] = [];
    for await (const page of this.#store.list(request))
      for (const { key, lastModified: modified } of page) {
        const name = key.slice(folder.length);
        if (name !== '' && !name.includes('/')) files.push({ name, modified });
      }
    return files;
  }

  async walk(below: string): Promise<readonly string[]> {
    const folder = this.#prefix + below;
    const found: string[] = [];
    for await (const page of this.#store.list({ prefix: folder, signal: this.#context.signal }))
      for (const { key } of page) found.push(key.slice(folder.length));
    return found;
  }

  async read(path: string): Promise<Buffer | undefined> {
    const { signal } = this.#context;
    const key = this.#key(path);
    const request = { store: this.#store, key, context: this.#context, signal };
    const blocks = readObject({ ...request, verifyLength: true, verifyChecksum: false });
    try {
      return await wholeOf(blocks, this.address + path);
    } catch (error) {
      if (error instanceof ConnectorError && error.kind === 'missing') return undefined;
      throw error;
    }
  }

  async readParquet(path: string, { columns, omitNulls }: OpenParquet): Promise<ParquetReader> {
    const { signal } = this.#context;
    const key = this.#key(path);
    const object = await this.#store.look(key, signal);
    if (object === undefined)
      throw new ConnectorError('missing', `there is no object ${this.address}${path}`);
    const ranges = objectRanges({ store: this.#store, object, context: this.#context, signal });
    return ParquetReader.ofRanges(ranges, {
      path: this.address + path,
      signal,
      choose: columns,
      omitNulls,
    });
  }

  async create(path: string, bytes: Buffer): Promise<boolean> {
    await this.#requireConditions(path);
    return this.#create(path, bytes);
  }

  async put(path: string, bytes: Buffer): Promise<void> {
    const { signal } = this.#context;
    const contentType = path.endsWith('.avro') ? contentTypeOf('avro') : JSON_TYPE;
    const how = { contentType, sendsParts: false, concurrency: 1, signal };
    const upload = this.#store.upload(this.#key(path), how);
    try {
      await upload.write(bytes);
      await upload.commit();
    } finally {
      await upload.abort();
    }
  }

  async pathToWrite(path: string): Promise<string> {
    this.#folder ??= temporaryFolder();
    return join(await this.#folder, basename(path));
  }

  async deliver(path: string): Promise<number> {
    const file = await this.pathToWrite(path);
    const { size } = await stat(file);
    await uploadFile(this.#store, {
      path: file,
      key: this.#key(path),
      contentType: contentTypeOf('parquet'),
      signal: this.#context.signal,
    });
    await rm(file, { force: true });
    return size;
  }

  async remove(path: string): Promise<void> {
    const { signal } = this.#context;
    await this.#store.remove(this.#key(path), signal).catch(() => {});
  }

  tryWrite(): Promise<void> {
    return this.#store.tryWrite(`${this.#prefix}headgate-probe`, this.#context.signal);
  }

  async close(): Promise<void> {
    const folder = await this.#folder?.catch(() => undefined);
    if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => {});
    this.#store.close();
  }

  async #create(path: string, bytes: Buffer): Promise<boolean> {
    const request = { contentType: JSON_TYPE, signal: this.#context.signal };
    const made = await this.#store.create?.(this.#key(path), bytes, request);
    if (made !== undefined) return made;
    throw new ConnectorError(
      'refused',
      `${this.address} is in a store without conditional requests`,
    );
  }

  /**
   * A store that takes no notice of the condition would replace the commits of other writers: it is
   * tried once with an object of its own.
   */
  async #requireConditions(made: string): Promise<void> {
    if (!this.#isDoubtful) return;
    const path = `${made.slice(0, made.lastIndexOf('/') + 1)}.headgate-probe-${randomUUID()}`;
    try {
      await this.#create(path, Buffer.from('1'));
      if (await this.#create(path, Buffer.from('2')))
        throw new ConnectorError(
          'refused',
          `the store of ${this.address} takes no notice of \`If-None-Match\`, so that writers could replace the commits of others`,
          { hint: 'use a newer version of the store, or another one' },
        );
    } finally {
      await this.remove(path);
    }
    this.#isDoubtful = false;
  }

  #key(path: string): string {
    if (path.split('/').includes('..'))
      throw new ConnectorError('data', `the table names a file outside of its folder: ${path}`);
    return this.#prefix + path;
  }
}
