import { expect, it } from 'vitest';
import { JSON_NULL, withSourceText } from '../../lib/text/json-literal.ts';
import { itemOf } from './attributes.ts';

it('a JSON null, or a number in its own spelling, that is a whole document is no empty map', () => {
  const digits = '12345678901234567890.5';
  const record = {
    none: JSON_NULL,
    price: withSourceText(1.1, '1.10'),
    exact: withSourceText(Number(digits), digits),
    map: {},
  };
  expect(itemOf(record)).toEqual({
    none: { NULL: true },
    price: { N: '1.10' },
    exact: { N: digits },
    map: { M: {} },
  });
});
