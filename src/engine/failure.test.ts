import { expect, it } from 'vitest';
import { Redactor } from '../lib/redact.ts';
import { stringifyJson, type JsonValue } from '../lib/text/json.ts';
import { outcomeErrorOf } from './failure.ts';

it('a record of thousands of levels is reported as what it is', () => {
  let deep: JsonValue = 1;
  for (let level = 0; level < 100_000; level += 1) deep = { a: deep };
  let failure: unknown;
  try {
    stringifyJson(deep, 2);
  } catch (error) {
    failure = error;
  }
  expect(outcomeErrorOf(failure, new Redactor())).toMatchObject({
    code: 'connector_data',
    message: 'a record is nested too deeply: it has thousands of levels',
  });
  expect(outcomeErrorOf(new RangeError('other'), new Redactor()).code).toBe('internal');
});
