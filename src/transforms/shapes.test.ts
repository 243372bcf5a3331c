import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  parseData,
  parseJson,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../lib/text/json.ts';
import { check } from '../kit/schema.ts';
import { cdcUnwrap } from './cdc-unwrap.ts';
import { coalesce } from './coalesce.ts';
import { crossJoin } from './join/cross-join.ts';
import { explode } from './reshape/explode.ts';
import { join } from './join/join.ts';
import { jsonEncode } from './json-encode.ts';
import { jsonParse } from './json-parse.ts';
import { lookup } from './join/lookup.ts';
import { split } from './split.ts';
import { testEnv } from '../../test/fakes/env.ts';
import { issuesOf, runTransform } from '../../test/support/transforms.ts';
import { treeFlatten } from './reshape/tree-flatten.ts';
import { unpivot } from './reshape/unpivot.ts';
import { zipColumns } from './reshape/zip-columns.ts';

const BIG = 9_007_199_254_740_993n;
const scalar = fc.constantFrom<JsonValue>(null, 1, 'x', true, BIG);
const fields = (...names: string[]) =>
  fc.dictionary(fc.constantFrom(...names), scalar, {
    noNullPrototype: true,
  }) as fc.Arbitrary<JsonObject>;

describe('explode', () => {
  it('makes one record of each element, siblings repeated', async () => {
    const element = fc.oneof(scalar, fields('a', 'b'), fc.constant<JsonValue>([1]));
    await fc.assert(
      fc.asyncProperty(
        fields('id', 'name'),
        fc.array(element, { minLength: 1 }),
        async (siblings, list) => {
          const output = await runTransform(explode, { path: 'v', prefix: 'p' }, [
            { ...siblings, v: list },
          ]);
          const expected = list.map((one) =>
            one !== null && typeof one === 'object' && !Array.isArray(one)
              ? {
                  ...siblings,
                  ...Object.fromEntries(
                    Object.entries(one).map(([key, value]) => [`p_${key}`, value]),
                  ),
                }
              : { ...siblings, v: one },
          );
          expect(output).toEqual(expected);
        },
      ),
    );
  });

  it('explodes inside the parent of a nested list and leaves the other levels alone', async () => {
    const record = { id: 1, order: { no: 2, lines: [{ no: 3 }, 'x'] } };
    expect(
      await runTransform(explode, { path: '$.order.lines', prefix: 'line' }, [record]),
    ).toEqual([
      { id: 1, order: { no: 2, line_no: 3 } },
      { id: 1, order: { no: 2, lines: 'x' } },
    ]);
  });

  it('may reuse the name of the list itself but no other, with an empty prefix', async () => {
    expect(await runTransform(explode, { path: 'v', prefix: '' }, [{ v: [{ v: 1 }] }])).toEqual([
      { v: 1 },
    ]);
    const clash = runTransform(explode, { path: 'v', prefix: '' }, [{ a: 0, v: [{ a: 1 }] }]);
    await expect(clash).rejects.toMatchObject({
      kind: 'Transform',
      message: expect.stringContaining('`a`'),
    });
  });

  it('passes, drops or fails records without a list', async () => {
    const records: JsonValue[] = [{ v: [] }, {}, 3];
    expect(await runTransform(explode, { path: 'v' }, records)).toEqual(records);
    expect(await runTransform(explode, { path: 'v', on_missing: 'drop' }, records)).toEqual([]);
    await expect(
      runTransform(explode, { path: 'v', on_missing: 'error' }, records),
    ).rejects.toMatchObject({ kind: 'Transform' });
  });

  it('refuses a path it cannot follow', () => {
    expect(issuesOf(explode, { path: '$.a[*]' })).toMatchObject([
      { code: 'invalid_path', path: 'path' },
    ]);
  });
});

