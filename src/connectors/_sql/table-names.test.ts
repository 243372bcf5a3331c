import { expect, test } from 'vitest';
import { stagingName } from './table-names.ts';

test('the staging table is named after the table, and never like it', () => {
  expect(stagingName('orders')).toBe('orders__svc_ovw');
  const long = 'x'.repeat(63);
  expect(stagingName(long)).toMatch(/^svc_[0-9a-f]{16}__svc_ovw$/);
  expect(stagingName(long)).not.toBe(stagingName(`${long.slice(1)}y`));
  expect(Buffer.byteLength(stagingName('ü'.repeat(30)))).toBeLessThanOrEqual(63);
});
