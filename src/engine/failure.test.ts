import { expect, it } from 'vitest';
import { ConnectorError } from '../lib/errors.ts';
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
  const written = new ConnectorError('data', 'writing to `t`: Maximum call stack size exceeded', {
    cause: failure,
  });
  for (const error of [failure, written, new Error('the sink failed', { cause: written })])
    expect(outcomeErrorOf(error, new Redactor())).toMatchObject({
      code: 'connector_data',
      message: 'a record is nested too deeply: it has thousands of levels',
    });
  expect(outcomeErrorOf(new RangeError('other'), new Redactor()).code).toBe('internal');
});
