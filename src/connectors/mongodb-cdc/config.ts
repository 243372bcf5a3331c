import { z } from 'zod';
import { otherName } from '../../kit/other-name.ts';
import {
  batchSize,
  finding,
  integer,
  json,
  nullAsAbsent,
  number,
  optional,
} from '../../kit/schema.ts';
import { isObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { collectionName, databaseName, mongodbUri } from '../_documents/mongodb-fields.ts';

/** How long a change waits until its page is given. */
export const IDLE_FLUSH_MS = 100;

const LONGEST = 31_536_000;
const LARGEST_SECONDS = 4_294_967_295;

/** Changes of documents. */
export const DOCUMENT_TYPES = ['insert', 'update', 'replace', 'delete'] as const;
/** Changes of collections and databases that every server tells. */
const PLACE_TYPES = ['drop', 'rename', 'dropDatabase', 'invalidate'] as const;
/** Those that a server tells when it is asked to, from 6.0 on. */
export const EXPANDED_TYPES = [
  'create',
  'createIndexes',
  'dropIndexes',
  'modify',
  'shardCollection',
  'reshardCollection',
  'refineCollectionShardKey',
] as const;

const scope = () =>
  nullAsAbsent(
    z
      .preprocess(
        (value) => (value === 'cluster' ? { type: value } : value),
        z.discriminatedUnion('type', [
          z.strictObject({ type: z.literal('cluster') }),
          z.strictObject({ type: z.literal('database'), database: databaseName() }),
          z.strictObject({
            type: z.literal('collection'),
            database: databaseName(),
            collection: collectionName(),
          }),
        ]),
      )
      .default({ type: 'cluster' }),
  ).meta({
    description:
      'What is read: one collection, all collections of a database, or all of the deployment (`cluster`), without those of the server itself.',
    examples: [{ type: 'collection', database: 'shop', collection: 'orders' }],
  });

const startFrom = () =>
  nullAsAbsent(
    z
      .preprocess(
        (value) => (typeof value === 'string' ? { type: value } : value),
        z.discriminatedUnion('type', [
          z.strictObject({ type: z.literal('now') }),
          z.strictObject({ type: z.literal('earliest') }),
          z.strictObject({
            type: z.literal('resume_token'),
            token: json()
              .superRefine((value, ctx) => {
                if (tokenOf(value) !== undefined) return;
                const hint = 'copy `resume_token` of a record: `{_data: "8265…"}`, or its text';
                ctx.addIssue(finding('invalid_value', 'this is no resume token', { hint }));
              })
              .meta({
                description:
                  'Token of the last change that is not wanted, as records have it in `resume_token`, or the text of its `_data`.',
              }),
          }),
          z.strictObject({
            type: z.literal('timestamp'),
            timestamp_secs: integer({ min: 1, max: LARGEST_SECONDS }).meta({
              description: 'Seconds since 1970 of the first changes that are wanted.',
            }),
          }),
        ]),
      )
      .default({ type: 'now' }),
  ).meta({
    description:
      'Where a run without a bookmark begins: with what changes from now on (`now`), with the oldest change that the server holds (`earliest`), behind a change (`resume_token`), or at a time (`timestamp`). The last two go before a bookmark that was stored under another `start_from`.',
  });

/** Tokens are documents; the text in them suffices to tell one. */
export function tokenOf(value: JsonValue): JsonObject | undefined {
  if (typeof value === 'string' && value !== '') return { _data: value };
  return isObject(value) && value['_data'] !== undefined ? value : undefined;
}

/** Stages that the server takes behind a change stream. */
const STAGES = [
  '$addFields',
  '$match',
  '$project',
  '$redact',
  '$replaceRoot',
  '$replaceWith',
  '$set',
  '$unset',
];

const pipeline = () =>
  nullAsAbsent(
    z
      .array(
        json().superRefine((stage, ctx) => {
          const names = isObject(stage) ? Object.keys(stage) : [];
          if (names.length === 1 && STAGES.includes(names[0] ?? '')) return;
          const what = names.length === 1 ? `\`${names[0]}\`` : 'this';
          const hint = `write one of ${STAGES.join(', ')}`;
          ctx.addIssue(
            finding('invalid_value', `${what} is no stage of a change stream`, { hint }),
          );
        }),
      )
      .default([]),
  ).meta({
    description:
      'Further stages that the server applies to its change events, with values in JSON or Extended JSON. They may drop events and fields, but not `_id`, `operationType`, `ns` and `clusterTime`.',
    examples: [[{ $match: { 'fullDocument.status': 'paid' } }]],
  });

const fields = z.lazy(() =>
  z
    .strictObject({
      connection_uri: mongodbUri(),
      scope: scope(),
      operation_types: nullAsAbsent(
        z.array(z.enum([...DOCUMENT_TYPES, ...PLACE_TYPES, ...EXPANDED_TYPES])).default([]),
      ).meta({
        description:
          'Kinds of changes that are wanted, in the words of the server; empty: all that it tells without being asked for more.',
        examples: [['insert', 'update', 'replace', 'delete']],
      }),
      aggregation_pipeline: pipeline(),
      full_document: nullAsAbsent(
        z.enum(['off', 'when_available', 'required', 'update_lookup']).default('off'),
      ).meta({
        description:
          'Whether `after` of an update is the whole document: as it was then, where the server kept it (`when_available`), or else the run fails (`required`); or as it is when the change is read (`update_lookup`).',
      }),
      full_document_before_change: nullAsAbsent(
        z.enum(['off', 'when_available', 'required']).default('off'),
      ).meta({
        description:
          'Whether `before` is the document before the change, which the server keeps for collections with `changeStreamPreAndPostImages`.',
      }),
      start_from: startFrom(),
      idle_timeout: nullAsAbsent(number({ min: 0.001, max: LONGEST }).default(30)).meta({
        description: 'Seconds without a change after which the run ends.',
      }),
      max_await_time_ms: optional(integer({ min: 1, max: 3_600_000 })).meta({
        description:
          'How long the server waits for a change until it answers that there is none; unset: a second, or less where `idle_timeout` is shorter.',
      }),
      batch_size: batchSize().meta({
        description:
          'Records a page holds at most; 0 means one single page, at the end of the run.',
      }),
      max_staged_records: optional(integer({ min: 1 })).meta({
        description:
          'Most changes that may wait for their page: more end the run before any of them is written. Of use with `batch_size: 0`.',
      }),
    })
    .superRefine(({ max_await_time_ms: waitMs, idle_timeout: idle }, ctx) => {
      if (waitMs === undefined || waitMs < idle * 1000) return;
      ctx.addIssue(
        finding('invalid_value', 'must be less than `idle_timeout`, which is in seconds', {
          path: ['max_await_time_ms'],
        }),
      );
    }),
);
export const mongodbCdcConfig = z.lazy(() => otherName('connection_url', 'connection_uri', fields));
export type MongodbCdcConfig = z.output<typeof fields>;
