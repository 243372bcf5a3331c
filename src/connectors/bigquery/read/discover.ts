import type { SourceContext } from '../../../kit/context.ts';
import type { Discovered } from '../../../kit/source.ts';
import { columnTypeFor } from '../../../kit/typed-values.ts';
import { jsonText, type JsonObject } from '../../../lib/text/json.ts';
import type { BigquerySourceConfig } from '../config.ts';
import { Link } from '../link.ts';
import { datasetsOf, lookAtTable, schemaIn, tablesOf, type ListedTable } from '../tables.ts';
import { backticked } from '../../_google/backticked.ts';
import { fieldsIn, recordTypeOf, type TableField } from '../types/fields.ts';

const MOST_TABLES = 500;
/** Each is a request of its own. */
const MOST_SCHEMAS = 100;

/** One data set for each table of the project; views are none. */
export async function discoverTables(
  config: BigquerySourceConfig,
  context: SourceContext,
): Promise<Discovered[]> {
  const link = await Link.open(config, context);
  const found: Discovered[] = [];
  for await (const one of allTables(link)) {
    if (found.length === MOST_TABLES) {
      context.env.log.warn('the project has more tables than are listed', { most: MOST_TABLES });
      break;
    }
    found.push(await described({ link, config }, one, found.length < MOST_SCHEMAS));
  }
  return found;
}

async function* allTables(link: Link): AsyncGenerator<ListedTable> {
  for await (const dataset of datasetsOf(link))
    for await (const one of tablesOf(link, dataset)) if (one.kind === 'TABLE') yield one;
}

interface Discovering {
  readonly link: Link;
  readonly config: BigquerySourceConfig;
}

async function described(
  { link, config: { project_id, read_api: isRead } }: Discovering,
  { dataset, table }: ListedTable,
  withSchema: boolean,
): Promise<Discovered> {
  const path = `${project_id}.${dataset}.${table}`;
  const query = { query: `SELECT * FROM ${backticked(path)}`, params: [], use_legacy_sql: false };
  const base = {
    name: `${dataset}.${table}`,
    kind: 'table',
    config_patch: isRead
      ? { read_table: path, query: null, selected_fields: null, row_restriction: null }
      : query,
  };
  const found = withSchema ? await lookAtTable(link, dataset, table) : undefined;
  if (found === undefined) return base;
  const { numRows } = found;
  return {
    ...base,
    schema: { type: 'object', properties: propertiesOf(fieldsIn(schemaIn(found))) },
    ...(numRows === undefined || numRows === null
      ? {}
      : { estimated_rows: Number(jsonText(numRows)) }),
  };
}

function propertiesOf(fields: readonly TableField[]): JsonObject {
  return Object.fromEntries(
    fields.map((field) => {
      // Decimals are texts, with all their digits.
      const type = columnTypeFor(recordTypeOf(field));
      const isNullable = !field.isRequired && !field.isRepeated;
      return [field.name, { type: isNullable ? [type, 'null'] : type }];
    }),
  );
}
