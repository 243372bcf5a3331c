import { z } from 'zod';
import { batchSize, integer, number } from '../../kit/schema.ts';
import { auth } from '../_http/auth.ts';
import { httpUrl, tagged } from '../_http/fields.ts';

const MODES = ['Individual', 'Array'] as const;
const mode = <const T extends string>(tag: T) =>
  z.strictObject({ type: z.literal(tag).meta({ description: 'What one request carries.' }) });

export const httpConfig = z.lazy(() =>
  z.preprocess(
    withoutNulls,
    z.strictObject({
      url: httpUrl('Address that takes the records.'),
      method: z
        .string()
        .default('POST')
        .transform((value) => value.toUpperCase())
        .pipe(z.enum(['POST', 'PUT', 'PATCH', 'DELETE']))
        .meta({ description: 'HTTP method: POST, PUT, PATCH or DELETE.' }),
      auth: auth(),
      batch_mode: z
        .preprocess(
          (value) => (value === undefined ? { type: 'Individual' } : tagged(MODES)(value)),
          z.discriminatedUnion('type', [mode('Individual'), mode('Array')]),
        )
        .default({ type: 'Individual' })
        .meta({
          description:
            '`Individual` sends one record a request and tells good from bad ones; `Array` sends a list, all or nothing.',
        }),
      max_retries: integer({ min: 0, max: 1000 })
        .default(0)
        .meta({ description: 'Repeats of a request that failed on the way, or with 5xx or 429.' }),
      concurrency: integer({ min: 1, max: 1000 })
        .default(10)
        .meta({ description: 'Requests at the same time (`Individual`).' }),
      batch_size: batchSize().meta({
        description: 'Records of one request (`Array`); 0: the whole page.',
      }),
      timeout: number({ min: 0.001, max: 86_400 })
        .default(30)
        .meta({ description: 'Seconds to wait for an answer.' }),
      connect_timeout: number({ min: 0.001, max: 86_400 })
        .default(10)
        .meta({ description: 'Seconds to wait for a connection.' }),
    }),
  ),
);

export type HttpConfig = z.infer<typeof httpConfig>;

function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null));
}
