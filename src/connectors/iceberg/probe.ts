import type { PartContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { noTable, type Catalog, type TableName } from './catalog/catalog.ts';
import { openCatalog } from './catalog/open-catalog.ts';
import type { CatalogConfig } from './config.ts';
import { requireWritable } from './write/writable.ts';

interface Probed {
  readonly catalog: CatalogConfig;
  readonly name: TableName;
  /** Of a sink: whether it makes a table that is not there. */
  readonly creates?: boolean;
}

/** Whether the catalog answers and knows the table; of a sink, whether it can be written. */
export async function probeCatalog(
  { catalog: config, name, creates }: Probed,
  context: PartContext,
): Promise<ProbeFinding[]> {
  let catalog: Catalog | undefined;
  try {
    catalog = await openCatalog(config, context, false);
    await catalog.check();
    const table = await catalog.load(name);
    if (table === undefined && creates !== true) throw noTable(name);
    if (table !== undefined && creates !== undefined) {
      requireWritable(table.metadata, name);
      await table.storage.tryWrite(table.metadata.location);
    }
    return [{ name: 'catalog', status: 'pass' }];
  } catch (error) {
    const hint = error instanceof ConnectorError ? error.hint : undefined;
    const found = { name: 'catalog', status: 'fail' as const, reason: messageOf(error) };
    return [hint === undefined ? found : { ...found, hint }];
  } finally {
    await catalog?.close();
  }
}
