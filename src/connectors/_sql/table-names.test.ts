import { expect, test } from 'vitest';
import { partName, stagingName } from './table-names.ts';

test('the staging table is named after the table, and never like it or like that of another run', () => {
  const { name, prefix } = stagingName('orders');
  expect(name).toMatch(/^orders__svc_ovw_all_[0-9a-f]{8}$/);
  expect(prefix).toBe('orders__svc_ovw_all_');
  expect(stagingName('orders').name).not.toBe(name);
  expect(stagingName('orders', partName('may')).prefix).not.toBe(
    stagingName('orders', partName('june')).prefix,
  );
});

test('a long name is told apart by a hash', () => {
  const long = 'x'.repeat(63);
  expect(stagingName(long).name).toMatch(/^svc_[0-9a-f]{16}__svc_ovw_all_[0-9a-f]{8}$/);
  expect(stagingName(long).prefix).not.toBe(stagingName(`${long.slice(1)}y`).prefix);
  expect(Buffer.byteLength(stagingName('ü'.repeat(30)).name)).toBeLessThanOrEqual(63);
});
