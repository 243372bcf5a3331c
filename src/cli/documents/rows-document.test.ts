import { expect, test } from 'vitest';
import { parseJson } from '../../lib/text/json.ts';
import { rowsDocument } from './rows-document.ts';

const DOCUMENT = JSON.stringify({
  version: 1,
  pipeline: { sink: { type: 'postgres', config: { table_name: 'x' } } },
});

test('each data set goes into a table of its own, also where two schemas have one of the same name', () => {
  const found = ['public.orders', 'sales.orders', 'sales.items'].map((name) => ({
    name,
    kind: 'table',
    config_patch: { query: `SELECT * FROM ${name}` },
  }));
  const text = rowsDocument({ text: DOCUMENT, format: 'json', found, preset: undefined });
  expect(parseJson(text)).toMatchObject({
    matrix: [
      { id: 'public_orders', sink: { config: { table_name: 'public_orders' } } },
      { id: 'sales_orders', sink: { config: { table_name: 'sales_orders' } } },
      { id: 'sales_items', sink: { config: { table_name: 'items' } } },
    ],
  });
});
