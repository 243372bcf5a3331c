import type { DuckDBPreparedStatement, DuckDBResult } from '@duckdb/node-api';
import { ConnectorError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/text/json.ts';
import {
  duckdbLibrary,
  duckdbRecords,
  duckdbRows,
  interruptible,
  prepareDuckdb,
  type Duckdb,
  type DuckDBConnection,
} from '../../lib/sql/duckdb.ts';
import { duckdbError } from '../../lib/sql/duckdb-errors.ts';
import { quoteName } from '../../lib/sql/sql-name.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import type { Discovered, ReadRequest, Source } from '../../kit/source.ts';
import { refuseEqualNames } from '../_sql/equal-names.ts';
import { createPager } from '../_sql/pager.ts';
import { bindRecords } from '../_sql/parent-value.ts';
import { encodedSize } from '../../kit/rough-size.ts';
import { openToRead, type DuckdbSourceConfig } from './config.ts';
import { schemaOfResult } from '../../kit/duckdb-types.ts';
import { describeColumns, readColumns } from './schema.ts';

export async function openDuckdbSource(
  config: DuckdbSourceConfig,
  context: SourceContext,
): Promise<Source> {
  const database = await openToRead(config, context.env.cwd);
  let pages: AsyncGenerator<Page, void> | undefined;
  return {
    pages: (request) => (pages = readPages(database, config, context, request)),
    async close() {
      await pages?.return().catch(() => {});
      database.close();
    },
  };
}

async function* readPages(
  { connection }: Duckdb,
  config: DuckdbSourceConfig,
  context: SourceContext,
  request: ReadRequest,
): AsyncGenerator<Page, void> {
  const { signal } = context;
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await interruptible(connection, signal, work);
    } catch (error) {
      throw error === signal.reason ? error : duckdbError(error, 'the query failed');
    }
  };
  const result = await step(() => runQuery(connection, config.query, context));
  const schema = schemaOfResult(result);
  const pager = createPager({
    bounds: pageBounds(config.batch_size, context.pageBytes),
    limit: request.limit,
    schema: () => schema,
  });
  const chunks = duckdbRecords(connection, result, { exact: () => true });
  try {
    for (
      let next = await step(() => chunks.next());
      next.done !== true;
      next = await step(() => chunks.next())
    ) {
      for (const record of next.value) {
        if (!pager.add(record, encodedSize(record))) continue;
        yield pager.take();
        signal.throwIfAborted();
        if (pager.done) return;
      }
    }
    if (pager.count > 0) yield pager.take();
  } finally {
    await chunks.return(undefined);
  }
}

async function runQuery(
  connection: DuckDBConnection,
  query: string,
  context: SourceContext,
): Promise<DuckDBResult> {
  const bound = bindRecords(query, context, (index) => `$${index + 1}`);
  const statement = await prepareDuckdb(connection, bound.sql, bound.values);
  refuseChanges(statement);
  refuseEqualNames(
    Array.from({ length: statement.columnCount }, (_, index) => statement.columnName(index)),
  );
  return statement.stream();
}

/** A source reads; what a statement would change is not its own. */
function refuseChanges(statement: DuckDBPreparedStatement): void {
  if (statement.statementType === duckdbLibrary().StatementType.SELECT) return;
  throw new ConnectorError('refused', 'the query does not read: it has to be a SELECT', {
    hint: 'change data outside of the pipeline',
  });
}

const TABLES = `SELECT schema_name, table_name, estimated_size FROM duckdb_tables()
  WHERE database_name = current_database() AND NOT internal AND NOT temporary ORDER BY schema_name, table_name`;

/** One data set for each table, by name. */
export async function discoverTables(
  config: { database: string; read_only: boolean },
  context: SourceContext,
): Promise<Discovered[]> {
  const database = await openToRead(config, context.env.cwd);
  try {
    const found: Discovered[] = [];
    for (const row of await duckdbRows(database.connection, TABLES)) {
      const [schema, table] = [
        jsonText(row['schema_name'] ?? null),
        jsonText(row['table_name'] ?? null),
      ];
      const columns = await readColumns(database.connection, table, schema);
      found.push({
        name: schema === 'main' ? table : `${schema}.${table}`,
        kind: 'table',
        schema: describeColumns(columns ?? []),
        estimated_rows: Number(row['estimated_size']),
        config_patch: { query: `SELECT * FROM ${quoteName(schema)}.${quoteName(table)}` },
      });
    }
    return found;
  } catch (error) {
    throw duckdbError(error, 'the tables cannot be listed');
  } finally {
    database.close();
  }
}
