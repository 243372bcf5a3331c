import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadDocument } from '../../document/load.ts';
import { restoreEscapes } from '../../document/tokens/tokens.ts';
import { loadOptions } from '../../../test/fakes/documents.ts';
import { stringifyJson } from '../../lib/text/json.ts';
import { fillData, fillText, fillTokens, hasTriggerTokens } from './fill-tokens.ts';

/** What a run sees of a text in its document. */
function seen(text: string, values: Readonly<Record<string, string>>): unknown {
  const document = {
    version: 1,
    vars: { v: 'VAR' },
    pipeline: { source: { type: 'lines', config: { path: text } }, sink: { type: 'nowhere' } },
  };
  const filled = fillTokens(document, (token) => values[token] ?? '');
  const loaded = loadDocument(stringifyJson(filled), {
    ...loadOptions({ variables: { HOME: 'home', SECRET: 'secret' } }),
    format: 'json',
    origin: { kind: 'submitted' },
  });
  const pipeline = loaded.tree['pipeline'] as { source: { config: { path: string } } };
  return restoreEscapes(pipeline.source.config.path);
}

test.each([
  ['${trigger.body}', 'a', 'a'],
  ['x-${trigger.body}-${env:HOME}', 'a', 'x-a-home'],
  ['${trigger.body}', '${env:SECRET}', '${env:SECRET}'],
  ['${trigger.body}', '$${env:SECRET}', '$${env:SECRET}'],
  ['${trigger.body}{env:SECRET}', '$', '${env:SECRET}'],
  ['${trigger.body}${trigger.body}', '${env:SECRET', '${env:SECRET${env:SECRET'],
  ['${trigger.body} and more', 'cost$', 'cost$ and more'],
  ['$${trigger.body}', 'a', '${trigger.body}'],
  ['${vars.v}${trigger.body}', '$$', 'VAR$$'],
  ['${env:${trigger.body}}', 'HOME', 'home'],
])('%s with %j is %j in the run', (text, body, expected) => {
  expect(seen(text, { body })).toBe(expected);
});

test('a value never becomes anything else, whatever it is', () => {
  const hostile = fc.string({
    unit: fc.constantFrom('$', '{', '}', 'e', ':', '\\', '"', '\n', 'x'),
  });
  fc.assert(
    fc.property(hostile, hostile, (a, b) => {
      expect(seen('<${trigger.a}|${trigger.b}{end}>', { a, b })).toBe(`<${a}|${b}{end}>`);
    }),
  );
});

test.each([
  ['${env:A_${trigger.body}}', 'B}${env:SECRET', 'inside of another token'],
  ['${trigger.body}${env:HOME}', 'a$', 'right before another token'],
  ['${trigger.body}', 'a\u0000b', 'NUL'],
])('%s with %j is refused', (text, body, message) => {
  expect(() => fillText(text, () => body)).toThrow(message);
});

test('in what is no document only these tokens mean something', () => {
  expect(fillData({ a: '${trigger.x}${env:A}', b: ['$${trigger.x}', 1] }, () => '${y}$')).toEqual({
    a: '${y}$${env:A}',
    b: ['${trigger.x}', 1],
  });
});

test('keys are filled in, too, and a document without tokens is known', () => {
  expect(fillTokens({ 'a-${trigger.x}': [{ b: '${trigger.x}' }] }, () => '1')).toEqual({
    'a-1': [{ b: '1' }],
  });
  expect(hasTriggerTokens({ a: ['${now.date}', { b: 'trigger.x' }] })).toBe(false);
  expect(hasTriggerTokens({ a: [{ '${trigger.name}': 1 }] })).toBe(true);
});
