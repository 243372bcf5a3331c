import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withPlainNames } from './escaped-names.ts';
import { parseData, parseJson, stringifyJson } from './json.ts';

/** What escapes are made of, and what they may be taken for. */
const unit = fc.constantFrom(
  '\\',
  '"',
  '\n',
  '\t',
  '\u0001',
  'n',
  't',
  'u',
  '0',
  '1',
  '2',
  '6',
  'é',
  '☃',
  '😀',
);
const name = fc.string({ unit, maxLength: 5 });

/** The text of a name with escapes that it needs, or in its place. */
function written(text: string, escapes: readonly boolean[]): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  const escaped = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;
  return units
    .map((code, at) =>
      escapes[at] === true ? escaped(code) : JSON.stringify(String.fromCharCode(code)).slice(1, -1),
    )
    .join('');
}

function messageOf(parse: () => unknown): string {
  try {
    return String(parse());
  } catch (error) {
    return (error as Error).message;
  }
}

const members = fc.array(
  fc.tuple(name, fc.array(fc.boolean(), { maxLength: 5 }), fc.string({ unit })),
  {
    maxLength: 4,
  },
);

describe('names with escapes', () => {
  it('are read as they are written, whatever was read before', () => {
    fc.assert(
      fc.property(members, fc.constantFrom('', ' ', '\n'), (all, blank) => {
        const list = all.map(
          ([key, escapes, value]) =>
            `${blank}"${written(key, escapes)}"${blank}:${blank}${JSON.stringify(value)}`,
        );
        const wanted: Record<string, string> = {};
        for (const [key, , value] of all) wanted[key] = value;
        const text = `{${list.join(',')}}`;
        for (const parse of [parseJson, parseData]) expect(parse(text)).toEqual(wanted);
        // With a number that is read in another way.
        const beside = stringifyJson(parseData(`[${text},1.50]`));
        expect(beside).toBe(`[${JSON.stringify(wanted)},1.50]`);
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['{"\\\\":1}', '{"\\t":1}', { '\t': 1 }],
    ['{"\\\\nx":1}', '{"\\nxy":1}', { '\nxy': 1 }],
    ['{"☃\\\\nx":1}', '{"☃\\nxy":1}', { '☃\nxy': 1 }],
    ['{"a":1,"\\\\nx":1}', '{"a":1,"\\nxy":1}', { a: 1, '\nxy': 1 }],
  ])('after %j, %j has its own', (before, text, value) => {
    parseData(before);
    expect(parseData(text)).toEqual(value);
  });

  it('keep their place, the last value of equal ones, and how its number is written', () => {
    const text = '{"z":1,"b\\n":1.50,"\\u0061":2,"a":3.0,"b\\u000a":1.10,"\\u0031":-0.0}';
    const value = parseData(text);
    expect(stringifyJson(value)).toBe('{"1":-0.0,"z":1,"b\\n":1.10,"a":3.0}');
    expect(stringifyJson(parseData('{"__proto\\u005f_":{"\\n":[{"\\t":1.0}]}}'))).toBe(
      '{"__proto__":{"\\n":[{"\\t":1.0}]}}',
    );
  });

  it('are told from texts with escapes', () => {
    for (const text of ['{"a":"\\n: \\"b\\": 1"}', '["\\\\","\\"",":"]', '"\\t"'])
      expect(withPlainNames(text)).toBeUndefined();
    expect(withPlainNames('{"\\u0061" : "\\n", "b":"\\\\"}')?.text).toBe(
      '{"a" : "\\n", "b":"\\\\"}',
    );
  });

  it.each(['{"\\x":1}', '{"\\n":1', '{"\\n:1}', '{"\\n":}'])(
    '%j fails as it does without',
    (text) => {
      expect(() => parseJson(text)).toThrow(messageOf(() => JSON.parse(text)));
    },
  );

  it('say where a number is beyond the range', () => {
    expect(() => parseJson('{"\\n":1e999}')).toThrow(
      'the number 1e999 is beyond the range of numbers',
    );
  });

  it('takes no longer for longer texts than there is to read', () => {
    const long = `{"a":"${'\\\\'.repeat(200_000)}","${'b\\n'.repeat(200_000)}":1}`;
    expect(Object.keys(parseData(long) as object)[1]).toHaveLength(400_000);
  });
});
