/**
 * The PostgreSQL that moves read and write, and how its tables are compared: by the server itself,
 * never by the program.
 */
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from } from 'pg-copy-streams';
import { startPostgres } from '../test/servers/postgres.ts';

export interface Database {
  readonly url: string;
  execute(sql: string): Promise<void>;
  /** The first value of the first row. */
  ask(sql: string): Promise<string>;
  /** Has the server read the CSV file into a table. */
  load(table: string): Promise<void>;
  /** Throws when two queries do not give the same rows, whatever their order. */
  compare(one: string, other: string): Promise<void>;
  stop(): Promise<void>;
}

export const PEOPLE_COLUMNS =
  'id bigint, name text, email text, amount float8, ts timestamptz, active boolean, payload jsonb';

/** With the durability of a real server, and the CSV file loaded into the table `people`. */
export async function startDatabase(csv: string): Promise<Database> {
  const server = await startPostgres({ fsync: true });
  const client = new Client({ connectionString: server.url });
  await client.connect();
  await client.query(`CREATE TABLE people (${PEOPLE_COLUMNS})`);
  const load = (table: string): Promise<void> =>
    pipeline(
      createReadStream(csv),
      client.query(from(`COPY ${table} FROM STDIN (FORMAT csv, HEADER)`)),
    );
  await load('people');
  await client.query('ALTER TABLE people ADD PRIMARY KEY (id)');
  await client.query('VACUUM (FREEZE, ANALYZE) people');
  const digest = async (query: string): Promise<string> => {
    const { rows } = await client.query<{ digest: string }>(
      `SELECT count(*) || ' rows ' || coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) AS digest FROM (${query}) t`,
    );
    return rows[0]?.digest ?? '';
  };
  return {
    url: server.url,
    async execute(sql) {
      await client.query(sql);
    },
    async ask(sql) {
      const { rows } = await client.query<string[]>({ text: sql, rowMode: 'array' });
      return rows[0]?.[0] ?? '';
    },
    load,
    async compare(one, other) {
      const digests = [await digest(one), await digest(other)];
      if (digests[0] !== digests[1])
        throw new Error(`${one} gives ${digests[0]}, ${other} gives ${digests[1]}`);
    },
    async stop() {
      await client.end();
      await server.stop();
    },
  };
}
