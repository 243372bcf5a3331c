import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { flatten } from './reshape/flatten.ts';
import { keysCase } from './rename/keys-case.ts';
import { renameKeys } from './rename/rename-keys.ts';
import { spellSymbols } from './rename/spell-symbols.ts';
import { issuesOf, runTransform } from '../../test/support/transforms.ts';

const key = fc.constantFrom('a', 'b', 'c', 'd_e');
const tree = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.integer(),
    fc.constantFrom<JsonValue>(null, 'x', [], [{ a: 1 }]),
    tie('object'),
  ),
  object: fc.dictionary(key, tie('value'), { noNullPrototype: true }),
})).object;

/** Every leaf with the keys that lead to it. */
function leaves(value: JsonValue, path: readonly string[] = []): [readonly string[], JsonValue][] {
  return isObject(value)
    ? Object.entries(value).flatMap(([name, below]) => leaves(below, [...path, name]))
    : [[path, value]];
}

describe('flatten', () => {
  it('keeps exactly the leaves, each under its joined path', async () => {
    await fc.assert(
      fc.asyncProperty(tree, async (record) => {
        const [flat] = await runTransform(flatten, { separator: '/' }, [record]);
        expect(Object.entries(flat as JsonObject)).toEqual(
          leaves(record).map(([path, value]) => [path.join('/'), value]),
        );
      }),
    );
  });

  it('fails when two paths become one name', async () => {
    await expect(runTransform(flatten, {}, [{ a: { b: 1 }, a__b: 2 }])).rejects.toMatchObject({
      kind: 'Transform',
      message: expect.stringContaining('`a__b`'),
    });
  });
});

describe('keys_case', () => {
  it.each([
    ['snake', 'HTTPServerID', 'httpserver_id'],
    ['snake', 'user-ID 2x', 'user_id_2x'],
    ['pascal', 'first_name', 'FirstName'],
    ['camel', 'URL', 'url'],
    ['kebab', 'straßeNord', 'straße-nord'],
    ['dot', '  a..b ', 'a.b'],
    ['dot', '--', '--'],
  ])('writes in %s the key %j as %j', async (mode, from, to) => {
    expect(await runTransform(keysCase, { mode }, [{ [from]: 1 }])).toEqual([{ [to]: 1 }]);
  });

  it('fails when two keys of one object become the same, and only then', async () => {
    await expect(
      runTransform(keysCase, { mode: 'snake' }, [{ aB: 1, a_b: 2 }]),
    ).rejects.toMatchObject({ kind: 'Transform' });
    expect(await runTransform(keysCase, { mode: 'snake' }, [{ aB: { a_b: 2 } }])).toEqual([
      { a_b: { a_b: 2 } },
    ]);
  });
});

describe('rename_keys', () => {
  it.each([
    ['(\\w)(\\w)', '$2$1', 'abcd', 'badc'],
    ['(a)', '$1x', 'a', ''],
    ['(a)', '${1}x', 'a', 'ax'],
    ['a', '$$', 'ab', '$b'],
    ['a', '$-$', 'a', '$-$'],
    ['(?<one>a)|(b)', '[$one$2]', 'ab', '[a][b]'],
    ['x*', '-', 'ab', '-a-b-'],
    ['(?i)É', 'e', 'éÉ', 'ee'],
  ])('replaces %j by %j in %j', async (pattern, replacement, from, to) => {
    expect(await runTransform(renameKeys, { pattern, replacement }, [{ [from]: 1 }])).toEqual([
      { [to]: 1 },
    ]);
  });

  it('keeps the later value when two keys become one', async () => {
    expect(
      await runTransform(renameKeys, { pattern: '[0-9]', replacement: '' }, [
        { a1: 1, b: 2, a2: 3 },
      ]),
    ).toEqual([{ a: 3, b: 2 }]);
  });

  it('refuses patterns it cannot run in linear time, with a hint', () => {
    for (const pattern of ['(', 'a(?=b)', '(a)\\1', '[a-z&&[^b]]']) {
      expect(issuesOf(renameKeys, { pattern, replacement: '' })).toMatchObject([
        { code: 'invalid_pattern', path: 'pattern', hint: expect.stringContaining('(?i)') },
      ]);
    }
  });

  it('is not slowed down by nested repetition', async () => {
    const name = 'a'.repeat(20_000);
    expect(
      await runTransform(renameKeys, { pattern: '(a+)+$', replacement: 'x' }, [
        { [`${name}b`]: 1 },
      ]),
    ).toEqual([{ [`${name}b`]: 1 }]);
  });
});

describe('spell_symbols', () => {
  it('takes the longest symbol first, and lets words be changed', async () => {
    const config = { extra: { '%%': 'double', '%': 'pct' }, separator: '.' };
    expect(await runTransform(spellSymbols, config, [{ 'a%%%': 1 }])).toEqual([
      { 'a.double..pct.': 1 },
    ]);
  });

  it('fails when two keys become the same', async () => {
    await expect(
      runTransform(spellSymbols, {}, [{ 'a ~b': 1, 'a  tilde b': 2 }]),
    ).rejects.toMatchObject({ kind: 'Transform' });
  });

  it('refuses an empty symbol', () => {
    expect(issuesOf(spellSymbols, { extra: { '': 'nothing' } })).not.toEqual([]);
  });
});
