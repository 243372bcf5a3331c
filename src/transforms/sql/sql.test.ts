import * as fc from 'fast-check';
import { mkdtempSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { check } from '../../kit/schema.ts';
import type { CompiledTransform } from '../../kit/transform.ts';
import { ConfigError } from '../../lib/errors.ts';
import { restrictFiles } from '../../lib/files/file-access.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { sql } from './sql.ts';
import type { SqlConfig } from './sql-config.ts';
import { issuesOf, recordsOf, runTransform } from '../../../test/support/transforms.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-sql-'));
const env = () => testEnv({ cwd: folder });

const run = (
  query: string,
  records: readonly JsonValue[],
  more: JsonObject = {},
): Promise<readonly JsonValue[]> => runTransform(sql, { query, ...more }, records, env());

type Pages = Extract<CompiledTransform, { kind: 'page' }>;

/** Compiles once for several pages. */
async function compiled(config: JsonObject, at = env()): Promise<Pages> {
  const checked = check<SqlConfig>(sql.config, config);
  if (!checked.ok) throw new ConfigError(checked.issues);
  const transform = await sql.compile(checked.value, { env: at });
  if (transform.kind !== 'page') throw new Error('sql is a page transform');
  return transform;
}

const signal = new AbortController().signal;

describe('values on the way through', () => {
  const scalar = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.boolean(),
    fc.integer(),
    fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .filter((number) => !Number.isInteger(number)),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 127n - 1n }),
    fc.constant(null),
  );

  test('of one kind come back as they were', async () => {
    const kinds = fc.oneof(
      fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1 }),
      fc.array(fc.boolean(), { minLength: 1 }),
      fc.array(fc.integer(), { minLength: 1 }),
      fc.array(fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }), { minLength: 1 }),
      fc.array(fc.array(fc.string({ unit: 'grapheme' })), { minLength: 1 }),
      fc.array(
        fc.record({ a: fc.integer(), b: fc.array(fc.boolean()), c: fc.record({ t: fc.string() }) }),
        { minLength: 1 },
      ),
    );
    const transform = async (values: readonly JsonValue[]) =>
      run(
        'SELECT * FROM batch',
        values.map((v) => ({ v })),
      );
    await fc.assert(
      fc.asyncProperty(kinds, async (values) => {
        expect(await transform(values)).toEqual(values.map((v) => ({ v })));
      }),
      { numRuns: 40 },
    );
  });

  test('of several kinds in one field stay what they are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(scalar, { minLength: 1 }), async (values) => {
        const mixed = [...values, 'text', true, null];
        expect(
          await run(
            'SELECT v FROM batch',
            mixed.map((v) => ({ v })),
          ),
        ).toEqual(mixed.map((v) => ({ v })));
      }),
      { numRuns: 40 },
    );
  });

  test('have the types of the engine', async () => {
    const record = {
      i: 1,
      f: 0.5,
      s: 'x',
      b: true,
      l: [1],
      o: { a: 'x' },
      h: 2n ** 100n,
      n: null,
      e: {},
    };
    const types = Object.keys(record).map((name) => `typeof(${name}) AS ${name}`);
    expect(await run(`SELECT ${types.join(', ')} FROM batch`, [record])).toEqual([
      {
        i: 'BIGINT',
        f: 'DOUBLE',
        s: 'VARCHAR',
        b: 'BOOLEAN',
        l: 'BIGINT[]',
        o: 'STRUCT(a VARCHAR)',
        h: 'HUGEINT',
        n: '"NULL"',
        e: 'JSON',
      },
    ]);
  });

  test('keep their order, and missing fields are null', async () => {
    const records = Array.from(
      { length: 5000 },
      (_, id) => (id % 2 === 0 ? { id } : { id, odd: `o${id}` }) as JsonObject,
    );
    const out = await run('SELECT id, odd FROM batch', records);
    expect(out).toEqual(records.map(({ id, odd }) => ({ id, odd: odd ?? null })));
  });

  test('that cannot be rows fail with a sentence', async () => {
    await expect(run('SELECT * FROM batch', [1])).rejects.toThrow('a record is not an object');
    await expect(run('SELECT * FROM batch', [{ a: 1, A: 2 }])).rejects.toThrow(
      'upper from lower case',
    );
    await expect(run('SELECT a AS x, b AS x FROM batch', [{ a: 1, b: 2 }])).rejects.toThrow(
      'two columns called "x"',
    );
    await expect(run('SELECT CAST(a AS BIGINT) AS x FROM batch', [{ a: 'no' }])).rejects.toThrow(
      'Could not convert',
    );
  });
});

