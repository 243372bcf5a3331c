import { expect, test } from 'vitest';
import { inet6Text, uuidText } from './addresses.ts';

const bytes = (hex: string) => Buffer.from(hex.replaceAll(/[-: ]/g, ''), 'hex');

test.each([
  ['as it is written', '123e4567-e89b-12d3-a456-426614174000'],
  ['as it is stored, with the node first', '426614174000 a456 12d3 e89b 123e4567'],
])('a UUID is read %s', (_how, hex) =>
  expect(uuidText(bytes(hex))).toBe('123e4567-e89b-12d3-a456-426614174000'),
);

test('a UUID of a version in order of time is stored as it is written', () => {
  const text = '0190163d-8694-739b-80a5-966c26f8ad91';
  expect(uuidText(bytes(text))).toBe(text);
});

test.each([
  ['0000 0000 0000 0000 0000 0000 0000 0000', '::'],
  ['0000 0000 0000 0000 0000 0000 0102 0304', '::1.2.3.4'],
  ['0000 0000 0000 0000 0000 ffff 0102 0304', '::ffff:1.2.3.4'],
  ['2001 0db8 0000 0000 0001 0000 0000 0001', '2001:db8::1:0:0:1'],
])('the address %s is %s', (hex, text) => expect(inet6Text(bytes(hex))).toBe(text));
