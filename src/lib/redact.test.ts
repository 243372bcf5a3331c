import { expect, it } from 'vitest';
import { Redactor } from './redact.ts';

function knowing(...values: readonly string[]): Redactor {
  const redactor = new Redactor();
  for (const value of values) redactor.register(value);
  return redactor;
}

it('hides values of at least four characters, the longer ones first', () => {
  expect(knowing('abc', 'abcd', 'abcd-efgh').text('abc abcd abcd-efgh')).toBe('abc *** ***');
});

it('hides a secret in the forms it takes on the way', () => {
  const secret = 'pä"ss w/ord+\\n1?\n';
  const redactor = knowing(secret);
  const forms = [
    secret.trim(),
    JSON.stringify(secret),
    JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    encodeURIComponent(secret),
    new URLSearchParams({ a: secret }).toString(),
    Buffer.from(secret).toString('base64'),
    Buffer.from(secret).toString('base64url'),
  ];
  for (const form of forms)
    expect(redactor.text(`<${form}>`)).toMatch(/^<"?(a=)?\*\*\*(\n|=*)"?>$/);
});

it('hides the password of an address, as it is written and as it is meant', () => {
  const redactor = knowing(
    'postgres://me:p%40ssword@db.example:5432/shop',
    'https://[',
    'x://a:%E0%A4@b/',
  );
  expect(redactor.text('password p@ssword, p%40ssword; %E0%A4 at db.example')).toBe(
    'password ***, ***; *** at db.example',
  );
});

it('hands on what was registered, once each', () => {
  expect(knowing('abcd', 'abcd', 'p@ss').values()).toEqual(['abcd', 'p@ss']);
});

it('redacts keys and values of JSON', () => {
  expect(knowing('abcd').json({ 'x-abcd': ['abcd', 1, null, { y: 'zabcdz' }] })).toEqual({
    'x-***': ['***', 1, null, { y: 'z***z' }],
  });
});

it('learns more after it was asked', () => {
  const redactor = knowing('abcd');
  expect(redactor.text('abcd efgh')).toBe('*** efgh');
  redactor.register('efgh');
  expect(redactor.text('abcd efgh')).toBe('*** ***');
});