describe('unpivot', () => {
  it('gives one record for each column that is not an id', async () => {
    await fc.assert(
      fc.asyncProperty(fields('id', 'a', 'b', 'c'), fc.boolean(), async (record, dropNulls) => {
        const config = { key_name: 'k', value_name: 'v', id_fields: ['id'], drop_nulls: dropNulls };
        const ids = Object.fromEntries(Object.entries(record).filter(([key]) => key === 'id'));
        const rows = Object.entries(record)
          .filter(([key, value]) => key !== 'id' && !(dropNulls && value === null))
          .map(([k, v]) => ({ ...ids, k, v }));
        expect(await runTransform(unpivot, config, [record])).toEqual(
          rows.length === 0 ? [record] : rows,
        );
        expect(await runTransform(unpivot, { ...config, drop_if_empty: true }, [record])).toEqual(
          rows,
        );
      }),
    );
  });

  it('takes listed columns in the order of the list and skips absent ones', async () => {
    const config = { key_name: 'k', value_name: 'v', columns: ['b', 'z', 'a'] };
    expect(await runTransform(unpivot, config, [{ a: 1, b: 2, c: 3 }])).toEqual([
      { k: 'b', v: 2 },
      { k: 'a', v: 1 },
    ]);
  });

  it.each([
    [{ key_name: '', value_name: 'v' }, 'key_name'],
    [{ key_name: 'k', value_name: 'k' }, 'value_name'],
    [{ key_name: 'k', value_name: 'v', id_fields: ['v'] }, 'value_name'],
    [{ key_name: 'k', value_name: 'v', id_fields: ['k'] }, 'id_fields'],
    [{ key_name: 'k', value_name: 'v', from: 'm', columns: ['a'] }, 'columns'],
  ])('refuses %j', (config, path) => {
    expect(issuesOf(unpivot, config)).toMatchObject([{ path }]);
  });
});

describe('cross_join', () => {
  it('gives every combination once, the last list turning fastest', async () => {
    const list = fc.array(fc.integer(), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(list, list, list, async (a, b, c) => {
        const output = await runTransform(crossJoin, { arrays: ['a', 'b', 'c'] }, [
          { a, b, c, id: 1 },
        ]);
        expect(output).toEqual(
          a.flatMap((x) => b.flatMap((y) => c.map((z) => ({ id: 1, a: x, b: y, c: z })))),
        );
      }),
    );
  });

  it('fails when one record would become too many', async () => {
    const record = {
      a: Array.from({ length: 101 }, () => 1),
      b: Array.from({ length: 100 }, () => 1),
    };
    await expect(runTransform(crossJoin, { arrays: ['a', 'b'] }, [record])).rejects.toMatchObject({
      kind: 'Transform',
      message: expect.stringContaining('10100'),
    });
    expect(
      await runTransform(crossJoin, { arrays: ['a', 'b'], max_product: 10_100 }, [record]),
    ).toHaveLength(10_100);
  });

  it('keeps the lists when told to, and lets the later list win a name', async () => {
    const config = { arrays: ['a', 'b'], drop_arrays: false };
    expect(
      await runTransform(crossJoin, config, [{ id: 1, a: [{ x: 1 }], b: [{ x: 2 }] }]),
    ).toEqual([{ id: 1, a: [{ x: 1 }], b: [{ x: 2 }], x: 2 }]);
  });

  it.each([
    [{ arrays: ['a'] }, 'arrays'],
    [{ arrays: ['a', 'a'] }, 'arrays[1]'],
    [{ arrays: ['a', ''] }, 'arrays[1]'],
    [{ arrays: ['a', 'b'], max_product: 0 }, 'max_product'],
  ])('refuses %j', (config, path) => {
    expect(issuesOf(crossJoin, config)).toMatchObject([{ path }]);
  });
});

describe('tree_flatten', () => {
  const base = { children: 'kids', columns: { from: 'cells' } };
  const leaf = (value: JsonValue): JsonObject => ({ cells: [{ value }] });

  it('takes the record itself as the first node, and its label counts as the first ancestor', async () => {
    const record = { n: 'top', kids: [leaf(1), { kids: [leaf(2)] }] };
    expect(
      await runTransform(treeFlatten, { ...base, ancestors: { field: 'n' } }, [record]),
    ).toEqual([
      { ancestor_1: 'top', col_0: 1 },
      { ancestor_1: 'top', ancestor_2: null, col_0: 2 },
    ]);
  });

  it('leaves a record without the root as it is, and gives nothing for an empty root', async () => {
    expect(
      await runTransform(treeFlatten, { ...base, root: 'tree' }, [{ a: 1 }, { tree: [] }, 5]),
    ).toEqual([{ a: 1 }, 5]);
  });

  it('gives rows for groups with cells too when told to, before their children', async () => {
    const record = { cells: [{ value: 'sum' }], kids: [leaf('part'), { kids: [leaf('deep')] }] };
    const rows = await runTransform(treeFlatten, { ...base, emit_group_rows: true }, [record]);
    expect(rows).toEqual([{ col_0: 'sum' }, { col_0: 'part' }, { col_0: 'deep' }]);
  });

  it('can tell leaves by a field, and skip rows without data', async () => {
    const record = {
      kids: [
        { ...leaf(1), row: true },
        leaf(2),
        { ...leaf(''), row: true },
        { cells: [null, ''], row: 1 },
      ],
    };
    const config = { ...base, leaf: 'has_field:row', drop_empty: true };
    expect(await runTransform(treeFlatten, config, [record])).toEqual([{ col_0: 1 }]);
  });

  it('leaves out what is too deep and logs it once', async () => {
    const env = testEnv();
    const record = { kids: [leaf(1), { kids: [leaf(2), leaf(3)] }] };
    expect(
      await runTransform(treeFlatten, { ...base, max_depth: 2 }, [record, record], env),
    ).toEqual([{ col_0: 1 }, { col_0: 1 }]);
    expect(env.lines.filter(({ line }) => line.startsWith('ERROR'))).toHaveLength(1);
  });

  it('fails rather than write two cells under one name', async () => {
    const config = { ...base, columns: { from: 'cells', header: 'heads[0].names' } };
    const record = { heads: [{ names: ['a', 'a'] }], cells: [1, 2] };
    await expect(runTransform(treeFlatten, config, [record])).rejects.toMatchObject({
      kind: 'Transform',
      message: expect.stringContaining('`a`'),
    });
  });

  it.each([
    [{ ...base, children: '' }, 'children'],
    [{ ...base, children: 'a..b' }, 'children'],
    [{ ...base, columns: { from: '' } }, 'columns.from'],
    [{ ...base, max_depth: 0 }, 'max_depth'],
    [{ ...base, leaf: 'has_field:' }, 'leaf'],
    [{ ...base, path_as: 'p' }, 'path_as'],
  ])('refuses %j', (config, path) => {
    expect(issuesOf(treeFlatten, config)).toContainEqual(expect.objectContaining({ path }));
  });
});

