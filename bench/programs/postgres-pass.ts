/** `node postgres-pass.ts URL OUT INTO`: pipes one COPY into another, for machines without psql. */
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from, to } from 'pg-copy-streams';

const [connectionString = '', out = '', into = ''] = process.argv.slice(2);
const [reader, writer] = [new Client({ connectionString }), new Client({ connectionString })];
await Promise.all([reader.connect(), writer.connect()]);
await pipeline(reader.query(to(out)), writer.query(from(into)));
await Promise.all([reader.end(), writer.end()]);
