import { z } from 'zod';
import {
  boolean,
  finding,
  integer,
  number,
  optional,
  text,
  nullAsAbsent,
} from '../../kit/schema.ts';
import { configField } from '../../document/structure/transform.ts';

const destinationSchema = z.lazy(() =>
  z.strictObject({
    type: text().meta({ description: 'Name of the source connector.' }),
    config: configField,
  }),
);

const normalizeSchema = z.lazy(() =>
  z.strictObject({
    float_tolerance: nullAsAbsent(number({ min: 0 }).default(0)).meta({
      description:
        'Numbers are rounded to whole multiples of this before they are compared; 0 compares them exactly.',
    }),
    timestamps: nullAsAbsent(boolean().default(true)).meta({
      description:
        'Texts that spell a date or time are compared as instants, to the microsecond; without a zone they are UTC.',
    }),
    numeric_strings: nullAsAbsent(boolean().default(false)).meta({
      description: 'Texts that spell a number are compared as numbers.',
    }),
  }),
);
export type NormalizeSpec = z.infer<typeof normalizeSchema>;

/** `name`, or `start*`: everything that starts so. */
const pattern = z.lazy(() =>
  text().superRefine((value, ctx) => {
    if (!/\*./s.test(value)) return;
    ctx.addIssue(
      finding('invalid_pattern', '`*` can only stand at the end', {
        hint: 'write `prefix*`, or list the names',
      }),
    );
  }),
);

export const verifySchema = z.lazy(() =>
  z
    .strictObject({
      key: optional(z.array(text()).min(1)).meta({
        description: 'Fields that identify a record; the `key` of the sink when absent.',
        examples: [['id'], ['region', 'id']],
      }),
      columns: optional(z.array(text()).min(1)).meta({
        description: 'The fields that are compared; all of both sides when absent.',
      }),
      exclude: nullAsAbsent(z.array(pattern).default(['_svc_*'])).meta({
        description: 'Fields that are not compared, by name or as `prefix*`.',
      }),
      destination: optional(destinationSchema).meta({
        description:
          'A source that reads what the sink wrote, for sinks that cannot be read back by themselves.',
      }),
      ranges: nullAsAbsent(integer({ min: 1, max: 10_000 }).default(16)).meta({
        description:
          'Into how many ranges the values of an integer key are cut, each compared by a digest first.',
      }),
      leaf_rows: nullAsAbsent(integer({ min: 1, max: 1_000_000 }).default(1000)).meta({
        description:
          'A range that differs is cut further until it holds no more rows; then they are compared one by one.',
      }),
      max_differences: nullAsAbsent(integer({ min: 1, max: 1_000_000 }).default(1000)).meta({
        description: 'After so many differences no more are looked for.',
      }),
      max_rows_scanned: nullAsAbsent(integer({ min: 1 }).default(5_000_000)).meta({
        description: 'Rows that are fetched at most, of both sides together.',
      }),
      normalize: nullAsAbsent(normalizeSchema.prefault({})).meta({
        description: 'When two values count as the same.',
      }),
      after_run: nullAsAbsent(boolean().default(true)).meta({
        description: 'Whether every successful run of a row is verified.',
      }),
      fail_on_difference: nullAsAbsent(boolean().default(true)).meta({
        description: 'Whether a run fails whose destination differs.',
      }),
      repair: nullAsAbsent(boolean().default(false)).meta({
        description:
          'Whether rows that differ after a run are written again, as upserts; a request asks for a repair itself.',
      }),
      allow_delete: nullAsAbsent(boolean().default(false)).meta({
        description: 'Whether a repair may delete rows that only the destination has.',
      }),
    })
    .superRefine(({ key = [] }, ctx) => {
      if (new Set(key).size < key.length)
        ctx.addIssue(finding('invalid_value', '`key` names a field twice', { path: ['key'] }));
    }),
);
export type VerifySpec = z.infer<typeof verifySchema>;

/** What holds for a document without the block. */
export function verifyDefaults(): VerifySpec {
  return verifySchema.parse({});
}
