/** Runs as the HTTP API shows them. */
import { z } from 'zod';
import { RUN_PRIORITIES } from './run-priority.ts';
import { MAX_CONCURRENCY, RUN_STATUSES } from './run-status.ts';
import { shardCountsSchema } from './shards.ts';

const time = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC.' });

export const callbackSchema = z
  .strictObject({
    url: z.string().meta({ description: 'Destination; http or https only.' }),
    method: z
      .string()
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/)
      .default('POST')
      .meta({ description: 'HTTP method; GET and HEAD carry no body.' }),
    headers: z
      .record(z.string(), z.string())
      .default({})
      .meta({ description: 'Extra request headers.', secret: true }),
    extra_fields: z
      .record(z.string(), z.unknown())
      .default({})
      .meta({ description: 'Merged at the top level of the body.' }),
    on: z
      .array(z.string())
      .optional()
      .meta({ description: 'Terminal statuses that call back; absent or empty means all.' }),
  })
  .meta({ description: 'One HTTP request when the run reaches a terminal status.' });
export type Callback = z.infer<typeof callbackSchema>;

export const callbackDeliverySchema = z
  .object({
    state: z.enum(['underway', 'delivered', 'dropped', 'not_wanted']).meta({
      description:
        '`dropped`: no attempt was taken, and there is no other; `not_wanted`: `on` leaves this status out.',
    }),
    attempts: z.int().meta({ description: 'Requests that were sent.' }),
    at: time,
    reason: z
      .string()
      .optional()
      .meta({ description: 'Why the last attempt was not taken by the receiver.' }),
  })
  .meta({ description: 'What became of the callback of a run.' });
export type CallbackDelivery = z.infer<typeof callbackDeliverySchema>;

export const submissionSchema = z
  .strictObject({
    config: z.string().meta({ description: 'The pipeline document, YAML or JSON text.' }),
    config_format: z
      .enum(['yaml', 'json'])
      .default('yaml')
      .meta({ description: 'Format of `config`.' }),
    name: z
      .string()
      .max(256)
      .nullish()
      .meta({ description: 'Name of the run; also drives state keys and metric labels.' }),
    labels: z
      .record(z.string(), z.string())
      .nullish()
      .meta({ description: 'Metadata stored on the run record.' }),
    timeout_secs: z.int().positive().nullish().meta({
      description:
        'Wall-clock cap; on expiry the run fails, also one that still waits (not in a cluster: there it counts from the start of the execution). The execution has all of it.',
    }),
    doctor_first: z
      .boolean()
      .nullish()
      .meta({ description: 'Run the preflight probes first; on any failure answer 422.' }),
    idempotency_key: z.string().min(1).max(512).nullish().meta({
      description: 'A repeat with the same key and payload answers with the existing run.',
    }),
    clock: z
      .string()
      .nullish()
      .meta({ description: 'RFC 3339 timestamp that `${now.*}` renders.' }),
    concurrency: z.int().nullish().meta({
      description:
        'Overrides the concurrency setting of every connector of this run that has one; `headgate plan` names them.',
      minimum: 1,
      maximum: MAX_CONCURRENCY,
    }),
    priority: z.enum(RUN_PRIORITIES).nullish().meta({
      description:
        'Of runs that wait, those of a higher priority begin first; `normal` when absent. It never stops a run that executes.',
    }),
    callback: callbackSchema.nullish(),
  })
  .meta({ description: 'A run submission.' });
export type Submission = z.infer<typeof submissionSchema>;

export const submissionReceiptSchema = z.strictObject({
  run_id: z.string(),
  status: z.enum(RUN_STATUSES),
  submitted_at: time,
});
export type SubmissionReceipt = z.infer<typeof submissionReceiptSchema>;

