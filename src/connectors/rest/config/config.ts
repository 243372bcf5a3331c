import { declaredColumns, inferTypes } from '../../../kit/declared-columns.ts';
import { z } from 'zod';
import { onReadError } from '../../../kit/rejected-record.ts';
import { boolean, integer, json, number, optional, text } from '../../../kit/schema.ts';
import { byteCode } from '../../_files/config.ts';
import { auth } from '../../_http/auth.ts';
import { decodeSteps } from '../../_http/decode-config.ts';
import { answerTimeout, headerMap, httpMethod, scalarText, spelled } from '../../_http/fields.ts';
import { jsonPath } from '../../_http/json-path.ts';
import { replicationMethod } from '../../_http/replication-fields.ts';
import { responseRules } from '../../_http/response-rules.ts';
import { tlsBlock } from '../../_http/tls.ts';
import { checkConfig } from './config-checks.ts';
import { asyncJob } from './job-config.ts';
import { odata } from './odata-config.ts';
import { pagination } from './pagination-config.ts';
import { replicationBind, windowBlock } from './replication-config.ts';

const RESPONSE_FORMATS = ['json', 'csv', 'excel', 'jsonl'] as const;

const request = () => ({
  base_url: z
    .string()
    .default('')
    .meta({ description: 'Address of the API.', examples: ['https://api.example.com/v1'] }),
  path: z.string().default('').meta({
    description:
      'Path below `base_url`; `{key}` is filled from `partitions` and the parent record.',
  }),
  method: httpMethod().default('GET').meta({ description: 'HTTP method.' }),
  auth: auth(),
  headers: headerMap()
    .default({})
    .meta({ description: 'Headers of every request; those of `auth` win.' }),
  query_params: z
    .record(z.string(), scalarText())
    .default({})
    .meta({ description: 'Query parameters of every request.' }),
  query_params_multi: z
    .record(z.string(), z.array(scalarText()))
    .default({})
    .meta({ description: 'Query parameters that are repeated once for each value.' }),
  body: optional(json()).meta({ description: 'JSON body of every request.' }),
  tls: tlsBlock(),
  timeout: answerTimeout(),
  request_delay: optional(number({ min: 0, max: 86_400 })).meta({
    description: 'Seconds to wait between pages.',
  }),
  trusted_hosts: z.array(text()).default([]).meta({
    description:
      'Other hosts (`host` or `host:port`) that are sent the credentials too when a link or redirect leads there.',
  }),
});

const reading = () => ({
  pagination,
  records_path: optional(jsonPath()).meta({
    description:
      'JSONPath of the records; a single list found there is opened. Unset: the body, opened when it is a list.',
    examples: ['$.items[*]'],
  }),
  records_multi: optional(
    z
      .array(
        z.strictObject({
          path: jsonPath().meta({ description: 'JSONPath of these records.' }),
          op: z
            .string()
            .meta({ description: 'Text that marks these records, written to `op_field`.' }),
        }),
      )
      .min(1),
  ).meta({
    description:
      'Several lists of records in one body, each marked with its own text; instead of `records_path`.',
  }),
  op_field: text()
    .default('_op')
    .meta({ description: 'Field that `records_multi` writes `op` to.' }),
  record_ancestors: z
    .array(
      z.strictObject({
        field: text().meta({ description: 'Field of the enclosing object.' }),
        up: integer({ min: 1, max: 32 })
          .default(1)
          .meta({ description: 'How many levels further out the object is.' }),
        as: optional(text()).meta({
          description: 'Field of the record it is copied to; unset: the same name.',
        }),
      }),
    )
    .default([])
    .meta({
      description: 'Fields of the objects around a record that are copied into it.',
      examples: [[{ field: 'id', as: 'order_id' }]],
    }),
  drop_key_prefixes: z
    .array(text())
    .default([])
    .meta({ description: 'Keys that start with one of these are removed at every depth.' }),
  max_pages: optional(integer({ min: 1, max: 4_294_967_295 })).meta({
    description:
      'Pages read at most for one result; a run that is cut by it stores no bookmark. Unset: no limit.',
  }),
  columns: declaredColumns(),
  infer_types: inferTypes(),
  on_error: onReadError(
    'A record of which a value does not fit its type (`columns`, `infer_types`)',
  ),
  batch_size: optional(integer({ min: 0, max: 1_000_000 })).meta({
    description:
      'Most records of a page; 0: everything up to the next bookmark in one page; unset: one answer is one page.',
  }),
  response_format: z
    .preprocess(spelled(RESPONSE_FORMATS), z.enum(RESPONSE_FORMATS))
    .default('json')
    .meta({ description: 'Format of the answers; all but `json` are one single answer.' }),
  csv_delimiter: byteCode(44, 'CSV separator: a one-character text or its byte code.'),
  csv_has_headers: boolean()
    .default(true)
    .meta({ description: 'Whether the first CSV row names the columns.' }),
  csv_null_values: z
    .array(z.string())
    .default([])
    .meta({ description: 'CSV cells that mean null.' }),
  excel_sheet: optional(z.union([z.string(), integer({ min: 0 })])).meta({
    description: 'Sheet name, or its index from 0; unset: the first.',
  }),
  excel_header_row: integer({ min: 0 })
    .default(0)
    .meta({ description: 'Row that names the columns, counted from 0.' }),
  decode: decodeSteps('json'),
  async_job: asyncJob(),
  odata: odata(),
});

