import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../lib/json.ts';
import { Redactor } from '../lib/redact.ts';
import { loadOptions } from '../../test/fakes/documents.ts';
import { interpolate } from './interpolate.ts';
import { restoreEscapes } from './tokens.ts';

function fill(tree: JsonObject): JsonObject {
  const { tree: filled, issues } = interpolate(tree, loadOptions());
  expect(issues).toEqual([]);
  return restoreEscapes(filled);
}

function faults(tree: JsonObject): string[] {
  return interpolate(tree, loadOptions()).issues.map((issue) => `${issue.code} ${issue.path}`);
}

describe('load-time tokens (spec 2.5)', () => {
  test('are filled in in texts and keys at every depth, and nowhere else', () => {
    expect(fill({ a: ['${env:NAME}', { '${secret:NAME}s': 'x${env:NAME}y', n: 1, b: true, z: null }] })).toEqual({
      a: ['value', { values: 'xvaluey', n: 1, b: true, z: null }],
    });
  });

  test('files lose trailing blanks, and may have exactly 1 MiB', () => {
    expect(fill({ a: '${file:key.txt}' })).toEqual({ a: 'from-file' });
    expect((fill({ a: '${file:full.txt}' })['a'] as string).length).toBe(1024 * 1024);
    expect(faults({ a: '${file:big.txt}' })).toEqual(['too_large a']);
  });

  test('a value is data: it changes no shape and holds no tokens', () => {
    expect(fill({ a: '${env:YAML}', b: '${env:TOKEN}', c: '${vars.t}', vars: { t: '${env:TOKEN}' } })).toMatchObject({
      a: '{a: [1]}',
      b: '${now.date}',
      c: '${now.date}',
    });
  });

  test('run-time tokens and those of connectors stay', () => {
    const tree = { a: '${now.date}/${users.id}/${bookmark}/${window.start}', '${now.year}': 1 };
    expect(fill(tree)).toEqual(tree);
  });

  test('escapes survive every pass once', () => {
    expect(fill({ vars: { a: '$${env:NAME}', b: '${vars.a}' }, x: '${vars.b} $$${env:NAME}' })['x']).toBe('${env:NAME} $${env:NAME}');
    expect(fill({ vars: { o: { k: '$${x}' } }, x: '${vars.o}' })['x']).toBe('{"k":"${x}"}');
  });

  test('inner tokens come first', () => {
    const vars = { which: 'NAME', format: '%H:%M' };
    const filled = fill({ vars, a: '${env:${vars.which}}', b: '${env:N${env:PART}E}', c: '${now.strftime.${vars.format}}' });
    expect(filled).toMatchObject({ a: 'value', b: 'value', c: '${now.strftime.%H:%M}' });
  });
});

describe('references', () => {
  test('are texts, whatever they name', () => {
    const vars = { n: 1, t: true, z: null, o: { a: [1, 'x'] }, s: 's', 'dotted.name': 'd' };
    expect(fill({ vars, a: '${vars.n}|${vars.t}|${vars.z}|${vars.o}|${vars.s}|${vars.dotted.name}' })['a']).toBe(
      '1|true|null|{"a":[1,"x"]}|s|d',
    );
  });

  test('reach into the configs of templates and follow chains', () => {
    const pipeline = {
      source: { type: 'a', config: { url: 'http://x', list: ['p', { q: '${sinks.out.dir}' }] } },
      sinks: { out: { type: 'b', config: { dir: '${vars.dir}/o' } } },
    };
    const filled = fill({ vars: { dir: '${env:NAME}' }, pipeline, a: '${sources.default.url} ${sources.default.list.1.q}' });
    expect(filled['a']).toBe('http://x value/o');
  });

  test('circles are told with their chain, once', () => {
    const { issues } = interpolate({ vars: { a: '${vars.b}', b: '${vars.c}', c: '${vars.a}', d: '${vars.d}' } }, loadOptions());
    expect(issues.map((issue) => issue.message)).toContain(
      'tokens refer to each other in a circle: ${vars.b} → ${vars.c} → ${vars.a} → ${vars.b}',
    );
    expect(issues.filter((issue) => issue.message.includes('${vars.d} → ${vars.d}'))).toHaveLength(1);
  });

  test('doubling again and again ends at a bound', () => {
    const vars: JsonObject = { v0: 'x'.repeat(100) };
    for (let i = 1; i < 60; i += 1) vars[`v${i}`] = `\${vars.v${i - 1}}\${vars.v${i - 1}}`;
    expect(faults({ vars })).toEqual([expect.stringMatching(/^too_large vars\.v\d+$/)]);
  });

  test('a long chain is refused instead of exhausting the stack', () => {
    const vars: JsonObject = {};
    for (let i = 20_000; i > 0; i -= 1) vars[`v${i}`] = `\${vars.v${i - 1}}`;
    vars['v0'] = 'end';
    expect(faults({ vars })[0]).toContain('invalid_token');
  });

  test('a failing chain is resolved once, not once per path to it', () => {
    const vars: JsonObject = { v0: '${env:ABSENT}' };
    for (let i = 1; i < 40; i += 1) vars[`v${i}`] = `\${vars.v${i - 1}}\${vars.v${i - 1}}`;
    expect(new Set(faults({ vars }))).toEqual(new Set(['missing_variable vars.v0']));
  });
});

test('every value from outside is known to the redactor', () => {
  const redactor = new Redactor();
  interpolate({ a: '${env:NAME} ${file:key.txt} ${secret:YAML} ${env:SHORT} ${env:TOKEN}' }, loadOptions({ redactor }));
  expect(redactor.values()).toEqual(expect.arrayContaining(['value', 'from-file', '{a: [1]}', '${now.date}']));
  expect(redactor.text('abc value')).toBe('abc ***');
});

test('keys that meet after filling in are refused', () => {
  expect(faults({ a: { value: 1, '${env:NAME}': 2 } })).toEqual(['duplicate_key a']);
});

test('vars of plain texts agree with replacing by hand', () => {
  const name = fc.constantFrom('a', 'b', 'c');
  const vars = fc
    .record({ a: fc.string(), b: fc.string(), c: fc.string() })
    .map((texts) =>
      Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, text.replaceAll('$', '_').replaceAll('\u0000', '_')])),
    );
  fc.assert(
    fc.property(
      vars,
      fc.array(
        fc.oneof(
          name,
          fc.stringMatching(/^[ -#%-~]{0,4}$/).map((text) => ({ text })),
        ),
      ),
      (values, pieces) => {
        const source = pieces.map((piece) => (typeof piece === 'string' ? `\${vars.${piece}}` : piece.text)).join('');
        const expected = pieces.map((piece) => (typeof piece === 'string' ? values[piece] : piece.text)).join('');
        expect(fill({ vars: values, source })['source']).toBe(expected);
      },
    ),
  );
});
