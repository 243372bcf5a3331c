import { z } from 'zod';
import { checkPath } from '../../kit/path-field.ts';
import { patternField } from '../../kit/pattern.ts';
import { boolean, finding, integer, json, number, optional, text } from '../../kit/schema.ts';
import { messageOf } from '../../lib/errors.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import { lazyLibrary } from '../../lib/lazy.ts';

const ajv = lazyLibrary<typeof import('ajv')>('ajv');
const ajv2020 = lazyLibrary<typeof import('ajv/dist/2020.js')>('ajv/dist/2020.js');

function pathField(description = 'Path of the value that is checked.') {
  return text()
    .superRefine(checkPath)
    .meta({ description, examples: ['email', '$.user.id'] });
}

/** Adds the findings about a pair of bounds. */
function checkBounds(
  bounds: { min?: number | undefined; max?: number | undefined },
  ctx: z.RefinementCtx,
): void {
  const { min, max } = bounds;
  if (min === undefined && max === undefined)
    ctx.addIssue(finding('missing_key', 'give `min`, `max` or both'));
  if (min !== undefined && max !== undefined && min > max) {
    ctx.addIssue(
      finding('out_of_range', `\`min\` (${min}) is greater than \`max\` (${max})`, {
        path: ['min'],
      }),
    );
  }
}

const onRecord = z.lazy(() =>
  z.enum(['quarantine', 'abort']).meta({
    description:
      '`quarantine` sends failing records to the dead-letter queue, `abort` fails the run before the page is written.',
  }),
);
const onBatch = z.lazy(() =>
  z.enum(['quarantine_batch', 'abort']).meta({
    description:
      '`quarantine_batch` sends the whole page to the dead-letter queue, `abort` fails the run before the page is written.',
  }),
);
const min = z.lazy(() =>
  optional(integer({ min: 0 })).meta({ description: 'Smallest count that passes.' }),
);
const max = z.lazy(() =>
  optional(integer({ min: 0 })).meta({ description: 'Largest count that passes.' }),
);
const values = z.lazy(() =>
  z.array(json()).min(1).meta({ description: 'The values; numbers compare by value.' }),
);
const type = <T extends string>(name: T, description: string) =>
  z.literal(name).meta({ description });

const notNull = z.lazy(() =>
  z.strictObject({
    type: type('not_null', 'The value is there and not null.'),
    field: pathField(),
    treat_missing_as_null: boolean()
      .default(true)
      .meta({ description: 'Whether a missing field fails too.' }),
    on_failure: onRecord,
  }),
);
const notEmpty = z.lazy(() =>
  z.strictObject({
    type: type('not_empty', 'A text with more than blanks.'),
    field: pathField(),
    on_failure: onRecord,
  }),
);
const regexMatch = z.lazy(() =>
  z.strictObject({
    type: type('regex_match', 'A text in which the pattern is found.'),
    field: pathField(),
    pattern: patternField('The pattern; it may match anywhere unless it is anchored.'),
    on_failure: onRecord,
  }),
);
const valueInSet = z.lazy(() =>
  z.strictObject({
    type: type('value_in_set', 'One of the values.'),
    field: pathField(),
    values,
    on_failure: onRecord,
  }),
);
const notInSet = z.lazy(() =>
  z.strictObject({
    type: type('not_in_set', 'None of the values; a missing field passes.'),
    field: pathField(),
    values,
    on_failure: onRecord,
  }),
);
const compare = z.lazy(() =>
  z
    .strictObject({
      type: type('compare', 'A comparison with a constant; a missing field fails.'),
      field: pathField(),
      op: z
        .enum(['gt', 'gte', 'lt', 'lte', 'eq', 'ne'])
        .meta({ description: 'The comparison; ordering needs numbers on both sides.' }),
      value: json().meta({ description: 'What to compare with.' }),
      on_failure: onRecord,
    })
    .superRefine((check, ctx) => {
      if (check.op === 'eq' || check.op === 'ne' || numberIn(check.value) !== undefined) return;
      ctx.addIssue(
        finding('wrong_type', `\`${check.op}\` needs a number as \`value\``, { path: ['value'] }),
      );
    }),
);
const typeIs = z.lazy(() =>
  z.strictObject({
    type: type('type_is', 'A value of one JSON type.'),
    field: pathField(),
    expected: z
      .enum(['boolean', 'number', 'string', 'array', 'object', 'null'])
      .meta({ description: 'The JSON type.' }),
    on_failure: onRecord,
  }),
);
const stringLength = z.lazy(() =>
  z
    .strictObject({
      type: type('string_length', 'A text with so many characters.'),
      field: pathField(),
      min,
      max,
      on_failure: onRecord,
    })
    .superRefine(checkBounds),
);
const jsonSchema = z.lazy(() =>
  z.strictObject({
    type: type('json_schema', 'The whole record is valid against a JSON Schema.'),
    schema: json()
      .superRefine((value, ctx) => {
        const problem = problemOfSchema(value);
        if (problem === undefined) return;
        const hint = 'drafts 2020-12 and 7 are understood; references must point inside the schema';
        ctx.addIssue(
          finding('invalid_value', `the JSON Schema cannot be used: ${problem}`, { hint }),
        );
      })
      .meta({
        description:
          'The schema, draft 2020-12 unless `$schema` names draft 7. `format` is not checked.',
      }),
    on_failure: onRecord,
  }),
);