describe('zip_columns', () => {
  it('takes the record for the only row when groups stand alone', async () => {
    const config = {
      groups: [{ from: '$.cells', header: 'heads', header_label: 'n', value: 'v' }],
    };
    expect(
      await runTransform(zipColumns, config, [
        { heads: [{ n: 'a' }, { n: 'b' }], cells: [{ v: BIG }] },
      ]),
    ).toEqual([{ a: BIG, b: null }]);
  });

  it('fails when two groups have a column of the same name', async () => {
    const config = {
      groups: [
        { from: 'x', header: 'h' },
        { from: 'y', header: 'h' },
      ],
    };
    await expect(
      runTransform(zipColumns, config, [{ h: ['a'], x: [1], y: [2] }]),
    ).rejects.toMatchObject({ kind: 'Transform' });
  });

  it.each([
    [{ rows_path: 'r' }, ''],
    [{ columns_path: 'c' }, ''],
    [{ columns_path: 'c', groups: [{ from: 'x', header: 'h' }] }, 'columns_path'],
    [{ rows_path: 'r', groups: [] }, 'groups'],
  ])('refuses %j', (config, path) => {
    expect(issuesOf(zipColumns, config)).toMatchObject([{ path }]);
  });
});

describe('lookup', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(joinPath(tmpdir(), 'lookup-'));
    await writeFile(
      joinPath(folder, 'ref.jsonl'),
      '{"id":9007199254740993,"n":"big"}\n\n{"id":null,"n":"none"}\n{"n":"no key"}\n',
    );
    await writeFile(joinPath(folder, 'bad.jsonl'), '{"id":1}\n{"id":\n');
    await writeFile(joinPath(folder, 'list.jsonl'), '[1]\n');
  });
  afterAll(() => rm(folder, { recursive: true }));

  const from = (jsonl: string, onMissing = 'keep') => ({
    jsonl,
    on: { record: 'k', ref: 'id' },
    add: { n: 'n' },
    on_missing: onMissing,
  });

  it('reads the rows from a file below the working folder, and finds keys exactly', async () => {
    const records: JsonValue[] = [{ k: BIG }, { k: BIG - 1n }, { k: null }, { k: [1] }];
    expect(
      await runTransform(lookup, from('ref.jsonl'), records, testEnv({ cwd: folder })),
    ).toEqual([{ k: BIG, n: 'big' }, { k: BIG - 1n }, { k: null, n: 'none' }, { k: [1] }]);
  });

  it('can fail on a miss, naming the field and not the value', async () => {
    await expect(
      runTransform(
        lookup,
        from('ref.jsonl', 'error'),
        [{ k: 'hunter2' }],
        testEnv({ cwd: folder }),
      ),
    ).rejects.toMatchObject({
      kind: 'Transform',
      message: 'no reference row for the value of `k`',
    });
  });

  it.each([
    ['bad.jsonl', 'line 2'],
    ['list.jsonl', 'line 1'],
    ['none.jsonl', 'cannot be read: it does not exist'],
  ])('refuses the file %s at load', async (file, words) => {
    await expect(
      runTransform(lookup, from(file), [], testEnv({ cwd: folder })),
    ).rejects.toMatchObject({
      name: 'ConfigError',
      issues: [{ path: 'lookup.jsonl', message: expect.stringContaining(words) }],
    });
  });

  it.each([
    [{ on: { record: 'a', ref: 'b' }, add: { x: 'y' } }, ''],
    [{ values: [], jsonl: 'f', on: { record: 'a', ref: 'b' }, add: { x: 'y' } }, ''],
    [{ values: [], on: { record: 'a', ref: 'b' }, add: {} }, 'add'],
    [{ values: [], on: { record: '', ref: 'b' }, add: { x: 'y' } }, 'on.record'],
  ])('refuses %j', (config, path) => {
    expect(issuesOf(lookup, config)).toContainEqual(expect.objectContaining({ path }));
  });
});

