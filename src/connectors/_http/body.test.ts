import { expect, it } from 'vitest';
import { jsonBody } from './body.ts';

it.each([
  ['<html>secret</html>', 'the answer is not JSON', /^it is HTML or XML, as login/],
  ['', 'the answer is empty', /^check the address/],
  ['{"a":secret}', 'the answer is not JSON', /^check the address/],
])('an answer that is no JSON is told without a piece of it: %s', (text, message, hint) => {
  let failure: unknown;
  try {
    jsonBody(Buffer.from(text), 'the answer');
  } catch (error) {
    failure = error;
  }
  expect(failure).toMatchObject({
    kind: 'data',
    message: expect.stringContaining(message),
    hint: expect.stringMatching(hint),
  });
  expect(failure).not.toMatchObject({ message: expect.stringContaining('secret') });
  expect(failure).not.toHaveProperty('cause');
});