describe('pages', () => {
  test('are seen one at a time, and a query that aggregates says so once', async () => {
    const at = env();
    const transform = await compiled({ query: 'SELECT count(*) AS n FROM batch' }, at);
    const counts = [];
    for (const size of [2, 3, 1])
      counts.push(
        ...recordsOf(
          await transform.apply(
            Array.from({ length: size }, (_, id) => ({ id })),
            signal,
          ),
        ),
      );
    await transform.close?.();
    expect(counts).toEqual([{ n: 2 }, { n: 3 }, { n: 1 }]);
    expect(at.lines.filter(({ level }) => level === 'WARN')).toHaveLength(1);
    expect(await transform.apply([], signal)).toEqual([]);
  });

  test('without a field that earlier ones had see it as null', async () => {
    const transform = await compiled({ query: 'SELECT a, b * 2 AS b FROM batch' });
    expect(await transform.apply([{ a: 1, b: 0.5 }], signal)).toEqual([{ a: 1, b: 1 }]);
    expect(await transform.apply([{ a: 2 }], signal)).toEqual([{ a: 2, b: null }]);
    await transform.close?.();
  });

  test('stop when the signal fires while the engine is at work', async () => {
    const transform = await compiled({
      query:
        'SELECT count(*) AS n FROM range(1000000) a, range(1000000) b, batch WHERE (a.range * b.range) % 7 = 3',
    });
    const stop = new AbortController();
    const work = transform.apply([{ id: 1 }], stop.signal);
    setImmediate(() => stop.abort(new Error('stop now')));
    await expect(work).rejects.toThrow('stop now');
    await transform.close?.();
  });
});

describe('relations', () => {
  writeFileSync(join(folder, 'countries.csv'), 'code,name,zone\nNO,Norway,1\nIT,Italy,2\n');
  writeFileSync(join(folder, 'bare.csv'), 'NO,1\nIT,2\n');
  writeFileSync(
    join(folder, 'big.jsonl'),
    '{"id": 9007199254740993, "day": "2024-01-02"}\n\n{"id": 1, "tags": ["a"]}\n',
  );

  test.each<[string, JsonObject, string, JsonValue[]]>([
    [
      'a CSV file',
      { type: 'csv', path: 'countries.csv' },
      'SELECT r.name, r.zone + 1 AS z FROM batch b JOIN r ON r.code = b.c',
      [{ name: 'Italy', z: 3 }],
    ],
    [
      'a CSV file in the short form',
      { csv: { path: 'countries.csv' } },
      'SELECT name FROM batch JOIN r ON code = c',
      [{ name: 'Italy' }],
    ],
    [
      'a CSV file without a header',
      { type: 'csv', path: 'bare.csv', has_header: false },
      'SELECT column_1 AS v FROM batch JOIN r ON column_0 = c',
      [{ v: 2 }],
    ],
    [
      'JSON lines',
      { type: 'jsonl', path: 'big.jsonl' },
      'SELECT r.* FROM r ORDER BY id DESC',
      [
        { id: 9007199254740993n, day: '2024-01-02', tags: null },
        { id: 1, day: null, tags: ['a'] },
      ],
    ],
    [
      'rows written in the config',
      {
        values: {
          columns: ['c', 'n'],
          rows: [
            ['IT', 1.5],
            ['NO', null],
          ],
        },
      },
      'SELECT n FROM batch JOIN r USING (c)',
      [{ n: 1.5 }],
    ],
  ])('may be %s', async (_title, source, query, expected) => {
    expect(await run(query, [{ c: 'IT' }], { relations: [{ name: 'r', source }] })).toEqual(
      expected,
    );
  });

  test('are read again when their file changes, if that is asked for', async () => {
    const path = join(folder, 'changing.csv');
    writeFileSync(path, 'k,v\na,1\n');
    const config = (reload: boolean) => ({
      query: 'SELECT r.v FROM batch JOIN "my rates" r USING (k)',
      relations: [
        {
          name: 'my rates',
          source: { type: 'csv', path: 'changing.csv' },
          reload_on_change: reload,
        },
      ],
    });
    const [fixed, following] = [await compiled(config(false)), await compiled(config(true))];
    expect(await following.apply([{ k: 'a' }], signal)).toEqual([{ v: 1 }]);
    writeFileSync(path, 'k,v\na,2\n');
    utimesSync(path, 1, 1);
    expect(await following.apply([{ k: 'a' }], signal)).toEqual([{ v: 2 }]);
    expect(await fixed.apply([{ k: 'a' }], signal)).toEqual([{ v: 1 }]);
    await fixed.close?.();
    await following.close?.();
  });
});

