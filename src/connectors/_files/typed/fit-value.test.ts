import { expect, it } from 'vitest';
import { parseData, type JsonValue } from '../../../lib/text/json.ts';
import type { ColumnKind } from './column-kinds.ts';
import { fit } from './fit-value.ts';

const MAP: ColumnKind = {
  is: 'map',
  key: { is: 'string' },
  value: { is: 'typed', type: { kind: 'decimal', precision: 30, scale: 20 } },
};

const fitted = (value: JsonValue): unknown =>
  fit(value, MAP, { path: 'm', dropped: expect.unreachable });

it.each(['{"a": 0.10000000000000000001}', '[{"key": "a", "value": 0.10000000000000000001}]'])(
  'the values of a map keep their digits: %s',
  (text) => {
    expect(fitted(parseData(text))).toEqual([{ key: 'a', value: '0.10000000000000000001' }]);
  },
);

it('a map that has a key twice is refused with its field and what to do', () => {
  const twice = [1, 2].map((value) => ({ key: 'a', value }));
  expect(() => fitted(twice)).toThrow(
    expect.objectContaining({
      message: 'the map "m" has the key "a" twice, which a file of this format cannot hold',
      hint: 'make its keys differ, or keep the field as text (`json_encode`)',
    }) as Error,
  );
});
