import { z } from 'zod';
import { RecordError } from '../../lib/errors.ts';
import {
  hasField,
  isObject,
  setField,
  type JsonObject,
  type JsonValue,
} from '../../lib/text/json.ts';
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
  compile: ({ separator }) =>
    mapping((record) => {
      const flat: JsonObject = {};
      for (const key of Object.keys(record)) lift(flat, key, record[key] as JsonValue, separator);
      return flat;
    }),
});

function lift(flat: JsonObject, name: string, value: JsonValue, separator: string): void {
  if (isObject(value)) {
    for (const key of Object.keys(value))
      lift(flat, name + separator + key, value[key] as JsonValue, separator);
    return;
  }
  if (hasField(flat, name)) {
    throw new RecordError('Transform', `two fields would be called \`${name}\``, {
      hint: 'choose another `separator`, or rename one of them first',
    });
  }
  setField(flat, name, value);
}
