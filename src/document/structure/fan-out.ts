import { z } from 'zod';
import { boolean, finding, optional, text } from '../../kit/schema.ts';
import { defineStructure } from '../block.ts';
import { rowSourceSchema } from './source.ts';

const ALIAS = /^[a-z0-9][a-z0-9_-]*$/;

export const fanOutSchema = z.lazy(() =>
  z.strictObject({
    source: rowSourceSchema
      .superRefine(({ ref, type }, ctx) => {
        if (ref !== undefined || type !== undefined) return;
        ctx.addIssue(
          finding('missing_key', 'the source has neither `ref` nor `type`', {
            hint: 'name a preset with `ref`, or give a `type`',
          }),
        );
      })
      .meta({
        description:
          'Source whose records hold the values: a preset with `ref`, or a `type` and `config` of its own.',
      }),
    select: text()
      .superRefine((path, ctx) => {
        if (selectSteps(path).every((step) => step !== '')) return;
        ctx.addIssue(
          finding('invalid_path', `\`${path}\` has an empty step`, {
            hint: 'write e.g. `$.region.code`, or `$` for the whole record',
          }),
        );
      })
      .meta({
        description:
          'Dotted path of the value in each record, with or without `$`; `$` alone is the whole record.',
      }),
    as: z
      .string()
      .superRefine((alias, ctx) => {
        if (ALIAS.test(alias)) return;
        ctx.addIssue(
          finding('invalid_value', `\`${alias}\` cannot be used in a token`, {
            hint: 'use lower-case letters, digits, `_` and `-`',
          }),
        );
      })
      .meta({ description: 'Name of the value in tokens: `${<row id>.<as>}`.' }),
    collect: optional(boolean()).meta({
      description: 'The same as `collect` of the row, where some documents write it.',
      deprecated: true,
    }),
  }),
);
export type FanOutSpec = z.infer<typeof fanOutSchema>;

/** The steps of a `select` path; none for the whole record. */
export function selectSteps(select: string): readonly string[] {
  const path = select.replace(/^\$\.?/, '');
  return path === '' ? [] : path.split('.');
}

export const fanOutBlock = defineStructure<FanOutSpec>({
  name: 'fan_out',
  placement: 'top',
  description:
    'Makes a row list values instead of moving records: each value once, in the order found, without nulls. Rows that name it in `for_each` run once a value.',
  schema: fanOutSchema,
  examples: [
    { source: { ref: 'regions' }, select: '$.code', as: 'region' },
    { source: { type: 'csv', config: { path: 'regions.csv' } }, select: 'code', as: 'region' },
  ],
});
