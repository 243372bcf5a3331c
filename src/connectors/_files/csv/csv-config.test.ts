import { expect, test } from 'vitest';
import { check } from '../../../kit/schema.ts';
import { character } from './csv-config.ts';

test.each([
  [';', ';'],
  ['\\t', '\t'],
  [59, ';'],
  [9, '\t'],
])('%j is %j', (written, meant) => {
  expect(check(character(',', 'Between cells.'), written)).toMatchObject({
    ok: true,
    value: meant,
  });
});

test.each([';;', '', 10, 200, 1.5, 'ä'])('%j is refused', (written) => {
  expect(check(character(',', 'Between cells.'), written).ok).toBe(false);
});
