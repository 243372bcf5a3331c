import { expect, test } from 'vitest';
import { plan, refusalOf } from '../../test/fakes/documents.ts';
import type { JsonObject } from '../lib/text/json.ts';

const reported = (pipeline: JsonObject, rest: JsonObject = {}) => {
  const base = { source: { type: 'lines', config: { path: 'in' } }, sink: { type: 'nowhere' } };
  const text = JSON.stringify({ version: 1, pipeline: { ...base, ...pipeline }, ...rest });
  return refusalOf(() => plan(text, {}, { format: 'json' })).issues.map(
    ({ code, path, message, hint }) => [code, path, hint ?? message],
  );
};

test('a block in the wrong place is reported where it belongs', () => {
  expect(reported({}, { quality: {} })).toEqual([
    ['unknown_key', 'quality', 'it belongs inside `pipeline`'],
  ]);
  expect(reported({ resilience: {} })).toEqual([
    [
      'unknown_key',
      'pipeline.resilience',
      'it belongs at the top of the document, beside `pipeline`',
    ],
  ]);
});

test.each(['kafka', 'azure_blob', 'line'])('a source of type %s is refused', (type) => {
  const refusal = ['unknown_type', 'pipeline.source.type', expect.any(String)];
  expect(reported({ source: { type } })).toEqual([refusal]);
  expect(reported({ sources: { spare: { type } } })).toEqual([
    refusal.with(1, 'pipeline.sources.spare.type'),
  ]);
});

test('`${env:}` without a name says so', () => {
  expect(reported({}, { vars: { a: '${env:}' } })).toEqual([
    ['invalid_token', 'vars.a', 'write `${env:NAME}`'],
  ]);
});

test.each(['a:\n\tb: 1\n', 'a: 1\nb:\n  c: 2\n\td: 3\n'])(
  'a tab as indent is reported as that: %j',
  (text) => {
    const line = text.slice(0, text.indexOf('\t')).split('\n').length;
    const [issue] = refusalOf(() => plan(text)).issues;
    expect(issue).toMatchObject({
      code: 'bad_yaml',
      line,
      message: `line ${line} is indented with a tab; YAML wants spaces`,
    });
  },
);

test('`retry_on` counts inside `retry` too', () => {
  const text = (resilience: string) =>
    `{version: 1, pipeline: {source: {type: lines, config: {path: a}}, sink: {type: nowhere}}, resilience: ${resilience}}`;
  expect(plan(text('{retry: {retry_on: [timeout]}}')).rows[0]?.blocks['resilience']).toMatchObject({
    retry: { on: ['timeout'] },
  });
  expect(
    plan(text('{retry: {retry_on: [timeout]}, retry_on: [connection]}')).rows[0]?.blocks[
      'resilience'
    ],
  ).toMatchObject({ retry: { on: ['connection'] } });
});
