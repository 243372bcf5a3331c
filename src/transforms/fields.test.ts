import { describe, expect, it } from 'vitest';
import { parseJson, stringifyJson, type JsonValue } from '../lib/text/json.ts';
import type { TransformDefinition } from '../kit/transform.ts';
import { cast } from './cast/cast.ts';
import { drop } from './drop.ts';
import { filter } from './filter.ts';
import { hash } from './hash.ts';
import { redact } from './redact.ts';
import { renameField } from './rename/rename-field.ts';
import { select } from './select.ts';
import { set } from './set.ts';
import { issuesOf, runTransform } from '../../test/support/transforms.ts';
import { valueCase } from './value-case.ts';

const BIG = 9_007_199_254_740_993n;

/** A record whose key is `__proto__`, as JSON text can hold it. */
const PROTO = parseJson('{"__proto__":{"x":1},"id":1}');

async function one(
  definition: TransformDefinition,
  config: unknown,
  record: JsonValue,
): Promise<JsonValue | undefined> {
  const [only] = await runTransform(definition, config, [record]);
  return only;
}

describe('cast', () => {
  const toInt = { fields: { v: 'int' }, on_error: 'null' };

  it.each<[JsonValue, JsonValue]>([
    [5, 5],
    [5.5, null],
    [1e18, 1_000_000_000_000_000_000n],
    [1e19, null],
    [BIG, BIG],
    ['+7', 7],
    ['-9223372036854775808', -(2n ** 63n)],
    ['9223372036854775808', null],
    ['0x10', null],
    ['1.0', null],
    ['', null],
    [true, 1],
    [[1], null],
    [{}, null],
  ])('makes %o the 64-bit whole number %o', async (value, expected) => {
    expect(await one(cast, toInt, { v: value })).toEqual({ v: expected });
  });

  it.each<[JsonValue, JsonValue]>([
    ['1e3', 1000],
    [' .5 ', 0.5],
    ['1e999', null],
    ['NaN', null],
    ['12abc', null],
    [false, 0],
  ])('makes %o the double %o', async (value, expected) => {
    expect(await one(cast, { fields: { v: 'float' }, on_error: 'null' }, { v: value })).toEqual({
      v: expected,
    });
  });

  it.each<[JsonValue, JsonValue]>([
    ['Yes', true],
    [' n ', false],
    [1, true],
    [2, null],
    ['on', null],
    [null, null],
  ])('makes %o the truth value %o', async (value, expected) => {
    expect(await one(cast, { fields: { v: 'bool' }, on_error: 'null' }, { v: value })).toEqual({
      v: expected,
    });
  });

  it.each<[JsonValue, JsonValue]>([
    ['2026-02-28T10:00:00+00:00', '2026-02-28T10:00:00Z'],
    ['2026-02-28T10:00:00.120000-05:30', '2026-02-28T10:00:00.12-05:30'],
    ['2024-02-29t23:59:60z', '2024-02-29T23:59:60Z'],
    ['2026-02-29T10:00:00Z', null],
    ['2026-02-28', null],
    ['2026-02-28T24:00:00Z', null],
    ['2026-02-28T10:00:00', null],
    [1_700_000_000, null],
  ])('makes %o the time %o', async (value, expected) => {
    expect(await one(cast, { fields: { v: 'timestamp' }, on_error: 'null' }, { v: value })).toEqual(
      { v: expected },
    );
  });

  it('writes integers beyond the safe range digit by digit', async () => {
    expect(await one(cast, { fields: { v: 'string' } }, { v: BIG })).toEqual({
      v: '9007199254740993',
    });
  });

  it('names the field and not the value when it fails', async () => {
    await expect(
      runTransform(cast, { fields: { pin: 'int' } }, [{ pin: 'hunter2' }]),
    ).rejects.toMatchObject({
      name: 'RecordError',
      kind: 'Transform',
      message: 'the value of `pin` cannot be made `int`',
    });
  });

  it('names the place of an unknown type', () => {
    expect(issuesOf(cast, { fields: { id: 'integer' } })).toMatchObject([
      { code: 'invalid_value', path: 'fields.id' },
    ]);
  });
});

