import { z } from 'zod';
import { parseDuration, secondsOf } from '../../../lib/time/duration.ts';
import { finding, integer, optional, text } from '../../../kit/schema.ts';
import { spelled } from '../../_http/fields.ts';
import { jsonPath } from '../../_http/json-path.ts';
import { BOOKMARK_TOKEN, positionForm } from '../../_http/replication-fields.ts';

const PLACES = ['query', 'header', 'body', 'path'] as const;

/** How a position is put into a request; `token` stands for it in the template. */
function bindFields(token: string) {
  return {
    into: z
      .preprocess(spelled(PLACES), z.enum(PLACES))
      .default('query')
      .meta({ description: 'Where the value goes.' }),
    name: text().meta({
      description: 'Parameter, header, body field (or JSON pointer), or `{name}` in `path`.',
    }),
    ...positionForm(token),
  };
}

export const WINDOW_TOKEN = '${window}';

const windowBind = z.lazy(() => z.strictObject(bindFields(WINDOW_TOKEN)));

export type Bind = z.infer<typeof windowBind>;

export const replicationBind = z.lazy(() =>
  z.strictObject({
    ...bindFields(BOOKMARK_TOKEN),
    advance_from: optional(jsonPath()).meta({
      description:
        'JSONPath of the next position in the last answer; unset: the largest `replication_key` seen.',
    }),
  }),
);

function duration(description: string) {
  return z
    .union([z.number(), z.string()])
    .transform((value, ctx) => {
      const parsed = parseDuration(value);
      const seconds = parsed === undefined ? 0 : secondsOf(parsed);
      if (seconds > 0) return seconds;
      ctx.addIssue({
        ...finding('invalid_value', `${JSON.stringify(value)} is not a duration`, {
          hint: 'e.g. `45s`, `30m`, `6h`, `30d` or a number of seconds',
        }),
      });
      return z.NEVER;
    })
    .meta({ description });
}

export const windowBlock = z.lazy(() =>
  z.strictObject({
    step: duration('Length of a slice: `45s`, `30m`, `6h`, `30d`, or seconds.'),
    lower: windowBind.meta({ description: 'Where the start of a slice goes (inclusive).' }),
    upper: windowBind.meta({ description: 'Where the end of a slice goes (exclusive).' }),
    granularity: optional(
      duration('Taken off the end before it is sent, for APIs whose end is inclusive.'),
    ).meta({
      description: 'Taken off the end before it is sent, for APIs whose end is inclusive.',
    }),
    lookback: optional(duration('How far before the bookmark the first slice starts.')).meta({
      description:
        'How far before the bookmark (in the first run: `start_replication_value`) the first slice starts, for data that arrives late.',
    }),
    max_windows: integer({ min: 1 })
      .default(10_000)
      .meta({ description: 'Slices one run reads at most; the next run goes on from there.' }),
  }),
);

export type WindowBlock = z.infer<typeof windowBlock>;
