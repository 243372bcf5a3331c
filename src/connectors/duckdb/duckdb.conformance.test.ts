import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duckdbRows, openDuckdb } from '../../lib/sql/duckdb.ts';
import { describeSink } from '../../../test/conformance/sink.ts';
import { describeSource } from '../../../test/conformance/source.ts';
import { duckdbSink, duckdbSource } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-duckdb-'));
const path = join(folder, 'source.duckdb');
const records = Array.from({ length: 20 }, (_, index) => ({
  id: index,
  name: `n${index}`,
  score: index + 0.5,
  none: null,
}));
{
  const { connection, close } = await openDuckdb(path);
  await connection.run(
    "CREATE TABLE people AS SELECT i AS id, 'n' || i AS name, (i + 0.5)::DOUBLE AS score, NULL::VARCHAR AS none FROM range(20) t(i)",
  );
  close();
}

describeSource(duckdbSource, {
  config: () => ({ database: path, query: 'SELECT * FROM people ORDER BY id' }),
  records,
  broken: {
    'a missing database': { database: join(folder, 'no-such.duckdb'), query: 'SELECT 1' },
    'a missing table': { database: path, query: 'SELECT * FROM nothing' },
    'a query that is not SQL': { database: path, query: 'SELEKT 1' },
  },
});

let made = 0;
describeSink(duckdbSink, {
  fresh: () => {
    made += 1;
    const file = join(folder, `sink-${made}.duckdb`);
    return Promise.resolve({
      config: { database: file, table_name: 'rows', column_mapping: 'auto_map' },
      rows: async () => {
        if (!existsSync(file)) return undefined;
        const { connection, close } = await openDuckdb(file);
        try {
          const [table] = await duckdbRows(
            connection,
            "SELECT 1 AS one FROM duckdb_tables() WHERE table_name = 'rows'",
          );
          return table === undefined
            ? undefined
            : await duckdbRows(connection, 'SELECT * FROM rows');
        } finally {
          close();
        }
      },
    });
  },
  broken: {
    'a path below a file': {
      database: join(path, 'x.duckdb'),
      table_name: 'rows',
      column_mapping: 'auto_map',
    },
  },
});
