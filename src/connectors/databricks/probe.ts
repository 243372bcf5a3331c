import type { SinkContext, SourceContext } from '../../kit/context.ts';
import type { ProbeFinding } from '../../kit/probe.ts';
import { AppError, ConnectorError, messageOf } from '../../lib/errors.ts';
import { isObject, jsonText } from '../../lib/text/json.ts';
import { jsonBody } from '../_http/body.ts';
import { tableFinding } from '../_sql/probe-table.ts';
import type { DatabricksSinkConfig, DatabricksSourceConfig } from './config.ts';
import { tablePlace } from './names.ts';
import { openSourceLink } from './read/source.ts';
import type { Link } from './session/link.ts';
import { readColumns } from './write/columns.ts';
import { openSinkLink } from './write/driver.ts';
import { openPlace } from './write/loads.ts';

/** Whether the workspace takes the login, and the warehouse is there. */
export async function probeSource(
  config: DatabricksSourceConfig,
  context: SourceContext,
): Promise<ProbeFinding[]> {
  const link = await openSourceLink(config, context);
  try {
    return await probeWarehouse(link, config.warehouse_id);
  } finally {
    await link.close();
  }
}

/** Besides, whether the table is there, and objects may be staged. */
export async function probeSink(
  config: DatabricksSinkConfig,
  context: SinkContext,
): Promise<ProbeFinding[]> {
  const link = await openSinkLink(config, context);
  try {
    const found = await probeWarehouse(link, config.warehouse_id);
    if (found.some(({ status }) => status === 'fail')) return found;
    const schema = await probeTable(link, config);
    return [...found, schema, ...(await probeStaging(link, config, context))];
  } finally {
    await link.close();
  }
}

async function probeWarehouse(link: Link, id: string): Promise<ProbeFinding[]> {
  const passed: ProbeFinding = { name: 'auth', status: 'pass' };
  try {
    const path = `/api/2.0/sql/warehouses/${encodeURIComponent(id)}`;
    const { bytes } = await link.ask({ method: 'GET', path });
    const about = jsonBody(bytes, 'the answer of the workspace');
    const state = isObject(about) ? jsonText(about['state'] ?? null) : '';
    if (!state.startsWith('DELET')) return [passed, { name: 'warehouse', status: 'pass' }];
    const reason = `the warehouse \`${id}\` is being deleted`;
    const hint = 'name another one in `warehouse_id`';
    return [passed, { name: 'warehouse', status: 'fail', reason, hint }];
  } catch (error) {
    const isThere = error instanceof ConnectorError && ['missing', 'refused'].includes(error.kind);
    if (isThere) return [passed, failed('warehouse', error, 'check `warehouse_id`')];
    return [failed('auth', error, 'check `workspace_url` and `auth`')];
  }
}

async function probeTable(link: Link, config: DatabricksSinkConfig): Promise<ProbeFinding> {
  try {
    const columns = await readColumns(link, tablePlace(config));
    return tableFinding(
      { ...config, table_name: config.table, column_mapping: { kind: 'auto' } },
      columns?.map(({ name }) => name),
      (name) => name.toLowerCase(),
    );
  } catch (error) {
    return failed('schema', error, 'check `catalog`, `schema` and `table`');
  }
}

const PROBED = 'svc-load-probe';

async function probeStaging(
  link: Link,
  { staging }: DatabricksSinkConfig,
  context: SinkContext,
): Promise<ProbeFinding[]> {
  if (staging === undefined) return [];
  try {
    const place = await openPlace({ staging, context, link });
    try {
      await place.put(PROBED, '');
      await place.remove(PROBED);
    } finally {
      place.close();
    }
    return [{ name: 'staging', status: 'pass' }];
  } catch (error) {
    return [failed('staging', error, 'check `staging`')];
  }
}

function failed(name: string, error: unknown, hint: string): ProbeFinding {
  const own = error instanceof AppError ? error.hint : undefined;
  return { name, status: 'fail', reason: messageOf(error), hint: own ?? hint };
}
