/**
 * `node postgres-statement.ts URL STATEMENT`: lets the server do one thing, for machines without
 * psql.
 */
import { Client } from 'pg';

const [connectionString = '', statement = ''] = process.argv.slice(2);
const client = new Client({ connectionString });
await client.connect();
await client.query(statement);
await client.end();
