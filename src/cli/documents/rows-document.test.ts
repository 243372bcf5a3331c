import { expect, test } from 'vitest';
import { parseJson } from '../../lib/text/json.ts';
import { rowsDocument } from './rows-document.ts';

const DOCUMENT = JSON.stringify({
  version: 1,
  pipeline: { sink: { type: 'postgres', config: { table_name: 'x' } } },
});

test('the name of a table is no token', () => {
  const name = 'a${env:HOME}';
  const config_patch = { query: `SELECT * FROM "${name}"`, list: [{ [name]: name }] };
  const found = [{ name, kind: 'table', config_patch }];
  const text = rowsDocument({ text: DOCUMENT, format: 'json', found, preset: undefined });
  const escaped = 'a$${env:HOME}';
  expect(parseJson(text)).toMatchObject({
    matrix: [
      {
        id: 'a_env_HOME',
        source: {
          config: { query: `SELECT * FROM "${escaped}"`, list: [{ [escaped]: escaped }] },
        },
        sink: { config: { table_name: escaped } },
      },
    ],
  });
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
