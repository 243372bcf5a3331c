/**
 * `node digest-parquet.ts FILE CSV`: whether a Parquet file holds the records of a CSV file, judged
 * by the analytical engine.
 */
import { DuckDBInstance } from '@duckdb/node-api';

const [parquet = '', csv = ''] = process.argv.slice(2);
const instance = await DuckDBInstance.create(':memory:');
const connection = await instance.connect();
const digests = [];
for (const from of [
  `read_parquet('${parquet}')`,
  `read_csv('${csv}', all_varchar = true, header = true)`,
]) {
  const reader = await connection.runAndReadAll(
    `SELECT count(*), sum(hash(t)), bit_xor(hash(t)) FROM (SELECT * FROM ${from}) t`,
  );
  digests.push(reader.getRows()[0]?.map(String).join(' '));
}
console.log(JSON.stringify(digests));
