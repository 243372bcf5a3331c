/** Which configs write to one table. */
import { expect, test } from 'vitest';
import { check } from '../../kit/schema.ts';
import { outputOf, type SinkDefinition } from '../../kit/sink.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { parts } from '../../parts.ts';

function placeOf(type: string, config: JsonObject): string {
  const sink = parts.sinks.get(type) as SinkDefinition;
  const checked = check(sink.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return outputOf(sink, checked.value);
}

const PG = { connection_url: 'postgres://a:b@h/shop', table_name: 'Orders' };
const LITE = { database_url: 'sqlite:shop.db', table_name: 'Orders' };
const DUCK = { database: 'shop.duckdb', table_name: 'Orders' };

test.each([
  ['postgres', PG, { ...PG, connection_url: 'postgresql://c:d@h:5432/shop?sslmode=disable' }],
  ['postgres', PG, { ...PG, schema: 'public' }],
  ['sqlite', LITE, { ...LITE, table_name: 'orders' }],
  ['duckdb', DUCK, { ...DUCK, table_name: 'ORDERS' }],
])('two spellings of one table of %s are one place', (type, one, other) => {
  expect(placeOf(type, one)).toBe(placeOf(type, other));
});

test.each([
  ['postgres', PG, { ...PG, table_name: 'orders' }],
  ['postgres', PG, { ...PG, schema: 'old' }],
  ['sqlite', LITE, { ...LITE, table_name: 'orders_old' }],
  ['sqlite', { ...LITE, table_name: 'Übung' }, { ...LITE, table_name: 'übung' }],
])('two tables of %s are two places', (type, one, other) => {
  expect(placeOf(type, one)).not.toBe(placeOf(type, other));
});
