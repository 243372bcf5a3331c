/**
 * Tables that have only their files: each is a folder of the warehouse, and its states are the files
 * `metadata/v1.metadata.json`, `v2` and so on, which only one writer can make.
 */
import { ConnectorError } from '../../../lib/errors.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import type { TableUpdate } from '../metadata/updates.ts';
import type { Storage } from '../storage.ts';
import {
  CommitUnknown,
  type Catalog,
  type LoadedTable,
  type NewTable,
  type TableName,
} from './catalog.ts';
import { changedMetadata, loadMetadata, metadataBytes, newMetadata } from './metadata-files.ts';

const HINT = 'version-hint.text';
const METADATA = /^v(\d+)(?:\.gz)?\.metadata\.json(?:\.gz)?$/;

interface FileCatalogOptions {
  /** An address without a `/` at its end. */
  readonly warehouse: string;
  readonly storage: Storage;
  readonly clock: Clock;
}

export class FileCatalog implements Catalog {
  readonly #options: FileCatalogOptions;

  constructor(options: FileCatalogOptions) {
    this.#options = options;
  }

  async list(): Promise<readonly TableName[]> {
    const { storage, warehouse } = this.#options;
    const found: TableName[] = [];
    for (const path of await storage.walk(warehouse)) {
      const steps = path.split('/');
      const isTable = steps.length >= 4 && steps.at(-2) === 'metadata';
      if (!isTable || !/^v1(?:\.gz)?\.metadata\.json/.test(steps.at(-1) ?? '')) continue;
      found.push({ namespace: steps.slice(0, -3), table: steps.at(-3) ?? '' });
    }
    return found;
  }

  async load(name: TableName): Promise<LoadedTable | undefined> {
    const { storage } = this.#options;
    const folder = `${this.#location(name)}/metadata`;
    const versions = (await storage.list(folder)).flatMap((file) => {
      const [, digits] = METADATA.exec(file) ?? [];
      return digits === undefined ? [] : [{ file, version: Number(digits) }];
    });
    if (versions.length === 0) return undefined;
    const latest = versions.reduce((a, b) => (b.version > a.version ? b : a));
    return loadMetadata(`${folder}/${latest.file}`, storage);
  }

  async create(name: TableName, table: NewTable): Promise<LoadedTable> {
    const { clock, storage } = this.#options;
    const location = this.#location(name);
    const metadata = newMetadata(table, location, clock.now().getTime());
    const file = `${location}/metadata/v1.metadata.json`;
    const bytes = metadataBytes(metadata.raw);
    if (await this.#make(file, bytes)) return { metadataFile: file, metadata, storage };
    const there = await this.load(name);
    if (there !== undefined) return there;
    throw new ConnectorError('refused', `the table at ${location} cannot be made`, {
      hint: 'another program made and removed it in the meantime; run it again',
    });
  }

  async commit(
    name: TableName,
    base: LoadedTable,
    updates: readonly TableUpdate[],
  ): Promise<LoadedTable | false> {
    const { clock, storage } = this.#options;
    const metadata = changedMetadata(base, updates, clock.now().getTime());
    const folder = `${this.#location(name)}/metadata`;
    const [, digits = '0'] = METADATA.exec(base.metadataFile.split('/').at(-1) ?? '') ?? [];
    const version = Number(digits) + 1;
    const file = `${folder}/v${version}.metadata.json`;
    // A file of the same version may be packed, and so have another name.
    const taken = (await storage.list(folder)).some(
      (one) => Number(METADATA.exec(one)?.[1] ?? 0) >= version,
    );
    if (taken || !(await this.#make(file, metadataBytes(metadata.raw)))) return false;
    // Other programs begin to look there; they find the latest version without it, too.
    await storage.put(`${folder}/${HINT}`, Buffer.from(String(version))).catch(() => {});
    return { metadataFile: file, metadata, storage };
  }

  check(): Promise<void> {
    const { storage, warehouse } = this.#options;
    return storage.list(warehouse).then(() => {});
  }

  async close(): Promise<void> {
    await this.#options.storage.close();
  }

  /** Whether this file was made here; it may be our own when an answer was lost. */
  async #make(file: string, bytes: Buffer): Promise<boolean> {
    const { storage } = this.#options;
    let failure: unknown;
    try {
      if (await storage.create(file, bytes)) return true;
    } catch (error) {
      failure = error;
    }
    try {
      const there = await storage.read(file);
      if (there?.equals(bytes) === true) return true;
      if (failure === undefined || there !== undefined) return false;
    } catch (error) {
      throw new CommitUnknown('connection', `it is not known whether ${file} was made`, {
        cause: failure ?? error,
        hint: 'look at the table before it is run again',
      });
    }
    throw failure;
  }

  #location({ namespace, table }: TableName): string {
    return [this.#options.warehouse, ...namespace, table].join('/');
  }
}
