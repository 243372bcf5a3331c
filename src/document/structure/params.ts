import { z, type ZodType } from 'zod';
import { boolean, finding, json, optional, nullAsAbsent } from '../../kit/schema.ts';
import type { JsonScalar } from '../../lib/text/json.ts';
import { defineStructure } from '../block.ts';
import { literalValue, PARAM_TYPES } from '../params/param-type.ts';

const literal = z.lazy(
  () =>
    json().superRefine((value, ctx) => {
      if (['string', 'number', 'bigint', 'boolean'].includes(typeof value)) return;
      ctx.addIssue(finding('wrong_type', 'expected a text, a number or a boolean'));
    }) as ZodType<JsonScalar>,
);

export const paramSchema = z.lazy(() =>
  z
    .strictObject({
      type: nullAsAbsent(z.enum(PARAM_TYPES).default('string')).meta({
        description: 'What the value is.',
      }),
      required: optional(boolean()).meta({
        description: 'The caller must supply it; not together with `default`.',
      }),
      default: literal.optional().meta({
        description: 'Used when none is supplied; may hold `${env:…}` and other load-time tokens.',
      }),
      secret: optional(boolean()).meta({
        description: 'The value is hidden in everything that people see.',
      }),
      description: optional(z.string()).meta({
        description: 'Shown to the person who supplies it.',
      }),
      computed: optional(z.string()).meta({
        description:
          'Derives the value from other parameters with `${param.…}` and `${map:…}`; it cannot be supplied.',
      }),
      values: optional(z.array(literal).min(1)).meta({
        description: 'The only values that are possible.',
      }),
    })
    .superRefine((entry, ctx) => {
      for (const [key, other] of conflictsOf(entry)) {
        ctx.addIssue(
          finding('conflicting_keys', `\`${key}\` and \`${other}\` exclude each other`, {
            path: [key],
            hint: 'keep one of them',
          }),
        );
      }
      for (const [index, value] of (entry.values ?? []).entries()) {
        if (literalValue(entry.type, value) !== undefined) continue;
        ctx.addIssue(
          finding(
            'param_type',
            `the value at place ${index + 1} is not of type \`${entry.type}\``,
            { path: ['values', index] },
          ),
        );
      }
    }),
);
export type ParamSpec = z.infer<typeof paramSchema>;

const EXCLUDING = [
  ['default', 'required'],
  ['required', 'computed'],
  ['default', 'computed'],
  ['secret', 'computed'],
  ['values', 'computed'],
] as const;

function conflictsOf(entry: { readonly [key: string]: unknown }): (readonly [string, string])[] {
  const isSet = (key: string): boolean =>
    key === 'required' || key === 'secret' ? entry[key] === true : entry[key] !== undefined;
  return EXCLUDING.filter(([key, other]) => isSet(key) && isSet(other));
}

export const PARAM_NAME = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$/;

export const paramsSchema = z.lazy(() => z.record(z.string().regex(PARAM_NAME), paramSchema));

export const paramsBlock = defineStructure<Record<string, unknown>>({
  name: 'params',
  placement: 'top',
  description: 'Typed values that the caller of a run supplies, for use as `${param.<name>}`.',
  schema: paramsSchema,
  examples: [
    {
      region: { values: ['eu', 'us'], default: 'eu', description: 'Where the data lives.' },
      limit: { type: 'int', default: 1000 },
      token: { required: true, secret: true },
      host: { computed: '${map:region|eu=eu.example.com|*=example.com}' },
    },
  ],
});
