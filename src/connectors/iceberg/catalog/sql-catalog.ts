/** A catalog in the tables of a database, which other programs for Iceberg use alike. */
import { randomUUID } from 'node:crypto';
import { ConnectorError } from '../../../lib/errors.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import type { TableUpdate } from '../metadata/updates.ts';
import type { TableMetadata } from '../metadata/table-metadata.ts';
import type { Storage } from '../storage.ts';
import {
  CommitUnknown,
  type Catalog,
  type LoadedTable,
  type NewTable,
  type TableName,
} from './catalog.ts';
import { changedMetadata, loadMetadata, metadataBytes, newMetadata } from './metadata-files.ts';
import type { CatalogDatabase } from './sql-database.ts';

const TABLES = `CREATE TABLE IF NOT EXISTS iceberg_tables (
  catalog_name VARCHAR(255) NOT NULL,
  table_namespace VARCHAR(255) NOT NULL,
  table_name VARCHAR(255) NOT NULL,
  metadata_location VARCHAR(1000),
  previous_metadata_location VARCHAR(1000),
  PRIMARY KEY (catalog_name, table_namespace, table_name)
)`;
const NAMESPACES = `CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (
  catalog_name VARCHAR(255) NOT NULL,
  namespace VARCHAR(255) NOT NULL,
  property_key VARCHAR(255) NOT NULL,
  property_value VARCHAR(1000) NOT NULL,
  PRIMARY KEY (catalog_name, namespace, property_key)
)`;
/** Newer catalogs keep views in the same table. */
const IS_TABLE = `(iceberg_type = 'TABLE' OR iceberg_type IS NULL)`;
const DIGITS = 5;

interface SqlCatalogOptions {
  readonly database: CatalogDatabase;
  readonly name: string;
  readonly warehouse: string;
  readonly storage: Storage;
  readonly clock: Clock;
}

export class SqlCatalog implements Catalog {
  readonly #options: SqlCatalogOptions;
  #hasTypes: boolean | undefined;

  constructor(options: SqlCatalogOptions) {
    this.#options = options;
  }

  async list(): Promise<readonly TableName[]> {
    if (!(await this.#isThere())) return [];
    const rows = await this.#options.database.ask(
      `SELECT table_namespace, table_name FROM iceberg_tables WHERE catalog_name = $1${await this.#onlyTables()} ORDER BY table_namespace, table_name`,
      [this.#options.name],
    );
    return rows.map(([namespace, table]) => ({
      namespace: String(namespace).split('.'),
      table: String(table),
    }));
  }

  async load(name: TableName): Promise<LoadedTable | undefined> {
    const file = await this.#metadataFile(name);
    return file === undefined ? undefined : loadMetadata(file, this.#options.storage);
  }

  async create(name: TableName, table: NewTable): Promise<LoadedTable> {
    const { database, storage, clock, warehouse } = this.#options;
    await database.ask(TABLES, []);
    await database.ask(NAMESPACES, []);
    const location = [warehouse, ...name.namespace, name.table].join('/');
    const metadata = newMetadata(table, location, clock.now().getTime());
    const file = await this.#write(metadata, 0);
    await this.#noteNamespace(name);
    const hasTypes = await this.#typed();
    const [column, value] = hasTypes ? [', iceberg_type', `, 'TABLE'`] : ['', ''];
    const made = await database.change(
      `INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location${column}) VALUES ($1, $2, $3, $4${value}) ON CONFLICT DO NOTHING`,
      [...this.#key(name), file],
    );
    if (made === 1) return { metadataFile: file, metadata, storage };
    await storage.remove(file);
    const there = await this.load(name);
    if (there !== undefined) return there;
    throw new ConnectorError('refused', `the catalog has something else called \`${name.table}\``, {
      hint: 'choose another name of the table',
    });
  }

  async commit(
    name: TableName,
    base: LoadedTable,
    updates: readonly TableUpdate[],
  ): Promise<LoadedTable | false> {
    const { database, storage, clock } = this.#options;
    const metadata = changedMetadata(base, updates, clock.now().getTime());
    const file = await this.#write(metadata, versionOf(base.metadataFile) + 1);
    const [catalog, namespace, table] = this.#key(name);
    let changed: number;
    try {
      changed = await database.change(
        'UPDATE iceberg_tables SET metadata_location = $1, previous_metadata_location = $2 WHERE catalog_name = $3 AND table_namespace = $4 AND table_name = $5 AND metadata_location = $2',
        [file, base.metadataFile, catalog, namespace, table],
      );
    } catch (error) {
      if (await this.#pointsAt(name, file, error)) return { metadataFile: file, metadata, storage };
      await storage.remove(file);
      throw error;
    }
    if (changed === 1) return { metadataFile: file, metadata, storage };
    await storage.remove(file);
    return false;
  }

  async check(): Promise<void> {
    await this.#options.database.ask('SELECT 1', []);
  }

  async close(): Promise<void> {
    await this.#options.database.close();
    await this.#options.storage.close();
  }

  /** Whether an update whose answer was an error was made nevertheless. */
  async #pointsAt(name: TableName, file: string, failure: unknown): Promise<boolean> {
    try {
      return (await this.#metadataFile(name)) === file;
    } catch (error) {
      throw new CommitUnknown('connection', `it is not known whether the catalog names ${file}`, {
        cause: failure ?? error,
        hint: 'look at the table before it is run again',
      });
    }
  }

  async #metadataFile(name: TableName): Promise<string | undefined> {
    if (!(await this.#isThere())) return undefined;
    const [row] = await this.#options.database.ask(
      `SELECT metadata_location FROM iceberg_tables WHERE catalog_name = $1 AND table_namespace = $2 AND table_name = $3${await this.#onlyTables()}`,
      this.#key(name),
    );
    const file = row?.[0];
    return typeof file === 'string' ? file : undefined;
  }

  #isThere(): Promise<boolean> {
    return this.#options.database.hasTable('iceberg_tables');
  }

  async #onlyTables(): Promise<string> {
    return (await this.#typed()) ? ` AND ${IS_TABLE}` : '';
  }

  async #typed(): Promise<boolean> {
    this.#hasTypes ??= await this.#options.database.hasColumn('iceberg_tables', 'iceberg_type');
    return this.#hasTypes;
  }

  async #noteNamespace({ namespace }: TableName): Promise<void> {
    await this.#options.database.change(
      `INSERT INTO iceberg_namespace_properties (catalog_name, namespace, property_key, property_value) VALUES ($1, $2, 'exists', 'true') ON CONFLICT DO NOTHING`,
      [this.#options.name, namespace.join('.')],
    );
  }

  #key({ namespace, table }: TableName): [string, string, string] {
    return [this.#options.name, namespace.join('.'), table];
  }

  async #write({ raw, location, properties }: TableMetadata, version: number): Promise<string> {
    const folder = (properties['write.metadata.path'] ?? `${location}/metadata`).replace(
      /\/+$/,
      '',
    );
    const number = String(version).padStart(DIGITS, '0');
    const file = `${folder}/${number}-${randomUUID()}.metadata.json`;
    await this.#options.storage.put(file, metadataBytes(raw));
    return file;
  }
}

function versionOf(file: string): number {
  const [, digits] = /\/(\d+)-[^/]*$/.exec(file) ?? [];
  return Number(digits ?? 0);
}
