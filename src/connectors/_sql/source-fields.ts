/** Config fields that sources of SQL databases share. */
import { z } from 'zod';
import { integer, optional, text } from '../../kit/schema.ts';
import { tagged } from '../_http/fields.ts';

/** For `max_connections`. */
export function connections(fallback: number, description: string) {
  return integer({ min: 1, max: 1000 }).default(fallback).meta({ description, advanced: true });
}

export const nonNull = z.lazy(() => z.union([z.string(), z.number(), z.bigint(), z.boolean()]));
export const scalar = z.lazy(() => z.union([nonNull, z.null()]));

export const shard = z.lazy(() =>
  optional(
    z.strictObject({ key: text().meta({ description: 'Integer column of the result.' }) }),
  ).meta({
    description:
      'The column by whose ranges the result is read when the document asks for shards (`shard: {count}`).',
    examples: [{ key: 'id' }],
    advanced: true,
  }),
);

const replicationTag = tagged(['full', 'incremental']);

export const replication = z.lazy(() =>
  z
    .preprocess(
      (value) => replicationTag(value) ?? undefined,
      z
        .discriminatedUnion('type', [
          z.strictObject({
            type: z.literal('full').meta({ description: 'The whole result every time.' }),
          }),
          z.strictObject({
            type: z
              .literal('incremental')
              .meta({ description: 'Only rows beyond the last value of a column.' }),
            column: text().meta({
              description: 'Column of the result whose values only increase.',
            }),
            initial_value: nonNull.meta({
              description: 'Where the first run starts (rows with this value are read).',
            }),
          }),
        ])
        .default({ type: 'full' }),
    )
    .meta({ description: 'Whether a run reads everything or continues after the last run.' }),
);

export const readTimeout = z.lazy(() =>
  integer({ min: 0, max: 2_000_000 }).default(3600).meta({
    description: 'Longest wait for the next rows of the result; 0 waits forever.',
    advanced: true,
  }),
);

export const bigNumbers = z.lazy(() =>
  z.enum(['fail', 'string']).default('fail').meta({
    description:
      'What to do with a number inside a JSON column that cannot be held exactly: fail, or use its digits as text.',
    advanced: true,
  }),
);

export const stateKey = z.lazy(() =>
  optional(text()).meta({
    description:
      'Name of the bookmark for programs that use the connector alone; in a pipeline the key is `{pipeline}::{row}`.',
    advanced: true,
  }),
);
