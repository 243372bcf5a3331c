/**
 * `node duckdb-copy.ts IN OUT`: the embedded analytical engine's own COPY of a CSV file, one
 * thread, every value a text.
 */
import { DuckDBInstance } from '@duckdb/node-api';

const [input = '', output = ''] = process.argv.slice(2);
const format = output.endsWith('.parquet') ? 'FORMAT parquet' : 'FORMAT json';
const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
const connection = await instance.connect();
await connection.run(
  `COPY (SELECT * FROM read_csv('${input}', all_varchar = true, header = true)) TO '${output}' (${format})`,
);
connection.closeSync();
instance.closeSync();
