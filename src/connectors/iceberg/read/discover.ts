import type { SourceContext } from '../../../kit/context.ts';
import type { Discovered } from '../../../kit/source.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { nameText, type Catalog, type TableName } from '../catalog/catalog.ts';
import { openCatalog } from '../catalog/open-catalog.ts';
import type { IcebergSourceConfig } from '../config.ts';
import { neutralTypes } from '../schema/new-columns.ts';

/** One data set for each table of the catalog, with its columns and the number of its records. */
export async function discoverTables(
  config: IcebergSourceConfig,
  context: SourceContext,
): Promise<Discovered[]> {
  const catalog = await openCatalog(config.catalog, context, false);
  try {
    const found: Discovered[] = [];
    for (const name of await catalog.list()) {
      context.signal.throwIfAborted();
      const one = await described(catalog, name);
      if (one !== undefined) found.push(one);
    }
    return found;
  } finally {
    await catalog.close();
  }
}

/** `undefined` for one that was dropped in the meantime. */
async function described(catalog: Catalog, name: TableName): Promise<Discovered | undefined> {
  const table = await catalog.load(name);
  if (table === undefined) return undefined;
  const { schema, current } = table.metadata;
  const properties: JsonObject = {};
  for (const { name: column, type, required } of schema.fields) {
    const [neutral = 'string'] = neutralTypes(type);
    properties[column] = { type: required ? neutral : [neutral, 'null'] };
  }
  const rows = Number(current === undefined ? 0 : (current.summary['total-records'] ?? Number.NaN));
  return {
    name: nameText(name),
    kind: 'table',
    schema: { type: 'object', properties },
    ...(Number.isSafeInteger(rows) ? { estimated_rows: rows } : {}),
    config_patch: { table: nameText(name) },
  };
}
