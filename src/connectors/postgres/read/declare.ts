import { CURSOR, type Connection } from '../../_postgres/connection.ts';
import type { Statement } from '../../_postgres/query.ts';

/**
 * Begins the transaction for reading and declares the query in it. Only statements that a cursor
 * can read are ever run.
 */
export async function declareQuery(
  { client, timeoutSecs }: Connection,
  { sql, values }: Statement,
): Promise<void> {
  // A slow sink may leave the transaction idle for long; it must not be ended for that.
  await client.query(`BEGIN;
    SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'iso_8601'; SET LOCAL bytea_output = 'hex';
    SET LOCAL extra_float_digits = 1; SET LOCAL idle_in_transaction_session_timeout = 0;
    SET LOCAL statement_timeout = ${timeoutSecs * 1000}`);
  // The extended protocol refuses a second statement after the query.
  const extended = { queryMode: 'extended' };
  await client.query({
    text: `DECLARE ${CURSOR} NO SCROLL CURSOR FOR ${sql}`,
    values: [...values],
    ...extended,
  });
}
