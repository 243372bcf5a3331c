import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../lib/errors.ts';
import { parseJson, type JsonValue } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import { refusalOf } from '../../../test/fakes/documents.ts';
import { parseText, type Format } from './parse.ts';
import { stepsOf } from './steps.ts';

const submitted = { kind: 'submitted' } as const;
const parse = (text: string, format: Format = 'yaml') => parseText(text, format, submitted);
const codeOf = (text: string, format: Format = 'yaml') =>
  refusalOf(() => parse(text, format)).issues[0]?.code;

describe('YAML', () => {
  test('values are those of YAML 1.2 core', () => {
    expect(
      parse(
        'a: yes\nb: 0o17\nc: 1e3\nd: ~\ne: 2026-01-01\nf: "1"\n1: x\ng: 9007199254740993\nh: -0.5',
      ).tree,
    ).toEqual({
      a: 'yes',
      b: 15,
      c: 1000,
      d: null,
      e: '2026-01-01',
      f: '1',
      1: 'x',
      g: 9007199254740993n,
      h: -0.5,
    });
  });

  test('aliases become copies, and merge keys merge', () => {
    const { tree } = parse('a: &a {x: 1, y: [1]}\nb: *a\nc: {<<: *a, x: 2}');
    expect(tree).toEqual({ a: { x: 1, y: [1] }, b: { x: 1, y: [1] }, c: { x: 2, y: [1] } });
    expect(tree['a']).not.toBe(tree['b']);
  });

  test('keys like `__proto__` are plain keys', () => {
    const { tree } = parse('__proto__: {polluted: true}');
    expect(Object.keys(tree)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('a byte order mark is passed over', () => {
    expect(parse('\uFEFFa: 1').tree).toEqual({ a: 1 });
    expect(parse('\uFEFF{"a": 1}', 'json').tree).toEqual({ a: 1 });
  });
});

describe('what is refused at once, whatever its size', () => {
  test.each<[string, string, Format]>([
    ['too_large', 'a: ' + 'x'.repeat(10 * 1024 * 1024), 'yaml'],
    ['too_large', Array.from({ length: 100_001 }, (_, index) => `k${index}: 0`).join('\n'), 'yaml'],
    [
      'too_large',
      `{${Array.from({ length: 100_001 }, (_, index) => `"k${index}": 0`).join()}}`,
      'json',
    ],
    ['too_deep', '['.repeat(1_000_000), 'yaml'],
    ['too_deep', '{"a":'.repeat(1_000_000), 'json'],
    ['too_deep', '['.repeat(65) + ']'.repeat(65), 'json'],
    [
      'too_deep',
      `a: &a ${'['.repeat(40)}${']'.repeat(40)}\nb: ${'['.repeat(40)}*a${']'.repeat(40)}`,
      'yaml',
    ],
    ['bad_encoding', 'a: "\ud800"', 'yaml'],
    ['bad_encoding', 'a: "\\0"', 'yaml'],
    ['bad_encoding', '{"a\\u0000": 1}', 'json'],
    ['invalid_value', 'a: .nan', 'yaml'],
    ['bad_json', '{"a": 01}', 'json'],
    ['bad_json', '{"a": 1,}', 'json'],
    ['bad_json', '{"a": "\n"}', 'json'],
    ['bad_json', '{"a": 1', 'json'],
    ['bad_json', '{a: 1}', 'json'],
    ['bad_json', '{"a": 1} 2', 'json'],
    ['bad_yaml', 'a: *b', 'yaml'],
    ['bad_yaml', 'a: b: c', 'yaml'],
    ['bad_yaml', '? [a]\n: 1', 'yaml'],
  ])('%s', (code, text, format) => {
    expect(codeOf(text, format)).toBe(code);
  });

  test('64 levels are fine', () => {
    expect(parse(`a: ${'['.repeat(63)}${']'.repeat(63)}`).tree['a']).toBeDefined();
    expect(parse(`{"a":${'['.repeat(63)}${']'.repeat(63)}}`, 'json').tree['a']).toBeDefined();
  });
});

const paths = (value: JsonValue, path = ''): string[] => {
  if (typeof value !== 'object' || value === null) return [path];
  const below = Array.isArray(value)
    ? value.flatMap((item, index) => paths(item, joinPath(path, index)))
    : Object.entries(value).flatMap(([key, item]) => paths(item, joinPath(path, key)));
  return [path, ...below];
};
const noNul = (text: string): string => text.replaceAll('\u0000', '_');
const json = fc
  .dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }))
  .map(
    (value) =>
      JSON.parse(noNul(JSON.stringify(value).replaceAll('\\u0000', '_'))) as Record<
        string,
        JsonValue
      >,
  );

