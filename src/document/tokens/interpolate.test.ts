import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../lib/text/json.ts';
import { Redactor } from '../../lib/redact.ts';
import { loadOptions } from '../../../test/fakes/documents.ts';
import { interpolate } from './interpolate.ts';
import type { TokenSources } from './outside-values.ts';
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
    expect(
      fill({ a: ['${env:NAME}', { '${secret:NAME}s': 'x${env:NAME}y', n: 1, b: true, z: null }] }),
    ).toEqual({
      a: ['value', { values: 'xvaluey', n: 1, b: true, z: null }],
    });
  });

  test('secrets stay as they are written for whoever must touch none', () => {
    const written = { a: '${secret:NO_SUCH} ${env:NAME}', b: '${vault:app#key}' };
    const { tree, issues } = interpolate(written, { ...loadOptions(), keepSecrets: true });
    expect([restoreEscapes(tree), issues]).toEqual([
      { a: '${secret:NO_SUCH} value', b: '${vault:app#key}' },
      [],
    ]);
  });

  test('variables of the caller stand before those of the environment, of which no other is read', () => {
    const read: PropertyKey[] = [];
    const variables = new Proxy<Record<string, string>>(
      { NAME: 'from outside', OTHER: 'other' },
      {
        getOwnPropertyDescriptor(target, name) {
          read.push(name);
          return Reflect.getOwnPropertyDescriptor(target, name);
        },
        ownKeys: () => expect.unreachable('all variables were read'),
      },
    );
    const { tree, issues } = interpolate(
      { a: '${env:NAME} ${env:OTHER}' },
      { ...loadOptions(), variables },
      { paramEnv: { NAME: 'given' } },
    );
    expect([restoreEscapes(tree), issues]).toEqual([{ a: 'given other' }, []]);
    expect(read).toEqual(['OTHER']);
  });

  test('files lose trailing blanks, and may have exactly 1 MiB', () => {
    expect(fill({ a: '${file:key.txt}' })).toEqual({ a: 'from-file' });
    expect((fill({ a: '${file:full.txt}' })['a'] as string).length).toBe(1024 * 1024);
    expect(faults({ a: '${file:big.txt}' })).toEqual(['too_large a']);
  });

  test('a value is data: it changes no shape and holds no tokens', () => {
    expect(
      fill({ a: '${env:YAML}', b: '${env:TOKEN}', c: '${vars.t}', vars: { t: '${env:TOKEN}' } }),
    ).toMatchObject({
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
    expect(
      fill({ vars: { a: '$${env:NAME}', b: '${vars.a}' }, x: '${vars.b} $$${env:NAME}' })['x'],
    ).toBe('${env:NAME} $${env:NAME}');
    expect(fill({ vars: { o: { k: '$${x}' } }, x: '${vars.o}' })['x']).toBe('{"k":"${x}"}');
  });

  test('inner tokens come first', () => {
    const vars = { which: 'NAME', format: '%H:%M' };
    const filled = fill({
      vars,
      a: '${env:${vars.which}}',
      b: '${env:N${env:PART}E}',
      c: '${now.strftime.${vars.format}}',
    });
    expect(filled).toMatchObject({ a: 'value', b: 'value', c: '${now.strftime.%H:%M}' });
  });
});

