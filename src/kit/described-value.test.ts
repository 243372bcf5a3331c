import { expect, it } from 'vitest';
import { z } from 'zod';
import { check } from './schema.ts';

const secret = (description: string) => z.string().min(4).meta({ description, secret: true });
const schema = z.strictObject({
  login: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('none') }),
      z.strictObject({ kind: z.literal('given'), pin: secret('The pin.') }),
    ])
    .optional(),
  seal: z.strictObject({ by: secret('What it is sealed with.') }).optional(),
  keys: z.array(z.string()).optional().meta({ description: 'All keys.', secret: true }),
  headers: z.record(z.string(), z.string()).optional(),
  password: z.int().optional(),
  size: z.strictObject({ most: z.int().optional() }).optional(),
});

it.each([
  ['a text where a mapping with a secret belongs', { seal: 'hunter2' }, 'a mapping', 'a text'],
  ['the same of several kinds', { login: 'hunter2' }, 'a mapping', 'a text'],
  ['a number in place of a secret', { seal: { by: 20240601 } }, 'text', 'a number'],
  [
    'the same in one of several kinds',
    { login: { kind: 'given', pin: 42424 } },
    'text',
    'a number',
  ],
  ['a text in place of a list of secrets', { keys: 'hunter2' }, 'a list', 'a text'],
  ['a number in such a list', { keys: [20240601] }, 'text', 'a number'],
  ['headers as one text', { headers: 'Bearer hunter2' }, 'a mapping', 'a text'],
  ['a header', { headers: { 'X-Any': 20240601 } }, 'text', 'a number'],
  ['what its name calls a secret', { password: 'hunter2' }, 'a number', 'a text'],
  ['what is none', { size: 'hunter2' }, 'a mapping', '"hunter2"'],
  ['a number that is none', { size: { most: 1.5 } }, 'a whole number', '1.5'],
])('a message about a wrong value does not tell a secret: %s', (_case, given, wanted, shown) => {
  const result = check(schema, given);
  const messages = result.ok ? [] : result.issues.map(({ message }) => message);
  expect(messages).toEqual([`expected ${wanted}, got ${shown}`]);
});
