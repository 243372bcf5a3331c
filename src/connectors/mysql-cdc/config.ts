import { z } from 'zod';
import {
  batchSize,
  boolean,
  finding,
  integer,
  nullAsAbsent,
  number,
  optional,
  text,
} from '../../kit/schema.ts';
import { parseMysqlAddress } from '../../lib/sql/mysql-address.ts';
import { tlsFields } from '../_cdc/tls-fields.ts';
import { parseGtidSet } from './read/gtid-set.ts';
import { FIRST_POS } from './read/position.ts';

/** How long a change waits until its page is given. */
export const IDLE_FLUSH_MS = 100;

const LONGEST = 31_536_000;
/** A server has a number of 32 bits. */
const LARGEST_ID = 4_294_967_295;
const LARGEST_POS = 4_294_967_295;

const connectionUrl = () =>
  text()
    .superRefine((url, ctx) => {
      const address = parseMysqlAddress(url);
      if (!('fault' in address)) return;
      const { fault, hint } = address;
      ctx.addIssue(finding('invalid_value', fault, hint === undefined ? {} : { hint }));
    })
    .meta({
      description:
        'Address of the server: `mysql://user:password@host:port`, or the same with `mariadb`; a database is not needed. Its user needs the right to replicate.',
      examples: ['${env:MYSQL_URL}'],
      secret: true,
    });

const tables = (description: string) =>
  nullAsAbsent(
    z
      .array(
        text().superRefine((name, ctx) => {
          if (/^[^.]+\../.test(name)) return;
          const hint = `write it with its database, as \`shop.${name.replaceAll('.', '')}\``;
          ctx.addIssue(finding('invalid_value', 'this names no database and table', { hint }));
        }),
      )
      .default([]),
  ).meta({ description });

const startPosition = () =>
  nullAsAbsent(
    z
      .preprocess(
        (value) => (typeof value === 'string' ? { type: value } : value),
        z.discriminatedUnion('type', [
          z.strictObject({ type: z.literal('current') }),
          z.strictObject({ type: z.literal('earliest') }),
          z.strictObject({
            type: z.literal('file_pos'),
            file: text().meta({ description: 'Name of a log file, as `binlog.000042`.' }),
            pos: integer({ min: FIRST_POS, max: LARGEST_POS }).meta({
              description: 'Byte at which an event begins; 4 is the first.',
            }),
          }),
          z.strictObject({
            type: z.literal('gtid_set'),
            value: text()
              .superRefine((value, ctx) => {
                if (parseGtidSet(value) !== undefined) return;
                const hint = 'write `0-1-270` (MariaDB), or `<uuid>:1-270` (MySQL)';
                ctx.addIssue(finding('invalid_value', 'this is no set of transactions', { hint }));
              })
              .meta({ description: 'Transactions before the first that is read.' }),
          }),
        ]),
      )
      .default({ type: 'current' }),
  ).meta({
    description:
      'Where a run without a bookmark begins: at the end of the log (`current`), with its first file (`earliest`), at a place in a file (`file_pos`), or behind transactions (`gtid_set`).',
  });

export const mysqlCdcConfig = z.lazy(() =>
  z.strictObject({
    connection_url: connectionUrl(),
    server_id: integer({ min: 1, max: LARGEST_ID }).meta({
      description:
        'Number of this reader, which no server and no other reader of the log has: the server ends a reader when another one comes with its number.',
      examples: [5001],
    }),
    include_tables: tables(
      'Tables to read, as `db.table`; empty: all but those of the server itself.',
    ),
    exclude_tables: tables(
      'Tables to leave out, as `db.table`; without effect where `include_tables` names any.',
    ),
    start_position: startPosition(),
    include_columns: nullAsAbsent(boolean().default(true)).meta({
      description: 'Whether records hold the row as it was before the change (`before`).',
    }),
    emit_schema_changes: nullAsAbsent(boolean().default(false)).meta({
      description:
        'Whether statements that change tables are records, too: `op` is `ddl`, and `ddl` their text.',
    }),
    tls: tlsFields(
      'Encryption; unset: as `ssl-mode` of the address says, which is none by default.',
    ),
    idle_timeout: nullAsAbsent(number({ min: 0.001, max: LONGEST }).default(30)).meta({
      description: 'Seconds without a change after which the run ends.',
    }),
    max_staged_records: optional(integer({ min: 1 })).meta({
      description:
        'Longest transaction: a longer one ends the run before any of it is written. Unset: large transactions are written in parts, as they come.',
    }),
    batch_size: batchSize().meta({
      description:
        'Records a page holds at most. A page ends with a transaction where that is possible; 0 means one single page, at the end of the run.',
    }),
  }),
);
export type MysqlCdcConfig = z.output<typeof mysqlCdcConfig>;
