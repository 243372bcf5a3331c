import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
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
import { postgresUrlFault } from '../../lib/sql/postgres.ts';
import { tlsFields } from '../_cdc/tls-fields.ts';
import { parseLsn } from './read/lsn.ts';

/** Unless the config says otherwise; less where a run ends sooner. */
const STATUS_SECONDS = 10;
const LONGEST = 31_536_000;

const slot = () => ({
  slot_name: z
    .string()
    .regex(
      /^[a-z0-9_]{1,63}$/,
      'is not made of up to 63 lower-case letters, digits and underscores',
    )
    .meta({ description: 'Replication slot, which belongs to this pipeline alone.' }),
  publication_name: text().meta({
    description: 'Publication with the tables to read; it must exist before the slot is made.',
  }),
  create_slot_if_missing: nullAsAbsent(boolean().default(true)).meta({
    description: 'Whether a missing slot is made. What changed before that is not read.',
  }),
  slot_type: nullAsAbsent(z.enum(['permanent', 'temporary']).default('permanent')).meta({
    description:
      '`temporary`: dropped by the server when the run ends, so that the next run does not go on where this one stopped.',
  }),
  slot_acquire_retries: nullAsAbsent(integer({ min: 0, max: 1000 }).default(10)).meta({
    description:
      'How often a slot that is in use is asked for again, after 250 ms at first and 4 s at last.',
    advanced: true,
  }),
  start_lsn: optional(
    text().superRefine((value, ctx) => {
      if (parseLsn(value) !== undefined) return;
      const hint = 'write a position of the log, as `0/16B3748`';
      ctx.addIssue(finding('invalid_value', 'this is no position of the log', { hint }));
    }),
  ).meta({
    description:
      'Where a run without a bookmark begins; unset, or before the position of the slot: at that.',
    examples: ['0/16B3748'],
  }),
  proto_version: nullAsAbsent(integer({ min: 1, max: 1 }).default(1)).meta({
    description: 'Version of the protocol of `pgoutput`; only 1 is read.',
    advanced: true,
  }),
});

const limits = () => ({
  idle_timeout: nullAsAbsent(number({ min: 0.001, max: LONGEST }).default(30)).meta({
    description: 'Seconds without a change after which the run ends.',
  }),
  max_messages: optional(integer({ min: 1 })).meta({
    description: 'Changes after which the run ends, with the transaction that holds the last one.',
  }),
  max_staged_records: optional(integer({ min: 1 })).meta({
    description:
      'Longest transaction: a longer one ends the run before any of it is written. Unset: large transactions are written in parts, as they come.',
  }),
  status_update_interval: optional(number({ min: 0.001, max: LONGEST })).meta({
    description:
      'Seconds between two messages that say how far the pipeline is; the server then removes what is stored. Less than `idle_timeout`; unset: 10, or half of `idle_timeout` where that is less.',
    advanced: true,
  }),
  tcp_keepalive: nullAsAbsent(number({ min: 0, max: 86_400 }).default(60)).meta({
    description: 'Seconds of silence after which the connection is tested; 0: never.',
    advanced: true,
  }),
});

const fields = z.lazy(() =>
  z
    .strictObject({
      connection_url: text()
        .superRefine((url, ctx) => {
          const fault = postgresUrlFault(url);
          if (fault !== undefined) ctx.addIssue(finding('invalid_value', fault));
        })
        .meta({
          description:
            'Address of the database: `postgres://user:password@host:port/database`; its user needs the right to replicate.',
          examples: ['${env:DATABASE_URL}'],
          secret: true,
        }),
      ...slot(),
      tls: tlsFields(
        'Encryption; unset: as `sslmode` of the address says, which is none by default.',
      ),
      ...limits(),
      batch_size: batchSize().meta({
        description:
          'Records a page holds at most. A page ends with a transaction where that is possible; 0 means one single page, at the end of the run.',
      }),
    })
    .superRefine(({ idle_timeout: idle, status_update_interval: every }, ctx) => {
      if (every === undefined || every < idle) return;
      const message = `\`status_update_interval\` (${every}) must be less than \`idle_timeout\` (${idle})`;
      const path = ['status_update_interval'];
      ctx.addIssue(finding('invalid_value', message, { path, hint: 'remove it' }));
    }),
);

export const postgresCdcConfig = z.lazy(() =>
  otherName('slot', 'slot_name', otherName('publication', 'publication_name', fields)),
);
export type PostgresCdcConfig = z.output<typeof fields>;

export function statusSeconds({
  status_update_interval: every,
  idle_timeout: idle,
}: PostgresCdcConfig): number {
  return every ?? Math.min(STATUS_SECONDS, idle / 2);
}
