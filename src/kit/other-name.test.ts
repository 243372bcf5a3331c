import { expect, test } from 'vitest';
import { z } from 'zod';
import { otherName } from './other-name.ts';
import { check } from './schema.ts';

const schema = otherName(
  'file_format',
  'format',
  z.strictObject({
    format: z.enum(['csv', 'json']).default('csv'),
    header: otherName('old', 'new', z.strictObject({ new: z.boolean() })).optional(),
  }),
);

test('a field is read under both names', () => {
  for (const name of ['format', 'file_format'])
    expect(check(schema, { [name]: 'json' })).toEqual({ ok: true, value: { format: 'json' } });
});

test('a fault is reported under the name that is written, inside of other fields too', () => {
  expect(pathsOf({ file_format: 'xml' })).toEqual(['file_format']);
  expect(pathsOf({ format: 'xml' })).toEqual(['format']);
  expect(pathsOf({ header: { old: 1 } })).toEqual(['header.old']);
  expect(pathsOf({ header: {} })).toEqual(['header.new']);
});

test('null counts as absent under both names', () => {
  for (const name of ['format', 'file_format'])
    expect(check(schema, { [name]: null })).toEqual({ ok: true, value: { format: 'csv' } });
});

test('where both are written, the other name is one that is not known', () => {
  expect(pathsOf({ format: 'csv', file_format: 'json' })).toEqual(['file_format']);
});

function pathsOf(value: unknown): string[] {
  const result = check(schema, value);
  return result.ok ? [] : result.issues.map(({ path }) => path);
}
