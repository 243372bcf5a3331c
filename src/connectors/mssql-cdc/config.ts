import { z } from 'zod';
import {
  batchSize,
  finding,
  integer,
  nullAsAbsent,
  number,
  optional,
  text,
} from '../../kit/schema.ts';
import { inOneCase } from '../../lib/sql/sql-name.ts';
import { checkEndpoint, connectionFields, statementTimeout } from '../_mssql/fields.ts';
import { connections, stateKey } from '../_sql/source-fields.ts';

/** How long a change waits until its page is given. */
export const IDLE_FLUSH_MS = 100;

const LONGEST = 31_536_000;
/** A statement has at most 2,100 parameters, of which each instance takes one. */
const MOST_INSTANCES = 1000;

const captureInstances = () =>
  z
    .array(
      text().superRefine((name, ctx) => {
        if (/^\w{1,100}$/.test(name)) return;
        const hint =
          'letters, digits and `_`, as `dbo_orders`; see `SELECT capture_instance FROM cdc.change_tables`';
        ctx.addIssue(finding('invalid_value', 'this is no name of a capture instance', { hint }));
      }),
    )
    .min(1)
    .max(MOST_INSTANCES)
    .superRefine((names, ctx) => {
      const seen = new Set<string>();
      for (const [at, name] of names.entries()) {
        const plain = inOneCase(name);
        if (seen.has(plain))
          ctx.addIssue(finding('invalid_value', `\`${name}\` is named twice`, { path: [at] }));
        seen.add(plain);
      }
    })
    .meta({
      description:
        'Capture instances whose changes are read, merged in the order of the commits: `<schema>_<table>` unless `sp_cdc_enable_table` was given another name.',
      examples: [['dbo_orders', 'dbo_customers']],
    });

const startPosition = () =>
  nullAsAbsent(
    z
      .preprocess(
        (value) => (typeof value === 'string' ? { type: value } : value),
        z.strictObject({
          type: z.enum(['current', 'earliest']).meta({
            description: '`current`: what is captured from now on; `earliest`: all that is kept.',
          }),
        }),
      )
      .default({ type: 'current' }),
  ).meta({
    description:
      'Where a capture instance without a bookmark begins: behind the last change that is captured (`current`), or with the first one that is kept (`earliest`).',
    examples: ['earliest'],
  });

export const mssqlCdcConfig = z.lazy(() =>
  z
    .strictObject({
      ...connectionFields(),
      capture_instances: captureInstances(),
      start_position: startPosition(),
      poll_interval: nullAsAbsent(number({ min: 0.01, max: 3600 }).default(1)).meta({
        description: 'Seconds until the server is asked again where there was no change.',
      }),
      idle_timeout: nullAsAbsent(number({ min: 0.001, max: LONGEST }).default(30)).meta({
        description: 'Seconds without a change after which the run ends.',
      }),
      max_staged_records: optional(integer({ min: 1 })).meta({
        description:
          'Most changes that a transaction may have: none of a longer one is given, and the run fails. Unset: a transaction larger than a page comes in parts.',
      }),
      batch_size: batchSize().meta({
        description:
          'Records a page holds at most; a page ends with a transaction wherever it can. 0 means one single page, at the end of the run.',
      }),
      max_connections: connections(
        5,
        'Maximum number of open connections. With one more than there are capture instances, each is read in one go; with fewer, in parts.',
      ),
      statement_timeout_secs: statementTimeout(),
      state_key: stateKey,
    })
    .superRefine((config, ctx) => checkEndpoint(config, ctx)),
);
export type MssqlCdcConfig = z.output<typeof mssqlCdcConfig>;
