import { hash as nodeHash } from 'node:crypto';
import { z } from 'zod';
import { ColumnBuilder, valuesOf } from '../kit/cells.ts';
import type { Columns } from '../kit/columns.ts';
import { hasField, jsonText, setField, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { finding, optional, text } from '../kit/schema.ts';
import { fieldOf, forgetFields, withField, withTypes } from '../kit/record-schema.ts';
import { defineTransform } from '../kit/transform.ts';
import { lazyLibrary } from '../lib/lazy.ts';
import { memoWhileItPays } from '../lib/memo.ts';
import { changedColumns, editing, someFieldNames } from './per-record.ts';

const library = lazyLibrary<typeof import('@noble/hashes/blake3.js')>('@noble/hashes/blake3.js');

const schema = z.lazy(() =>
  z
    .strictObject({
      fields: someFieldNames('Fields whose value is hashed; null stays null.'),
      algorithm: z
        .enum(['sha256', 'blake3'])
        .default('sha256')
        .meta({ description: 'The digest; both have 256 bits.' }),
      encoding: z
        .enum(['hex', 'base64'])
        .default('hex')
        .meta({ description: 'How the digest is written.' }),
      salt: optional(z.string()).meta({
        description: 'Text that is put before every value.',
        secret: true,
      }),
      into: optional(text()).meta({
        description: 'Writes the digest to this field and keeps the value; for one field only.',
      }),
    })
    .superRefine((config, ctx) => {
      if (config.into === undefined || config.fields.length === 1) return;
      const hint = 'use one `hash` for each field';
      ctx.addIssue(
        finding('invalid_value', '`into` works for one field, not for several', {
          path: ['into'],
          hint,
        }),
      );
    }),
);

type HashConfig = z.infer<typeof schema>;

/** Longer values are not cached: they rarely repeat, and would fill the memory. */
const MEMO_TEXT_LIMIT = 256;

export const hash = defineTransform<HashConfig>({
  type: 'hash',
  description:
    'Replaces values by their digest. Texts are hashed as UTF-8, everything else as compact JSON, so `1` and `"1"` agree.',
  config: schema,
  examples: [
    {
      config: { fields: ['id'] },
      input: [{ id: 1 }, { id: '1' }, { id: null }],
      output: [
        { id: '6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b' },
        { id: '6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b' },
        { id: null },
      ],
    },
    {
      config: { fields: ['id'], algorithm: 'blake3', encoding: 'base64', into: 'digest' },
      input: [{ id: 'abc' }],
      output: [{ id: 'abc', digest: 'ZDezrDhGUTP/tjt1JzqNtUjFWEZdedsD/TWcbNW9nYU=' }],
    },
  ],
  reads: (config) => ({ kind: 'fields', names: config.fields }),
  columns: ({ fields, into }) =>
    into === undefined ? { kind: 'identity' } : { kind: 'derive', fields: { [into]: fields } },
  schema: ({ fields, into }, input) => {
    const digest = { kind: 'utf8' } as const;
    if (into === undefined || fields.includes(into)) return withTypes(input, fields, digest);
    const before = fieldOf(input, into);
    // A record without a value keeps what it had there.
    if (before !== undefined && before.type.kind !== 'utf8') return forgetFields(input, [into]);
    return { ...withField(input, { name: into, type: digest, nullable: true }), others: true };
  },
  worksOnColumns: () => true,
  compile(config) {
    const digest = digestOf(config);
    const { fields, into } = config;
    const hashFields = (record: JsonObject): void => {
      for (const name of fields) {
        const value = hasField(record, name) ? record[name] : null;
        if (value !== null && value !== undefined) setField(record, into ?? name, digest(value));
      }
    };
    const ofValue = (value: JsonValue): JsonValue => (value === null ? null : digest(value));
    return editing(hashFields, (columns) => {
      const [only = ''] = fields;
      return into === undefined || into === only
        ? changedColumns(columns, fields, ofValue)
        : withDigests(columns, only, { into, digest });
    });
  },
});

/** A record without a value keeps what it has in the other field. */
function withDigests(
  columns: Columns,
  name: string,
  { into, digest }: { into: string; digest: (value: JsonValue) => string },
) {
  const [values, before] = [columns.column(name), columns.column(into)];
  if (values === undefined) return columns;
  if (before !== undefined && !columns.isWhole(before)) return undefined;
  const read = valuesOf(columns, values);
  const digests = new ColumnBuilder(columns);
  for (const row of columns.rows) {
    const value = read(row) ?? null;
    if (value !== null) digests.set(row, digest(value));
    else if (before !== undefined) digests.copy(row, before);
  }
  return columns.with(into, digests);
}

function digestOf(config: HashConfig): (value: JsonValue) => string {
  const { salt = '', encoding } = config;
  const compute =
    config.algorithm === 'sha256'
      ? (value: string) => nodeHash('sha256', salt + value, encoding)
      : (value: string) =>
          Buffer.from(library().blake3(Buffer.from(salt + value))).toString(encoding);
  const remembered = memoWhileItPays(compute);
  return (value) => {
    const plain = jsonText(value);
    return plain.length > MEMO_TEXT_LIMIT ? compute(plain) : remembered(plain);
  };
}