describe('where the server names the folder of files', () => {
  beforeEach(() => restrictFiles({ root: folder, refused: [] }));
  afterEach(() => restrictFiles(undefined));

  test('queries work, and read no other file', async () => {
    expect(await run('SELECT a + 1 AS b FROM batch', [{ a: 1 }])).toEqual([{ b: 2 }]);
    await expect(run(`SELECT * FROM read_text('/etc/passwd'), batch`, [{ a: 1 }])).rejects.toThrow(
      'file system operations are disabled',
    );
  });
});

describe('what cannot work', () => {
  test.each<[JsonObject, string, string]>([
    [{ query: 'SELEC 1' }, 'sql.query', 'syntax error at or near "SELEC"'],
    [{ query: 'DELETE FROM batch' }, 'sql.query', 'only a SELECT is possible'],
    [{ query: 'SELECT 1; SELECT 2' }, 'sql.query', 'exactly one statement'],
    [
      { query: 'SELECT * FROM batch JOIN contries USING (c)' },
      'sql.query',
      'reads "contries", which is no relation; there are: batch',
    ],
    [{ query: "SELECT * FROM 'countries.csv'" }, 'sql.query', 'no relation'],
    [
      { query: 'SELECT 1', relations: [{ name: 'r', source: { type: 'csv', path: 'none.csv' } }] },
      'sql.relations[0]',
      'cannot be loaded',
    ],
  ])('%j is reported before the first page', async (config, path, message) => {
    const error = (await compiled(config).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )) as ConfigError;
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.issues[0]?.path).toBe(path);
    expect(error.issues[0]?.message).toContain(message);
  });

  test('is reported by the schema where that can be', () => {
    const values = { type: 'values', columns: ['a'], rows: [[1]] };
    const paths = (config: JsonObject) =>
      issuesOf(sql, { query: 'SELECT 1', ...config }).map((issue) => issue.path);
    expect(paths({ relations: [{ name: 'Batch', source: values }] })).toEqual([
      'relations[0].name',
    ]);
    expect(
      paths({
        relations: [
          { name: 'r', source: values },
          { name: 'R', source: values },
        ],
      }),
    ).toEqual(['relations[1].name']);
    expect(paths({ relations: [{ name: 'r', source: { ...values, rows: [[1, 2]] } }] })).toEqual([
      'relations[0].source.rows[0]',
    ]);
    expect(paths({ memory_limit: 'lots' })).toEqual(['memory_limit']);
    expect(paths({ query: '' })).toEqual(['query']);
  });

  test.each([
    `SELECT * FROM read_csv('${join(folder, 'countries.csv')}'), batch`,
    `SELECT * FROM read_text('/etc/passwd'), batch`,
    `SELECT * FROM glob('/*'), batch`,
    `SELECT * FROM read_csv('https://example.org/x.csv'), batch`,
  ])('%s reaches nothing outside', async (query) => {
    await expect(run(query, [{ a: 1 }])).rejects.toThrow(
      /disabled by configuration|Permission|Catalog|Missing Extension/,
    );
  });

  test('more memory than allowed fails the page, not the process', async () => {
    const query = 'SELECT list(repeat(v, 1000000)) AS v FROM batch, range(100)';
    await expect(run(query, [{ v: 'x' }], { memory_limit: '32MB' })).rejects.toThrow(
      'Out of Memory',
    );
  });
});
