import type { SourceContext } from '../../../kit/context.ts';
import type { Discovered } from '../../../kit/source.ts';
import { columnTypeFor } from '../../../kit/typed-values.ts';
import { setField, type JsonObject } from '../../../lib/text/json.ts';
import { backticked } from '../../_google/backticked.ts';
import type { SpannerSourceConfig } from '../config.ts';
import { SpannerLink } from '../link.ts';
import { columnOf, typeOf } from '../types/columns.ts';

const COLUMNS = `SELECT c.TABLE_NAME, c.COLUMN_NAME, c.SPANNER_TYPE, c.IS_NULLABLE
  FROM INFORMATION_SCHEMA.COLUMNS AS c
  JOIN INFORMATION_SCHEMA.TABLES AS t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
  WHERE c.TABLE_SCHEMA = '' AND t.TABLE_TYPE = 'BASE TABLE'
  ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION`;

/** One data set for each table of the default schema. */
export async function discoverTables(
  config: SpannerSourceConfig,
  context: SourceContext,
): Promise<Discovered[]> {
  const link = new SpannerLink(config, context);
  try {
    const rows = await link.rows('the tables cannot be listed', { sql: COLUMNS });
    const tables = Map.groupBy(rows, ([table]) => String(table));
    return [...tables].map(([table, columns]) =>
      described(
        table,
        columns.map((row) => row.map(String)),
      ),
    );
  } finally {
    await link.close();
  }
}

function described(table: string, columns: readonly (readonly string[])[]): Discovered {
  const properties: JsonObject = {};
  for (const [, name = '', type = '', nullable] of columns) {
    const { base, isList } = columnOf({ name, type, nullable: true, isGenerated: false });
    // Decimals are texts, with all their digits.
    const known = columnTypeFor(typeOf(base, isList));
    setField(properties, name, { type: nullable === 'YES' ? [known, 'null'] : known });
  }
  return {
    name: table,
    kind: 'table',
    schema: { type: 'object', properties },
    config_patch: { query: `SELECT * FROM ${backticked(table)}`, params: null },
  };
}
