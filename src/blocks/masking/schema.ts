import { z } from 'zod';
import { patternField } from '../../kit/pattern.ts';
import { finding, integer, json, optional, text } from '../../kit/schema.ts';

export const DETECTORS = ['email', 'credit_card', 'ssn', 'phone', 'ipv4'] as const;
export type DetectorName = (typeof DETECTORS)[number];

const match = z.lazy(() =>
  z
    .strictObject({
      field_pattern: optional(
        patternField('Found anywhere in the dot-path of a field, such as `contacts.0.phone`.'),
      ),
      value_detector: optional(z.enum(DETECTORS)).meta({
        description:
          'What kind of text the value is, as a whole. `credit_card` finds card numbers that are numbers too.',
      }),
      fields: optional(z.array(text())).meta({
        description: 'Exact dot-paths.',
        examples: [['email', 'contacts.0.phone']],
      }),
    })
    .superRefine((criteria, ctx) => {
      if (criteria.fields?.length === 0)
        ctx.addIssue(finding('out_of_range', 'must not be empty', { path: ['fields'] }));
      if (Object.values(criteria).some((criterion) => criterion !== undefined)) return;
      ctx.addIssue(
        finding('missing_key', 'a rule has to say what it matches', {
          hint: 'give `field_pattern`, `value_detector` or `fields`',
        }),
      );
    }),
);

const kind = <T extends string>(name: T, description: string) =>
  z.literal(name).meta({ description });

const action = z.lazy(() =>
  z.discriminatedUnion('type', [
    z.strictObject({
      type: kind('redact', 'Replaces the value, containers and null included.'),
      mask: json()
        .default('***')
        .meta({ description: 'The replacement: any JSON, null included.' }),
    }),
    z.strictObject({ type: kind('hash', 'Replaces the value by 64 hexadecimal digits.') }),
    z.strictObject({
      type: kind('tokenize', 'Replaces the value by a prefix and 16 hexadecimal digits.'),
      prefix: text().meta({ description: 'Stands before the digits.', examples: ['tok_'] }),
    }),
    z.strictObject({
      type: kind('partial', 'Hides all but the last characters.'),
      keep_last: integer({ min: 0 })
        .default(4)
        .meta({ description: 'Characters that stay; when the text has no more, all are hidden.' }),
      mask_char: z
        .string()
        .superRefine((value, ctx) => {
          if (Array.from(value).length !== 1)
            ctx.addIssue(finding('invalid_value', 'must be one character'));
        })
        .default('*')
        .meta({ description: 'The one character that stands for a hidden one.' }),
    }),
  ]),
);

const rule = z.lazy(() =>
  z.strictObject({
    name: optional(text()).meta({ description: 'Name in metrics; `rule_<index>` when absent.' }),
    match: match.meta({ description: 'What the rule is for; one criterion is enough.' }),
    action: action.meta({
      description:
        'What becomes of a matching value. On a container `hash`, `tokenize` and `partial` change every value below.',
    }),
    applies_to: z.array(text()).default([]).meta({
      description:
        'Sink preset names or connector types; all sinks when empty. Dead letters are masked by every rule, whichever sink it names.',
    }),
  }),
);

export const maskingSchema = z.lazy(() =>
  z.strictObject({
    description: optional(z.string()).meta({ description: 'For people.' }),
    key: optional(text()).meta({
      description: 'Key of `hash` and `tokenize` (HMAC-SHA256); plain SHA-256 without one.',
      secret: true,
    }),
    rules: z.array(rule).min(1).meta({ description: 'The first rule that matches a field wins.' }),
  }),
);

export type MaskingConfig = z.infer<typeof maskingSchema>;
export type MaskingRule = MaskingConfig['rules'][number];
export type MaskingAction = MaskingRule['action'];

export interface MaskedSink {
  /** `default` for the singular block. */
  readonly preset: string;
  readonly type: string;
}

export interface LabelledRule {
  /** The `rule` label of metrics: the name, or `rule_<index>` in the whole block. */
  readonly label: string;
  readonly rule: MaskingRule;
}

/**
 * The rules that count for the dead letters of a sink, beside those that masked its records: a queue
 * is read by other people than the sink.
 */
export function maskingRulesBeside(config: MaskingConfig, sink: MaskedSink): LabelledRule[] {
  const known = new Set(maskingRulesFor(config, sink).map(({ label }) => label));
  return maskingRulesFor(config).filter(({ label }) => !known.has(label));
}

/** The rules that count for a sink, in order; without a sink all of them (offline tests). */
export function maskingRulesFor(config: MaskingConfig, sink?: MaskedSink): LabelledRule[] {
  const labelled = config.rules.map((one, i) => ({ label: one.name ?? `rule_${i}`, rule: one }));
  if (sink === undefined) return labelled;
  return labelled.filter(
    ({ rule: { applies_to: names } }) =>
      names.length === 0 || names.includes(sink.preset) || names.includes(sink.type),
  );
}
