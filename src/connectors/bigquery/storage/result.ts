/** The rows of a table, or of the table that BigQuery makes of a result, by the Storage Read API. */
import type { SourceContext } from '../../../kit/context.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { jsonText } from '../../../lib/text/json.ts';
import { loadArrow, type Arrow } from '../../_arrow/batches.ts';
import type { BigquerySourceConfig } from '../config.ts';
import { destinationOf, runQuery } from '../jobs.ts';
import type { Link } from '../link.ts';
import { compileQuery, restrictionOf } from '../read/query.ts';
import type { RowsOfResult } from '../read/rows-of-result.ts';
import { placeIn, type TablePlace } from '../table-name.ts';
import { schemaIn, tablePath } from '../tables.ts';
import { fieldsIn, type TableField } from '../types/fields.ts';
import { fieldsGiven, recordsOf } from './columns.ts';
import { ReadService, type Session } from './read-service.ts';

interface Reading {
  readonly link: Link;
  readonly config: BigquerySourceConfig;
  readonly context: SourceContext;
}

interface Opened {
  readonly arrow: Arrow;
  readonly service: ReadService;
  readonly session: Session;
  readonly fields: readonly TableField[];
}

export async function readResult(reading: Reading): Promise<RowsOfResult> {
  const { arrow, service, session, fields } = await openSession(reading);
  return {
    fields,
    async *parts() {
      try {
        for await (const batch of service.batches(session)) yield recordsOf(arrow, batch, fields);
      } finally {
        await service.close();
      }
    },
  };
}

/** The columns that a session of a table gives, which reads nothing. */
export async function describeTable(reading: Reading): Promise<readonly TableField[]> {
  const { service, fields } = await openSession(reading);
  await service.close();
  return fields;
}

async function openSession(reading: Reading): Promise<Opened> {
  const { config, context } = reading;
  const arrow = await loadArrow();
  const { place, fields: known } = await tableOf(reading);
  const service = new ReadService(config, context, arrow);
  try {
    const rows = restrictionOf(config.row_restriction ?? '', context);
    const session = await service.open(place, { rows });
    const { schema } = arrow.tableFromIPC(session.schema);
    return { arrow, service, session, fields: fieldsGiven(known, schema.fields) };
  } catch (error) {
    await service.close();
    throw error;
  }
}

interface Table {
  readonly place: TablePlace;
  readonly fields: readonly TableField[];
}

function tableOf({ link, config, context }: Reading): Promise<Table> {
  const { read_table: table } = config;
  return table === undefined ? resultTable({ link, config, context }) : namedTable(link, table);
}

async function namedTable(link: Link, name: string): Promise<Table> {
  const place = placeIn(name, link.config.project_id);
  const { project, dataset, table } = place;
  const what = `looking at \`${name}\``;
  const found = await link.ask(what, { project, path: tablePath(dataset, table) });
  const type = jsonText(found['type'] ?? '');
  if (UNSTORED.test(type))
    throw new ConnectorError(
      'refused',
      `\`${name}\` is a ${type}, which the Storage Read API does not read`,
      { hint: 'select its rows in `query`, without `read_table`: results can be read' },
    );
  return { place, fields: fieldsIn(schemaIn(found)) };
}

/** What has no rows of its own. */
const UNSTORED = /VIEW|EXTERNAL/;

/** BigQuery keeps the result of a query in a table for a day. */
async function resultTable({ link, config, context }: Reading): Promise<Table> {
  const { query = '', params, use_legacy_sql: isLegacy } = config;
  const bound = compileQuery({ query, params, isLegacy, context });
  const { fields, job } = await runQuery(link, 'the query', { ...bound, isLegacy, pageRows: 0 });
  return { place: await destinationOf(link, job), fields: fieldsIn(fields) };
}