describe('json_parse and json_encode', () => {
  it('give back what went in, integers beyond the safe range included', async () => {
    const source = '{"id":9007199254740993,"__proto__":{"x":[1]}}';
    const [parsed] = await runTransform(jsonParse, { fields: ['v'] }, [{ v: source }]);
    expect(stringifyJson(parsed ?? null)).toBe(`{"v":${source}}`);
    expect(await runTransform(jsonEncode, { fields: ['v'] }, [{ v: parseJson(source) }])).toEqual([
      { v: source },
    ]);
  });

  it('keeps, clears or fails on text that is not JSON, and leaves other values alone', async () => {
    expect(await runTransform(jsonParse, { fields: ['v'] }, [{ v: 'no' }, { v: 1 }])).toEqual([
      { v: 'no' },
      { v: 1 },
    ]);
    expect(
      await runTransform(jsonParse, { fields: ['v'], on_error: 'null' }, [{ v: 'no' }, { v: 1 }]),
    ).toEqual([{ v: null }, { v: 1 }]);
    await expect(
      runTransform(jsonParse, { fields: ['v'], on_error: 'error' }, [{ v: 'hunter2' }]),
    ).rejects.toMatchObject({
      message: 'the text in `v` is not JSON',
    });
  });

  it('refuses no fields, and `into` for several', () => {
    expect(issuesOf(jsonParse, { fields: [] })).toMatchObject([{ path: 'fields' }]);
    expect(issuesOf(jsonParse, { fields: ['a', 'b'], into: 'c' })).toMatchObject([
      { path: 'into' },
    ]);
  });
});

describe('coalesce', () => {
  it('may fill in null, and keeps false, zero and empty text', async () => {
    expect(await runTransform(coalesce, { field: 'v', default: null }, [{}, { v: 0 }])).toEqual([
      { v: null },
      { v: 0 },
    ]);
    expect(
      await runTransform(coalesce, { field: 'v', default: 1 }, [{ v: false }, { v: '' }]),
    ).toEqual([{ v: false }, { v: '' }]);
  });

  it('needs exactly one of `default` and `from`', () => {
    expect(issuesOf(coalesce, { field: 'v' })).toMatchObject([{ code: 'missing_key' }]);
    expect(issuesOf(coalesce, { field: 'v', default: null, from: ['a'] })).toMatchObject([
      { code: 'invalid_value' },
    ]);
  });
});

describe('split and join', () => {
  it('undo each other for parts without the delimiter', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.stringMatching(/^[^,]*$/), { minLength: 1 }), async (parts) => {
        const joined = await runTransform(join, { field: 'v', delimiter: ',' }, [{ v: parts }]);
        expect(await runTransform(split, { field: 'v', delimiter: ',' }, joined)).toEqual([
          { v: parts },
        ]);
      }),
    );
  });

  it('join writes 64-bit integers by their digits', async () => {
    expect(await runTransform(join, { field: 'v', delimiter: ' ' }, [{ v: [BIG] }])).toEqual([
      { v: '9007199254740993' },
    ]);
  });
});

describe('cdc_unwrap', () => {
  it('takes other names, and warns once about events without a row with the count at the end', async () => {
    const env = testEnv();
    const config = { op_field: 'k', after_field: 'new', marker_field: 'm', delete_ops: ['gone'] };
    const records: JsonValue[] = [
      { k: 'up', new: { id: 1 } },
      { k: 'gone' },
      { k: 'up' },
      { new: { id: 2 } },
      'text',
    ];
    expect(await runTransform(cdcUnwrap, config, records, env)).toEqual([
      { id: 1, m: 'u' },
      { id: 2, m: 'u' },
      'text',
    ]);
    expect(env.lines.map(({ line }) => line)).toEqual([
      expect.stringContaining(
        'a change event holds no row and is dropped; further ones are only counted op=gone',
      ),
      expect.stringContaining('change events without a row were dropped count=2'),
    ]);
  });
});

