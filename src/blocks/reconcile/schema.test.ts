import { expect, test } from 'vitest';
import { check } from '../../kit/schema.ts';
import { reconcileSchema } from './schema.ts';

const count = { type: 'sqlite', config: { database_url: 'x.db', query: 'SELECT 1 AS n' } };

test.each([
  ['in the source', { count: { ...count, count_field: 'n' } }],
  ['beside it', { count, count_field: 'n' }],
])('the field of the count may stand %s', (_where, written) => {
  const checked = check(reconcileSchema, written);
  expect(checked.ok && checked.value.count.count_field).toBe('n');
});

test('it cannot stand in both places', () => {
  const checked = check(reconcileSchema, {
    count: { ...count, count_field: 'n' },
    count_field: 'm',
  });
  expect(checked.ok ? [] : checked.issues.map(({ path }) => path)).toEqual(['count_field']);
});
