/** Types of columns whose names are in the data. */
import { expect, test } from 'vitest';
import { runTransform } from '../../../test/support/transforms.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { treeFlatten } from './tree-flatten.ts';
import { zipColumns } from './zip-columns.ts';

test('cells of a tree are converted, and empty ones are no value', async () => {
  const config = {
    children: 'kids',
    columns: { from: 'cells', header: 'head' },
    types: { day: 'date', net: 'decimal(9, 2)' },
  };
  const record = {
    head: ['day', 'net'],
    kids: [{ cells: ['2024-02-29', 7] }, { cells: ['', ''] }],
  };
  expect(await runTransform(treeFlatten, config, [record])).toEqual([
    { day: '2024-02-29', net: '7' },
    { day: null, net: null },
  ]);
});

test('a cell that does not fit is told, also in a record that passes unchanged', async () => {
  const config = { rows_path: 'rows', columns_path: 'head', types: { net: 'decimal(9, 2)' } };
  const records: JsonObject[] = [{ head: ['net'], rows: [['1.00'], ['many']] }, { net: 'many' }];
  for (const record of records)
    await expect(runTransform(zipColumns, config, [record])).rejects.toMatchObject({
      kind: 'Transform',
      message: '`net` in a record of the result is no decimal(9, 2)',
      hint: expect.stringContaining('`cast`') as string,
    });
});
