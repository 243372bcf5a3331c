import type { SourceContext } from '../../../kit/context.ts';
import type { Discovered } from '../../../kit/source.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import type { SnowflakeSourceConfig } from '../config.ts';
import { identifier } from '../../_sql/folded-names.ts';
import { Session, type ResultRow } from '../session/session.ts';

/** One data set for each table of the database that may be read. */
export async function discoverTables(
  config: SnowflakeSourceConfig,
  context: SourceContext,
): Promise<Discovered[]> {
  if (config.database === undefined)
    throw new ConnectorError('missing', 'the database whose tables are listed is not named', {
      hint: 'set `database`',
    });
  const database = identifier(config.database);
  const session = await Session.open(config, context);
  try {
    const tables = await session.rows(
      `SELECT table_schema, table_name, row_count FROM ${database}.INFORMATION_SCHEMA.TABLES WHERE table_type = 'BASE TABLE' ORDER BY table_schema, table_name`,
    );
    const columns = Map.groupBy(
      await session.rows(
        `SELECT table_schema, table_name, column_name, data_type, is_nullable, numeric_scale FROM ${database}.INFORMATION_SCHEMA.COLUMNS ORDER BY table_schema, table_name, ordinal_position`,
      ),
      ([schema, table]) => JSON.stringify([schema, table]),
    );
    return tables.map(([schema = null, table = null, rows = null]) => ({
      name: `${schema}.${table}`,
      kind: 'table',
      schema: {
        type: 'object',
        properties: propertiesOf(columns.get(JSON.stringify([schema, table])) ?? []),
      },
      ...(rows === null ? {} : { estimated_rows: Number(rows) }),
      config_patch: {
        query: `SELECT * FROM ${database}.${quoteName(schema ?? '')}.${quoteName(table ?? '')}`,
      },
    }));
  } finally {
    await session.close();
  }
}

function propertiesOf(rows: readonly ResultRow[]): JsonObject {
  return Object.fromEntries(
    rows.map(([, , name, type, nullable, scale]) => {
      const one = jsonType(type ?? '', Number(scale ?? 0));
      return [name ?? '', { type: nullable === 'NO' ? one : [one, 'null'] }];
    }),
  );
}

function jsonType(type: string, scale: number): string {
  switch (type) {
    case 'NUMBER':
      return scale === 0 ? 'integer' : 'number';
    case 'FLOAT':
    case 'DECFLOAT':
      return 'number';
    case 'BOOLEAN':
      return 'boolean';
    case 'ARRAY':
      return 'array';
    case 'OBJECT':
    case 'VARIANT':
    case 'MAP':
      return 'object';
    default:
      return 'string';
  }
}
