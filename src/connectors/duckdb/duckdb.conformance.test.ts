import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDuckdb } from '../../lib/sql/duckdb.ts';
import { describeSource } from '../../../test/conformance/source.ts';
import { duckdbSource } from './index.ts';

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
