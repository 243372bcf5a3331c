import { expect, test } from 'vitest';
import { datasetUri } from './dataset-uri.ts';

test.each([
  ['postgres://me:p%40ss@h:6000/shop?sslmode=require', 'postgres://h:6000/shop?table=t'],
  ['postgres://h/shop', 'postgres://h:5432/shop?table=t'],
  ['postgres://me:secret@h@strange', 'postgres://strange:5432?table=t'],
])('%s is told without credentials and options', (url, expected) => {
  expect(datasetUri(url, { table: 't' }, 5432)).toBe(expected);
});

test('an address that cannot be read is not reported at all', () => {
  expect(datasetUri('me:secret at h', { query: 'SELECT 1' }, 5432)).toBe(
    'unknown://unknown?query=SELECT 1',
  );
});
