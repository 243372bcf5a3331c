import { z } from 'zod';
import { redisUrl } from '../../kit/redis-url.ts';
import {
  batchSize,
  finding,
  integer,
  nullAsAbsent,
  number,
  optional,
  text,
} from '../../kit/schema.ts';
import { tagged } from '../_http/fields.ts';

const SOURCE_TYPES = ['List', 'Stream', 'Keys'] as const;
const SINK_TYPES = ['List', 'Stream', 'KeyValue'] as const;

const kind = <const T extends string>(tag: T, description: string) =>
  z.literal(tag).meta({ description });

const key = () => text().meta({ description: 'Key of the list or stream.' });

const streamSource = () =>
  z
    .strictObject({
      type: kind('Stream', 'The entries of a stream.'),
      key: key(),
      group: optional(text()).meta({
        description:
          'Consumer group to read as: entries that the group has acknowledged do not come again, those of this run are acknowledged when they are written. It is made when it is missing, at the start of the stream. Unset: every run reads the whole stream.',
      }),
      consumer: optional(text()).meta({
        description:
          'Name in the group, `headgate` when unset: what it left unacknowledged it is given again. Only with `group`.',
      }),
      count: optional(integer({ min: 1, max: 1_000_000 })).meta({
        description: 'Entries that one command asks for at most; unset: those of a page.',
      }),
      idle_timeout: optional(number({ min: 0, max: 31_536_000 })).meta({
        description:
          'Seconds to wait for new entries before the run ends; unset: it ends when all are read. Only with `group`.',
      }),
    })
    .superRefine(({ group, consumer, idle_timeout: idle }, ctx) => {
      if (group !== undefined) return;
      const hint = 'add `group`, or remove it';
      for (const [field, value] of Object.entries({ consumer, idle_timeout: idle }))
        if (value !== undefined)
          ctx.addIssue(
            finding('missing_key', `\`${field}\` needs \`group\``, { path: [field], hint }),
          );
    });

export const redisSourceConfig = z.lazy(() =>
  z.strictObject({
    url: redisUrl(),
    source_type: z
      .preprocess(
        tagged(SOURCE_TYPES),
        z.discriminatedUnion('type', [
          z.strictObject({
            type: kind('List', 'The elements of a list, which keeps them.'),
            key: key(),
          }),
          streamSource(),
          z.strictObject({
            type: kind('Keys', 'The texts under all keys of a pattern.'),
            pattern: text().meta({
              description: 'Pattern of the keys, as `SCAN` takes it.',
              examples: ['user:*'],
            }),
          }),
        ]),
      )
      .meta({ description: 'What is read.' }),
    max_records: optional(integer({ min: 1 })).meta({
      description: 'Records read at most; unset: all.',
    }),
    batch_size: batchSize(),
  }),
);

export type RedisSourceConfig = z.infer<typeof redisSourceConfig>;
export type RedisSourceType = RedisSourceConfig['source_type'];
export type StreamSource = Extract<RedisSourceType, { type: 'Stream' }>;

export const redisSinkConfig = z.lazy(() =>
  z.strictObject({
    url: redisUrl(),
    sink_type: z
      .preprocess(
        tagged(SINK_TYPES),
        z.discriminatedUnion('type', [
          z.strictObject({
            type: kind('List', 'Records become elements at the end of a list, as JSON.'),
            key: key(),
          }),
          z.strictObject({
            type: kind('Stream', 'Records become entries of a stream, their fields those of it.'),
            key: key(),
          }),
          z.strictObject({
            type: kind('KeyValue', 'Each record is stored as JSON under a key of its own.'),
            key_field: text().meta({ description: 'Field whose value is the key.' }),
          }),
        ]),
      )
      .meta({ description: 'How records are stored.' }),
    batch_size: nullAsAbsent(batchSize()).meta({
      description: 'Records that are sent together at most; 0: those of a page.',
    }),
  }),
);

export type RedisSinkConfig = z.infer<typeof redisSinkConfig>;
export type RedisSinkType = RedisSinkConfig['sink_type'];
