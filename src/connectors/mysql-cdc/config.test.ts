import { expect, test } from 'vitest';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { mysqlCdcConfig, type MysqlCdcConfig } from './config.ts';
import { mysqlCdcSource } from './index.ts';
import { addressOf } from './session.ts';

const LEAST = {
  connection_url: 'mariadb://me:pw@db.example/shop?ssl-mode=preferred',
  server_id: 7,
};

function checked(more: JsonObject = {}): MysqlCdcConfig {
  const result = check(mysqlCdcConfig, { ...LEAST, ...more });
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  return result.value;
}

const faults = (more: JsonObject): string[] => {
  const result = check(mysqlCdcConfig, { ...LEAST, ...more });
  return result.ok ? [] : result.issues.map(({ path }) => path);
};

test('fields that are not written have the values of the reference', () => {
  expect(checked()).toMatchObject({
    include_tables: [],
    exclude_tables: [],
    start_position: { type: 'current' },
    include_columns: true,
    emit_schema_changes: false,
    idle_timeout: 30,
    batch_size: 1000,
  });
  expect(checked({ start_position: null, include_tables: null }).start_position.type).toBe(
    'current',
  );
  expect(checked({ start_position: 'earliest' }).start_position).toEqual({ type: 'earliest' });
});

test.each<[string, JsonObject]>([
  ['connection_url', { connection_url: 'postgres://db' }],
  ['server_id', { server_id: 0 }],
  ['server_id', { server_id: 4_294_967_296 }],
  ['include_tables.0', { include_tables: ['orders'] }],
  ['exclude_tables.0', { exclude_tables: ['.orders'] }],
  ['start_position.pos', { start_position: { type: 'file_pos', file: 'binlog.000001', pos: 3 } }],
  ['start_position.value', { start_position: { type: 'gtid_set', value: 'x' } }],
  ['idle_timeout', { idle_timeout: 0 }],
  ['tls.ca_path', { tls: { mode: 'require', ca_path: 'ca.pem' } }],
  ['publication', { publication: 'x' }],
])('a mistake in %s is told', (path, more) => {
  expect(faults(more).map((found) => found.replaceAll(/\[(\d+)\]/g, '.$1'))).toEqual([path]);
});

test('the data set is told without credentials, under one name of the system', () => {
  expect(mysqlCdcSource.datasetUri(checked({ include_tables: ['shop.a', 'shop.b'] }))).toBe(
    'mysql://db.example:3306/shop?tables=shop.a,shop.b',
  );
  expect(mysqlCdcSource.datasetUri(checked())).toBe('mysql://db.example:3306/shop');
});

test('`tls` goes before what the address says', () => {
  expect(addressOf(checked(), '/work')).toBe(LEAST.connection_url);
  const of = (tls: JsonObject) =>
    new URL(addressOf(checked({ tls }), '/work')).searchParams.toString();
  expect(of({ mode: 'disable' })).toBe('ssl-mode=disabled');
  expect(of({ mode: 'require' })).toBe('ssl-mode=required');
  expect(of({ mode: 'verify_ca' })).toBe('ssl-mode=verify_ca');
  expect(of({ mode: 'verify_full', ca_path: 'ca.pem' })).toBe(
    'ssl-mode=verify_identity&ssl-ca=%2Fwork%2Fca.pem',
  );
});
