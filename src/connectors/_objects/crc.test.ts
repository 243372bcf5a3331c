import { expect, test } from 'vitest';
import { crc32c, Crc64Nvme } from './crc.ts';

/** The check values that catalogues of such codes give. */
const CHECKED = Buffer.from('123456789');

test('CRC-32C has its check value, in one piece and in several', () => {
  expect(crc32c(CHECKED)).toBe(0xe3069283);
  expect(crc32c(CHECKED.subarray(4), crc32c(CHECKED.subarray(0, 4)))).toBe(0xe3069283);
});

test('CRC-64/NVME has its check value, in one piece and in several', () => {
  for (const cut of [0, 4, 9]) {
    const crc = new Crc64Nvme();
    crc.update(CHECKED.subarray(0, cut));
    crc.update(CHECKED.subarray(cut));
    expect(crc.bytes().toString('hex')).toBe('ae8b14860a799888');
  }
});
