import { expect, test } from 'vitest';
import { TextFault, type Fault } from './text-fault.ts';
import { parseYaml } from './yaml-text.ts';

function faultOf(text: string): Fault {
  try {
    parseYaml(text);
  } catch (error) {
    if (error instanceof TextFault) return error.fault;
    throw error;
  }
  throw new Error('the text was read');
}

test.each([
  ['a: {b: 1\nc: 2\n', 'begins too far to the left'],
  ['a: {b: [1\n', 'begins too far to the left'],
  ['a: b: c\n', 'does not fit into the mapping'],
  ['a: 1\n b: 2\n', 'does not fit into the mapping'],
  ['a: 1\nb\nc: 2\n', 'neither a key with a value'],
  ['a: *x\n', 'nothing has this name'],
  ['a: "\\d"\n', 'begins no escape'],
  ['a: [1 2, {b c}', 'a `{` or `[` is never closed'],
  ['- a\nb: 1\n', 'does not belong to what stands above'],
])('%j is told in plain words, with what to do', (text, says) => {
  const { code, message, hint, line } = faultOf(text);
  expect(code).toBe('bad_yaml');
  expect(message).toContain(says);
  expect(hint).toBeTypeOf('string');
  expect(line).toBeTypeOf('number');
});

test('a key that is used twice is named, with the line of the other one', () => {
  expect(faultOf('name: x\na:\n  name: y\n  b: 1\nname: z\n')).toEqual({
    code: 'duplicate_key',
    message: 'the key `name` is used twice in one mapping',
    hint: 'remove one of the two, or rename it; the other one is in line 1',
    line: 5,
    column: 1,
  });
});

test('a token without quotes in a flow mapping is told as one, at its `$`', () => {
  expect(faultOf('a: 1\nb: { path: out/${env:X}.csv }\n')).toMatchObject({
    message: expect.stringContaining('a `${…}` needs quotes') as string,
    line: 2,
    column: 16,
  });
  expect(faultOf('a: { b: 1 {c: 2} }\n').message).toContain('a comma is missing');
});
