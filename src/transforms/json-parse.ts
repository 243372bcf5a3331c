import { z } from 'zod';
import { RecordError } from '../lib/errors.ts';
import {
  hasField,
  parseData,
  setField,
  type JsonObject,
  type JsonValue,
} from '../lib/text/json.ts';
import { forgetSpelling, rememberSpelling } from '../lib/text/number-spelling.ts';
import { finding, optional, text } from '../kit/schema.ts';
import { fieldOf, withField, withTypes } from '../kit/record-schema.ts';
import { defineTransform } from '../kit/transform.ts';
import { editing, someFieldNames } from './per-record.ts';

const schema = z.lazy(() =>
  z
    .strictObject({
      fields: someFieldNames('Text fields that hold JSON; values that are not text stay.'),
      on_error: z.enum(['keep', 'null', 'error', 'dlq']).default('keep').meta({
        description:
          'A text that is not JSON stays (`keep`), becomes null (`null`), sends the record to the dead-letter queue (`dlq`) or fails the run (`error`).',
      }),
      into: optional(text()).meta({
        description:
          'Writes the parsed value to this field and keeps the text; for one field only.',
      }),
    })
    .superRefine((config, ctx) => {
      if (config.into === undefined || config.fields.length === 1) return;
      const hint = 'use one `json_parse` for each field';
      ctx.addIssue(
        finding('invalid_value', '`into` works for one field, not for several', {
          path: ['into'],
          hint,
        }),
      );
    }),
);

export const jsonParse = defineTransform<z.infer<typeof schema>>({
  type: 'json_parse',
  description: 'Reads JSON out of text fields.',
  config: schema,
  examples: [
    {
      config: { fields: ['body', 'n'] },
      input: [{ body: '{"a":[1]}', n: 1 }, { body: '{' }],
      output: [{ body: { a: [1] }, n: 1 }, { body: '{' }],
    },
    {
      config: { fields: ['body'], into: 'parsed', on_error: 'null' },
      input: [{ body: '{' }],
      output: [{ body: '{', parsed: null }],
    },
  ],
  quarantines: ({ on_error: onError }) => onError === 'dlq',
  reads: (config) => ({ kind: 'fields', names: config.fields }),
  columns: ({ fields, into }) =>
    into === undefined ? { kind: 'identity' } : { kind: 'derive', fields: { [into]: fields } },
  schema: ({ fields, into }, input) => {
    const { others } = input;
    if (into === undefined) return withTypes(input, fields, { kind: 'json' });
    if (fields.includes(into)) return withTypes(input, [into], { kind: 'json' });
    // Values that are not text are left alone.
    const known = withField(input, { name: into, type: { kind: 'json' }, nullable: true });
    return fieldOf(input, into) !== undefined || others === true
      ? known
      : { ...known, others: true };
  },
  compile: ({ fields, on_error: onError, into }) =>
    editing((record) => {
      for (const name of fields) {
        const value = hasField(record, name) ? record[name] : undefined;
        if (typeof value !== 'string') continue;
        const parsed = tryParse(value);
        if (parsed !== undefined) setParsed(record, into ?? name, parsed, value);
        else if (onError === 'null') setField(record, into ?? name, null);
        else if (onError !== 'keep') {
          throw new RecordError('Transform', `the text in \`${name}\` is not JSON`, {
            hint: 'set `on_error` to `keep` or `null` to let such records pass, or to `dlq` to put them aside',
            fault: { field: name, value, diverts: onError === 'dlq' },
          });
        }
      }
    }),
});

// Called for each record.
// oxlint-disable-next-line max-params
function setParsed(record: JsonObject, name: string, parsed: JsonValue, source: string): void {
  setField(record, name, parsed);
  if (typeof parsed !== 'number') return;
  forgetSpelling(record, name);
  const digits = source.trim();
  if (digits !== String(parsed)) rememberSpelling(record, name, digits);
}

function tryParse(source: string): JsonValue | undefined {
  try {
    return parseData(source);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
