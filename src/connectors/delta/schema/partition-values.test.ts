import { expect, it } from 'vitest';
import { partitionText, readPartitionValue } from './partition-values.ts';
import type { DeltaField } from './delta-types.ts';

it.each([
  ['date', '2024-02-29', '2024-02-29', '2024-02-29'],
  ['date', '0044-03-15 BC', '-000043-03-15', '-000043-03-15'],
  ['date', '0044-03-15 (BC)', '-000043-03-15', '-000043-03-15'],
  ['date', '10000-01-01', '+010000-01-01', '+010000-01-01'],
  ['timestamp_ntz', '0044-03-15 12:00:00 BC', '-000043-03-15 12:00:00', '-000043-03-15T12:00:00'],
] as const)('the %s %s is stored as other readers know it: %s', (name, value, stored, read) => {
  const field: DeltaField = {
    name: 'p',
    nullable: true,
    metadata: {},
    type: { is: 'primitive', name },
  };
  expect(partitionText(value, field)).toBe(stored);
  expect(readPartitionValue(stored, field, 'the log')).toBe(read);
});
