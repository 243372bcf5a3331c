import { z } from 'zod';
import { batchSize, finding, integer, text } from '../../kit/schema.ts';
import { parseSqliteUrl } from '../../lib/sql/sqlite.ts';
import { checkSqlSink, sqlSinkFields } from '../_sql/sink-fields.ts';
import { shard } from '../_sql/source-fields.ts';

const databaseUrl = z.lazy(() =>
  text()
    .superRefine((url, ctx) => {
      const address = parseSqliteUrl(url);
      if ('error' in address) ctx.addIssue(finding('invalid_value', address.error));
    })
    .meta({
      description:
        'Path of the database, or `sqlite:<path>`, or `sqlite::memory:`; `?mode=ro`, `rw` or `rwc` (create it when missing).',
      examples: ['sqlite:data/shop.db', 'sqlite://./shop.db?mode=rwc'],
    }),
);

function connections(fallback: number) {
  return integer({ min: 1 }).default(fallback).meta({
    description: 'Maximum number of open connections; SQLite needs one and no more are opened.',
    advanced: true,
  });
}

export const sqliteSourceConfig = z.lazy(() =>
  z.strictObject({
    database_url: databaseUrl,
    query: text().meta({
      description:
        'Statement whose rows are the records; `{field}` binds that field of the parent record, `${row.field}` a field of the record of that row.',
      examples: ['SELECT * FROM orders WHERE customer = {id}'],
    }),
    max_connections: connections(10),
    batch_size: batchSize(),
    shard,
  }),
);
export type SqliteSourceConfig = z.output<typeof sqliteSourceConfig>;

export const sqliteSinkConfig = z.lazy(() =>
  z
    .strictObject({
      database_url: databaseUrl,
      max_connections: connections(1),
      ...sqlSinkFields(),
    })
    .superRefine(checkSqlSink),
);
export type SqliteSinkConfig = z.output<typeof sqliteSinkConfig>;
