import { expect, test } from 'vitest';
import { parseJson } from '../../../lib/text/json.ts';
import { NameOrder } from './name-order.ts';

function orderAfter(lines: Iterable<string>): readonly string[] | undefined {
  const order = new NameOrder();
  for (const line of lines) order.look(line, parseJson(line));
  return order.schema?.order;
}

test('is learned from the texts of records that list a name first', () => {
  const lines = ['{"id":1}', '{"id":1,"2024":2}', '{"id":1,"2024":2,"2023":3}'];
  expect(orderAfter(lines)).toEqual(['id', '2024', '2023']);
});

test('is that of no table where every record has names of its own', () => {
  const linesOf = (count: number): string[] =>
    Array.from({ length: count }, (_, index) => `{"id":1,"${index}":2}`);
  expect(orderAfter(linesOf(999))).toHaveLength(1000);
  expect(orderAfter(linesOf(1000))).toBeUndefined();
  expect(orderAfter([...linesOf(1000), '{"id":1,"2024":2}'])).toBeUndefined();
});
