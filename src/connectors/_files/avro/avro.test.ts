import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { JsonValue } from '../../../lib/text/json.ts';
import { avroRecords } from './avro-records.ts';

/** Made with fastavro, whose values stand in the tests. */
const UNIONS = join(import.meta.dirname, 'fixtures/unions.avro');

async function read(path: string, schema?: unknown): Promise<JsonValue[]> {
  const records: JsonValue[] = [];
  const options = { schema, name: path, signal: new AbortController().signal, onSchema: () => {} };
  for await (const batch of avroRecords(createReadStream(path), options)) records.push(...batch);
  return records;
}

const field = async (name: string): Promise<unknown[]> =>
  (await read(UNIONS)).map((record) => (record as Record<string, unknown>)[name]);

it.each<[string, unknown[]]>([
  ['number', [7, 1.5, 'x', true, 0]],
  ['money', ['5.50', 'free', null, null, null]],
  ['when', ['2024-01-02T03:04:05.000006Z', '2024-01-02', null, null, null]],
  [
    'nested',
    [
      { d: '9.90', k: 'B', more: { d: '1.00', k: 'A', more: 'end' } },
      'A',
      ['1.10', '-2.00'],
      { k: '1969-12-31' },
      null,
    ],
  ],
])('values of the union `%s` have the type of their branch', async (name, values) => {
  expect(await field(name)).toEqual(values);
});

it.each<[string, unknown]>([
  ['sentinel', '+294247-01-10T04:00:54.775807'],
  ['nanos', '2023-11-14T22:13:20.123456789Z'],
  ['span', 'P1M2DT2.5S'],
  ['id', '00000000-0000-0000-0000-000000000007'],
])('the logical type of `%s` is read exactly', async (name, value) => {
  expect((await field(name))[0]).toBe(value);
});

it('a schema to read with may have unions of its own', async () => {
  const schema = {
    type: 'record',
    name: 'Top',
    namespace: 'shop.v1',
    fields: [
      { name: 'nanos', type: ['null', 'string', { type: 'long', logicalType: 'timestamp-nanos' }] },
      { name: 'extra', type: ['null', 'int', 'string'], default: null },
    ],
  };
  expect((await read(UNIONS, schema))[0]).toEqual({
    nanos: '2023-11-14T22:13:20.123456789Z',
    extra: null,
  });
});