const rowCount = z.lazy(() =>
  z
    .strictObject({
      type: type('row_count', 'How many records of the page are left.'),
      min,
      max,
      on_failure: onBatch,
    })
    .superRefine(checkBounds),
);
const nullRate = z.lazy(() =>
  z.strictObject({
    type: type('null_rate', 'The share of records without a value.'),
    field: pathField(),
    max: number({ min: 0, max: 1 }).meta({
      description: 'Largest share that passes, from 0 to 1.',
    }),
    on_failure: onBatch,
  }),
);
const unique = z.lazy(() =>
  z.strictObject({
    type: type('unique', 'No two records of a page have the same values; the first is kept.'),
    fields: z
      .array(pathField('Path of one part of the key.'))
      .min(1)
      .meta({ description: 'Together the key; a missing field is a value of its own.' }),
    on_failure: onRecord,
  }),
);
const distinctCount = z.lazy(() =>
  z
    .strictObject({
      type: type(
        'distinct_count',
        'How many different values the page has; missing ones count once.',
      ),
      field: pathField(),
      min,
      max,
      on_failure: onBatch,
    })
    .superRefine(checkBounds),
);

const recordCheck = z.lazy(() =>
  z.discriminatedUnion('type', [
    notNull,
    notEmpty,
    regexMatch,
    valueInSet,
    notInSet,
    compare,
    typeIs,
    stringLength,
    jsonSchema,
  ]),
);
const batchCheck = z.lazy(() =>
  z.discriminatedUnion('type', [rowCount, nullRate, unique, distinctCount]),
);

export const qualitySchema = z.lazy(() =>
  z.strictObject({
    record: z.array(recordCheck).default([]).meta({
      description: 'Checks of single records, in order; the first failure ends a record.',
    }),
    batch: z
      .array(batchCheck)
      .default([])
      .meta({ description: 'Checks of a page, in order, over the records that passed.' }),
  }),
);

export type QualityConfig = z.infer<typeof qualitySchema>;
export type RecordCheckConfig = z.infer<typeof recordCheck>;
export type BatchCheckConfig = z.infer<typeof batchCheck>;

/** Does a failing check send anything to the dead-letter queue? */
export function qualityQuarantines(config: QualityConfig): boolean {
  return [...config.record, ...config.batch].some((check) => check.on_failure !== 'abort');
}

/** The number a value is or, as text filled in by a token, stands for. */
export function numberIn(value: JsonValue): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const parsed = Number(value);
  return Number.isFinite(parsed) ? parsed : undefined;
}

/** Whether a check looks at records as a whole; all others look at single fields. */
export function qualityNeedsRecords({ record }: QualityConfig): boolean {
  return record.some((check) => check.type === 'json_schema');
}

/** What is wrong with a value, in a few words that hold none of its data, or `undefined`. */
export type JsonSchemaCheck = (value: JsonValue) => string | undefined;

/** Throws when the schema itself is wrong. */
export function compileJsonSchema(definition: JsonValue): JsonSchemaCheck {
  if (!isObject(definition) && typeof definition !== 'boolean')
    throw new Error('it is not a mapping');
  const { $schema: draft, $async: async } = isObject(definition) ? definition : {};
  if (async === true) throw new Error('`$async` is not possible here');
  const Validator =
    typeof draft === 'string' && draft.includes('draft-07') ? ajv().Ajv : ajv2020().Ajv2020;
  const validate = new Validator({ strict: false, validateFormats: false, logger: false }).compile(
    definition,
  );
  return (value) => {
    if (validate(value)) return undefined;
    const [first] = validate.errors ?? [];
    return `${first?.instancePath === '' ? 'the record' : first?.instancePath} ${first?.message ?? 'is not valid'}`;
  };
}

function problemOfSchema(definition: JsonValue): string | undefined {
  try {
    compileJsonSchema(definition);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