describe('references', () => {
  test('are texts, whatever they name', () => {
    const vars = { n: 1, t: true, z: null, o: { a: [1, 'x'] }, s: 's', 'dotted.name': 'd' };
    expect(
      fill({ vars, a: '${vars.n}|${vars.t}|${vars.z}|${vars.o}|${vars.s}|${vars.dotted.name}' })[
        'a'
      ],
    ).toBe('1|true|null|{"a":[1,"x"]}|s|d');
  });

  test('reach into the configs of presets and follow chains', () => {
    const pipeline = {
      source: { type: 'a', config: { url: 'http://x', list: ['p', { q: '${sinks.out.dir}' }] } },
      sinks: { out: { type: 'b', config: { dir: '${vars.dir}/o' } } },
    };
    const filled = fill({
      vars: { dir: '${env:NAME}' },
      pipeline,
      a: '${sources.default.url} ${sources.default.list.1.q}',
    });
    expect(filled['a']).toBe('http://x value/o');
  });

  test('circles are reported with their chain, once', () => {
    const { issues } = interpolate(
      { vars: { a: '${vars.b}', b: '${vars.c}', c: '${vars.a}', d: '${vars.d}' } },
      loadOptions(),
    );
    expect(issues.map((issue) => issue.message)).toContain(
      'tokens refer to each other in a circle: ${vars.b} → ${vars.c} → ${vars.a} → ${vars.b}',
    );
    expect(issues.filter((issue) => issue.message.includes('${vars.d} → ${vars.d}'))).toHaveLength(
      1,
    );
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
  interpolate(
    { a: '${env:NAME} ${file:key.txt} ${secret:YAML} ${env:SHORT} ${env:TOKEN}' },
    loadOptions({ redactor }),
  );
  expect(redactor.values()).toEqual(
    expect.arrayContaining(['value', 'from-file', '{a: [1]}', '${now.date}']),
  );
  expect(redactor.text('abc value')).toBe('abc ***');
});

test('parameters are possible only where somebody declares them', () => {
  const { issues, stage } = interpolate({ a: 'x${param.p}' }, loadOptions());
  expect([stage, issues.map((issue) => `${issue.code} ${issue.path}`)]).toEqual([
    'validate',
    ['unknown_param a'],
  ]);
});

test('keys that meet after filling in are refused', () => {
  expect(faults({ a: { value: 1, '${env:NAME}': 2 } })).toEqual(['duplicate_key a']);
});

/** A piece of a text: how it is written, and what it comes to. */
interface Piece {
  readonly source: string;
  readonly result: string;
}

const plain = fc.stringMatching(/^[ -#%-~]{0,4}$/);
/** Data may hold anything that looks like a token or begins one. */
const data = fc
  .array(fc.constantFrom('$', '{', '}', '${', 'vars.a', 'x', ':', '$${'), { maxLength: 5 })
  .map((bits) => bits.join(''));

test('texts made of tokens agree with putting the values together by hand', () => {
  const values = fc.record({
    E: data,
    F: data,
    a: plain,
    b: plain,
    p: data.map((text) => text.replaceAll('{', '(')),
    n: fc.integer(),
  });
  const pieceOf = ({
    E,
    F,
    a,
    b,
    p,
    n,
  }: {
    E: string;
    F: string;
    a: string;
    b: string;
    p: string;
    n: number;
  }) =>
    fc.oneof(
      plain.map((text): Piece => ({ source: text, result: text })),
      plain.map((text): Piece => ({ source: `$\${${text}`, result: `\${${text}` })),
      fc.constantFrom<Piece>(
        { source: '${env:E}', result: E },
        { source: '${secret:F}', result: F },
        { source: '${file:f}', result: F.trimEnd() },
        { source: '${vars.a}', result: a },
        { source: '${vars.b}', result: b },
        { source: '${vars.chain}', result: `<${b}${E}>` },
        { source: '${vars.${vars.name}}', result: a },
        { source: '${param.p}', result: p },
        { source: '${param.n}', result: String(n) },
        { source: '${map:n|*=${env:E}}', result: E },
        { source: `\${map:n|${n}=hit|*=miss}`, result: 'hit' },
        { source: '${sources.s.deep.0}', result: `[${a}]` },
        { source: '${now.date}', result: '${now.date}' },
      ),
    );
  const given = values.chain((one) =>
    fc.tuple(fc.constant(one), fc.array(pieceOf(one), { minLength: 2, maxLength: 6 })),
  );
  fc.assert(
    fc.property(given, ([{ E, F, a, b, p, n }, pieces]) => {
      const text = pieces.map((piece) => piece.source).join('');
      const tree = {
        params: { p: {}, n: { type: 'int' } },
        vars: { a, b, chain: '<${vars.b}${env:E}>', name: 'a' },
        pipeline: { sources: { s: { config: { deep: ['[${vars.a}]'] } } } },
        list: [text],
        keys: { [text]: 1 },
      };
      const readFile = (): Uint8Array => new TextEncoder().encode(F);
      const { tree: filled, issues } = interpolate(
        tree,
        { ...loadOptions(), variables: { E, F }, readFile },
        { params: { p, n } },
      );
      const result = pieces.map((piece) => piece.result).join('');
      expect(issues).toEqual([]);
      // A parameter by itself keeps its type, but not as a key.
      const value = text === '${param.n}' ? n : result;
      expect(restoreEscapes(filled)).toMatchObject({ list: [value], keys: { [result]: 1 } });
    }),
    { numRuns: 500 },
  );
});

describe('names that become public labels', () => {
  const at = (tree: JsonObject, more: Partial<TokenSources> = {}) =>
    interpolate(tree, {
      ...loadOptions(),
      variables: { TEAM: 'finance-team' },
      readFile: () => new TextEncoder().encode('from a file'),
      publicNames: true,
      ...more,
    }).issues.map(({ code, path }) => [code, path]);

  test('hold no value from outside of the document, however it gets there', () => {
    const refused = [['name_not_public', 'name']];
    expect(at({ name: 'etl-${env:TEAM}' })).toEqual(refused);
    expect(at({ name: '${file:a.txt}' })).toEqual(refused);
    expect(at({ vars: { team: '${env:TEAM}' }, name: '${vars.team}' })).toEqual(refused);
    expect(at({ name: '${vars.team}', vars: { team: 'a ${env:TEAM}' } })).toEqual(refused);
    expect(at({ params: { team: { default: '${env:TEAM}' } }, name: '${param.team}' })).toEqual(
      refused,
    );
    expect(at({ description: '${env:TEAM}', name: '${env:TEAM}' })).toEqual(refused);
    expect(at({ matrix: [{ id: 'a' }, { id: '${env:TEAM}' }] })).toEqual([
      ['name_not_public', 'matrix[1].id'],
    ]);
  });

  test('hold what the document says itself, and everything where nobody else reads them', () => {
    expect(at({ vars: { team: 'x', other: '${env:TEAM}' }, name: '${vars.team}' })).toEqual([]);
    expect(at({ description: '${env:TEAM}', name: 'finance-team' })).toEqual([]);
    expect(at({ name: '${env:TEAM}' }, { publicNames: false })).toEqual([]);
  });
});
