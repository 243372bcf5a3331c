/** Numbers of JSON keep the way they were written where a transform only moves them. */
import { expect, test } from 'vitest';
import { testEnv } from '../../test/fakes/env.ts';
import { check } from '../kit/schema.ts';
import { parseData, stringifyJson, type JsonObject } from '../lib/text/json.ts';
import { TRANSFORMS } from './index.ts';

const RECORD = '{"id":7.0,"price":1.10,"none":null,"in":{"x":2.0},"list":[3.0,{"y":4.0}]}';

test.each<[string, JsonObject, string[]]>([
  ['drop', { fields: ['none', 'in', 'list'] }, ['{"id":7.0,"price":1.10}']],
  ['select', { fields: ['price', 'in'] }, ['{"price":1.10,"in":{"x":2.0}}']],
  [
    'rename_field',
    { fields: { id: 'price', price: 'id' } },
    ['{"price":7.0,"id":1.10,"none":null,"in":{"x":2.0},"list":[3.0,{"y":4.0}]}'],
  ],
  [
    'rename_keys',
    { pattern: '^', replacement: '_' },
    ['{"_id":7.0,"_price":1.10,"_none":null,"_in":{"_x":2.0},"_list":[3.0,{"_y":4.0}]}'],
  ],
  ['flatten', {}, ['{"id":7.0,"price":1.10,"none":null,"in__x":2.0,"list":[3.0,{"y":4.0}]}']],
  [
    'explode',
    { path: 'list' },
    [
      '{"id":7.0,"price":1.10,"none":null,"in":{"x":2.0},"list":3.0}',
      '{"id":7.0,"price":1.10,"none":null,"in":{"x":2.0},"list_y":4.0}',
    ],
  ],
  [
    'unpivot',
    { key_name: 'k', value_name: 'v', id_fields: ['id'], columns: ['price'] },
    ['{"id":7.0,"k":"price","v":1.10}'],
  ],
  [
    'unpivot',
    { key_name: 'k', value_name: 'v', id_fields: ['price'], from: 'in' },
    ['{"price":1.10,"k":"x","v":2.0}'],
  ],
  ['zip_columns', { groups: [{ from: 'list', header: 'h' }] }, ['{"col_0":3.0,"col_1":{"y":4.0}}']],
  [
    'zip_columns',
    { groups: [{ from: 'list', header: 'h', value: 'y' }] },
    ['{"col_0":null,"col_1":4.0}'],
  ],
  [
    'tree_flatten',
    { children: 'kids', columns: { from: 'list', value: 'y' } },
    ['{"col_0":3.0,"col_1":4.0}'],
  ],
  [
    'coalesce',
    { field: 'none', from: ['gone', 'price'] },
    ['{"id":7.0,"price":1.10,"none":1.10,"in":{"x":2.0},"list":[3.0,{"y":4.0}]}'],
  ],
  [
    'set',
    { values: { id: 7, price: 2 } },
    ['{"id":7,"price":2,"none":null,"in":{"x":2.0},"list":[3.0,{"y":4.0}]}'],
  ],
  [
    'cast',
    { fields: { id: 'int', price: 'float' } },
    ['{"id":7,"price":1.10,"none":null,"in":{"x":2.0},"list":[3.0,{"y":4.0}]}'],
  ],
])('%s %j', async (type, config, expected) => {
  const definition = TRANSFORMS.find((one) => one.type === type);
  if (definition === undefined) throw new Error(type);
  const checked = check<unknown>(definition.config, config);
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  const compiled = await definition.compile(checked.value, { env: testEnv() });
  if (compiled.kind !== 'record') throw new Error('cannot happen');
  const out: string[] = [];
  compiled.apply(parseData(RECORD), (record) => out.push(stringifyJson(record)));
  expect(out).toEqual(expected);
});
