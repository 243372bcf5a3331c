/** Where a workspace is, and how data sets of it are called. */
import type { Endpoint } from './config.ts';
import { tablePlace, type TablePlace } from './names.ts';

/** The address without a path; a host alone is reached by TLS. */
export function baseOf({ workspace_url: written }: Pick<Endpoint, 'workspace_url'>): string {
  const url = /^https?:\/\//i.test(written) ? written : `https://${written}`;
  return URL.parse(url)?.origin ?? url;
}

export function warehouseUri(config: Pick<Endpoint, 'workspace_url' | 'warehouse_id'>): string {
  const host = URL.parse(baseOf(config))?.host ?? 'unknown';
  return `databricks://${host}/warehouses/${config.warehouse_id}`;
}

export function tableUri(config: Endpoint & TablePlace): string {
  const { catalog, schema, table } = tablePlace(config);
  const path = [catalog, schema, table].filter((part) => part !== undefined);
  // Names of tables have no case here.
  return `${warehouseUri(config)}?table=${path.join('.').toLowerCase()}`;
}