export const invocationRecordSchema = z.object({
  run_id: z.string().meta({ description: 'Invocation id; rollback names it.' }),
  row_id: z.string(),
  parent_record_key: z.string().nullable(),
  records_written: z.int(),
  error: z.string().nullable(),
  error_place: z.string().optional().meta({
    description: 'Where in the document the error lies, such as `pipeline.sink, line 6`.',
  }),
  error_hint: z.string().optional().meta({ description: 'What to do about the error.' }),
  status: z.enum(['completed', 'failed', 'cancelled', 'skipped']),
  started_at: time.optional().meta({
    format: 'date-time',
    description: 'RFC 3339, UTC; absent in runs of earlier versions.',
  }),
  duration_ms: z.number(),
  balance: z.object({
    read: z.int(),
    filtered: z.int(),
    expanded: z.int(),
    transformed: z.int(),
    written: z.int(),
    dead_lettered: z.int(),
    withheld: z.int(),
  }),
  outputs_expire_at: time.optional().meta({
    format: 'date-time',
    description:
      'RFC 3339, UTC: from when on the first of the files that it made on the machine of the server is deleted; absent when none is. `--local-output-retention-days 0` keeps them.',
  }),
});
export type InvocationRecord = z.infer<typeof invocationRecordSchema>;

export const nodeRecordSchema = z
  .object({
    id: z.string(),
    kind: z.string(),
    status: z.enum(['completed', 'failed', 'cancelled']),
    records_in: z.int().meta({ description: 'Records read, or taken from other nodes.' }),
    filtered: z.int(),
    expanded: z.int(),
    dead_lettered: z.int(),
    records_out: z.int().meta({ description: 'Records handed on, over all edges.' }),
    error: z.string().nullable(),
  })
  .meta({
    description:
      'What went through a node of a graph: `records_in - filtered + expanded - dead_lettered = records_out`.',
  });
export type NodeRecord = z.infer<typeof nodeRecordSchema>;

export const runRecordSchema = z
  .object({
    run_id: z.string(),
    name: z.string().nullable(),
    labels: z.record(z.string(), z.string()),
    status: z.enum(RUN_STATUSES),
    submitted_at: time,
    started_at: time.nullable(),
    finished_at: time.nullable(),
    elapsed_secs: z
      .number()
      .nullable()
      .meta({ description: 'Filled live while running; final after.' }),
    records_written: z.int().meta({
      description:
        'Of a run that servers gave to each other: also what the ones before wrote to rows that went on after their bookmarks. What a server wrote that was lost is not known, and left out.',
    }),
    invocations: z.array(invocationRecordSchema).meta({
      description:
        'As the server reported them that executed the run last, behind those of servers that gave it away, where a row went on after its bookmark: one row then has several.',
    }),
    nodes: z.array(nodeRecordSchema).optional().meta({
      description:
        'Present when the document has a graph, and the run has ended: the nodes before the sinks, which are invocations.',
    }),
    error: z.string().nullable(),
    idempotency_key: z.string().nullable(),
    doctor_report: z.unknown().nullable(),
    shards: shardCountsSchema.optional().meta({
      description:
        'Present when servers of a cluster execute the run in shards: how many of them are in which state.',
    }),
    priority: z
      .enum(RUN_PRIORITIES)
      .optional()
      .meta({ description: 'As submitted; absent where that is `normal`.' }),
    attempt: z.int().meta({
      description:
        '0 at first, one more each time the server that executed the run was lost. A server that gives the run back when it shuts down changes nothing.',
    }),
    callback: z
      .unknown()
      .optional()
      .meta({ description: 'As submitted, header values and URL credentials masked.' }),
    callback_delivery: callbackDeliverySchema.optional().meta({
      description:
        'Of a run that is read by its id; absent when it is not known, because it was made before this server started, by another server, or long ago.',
    }),
  })
  .meta({ description: 'A run.' });
export type RunRecord = z.infer<typeof runRecordSchema>;

export const runPageSchema = z.object({
  runs: z.array(runRecordSchema),
  next_cursor: z
    .string()
    .nullable()
    .meta({ description: 'The last run id of this page; null when there is no further page.' }),
});
export type RunPage = z.infer<typeof runPageSchema>;

/** One persisted log line. */
export interface StoredLogLine {
  readonly seq: number;
  readonly ts: string;
  readonly level: string;
  readonly line: string;
}