describe('an update that changes the key', () => {
  const unwrap = (config: JsonObject, ...records: JsonValue[]) =>
    runTransform(cdcUnwrap, config, records);

  it('deletes the row of the old key before the new one is written', async () => {
    const event = { op: 'u', before: { id: 1, n: 'a' }, after: { id: 2, n: 'a' } };
    expect(await unwrap({ key: ['id'] }, event)).toEqual([
      { id: 1, n: 'a', __op: 'd' },
      { id: 2, n: 'a', __op: 'u' },
    ]);
    expect(await unwrap({}, event)).toEqual([{ id: 2, n: 'a', __op: 'u' }]);
  });

  it('fails where the event lacks values of the new row: the old one has them', async () => {
    const event = { op: 'update', before: { id: 1 }, after: { id: 2, __unchanged_toast__: ['n'] } };
    await expect(unwrap({ key: ['id'] }, event)).rejects.toMatchObject({
      message: expect.stringMatching(/large values .*`n`/) as string,
      hint: expect.stringContaining('REPLICA IDENTITY FULL') as string,
    });
    const same = { ...event, after: { ...event.after, id: 1 } };
    expect(await unwrap({ key: ['id'] }, same)).toEqual([{ id: 1, __op: 'u' }]);
  });

  it('has to say so: other updates, images without the whole key and deletes give one record', async () => {
    const events: JsonValue[] = [
      { op: 'u', before: { a: 1, b: 1, n: 1 }, after: { a: 1, b: 1, n: 2 } },
      { op: 'u', before: { a: 1 }, after: { a: 2, b: 1 } },
      { op: 'u', before: null, after: { a: 3, b: 1 } },
      { op: 'd', before: { a: 4, b: 1 }, after: null },
      { op: 'u', before: { a: 5n, b: 1 }, after: { a: 5, b: 1 } },
    ];
    const found = await unwrap({ key: ['a', 'b'] }, ...events);
    expect(found.map((one) => (one as JsonObject)['__op'])).toEqual(['u', 'u', 'u', 'd', 'u']);
  });
});

/** Records from JSON text, so that their numbers have a spelling. */
async function linesAfter(
  definition: Parameters<typeof runTransform>[0],
  config: JsonObject,
  lines: string,
): Promise<string> {
  const records = lines.split('\n').map((line) => parseData(line));
  const checked = check<unknown>(definition.config, config);
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  const compiled = await definition.compile(checked.value, { env: testEnv() });
  const after: JsonValue[] = [];
  if (compiled.kind === 'record')
    for (const record of records) compiled.apply(record, (emitted) => after.push(emitted));
  return after.map((record) => stringifyJson(record)).join('\n');
}

describe('numbers keep the text that they were read with', () => {
  it('in cross_join', async () => {
    const config = { arrays: ['a', 'b'], keep_parent: true, drop_arrays: true };
    const line = '{"n":1.0,"a":[1.10,2],"b":[{"x":1e2}]}';
    expect(await linesAfter(crossJoin, config, line)).toBe(
      '{"n":1.0,"a":1.10,"x":1e2}\n{"n":1.0,"a":2,"x":1e2}',
    );
  });

  it('in lookup, and of the reference row and not of what was there', async () => {
    const folder = await mkdtemp(joinPath(tmpdir(), 'lookup-spelling-'));
    try {
      const rows = '{"id":1,"p":0.1234567890123456789}\n{"id":2,"p":7}';
      await writeFile(joinPath(folder, 'ref.jsonl'), rows);
      const jsonl = joinPath(folder, 'ref.jsonl');
      const config = { jsonl, on: { record: 'k', ref: 'id' }, add: { p: 'p' } };
      expect(await linesAfter(lookup, config, '{"k":1}\n{"k":2,"p":7.0}')).toBe(
        '{"k":1,"p":0.1234567890123456789}\n{"k":2,"p":7}',
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('in join', async () => {
    const config = { field: 'v', delimiter: ';' };
    expect(await linesAfter(join, config, '{"v":[1.0,2,12345678901234567890.5]}')).toBe(
      '{"v":"1.0;2;12345678901234567890.5"}',
    );
  });

  it('in json_parse', async () => {
    const lines = '{"v":" 1.10 "}\n{"v":"2"}\n{"v":"[1.0]"}';
    expect(await linesAfter(jsonParse, { fields: ['v'] }, lines)).toBe(
      '{"v":1.10}\n{"v":2}\n{"v":[1.0]}',
    );
  });
});
