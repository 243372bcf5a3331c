import type { SourceContext } from '../../kit/context.ts';
import type { Discovered } from '../../kit/source.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { jsonType } from '../_mssql/json-type.ts';
import type { MssqlCdcConfig } from './config.ts';
import { Links } from './links.ts';
import { checkEnabled, listInstances } from './server.ts';

const COLUMNS = `SELECT t.capture_instance, c.column_name, c.column_type
  FROM cdc.captured_columns AS c JOIN cdc.change_tables AS t ON t.object_id = c.object_id
  ORDER BY t.capture_instance, c.column_ordinal`;

/** One data set for each capture instance, with the columns of the rows in its changes. */
export async function discoverInstances(
  config: MssqlCdcConfig,
  context: SourceContext,
): Promise<Discovered[]> {
  const links = new Links(config, context);
  try {
    return await links.using('the capture instances cannot be listed', async (link) => {
      await checkEnabled(link);
      const instances = await listInstances(link);
      const { rows } = await link.ask(COLUMNS);
      const columns = Map.groupBy(rows, ([instance]) => String(instance));
      return instances.map(({ name, schema, table }) => {
        const row: JsonObject = {};
        for (const [, column, type] of columns.get(name) ?? [])
          row[String(column)] = { type: [jsonType(String(type)), 'null'] };
        return {
          name,
          kind: 'capture_instance',
          schema: changeSchema(schema, table, row),
          config_patch: { capture_instances: [name] },
        };
      });
    });
  } finally {
    links.close();
  }
}

function changeSchema(schema: string, table: string, row: JsonObject): JsonObject {
  const image = { type: ['object', 'null'], properties: row };
  return {
    type: 'object',
    properties: {
      op: { type: 'string', enum: ['i', 'u', 'd'] },
      schema: { type: 'string', const: schema },
      table: { type: 'string', const: table },
      lsn: { type: 'string' },
      seqval: { type: 'string' },
      before: image,
      after: image,
    },
  };
}
