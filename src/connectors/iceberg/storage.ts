/** The files of tables, which metadata names by their addresses, on this machine or in stores. */
import { ConnectorError } from '../../lib/errors.ts';
import type { ParquetReader } from '../_files/parquet/parquet-reader.ts';
import { LocalFiles } from '../_lake/local-files.ts';
import { ObjectFiles } from '../_lake/object-files.ts';
import type { OpenParquet, TableContext, TableFiles } from '../_lake/table-files.ts';
import { openPlace } from '../_objects/places.ts';
import { placeIn, secretsIn, type StorageProperties } from './storage-properties.ts';

export class Storage {
  readonly #properties: StorageProperties;
  readonly #context: TableContext;
  readonly #opened = new Map<string, Promise<TableFiles>>();

  constructor(properties: StorageProperties, context: TableContext) {
    this.#properties = properties;
    this.#context = context;
    for (const secret of secretsIn(properties)) context.env.redactor.register(secret);
  }

  async read(address: string): Promise<Buffer | undefined> {
    const { files, path } = await this.#at(address);
    return files.read(path);
  }

  async readParquet(address: string, options: OpenParquet): Promise<ParquetReader> {
    const { files, path } = await this.#at(address);
    return files.readParquet(path, options);
  }

  /** Makes a file as a whole where there is none, and says whether it did. */
  async create(address: string, bytes: Buffer): Promise<boolean> {
    const { files, path } = await this.#at(address);
    return files.create(path, bytes);
  }

  async put(address: string, bytes: Buffer): Promise<void> {
    const { files, path } = await this.#at(address);
    await files.put(path, bytes);
  }

  /** The names of the files in a folder. */
  async list(folder: string): Promise<readonly string[]> {
    const { files, path } = await this.#at(`${folder}/`);
    return (await files.list(path)).map(({ name }) => name);
  }

  /** The paths below a folder of all files in it and in its folders. */
  async walk(folder: string): Promise<readonly string[]> {
    const { files, path } = await this.#at(`${folder}/`);
    return files.walk(path);
  }

  async pathToWrite(address: string): Promise<string> {
    const { files, path } = await this.#at(address);
    return files.pathToWrite(path);
  }

  async deliver(address: string): Promise<number> {
    const { files, path } = await this.#at(address);
    return files.deliver(path);
  }

  /** Best effort: never throws. */
  async remove(address: string): Promise<void> {
    const at = await this.#at(address).catch(() => undefined);
    await at?.files.remove(at.path);
  }

  /** Fails where nothing can be written; leaves nothing behind. */
  async tryWrite(folder: string): Promise<void> {
    const local = localPath(folder);
    if (local !== undefined) return new LocalFiles(local, this.#context.signal).tryWrite();
    const { files } = await this.#at(`${folder}/`);
    return files.tryWrite();
  }

  /** Never throws. */
  async close(): Promise<void> {
    for (const opened of this.#opened.values())
      await (await opened.catch(() => undefined))?.close();
  }

  async #at(address: string): Promise<{ readonly files: TableFiles; readonly path: string }> {
    const local = localPath(address);
    if (local !== undefined) {
      const files = await this.#open('', () => new LocalFiles('/', this.#context.signal));
      return { files, path: local.slice(1) };
    }
    const [, scheme = '', bucket = '', path = ''] =
      /^([a-z][a-z0-9+.-]*):\/\/([^/]+)\/(.*)$/is.exec(address) ?? [];
    const { place, fault } = placeIn(scheme.toLowerCase(), bucket, this.#properties);
    if (place === undefined)
      throw new ConnectorError('refused', `cannot open ${address}: ${fault ?? 'no such store'}`, {
        hint: 'tables are on this machine (`file://`), in S3 (`s3://`) or in Google Cloud Storage (`gs://`)',
      });
    const files = await this.#open(`${scheme}://${bucket}`, async () => {
      const store = await openPlace(place, this.#context);
      const isDoubtful = place.type === 's3' && place.endpoint_url !== undefined;
      return new ObjectFiles({ store, prefix: '', isDoubtful, context: this.#context });
    });
    return { files, path };
  }

  #open(key: string, make: () => TableFiles | Promise<TableFiles>): Promise<TableFiles> {
    const known = this.#opened.get(key) ?? Promise.resolve(make());
    this.#opened.set(key, known);
    return known;
  }
}

/** `file:/a`, `file:///a` and `/a` are paths; `undefined` for other addresses. */
export function localPath(address: string): string | undefined {
  if (address.startsWith('/')) return address;
  if (!/^file:/i.test(address)) return undefined;
  // Programs write names of files into addresses as they are: nothing in them is decoded.
  return address.replace(/^file:\/*/i, '/');
}
