import { z } from 'zod';
import { RecordError } from '../../lib/errors.ts';
import { hasField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { forgetSpelling } from '../../lib/text/number-spelling.ts';
import { text } from '../../kit/schema.ts';
import { forgetFields, withTypes, type RecordType } from '../../kit/record-schema.ts';
import { defineTransform } from '../../kit/transform.ts';
import { castColumn } from './cast-cells.ts';
import { CONVERSIONS, withPoint } from './cast-values.ts';
import { editing } from '../per-record.ts';

const schema = z.lazy(() =>
  z.strictObject({
    fields: z.record(text(), z.enum(['int', 'float', 'bool', 'string', 'timestamp'])).meta({
      description:
        'Top-level field to the type it gets: a 64-bit whole number, a double, true or false, text, or an RFC 3339 time.',
      examples: [{ id: 'int', paid: 'bool', at: 'timestamp' }],
    }),
    decimal_separator: z.enum(['.', ',']).default('.').meta({
      description:
        'What stands before the fraction in texts that become `float`; with `,` points between the digits before it are left out: `1.234,50` is 1234.5.',
    }),
    on_error: z.enum(['error', 'null', 'skip', 'dlq']).default('error').meta({
      description:
        'A value that cannot be converted fails the run (`error`), becomes null (`null`), stays as it is (`skip`) or sends the record to the dead-letter queue (`dlq`).',
    }),
  }),
);

const TYPES: Readonly<Record<keyof typeof CONVERSIONS, RecordType>> = {
  int: { kind: 'int64' },
  float: { kind: 'float64' },
  bool: { kind: 'bool' },
  string: { kind: 'utf8' },
  timestamp: { kind: 'timestamp', unit: 'us', zone: 'UTC' },
};

export const cast = defineTransform<z.infer<typeof schema>>({
  type: 'cast',
  description: 'Converts the values of top-level fields to another type.',
  config: schema,
  examples: [
    {
      config: {
        fields: { id: 'int', price: 'float', paid: 'bool', ref: 'string', at: 'timestamp' },
      },
      input: [
        { id: ' 42 ', price: '9.50', paid: 'Yes', ref: 7, at: '2026-01-02t03:04:05.500+00:00' },
      ],
      output: [{ id: 42, price: 9.5, paid: true, ref: '7', at: '2026-01-02T03:04:05.5Z' }],
    },
    {
      config: { fields: { n: 'int' }, on_error: 'null' },
      input: [{ n: 'many' }, { n: 1.5 }, {}],
      output: [{ n: null }, { n: null }, {}],
    },
    {
      config: { fields: { price: 'float' }, decimal_separator: ',', on_error: 'null' },
      input: [{ price: '1.234,50' }, { price: '-7' }, { price: '1,234.5' }],
      output: [{ price: 1234.5 }, { price: -7 }, { price: null }],
    },
    {
      config: { fields: { n: 'int' }, on_error: 'skip' },
      input: [{ n: 'many' }],
      output: [{ n: 'many' }],
    },
  ],
  quarantines: ({ on_error: onError }) => onError === 'dlq',
  reads: (config) => ({ kind: 'fields', names: Object.keys(config.fields) }),
  columns: () => ({ kind: 'identity' }),
  schema: ({ fields, on_error: onError }, input) => {
    // A value that cannot be converted keeps its type.
    if (onError === 'skip') return forgetFields(input, Object.keys(fields));
    return Object.entries(fields).reduce(
      (known, [name, type]) =>
        withTypes(known, [name], TYPES[type], { toNull: onError === 'null' }),
      input,
    );
  },
  worksOnColumns: () => true,
  compile(config) {
    const casts = Object.entries(config.fields).map(([name, type]) => ({
      name,
      type,
      change: changeOf(name, type, config),
      decimal: config.decimal_separator,
    }));
    const edit = (record: JsonObject): void => {
      for (const { name, type, change } of casts) {
        if (!hasField(record, name)) continue;
        record[name] = change(record[name] as JsonValue);
        if (type !== 'float') forgetSpelling(record, name);
      }
    };
    return editing(edit, (columns) =>
      casts.reduce((changed, { name, type, change, decimal }) => {
        const column = changed.column(name);
        return column === undefined
          ? changed
          : changed.with(name, castColumn(changed, column, { type, change, decimal }));
      }, columns),
    );
  },
});

function changeOf(
  name: string,
  type: keyof typeof CONVERSIONS,
  { on_error: onError, decimal_separator: decimal }: z.infer<typeof schema>,
): (value: JsonValue) => JsonValue {
  const convert = CONVERSIONS[type];
  const hasComma = type === 'float' && decimal === ',';
  return (value) => {
    const converted = convert(hasComma && typeof value === 'string' ? withPoint(value) : value);
    if (converted !== undefined) return converted;
    if (onError === 'null') return null;
    if (onError === 'skip') return value;
    throw new RecordError('Transform', `the value of \`${name}\` cannot be made \`${type}\``, {
      hint: 'set `on_error` to `null` or `skip` to let such records pass, or to `dlq` to put them aside',
      fault: { field: name, value, diverts: onError === 'dlq' },
    });
  };
}
