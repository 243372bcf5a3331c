import { z } from 'zod';
import { patternField } from '../../kit/pattern.ts';
import { boolean, finding, integer, json, number, optional, text } from '../../kit/schema.ts';
import type { JsonValue } from '../../lib/text/json.ts';

export const CONTRACT_TYPES = [
  'string',
  'integer',
  'number',
  'boolean',
  'object',
  'array',
] as const;
export type ContractType = (typeof CONTRACT_TYPES)[number];

const NUMERIC: readonly ContractType[] = ['integer', 'number'];
const TEXTUAL: readonly ContractType[] = ['string'];

/** Which types a constraint makes sense for. */
const CONSTRAINTS = {
  pattern: TEXTUAL,
  min_length: TEXTUAL,
  max_length: TEXTUAL,
  min: NUMERIC,
  max: NUMERIC,
} as const;

const notBlank = (description: string) =>
  z
    .string()
    .superRefine((value, ctx) => {
      if (value.trim() === '') ctx.addIssue(finding('invalid_value', 'must not be blank'));
    })
    .meta({ description });

const length = (description: string) => optional(integer({ min: 0 })).meta({ description });

const field = z.lazy(() =>
  z
    .strictObject({
      name: notBlank('Top-level name of the field.'),
      type: z.enum(CONTRACT_TYPES).meta({ description: 'JSON type of the value.' }),
      required: boolean().default(true).meta({ description: 'Whether the field has to be there.' }),
      nullable: boolean().default(false).meta({ description: 'Whether null is allowed.' }),
      enum: optional(z.array(json()).min(1)).meta({
        description: 'All values that are allowed, of the type of the field.',
      }),
      pattern: optional(patternField('Found anywhere in the text unless it is anchored.')),
      min: optional(number()).meta({ description: 'Smallest number that is allowed.' }),
      max: optional(number()).meta({ description: 'Largest number that is allowed.' }),
      min_length: length('Fewest characters a text may have.'),
      max_length: length('Most characters a text may have.'),
      description: optional(z.string()).meta({ description: 'For people, and for the exports.' }),
    })
    .superRefine((one, ctx) => {
      for (const [name, types] of Object.entries(CONSTRAINTS)) {
        if (one[name as keyof typeof CONSTRAINTS] === undefined || types.includes(one.type))
          continue;
        ctx.addIssue(
          finding(
            'invalid_value',
            `\`${name}\` is for fields of type ${types.join(' or ')}, not ${one.type}`,
            { path: [name] },
          ),
        );
      }
      for (const [low, high] of [['min', 'max'] as const, ['min_length', 'max_length'] as const]) {
        const [least, most] = [one[low], one[high]];
        if (least === undefined || most === undefined || least <= most) continue;
        ctx.addIssue(
          finding('out_of_range', `\`${low}\` (${least}) is greater than \`${high}\` (${most})`, {
            path: [low],
          }),
        );
      }
      for (const [i, value] of (one.enum ?? []).entries()) {
        if (hasContractType(value, one.type)) continue;
        const hint = value === null ? 'to allow null set `nullable: true`' : undefined;
        ctx.addIssue(
          finding('wrong_type', `\`enum\` holds a value that is not of type ${one.type}`, {
            path: ['enum', i],
            ...(hint === undefined ? {} : { hint }),
          }),
        );
      }
    }),
);

export const contractSchema = z.lazy(() =>
  z.strictObject({
    version: notBlank('Version of the contract; named in every breach.'),
    description: optional(z.string()).meta({ description: 'For people.' }),
    owner: optional(text()).meta({ description: 'Who answers for the contract.' }),
    on_breach: z.enum(['fail', 'quarantine', 'warn']).default('fail').meta({
      description:
        '`fail` ends the run before the page is written, `quarantine` sends the records to the dead-letter queue, `warn` logs and counts.',
    }),
    allow_extra_fields: boolean()
      .default(true)
      .meta({ description: 'Whether records may have top-level fields that are not listed.' }),
    fields: z
      .array(field)
      .min(1)
      .superRefine((fields, ctx) => {
        const names = new Set<string>();
        for (const [i, { name }] of fields.entries()) {
          if (names.has(name))
            ctx.addIssue(
              finding('duplicate_name', `the field \`${name}\` is listed twice`, {
                path: [i, 'name'],
              }),
            );
          names.add(name);
        }
      })
      .meta({ description: 'The promised fields; checked in this order.' }),
  }),
);

export type ContractConfig = z.infer<typeof contractSchema>;
export type ContractField = ContractConfig['fields'][number];

export function contractQuarantines(config: ContractConfig): boolean {
  return config.on_breach === 'quarantine';
}

/**
 * Whole numbers of any size are integers. Numbers beyond the safe range that are not `bigint` came
 * from a literal with a fraction or an exponent, and are not.
 */
export function hasContractType(value: JsonValue, type: ContractType): boolean {
  switch (type) {
    case 'integer':
      return typeof value === 'bigint' || Number.isSafeInteger(value);
    case 'number':
      return typeof value === 'bigint' || typeof value === 'number';
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'string':
    case 'boolean':
      return typeof value === type;
    default:
      return type satisfies never;
  }
}
