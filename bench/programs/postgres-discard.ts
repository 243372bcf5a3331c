/**
 * `node postgres-discard.ts URL STATEMENT`: reads a COPY TO STDOUT and throws it away, for machines
 * without psql.
 */
import { Client } from 'pg';
import { to } from 'pg-copy-streams';

const [connectionString = '', statement = ''] = process.argv.slice(2);
const client = new Client({ connectionString });
await client.connect();
for await (const chunk of client.query(to(statement))) void chunk;
await client.end();