const reliability = () => ({
  max_retries: integer({ min: 0, max: 1000 })
    .default(3)
    .meta({ description: 'Repeats of a failed request after the first try.' }),
  retry_backoff: number({ min: 0, max: 3600 })
    .default(1)
    .meta({ description: 'Seconds before the first repeat; doubled with each, up to 60.' }),
  tolerated_http_errors: z
    .array(integer({ min: 400, max: 599 }))
    .default([])
    .meta({
      description:
        'Statuses that mean "nothing here" when the first request of a result gets them.',
    }),
  retry_on_response: responseRules(),
});

const replication = () => ({
  replication_method: replicationMethod,
  replication_key: optional(text()).meta({
    description: 'Field that grows with every change; a plain name.',
  }),
  start_replication_value: optional(json()).meta({
    description: 'Where the first run starts (records with this value are read).',
  }),
  state_key: optional(text()).meta({
    description:
      'Turns on bookmarks: without it every run starts from the beginning. In a pipeline the position is stored under the name of the document and the row.',
  }),
  replication_bind: optional(replicationBind).meta({
    description: 'How the bookmark is sent to the API.',
  }),
  window: optional(windowBlock).meta({
    description: 'Reads slice by slice of time, from the bookmark to now.',
  }),
  persist_cursor: boolean()
    .default(false)
    .meta({ description: 'Whether the page cursor itself is the bookmark.' }),
  partitions: z.array(z.record(z.string(), json())).default([]).meta({
    description:
      'One result for each entry; its values fill `{key}` in path, headers and query parameters.',
  }),
  partition_concurrency: optional(integer({ min: 1, max: 256 })).meta({
    description: 'Results read at the same time; unset: one after another.',
  }),
});

const metadata = () => ({
  name: optional(z.string()).meta({ description: 'Name of the stream, for people.' }),
  primary_keys: z
    .array(text())
    .default([])
    .meta({ description: 'Fields that identify a record, for people and tools.' }),
  schema: optional(z.record(z.string(), json())).meta({
    description: 'JSON Schema of the records, for people and tools.',
  }),
  schema_sample_size: integer({ min: 0 })
    .default(100)
    .meta({ description: 'Records looked at when a schema is inferred; 0: all.' }),
  discovery: optional(z.record(z.string(), json())).meta({
    description: 'Notes for tools that find data sets; reading does not use them.',
  }),
});

/** Names that documents from elsewhere have for fields. */
const OTHER_NAMES = [
  ['requests', 'partitions'],
  ['request_concurrency', 'partition_concurrency'],
] as const;

function oneName(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  let fields = value as Record<string, unknown>;
  for (const [other, name] of OTHER_NAMES) {
    const { [other]: written, ...rest } = fields;
    const isFree = (rest[name] ?? null) === null;
    if ((written ?? null) !== null && isFree) fields = { ...rest, [name]: written };
  }
  return fields;
}

export const restConfig = z.lazy(() =>
  z
    .preprocess(
      oneName,
      z.preprocess(
        withoutNulls,
        z.strictObject({
          ...request(),
          ...reading(),
          ...reliability(),
          ...replication(),
          ...metadata(),
        }),
      ),
    )
    .superRefine(checkConfig),
);

export type RestConfig = z.infer<typeof restConfig>;

/** An explicit null means the same as absence, also for fields with a default. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null));
}

/** Whether a run leaves a position for the next one. */
export function keepsPosition({
  state_key: key,
  persist_cursor: cursor,
  replication_method: method,
}: RestConfig): boolean {
  return key !== undefined && (cursor || method.type === 'Incremental');
}