describe('JSON', () => {
  test('the strict reader and the runtime agree on every text', () => {
    const text = fc.oneof(
      json.map((value) => JSON.stringify(value)),
      json.map((value) => JSON.stringify(value, null, 2)),
      fc.stringMatching(/^[{}[\]",:0-9.eE+\-\\u\w ]{0,12}$/),
    );
    fc.assert(
      fc.property(text, (source) => {
        let expected: unknown;
        try {
          expected = parseJson(source);
        } catch {
          expected = undefined;
        }
        let found: unknown;
        try {
          found = parse(source, 'json').tree;
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error;
          if (error.issues[0]?.code !== 'bad_json' && error.issues[0]?.code !== 'empty_document')
            return;
        }
        expect(found).toEqual(expected);
      }),
    );
  });

  test('keys that stand twice are found at any depth, and only there', () => {
    expect(codeOf('{"a": [{"b": 1, "\\u0062": 2}]}', 'json')).toBe('duplicate_key');
    expect(parse('{"a": {"b": 1}, "b": {"a": 1}}', 'json').tree).toBeDefined();
  });
});

test('every node of a document is found again at its place', () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = JSON.stringify(value, null, 1);
      const lines = text.split('\n');
      const { locate } = parse(text, 'json');
      for (const path of paths(value)) {
        const position = locate(path);
        const last = stepsOf(path).at(-1);
        const at = lines[(position?.line ?? 0) - 1]?.slice((position?.column ?? 0) - 1);
        if (typeof last === 'string') expect(at?.startsWith(JSON.stringify(last))).toBe(true);
        else expect(at).toBeDefined();
      }
    }),
    { numRuns: 50 },
  );
});

test('places in YAML point at keys and list items, also below aliases', () => {
  const { locate } = parse('a:\n  - x\n  - "b c": 1\n    d: &d {e: 1}\nf: *d\n');
  expect(locate('a[0]')).toEqual({ line: 2, column: 5 });
  expect(locate('a[1]["b c"]')).toEqual({ line: 3, column: 5 });
  expect(locate('a[1].d.e')).toEqual({ line: 4, column: 12 });
  expect(locate('f')).toEqual({ line: 5, column: 1 });
  expect(locate('f.e')).toEqual({ line: 4, column: 12 });
  expect(locate('f.missing.more')).toEqual({ line: 5, column: 1 });
  expect(parse('a:\n  -\n  - 1').locate('a[0]')).toEqual({ line: 1, column: 1 });
  expect(parse('a:\nb: 1').locate('a')).toEqual({ line: 1, column: 1 });
});

test('paths are read back as they were written', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string(), fc.nat(), fc.stringMatching(/^[a-z_-]{1,6}$/))),
      (steps) => {
        expect(stepsOf(joinPath('', ...steps))).toEqual(steps);
      },
    ),
  );
});

test('any text is read or refused, never more', () => {
  const piece = fc.constantFrom(
    'a',
    ': ',
    '\n',
    '  ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    ',',
    '&a ',
    '*a',
    '!t ',
    '"',
    "'",
    '|',
    '>',
    '#',
    '---\n',
    '? ',
    '<<',
    '%',
    '\t',
    '1',
    '.inf',
    '\u00e9',
    '\\',
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 40 }),
      fc.constantFrom<Format>('yaml', 'json'),
      (pieces, format) => {
        try {
          const { locate } = parse(pieces.join(''), format);
          expect(locate('a.a[0]')).toBeDefined();
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigError);
        }
      },
    ),
    { numRuns: 2000 },
  );
});

test('`!include` is a value, neither a key nor something to merge', () => {
  const messageOf = (text: string): string =>
    refusalOf(() => parseText(text, 'yaml', { kind: 'file', path: 'a.yaml' })).issues[0]?.message ??
    '';
  expect(messageOf('? !include a.yaml\n: 1')).toBe('a key must be a plain text');
  expect(messageOf('a:\n  <<: !include a.yaml')).toBe('`<<` can merge nothing but mappings');
  expect(messageOf('a: !include')).toBe('`!include` takes the path of a file');
});
