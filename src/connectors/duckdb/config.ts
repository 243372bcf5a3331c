import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { batchSize, boolean, text } from '../../kit/schema.ts';
import { openDuckdb, type Duckdb } from '../../lib/sql/duckdb.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { permittedFile } from '../../lib/files/file-access.ts';
import { checkSqlSink, sqlSinkFields } from '../_sql/sink-fields.ts';

/** The path of a database without a file. */
export const MEMORY = ':memory:';

const database = z.lazy(() =>
  text()
    .transform((written) => written.replace(/^duckdb:(\/\/)?/, ''))
    .refine((path) => path !== '')
    .meta({
      description:
        'Path of the database file, with or without `duckdb:` or `duckdb://` before it, or `:memory:`.',
      examples: ['data/shop.duckdb', 'duckdb://./shop.duckdb', MEMORY],
    }),
);

export const duckdbSourceConfig = z.lazy(() =>
  z.strictObject({
    database,
    query: text().meta({
      description:
        'Statement whose rows are the records; `{field}` binds that field of the parent record, `${row.field}` one of the row that is named.',
      examples: ['SELECT * FROM orders WHERE customer = {id}'],
    }),
    read_only: boolean().default(false).meta({
      description:
        'Open the file for reading only, so that other processes may read it at the same time.',
    }),
    batch_size: batchSize(),
  }),
);
export type DuckdbSourceConfig = z.output<typeof duckdbSourceConfig>;

export const duckdbSinkConfig = z.lazy(() =>
  z.strictObject({ database, ...sqlSinkFields() }).superRefine(checkSqlSink),
);
export type DuckdbSinkConfig = z.output<typeof duckdbSinkConfig>;

/** Opens the database to read from; a missing file is not made. */
export async function openToRead(
  config: { database: string; read_only: boolean },
  cwd: string,
): Promise<Duckdb> {
  const path = pathOf(config.database, cwd);
  if (path !== MEMORY && !existsSync(path)) {
    throw new ConnectorError('missing', `there is no database ${config.database}`, {
      hint: 'check the path in `database`',
    });
  }
  return openDuckdb(path, config.read_only && path !== MEMORY ? { access_mode: 'READ_ONLY' } : {});
}

export function pathOf(written: string, cwd: string): string {
  return written === MEMORY ? MEMORY : permittedFile(resolve(cwd, written));
}
