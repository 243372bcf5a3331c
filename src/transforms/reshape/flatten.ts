import type { RecordField, RecordSchema } from '../../kit/record-schema.ts';
import { z } from 'zod';
import { RecordError } from '../../lib/errors.ts';
import { hasField, setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { isContainer } from '../../lib/text/json-literal.ts';
import { keepForm } from '../../lib/value-form.ts';
import { defineTransform } from '../../kit/transform.ts';
import { mapping } from '../per-record.ts';

const schema = z.lazy(() =>
  z.strictObject({
    separator: z.string().default('__').meta({ description: 'Text between the joined names.' }),
  }),
);

export const flatten = defineTransform<z.infer<typeof schema>>({
  type: 'flatten',
  description:
    'Lifts the fields of nested objects to the top level under joined names; lists stay as they are.',
  config: schema,
  examples: [
    {
      config: {},
      input: [{ a: { b: 1, c: { d: [2] } }, e: {} }],
      output: [{ a__b: 1, a__c__d: [2] }],
    },
    { config: { separator: '.' }, input: [{ a: { b: null } }, 7], output: [{ 'a.b': null }, 7] },
  ],
  reads: () => ({ kind: 'record' }),
  columns: () => ({ kind: 'opaque' }),
  schema: ({ separator }, input) => flatSchema(input, separator),
  compile: ({ separator }) =>
    mapping((record) => {
      const flat: JsonObject = {};
      for (const key of Object.keys(record)) lift(flat, key, { holder: record, key }, separator);
      return flat;
    }),
});

/** Structs are lifted by their type; of what a document holds nothing is known. */
function flatSchema(input: RecordSchema, separator: string): RecordSchema {
  const mayNest = ({ type }: RecordField): boolean => NESTED.has(type.kind);
  if (!input.fields.some(mayNest)) return input;
  const lifted = (fields: readonly RecordField[], head: string): RecordField[] =>
    fields.flatMap((field) => {
      const name = head + field.name;
      if (field.type.kind === 'struct') return lifted(field.type.fields, name + separator);
      return mayNest(field) ? [] : [{ ...field, name }];
    });
  return { fields: lifted(input.fields, ''), others: true };
}

const NESTED: ReadonlySet<string> = new Set(['json', 'struct', 'map']);

interface FieldPlace {
  readonly holder: JsonObject;
  readonly key: string;
}

function lift(
  flat: JsonObject,
  name: string,
  { holder, key }: FieldPlace,
  separator: string,
): void {
  const value = holder[key] as JsonValue;
  if (isContainer(value)) {
    for (const inner of Object.keys(value))
      lift(flat, name + separator + inner, { holder: value, key: inner }, separator);
    return;
  }
  if (hasField(flat, name)) {
    throw new RecordError('Transform', `two fields would be called \`${name}\``, {
      hint: 'choose another `separator`, or rename one of them first',
    });
  }
  setField(flat, name, value);
  keepForm(holder, key, flat, name);
}