describe('filter', () => {
  it('keeps records without the field for ne and not_in, and only those with it for eq and in', async () => {
    const records: JsonValue[] = [{ a: 1 }, { a: 2 }, {}, 5];
    expect(await runTransform(filter, { path: 'a', op: 'ne', value: 1 }, records)).toEqual([
      { a: 2 },
      {},
      5,
    ]);
    expect(await runTransform(filter, { path: 'a', op: 'not_in', value: [1] }, records)).toEqual([
      { a: 2 },
      {},
      5,
    ]);
    expect(await runTransform(filter, { path: 'a', op: 'eq', value: 1 }, records)).toEqual([
      { a: 1 },
    ]);
    expect(await runTransform(filter, { path: 'a', op: 'in', value: [1, [2]] }, records)).toEqual([
      { a: 1 },
    ]);
  });

  it('compares whole numbers exactly beyond the safe range', async () => {
    const records = [{ id: BIG }, { id: BIG - 1n }];
    expect(await runTransform(filter, { path: 'id', op: 'eq', value: BIG }, records)).toEqual([
      { id: BIG },
    ]);
    expect(await runTransform(filter, { path: 'id', op: 'in', value: [1, BIG] }, records)).toEqual([
      { id: BIG },
    ]);
    expect(
      await runTransform(filter, { path: 'id', op: 'in', value: [2 ** 60] }, [{ id: 2n ** 60n }]),
    ).toHaveLength(1);
  });

  it('compares text and numbers without conversion', async () => {
    expect(
      await runTransform(filter, { path: 'a', op: 'in', value: ['1', true] }, [
        { a: 1 },
        { a: 'true' },
      ]),
    ).toEqual([]);
  });

  it('counts null as not existing', async () => {
    expect(
      await runTransform(filter, { path: 'a', op: 'exists' }, [{ a: null }, { a: false }, {}]),
    ).toEqual([{ a: false }]);
  });

  it('does not find inherited names', async () => {
    expect(await runTransform(filter, { path: 'toString', op: 'exists' }, [{ a: 1 }])).toEqual([]);
  });

  it.each([
    [{ path: 'a', op: 'exists', value: 1 }, 'invalid_value', 'value'],
    [{ path: 'a', op: 'eq' }, 'missing_key', 'value'],
    [{ path: 'a', op: 'in', value: 'x' }, 'wrong_type', 'value'],
    [{ path: 'a', op: 'like', value: 'x' }, 'invalid_value', 'op'],
    [{ path: '$.a[*]', op: 'exists' }, 'invalid_path', 'path'],
    [{ path: '$.a[0]', op: 'exists' }, 'invalid_path', 'path'],
    [{ path: '', op: 'exists' }, 'invalid_path', 'path'],
  ])('refuses %j', (config, code, path) => {
    expect(issuesOf(filter, config)).toContainEqual(expect.objectContaining({ code, path }));
  });
});

describe('hash', () => {
  it('changes with the salt, and leaves null and absent fields alone', async () => {
    const [plain, none] = await runTransform(hash, { fields: ['v'] }, [{ v: 'a' }, { w: 1 }]);
    const [salted] = await runTransform(hash, { fields: ['v'], salt: 's' }, [{ v: 'a' }]);
    expect(salted).not.toEqual(plain);
    expect(none).toEqual({ w: 1 });
  });

  it('hashes a 64-bit integer by its digits and a container as compact JSON', async () => {
    const records = [{ v: BIG }, { v: '9007199254740993' }, { v: { a: [1] } }, { v: '{"a":[1]}' }];
    const [a, b, c, d] = await runTransform(hash, { fields: ['v'] }, records);
    expect(a).toEqual(b);
    expect(c).toEqual(d);
    expect(a).not.toEqual(c);
  });

  it('refuses an empty list, and `into` for several fields', () => {
    expect(issuesOf(hash, { fields: [] })).toMatchObject([{ path: 'fields' }]);
    expect(issuesOf(hash, { fields: ['a', 'b'], into: 'c' })).toMatchObject([
      { code: 'invalid_value', path: 'into' },
    ]);
  });
});

describe('rename_field', () => {
  it('follows chains by the names the record came with', async () => {
    expect(await one(renameField, { fields: { a: 'b', b: 'c' } }, { a: 1, b: 2 })).toEqual({
      b: 1,
      c: 2,
    });
  });

  it('fails when the new name is taken by a field that stays', async () => {
    const run = runTransform(renameField, { fields: { a: 'b', b: 'b' } }, [{ a: 1, b: 2 }]);
    await expect(run).rejects.toMatchObject({
      kind: 'Transform',
      message: expect.stringContaining('`b`'),
    });
  });

  it('refuses two fields that would get the same name', () => {
    expect(issuesOf(renameField, { fields: { a: 'c', b: 'c' } })).toMatchObject([
      { code: 'invalid_value', path: 'fields.b' },
    ]);
  });
});

describe('value_case', () => {
  it('counts a letter outside the basic plane as one character', async () => {
    expect(await one(valueCase, { fields: ['v'], mode: 'capitalize' }, { v: '𐐨BC' })).toEqual({
      v: '𐐀bc',
    });
  });

  it('needs a mode', () => {
    expect(issuesOf(valueCase, { fields: ['v'] })).toMatchObject([
      { code: 'missing_key', path: 'mode' },
    ]);
  });
});

describe('a field called `__proto__`', () => {
  it.each<[string, Promise<JsonValue | undefined>, string]>([
    ['selected', one(select, { fields: ['__proto__'] }, PROTO), '{"__proto__":{"x":1}}'],
    ['kept by drop', one(drop, { fields: ['id'] }, PROTO), '{"__proto__":{"x":1}}'],
    ['redacted', one(redact, { fields: ['__proto__'] }, PROTO), '{"__proto__":"***","id":1}'],
    [
      'renamed around',
      one(renameField, { fields: { id: 'k' } }, PROTO),
      '{"__proto__":{"x":1},"k":1}',
    ],
    [
      'made by renaming',
      one(renameField, { fields: { a: '__proto__' } }, { a: { x: 1 } }),
      '{"__proto__":{"x":1}}',
    ],
    ['hashed into', one(hash, { fields: ['id'], into: '__proto__' }, { id: null }), '{"id":null}'],
  ])('is %s like any other', async (_what, outcome, expected) => {
    expect(stringifyJson((await outcome) ?? null)).toBe(expected);
  });
});

describe('set', () => {
  it('writes the same constant into every record without tying them together', async () => {
    const [a, b] = await runTransform(set, { values: { meta: { n: 1 } } }, [{}, { meta: 2 }]);
    expect([a, b]).toEqual([{ meta: { n: 1 } }, { meta: { n: 1 } }]);
  });

  it('is the one transform that run-time tokens may stand in', () => {
    expect(set.runtimeTokens).toBe(true);
    expect(cast.runtimeTokens).toBeUndefined();
  });
});
