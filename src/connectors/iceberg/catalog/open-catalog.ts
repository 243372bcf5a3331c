import type { PartContext, RetryPolicy, SinkContext } from '../../../kit/context.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { resolvePath } from '../../_files/paths.ts';
import type { CatalogConfig } from '../config.ts';
import { CATALOG_NAME } from '../properties.ts';
import { Storage } from '../storage.ts';
import { glueAsRest } from './amazon.ts';
import type { Catalog } from './catalog.ts';
import { sqlAddress } from './sql-address.ts';

const DEFAULT_NAME = 'default';

type Context = PartContext & { readonly retry?: RetryPolicy } & Pick<SinkContext, 'onlyReads'>;

/** `writes`: whether a database that is not there may be made. */
export async function openCatalog(
  config: CatalogConfig,
  context: Context,
  writes: boolean,
): Promise<Catalog> {
  const { type, uri = '', properties = {} } = config;
  const { env } = context;
  if (type === 'rest') {
    const { RestCatalog } = await import('./rest-catalog.ts');
    return new RestCatalog(config, context);
  }
  const warehouse = warehouseAddress(config.warehouse ?? '', env.cwd);
  if (type === 'glue') {
    const { RestCatalog } = await import('./rest-catalog.ts');
    return new RestCatalog(glueAsRest(config, context), context, warehouse);
  }
  const storage = new Storage(properties, context);
  if (type === 'file') {
    const { FileCatalog } = await import('./file-catalog.ts');
    return new FileCatalog({ warehouse, storage, clock: env.clock });
  }
  const address = sqlAddress(uri);
  if (address === undefined)
    throw new ConnectorError('refused', 'a catalog is kept in SQLite or PostgreSQL');
  const { SqlCatalog } = await import('./sql-catalog.ts');
  const { openDatabase } = await import('./sql-database.ts');
  const database = await openDatabase(address, context, writes);
  const name = properties[CATALOG_NAME] ?? DEFAULT_NAME;
  return new SqlCatalog({ database, name, warehouse, storage, clock: env.clock });
}

/** Without a `/` at its end; a path as an address. */
function warehouseAddress(written: string, cwd: string): string {
  const bare = written.length > 1 ? written.replace(/\/+$/, '') : written;
  if (/^[a-z][a-z0-9+.-]+:/i.test(bare)) return bare;
  return `file://${resolvePath(cwd, bare)}`;
}
