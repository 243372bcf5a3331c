import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { ConnectorError } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { UNKNOWN_SCHEMA } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import { schemaText } from '../../kit/type-text.ts';
import { fieldFault } from '../../kit/typed-values.ts';
import type { SourceContext } from '../../kit/context.ts';
import { testContext } from '../../../test/fakes/env.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import { sqliteSource } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'sqlite-source-'));
const db = new DatabaseSync(join(folder, 'a.db'));
db.exec(`
  CREATE TABLE v (i INTEGER, big INTEGER, r REAL, t TEXT, j TEXT, b BOOLEAN, x BLOB, n TEXT);
  INSERT INTO v VALUES (1, 9007199254740993, 1.5, 'plain', '{"a":[1]}', 1, x'00ff', NULL);
  CREATE TABLE many (id INTEGER, name TEXT);
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25) INSERT INTO many SELECT i, 'n' || i FROM n;
`);
db.close();

async function read(
  config: JsonObject,
  changes: Partial<SourceContext> = {},
  request: { limit?: number } = {},
) {
  const checked = check(sqliteSource.config, { database_url: 'a.db', ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return readAll(await sqliteSource.open(checked.value, testContext(folder, changes)), request);
}

async function records(
  config: JsonObject,
  changes: Partial<SourceContext> = {},
): Promise<JsonValue[]> {
  // Without what only a SQLite sink sees.
  return (await read(config, changes)).flatMap((page) => structuredClone([...page.records()]));
}

async function kindOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: unknown) => (error instanceof ConnectorError ? error.kind : 'other'),
  );
}

describe('the sqlite source', () => {
  test('a query is one statement; comments and a last semicolon are no other one', async () => {
    expect(await records({ query: 'SELECT 1 AS a; -- one; only\n /* ; */ ;' })).toEqual([{ a: 1 }]);
    await expect(records({ query: 'SELECT 1 AS a; SELECT 2 AS b' })).rejects.toThrow(
      'the query holds more than one statement',
    );
  });

  test('values that a record cannot hold are told with their column, and counted', async () => {
    const query = `SELECT 1 AS id, 9e999 AS r, CAST(x'61ff' AS TEXT) AS t, 'é' AS e
      UNION ALL SELECT 2, -9e999, CAST(x'eda080' AS TEXT), char(65534) UNION ALL SELECT 3, 1e308, 'x', ''`;
    for (const limit of [10, 2]) {
      const context = testContext(folder);
      const config = check(sqliteSource.config, { database_url: 'a.db', query, batch_size: 2 });
      if (!config.ok) throw new Error('config');
      await readAll(await sqliteSource.open(config.value, context), { limit });
      expect(context.lines.map(({ level, line }) => [level, line])).toEqual([
        ['WARN', expect.stringMatching(/a REAL is infinite: .* column=r /)],
        ['WARN', expect.stringMatching(/a text has U\+FFFD, or bytes .* column=t /)],
        ['WARN', expect.stringMatching(/REAL values were infinite.* values=2$/)],
        ['WARN', expect.stringMatching(/texts had .* values=2$/)],
      ]);
    }
  });

  test('columns have types as long as all of their values are of the declared one', async () => {
    const loose = new DatabaseSync(join(folder, 'loose.db'));
    loose.exec(`CREATE TABLE t (id INTEGER PRIMARY KEY, r REAL, f DOUBLE PRECISION, b BLOB, ok BOOL, t TEXT, n NUMERIC, d DATE);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4)
      INSERT INTO t SELECT i, i, i, x'00ff', i % 2, i, i, i FROM n;
      UPDATE t SET f = 'many', b = 'text' WHERE id = 3; UPDATE t SET r = NULL WHERE id = 4`);
    loose.close();
    const config = {
      database_url: 'loose.db',
      query: 'SELECT *, id + 1 AS e FROM t',
      batch_size: 2,
    };
    const pages = await read(config);
    expect(pages.map(({ schema }) => schemaText(schema ?? UNKNOWN_SCHEMA))).toEqual([
      'id: int64, r: float64, f: float64, b: binary, ok: bool, …',
      'id: int64, r: float64, ok: bool, …',
    ]);
    for (const page of pages)
      for (const record of page.records())
        expect(fieldFault(record as JsonObject, page.schema ?? UNKNOWN_SCHEMA)).toBeUndefined();
  });

  test('two columns of one name are refused instead of losing one', async () => {
    await expect(records({ query: 'SELECT 1 AS a, 2 AS a' })).rejects.toThrow(
      'the query gives two columns called "a"',
    );
  });

  test('stored values are read as their JSON kind', async () => {
    expect(await records({ query: 'SELECT * FROM v' })).toEqual([
      {
        i: 1,
        big: 9007199254740993n,
        r: 1.5,
        t: 'plain',
        j: { a: [1] },
        b: true,
        x: 'AP8=',
        n: null,
      },
    ]);
    expect(
      await records({ query: "SELECT '123' AS a, '012' AS b, 'true' AS c, 9e999 AS d" }),
    ).toEqual([{ a: 123, b: '012', c: true, d: null }]);
  });

  test('pages hold at most `batch_size` records, and 0 means one page', async () => {
    const counts = async (batch_size: number) =>
      (await read({ query: 'SELECT * FROM many', batch_size })).map((page) => page.count);
    expect(await counts(10)).toEqual([10, 10, 5]);
    expect(await counts(0)).toEqual([25]);
  });

  test('a page is also bounded by its bytes', async () => {
    const pages = await read({ query: 'SELECT * FROM many' }, { pageBytes: 1 });
    expect(pages.map((page) => page.count)).toEqual(Array.from({ length: 25 }, () => 1));
  });

  test('no more records are read than anybody wants', async () => {
    const pages = await read({ query: 'SELECT * FROM many', batch_size: 10 }, {}, { limit: 12 });
    expect(pages.map((page) => page.count)).toEqual([10, 2]);
  });

  test('placeholders bind fields of the parent record as parameters', async () => {
    const parent = { id: 3, who: { name: "n4' OR 1=1" } };
    expect(
      await records(
        { query: "SELECT id FROM many WHERE id = {id} OR name = '{who.name}'" },
        { parent },
      ),
    ).toEqual([{ id: 3 }]);
    expect(await records({ query: `SELECT '{"a":1}' AS j` }, { parent })).toEqual([
      { j: { a: 1 } },
    ]);
  });

  test('tokens bind values of the rows they name, and never become SQL text', async () => {
    const byRow = new Map([['regions', { code: "n4' OR 1=1" }]]);
    const query = "SELECT id FROM many WHERE name = '${regions.code}' OR name = ${regions.code}";
    expect(await read({ query }, { records: byRow })).toEqual([]);
    expect(await kindOf(read({ query: "SELECT 'a ${regions.code}'" }, { records: byRow }))).toBe(
      'data',
    );
    expect(await kindOf(read({ query: 'SELECT ${other.code}' }, { records: byRow }))).toBe(
      'missing',
    );
  });

  test('a placeholder without its field is an error', async () => {
    expect(await kindOf(read({ query: 'SELECT {id}' }))).toBe('missing');
    expect(await kindOf(read({ query: 'SELECT {id}' }, { parent: { other: 1 } }))).toBe('missing');
  });

  test('failures have a kind', async () => {
    expect(await kindOf(read({ query: 'SELECT 1', database_url: 'none.db' }))).toBe('missing');
    expect(await kindOf(read({ query: 'SELECT * FROM none' }))).toBe('missing');
    expect(await kindOf(read({ query: 'SELEC' }))).toBe('data');
    expect(await kindOf(read({ query: 'DELETE FROM many' }))).toBe('refused');
  });

  test('a fired signal ends the reading', async () => {
    const signal = AbortSignal.abort(new Error('stop'));
    await expect(read({ query: 'SELECT * FROM many' }, { signal })).rejects.toThrow('stop');
  });

  test('every discovered table can be read with its patch', async () => {
    const checked = check(sqliteSource.config, { database_url: 'a.db', query: 'SELECT 1' });
    if (!checked.ok) throw new Error('config');
    const found = (await sqliteSource.discover?.(checked.value, testContext(folder))) ?? [];
    expect(found.map((one) => one.name)).toEqual(['many', 'v']);
    expect(found[0]?.schema).toEqual({
      type: 'object',
      properties: { id: { type: ['integer', 'null'] }, name: { type: ['string', 'null'] } },
    });
    for (const one of found) expect((await records(one.config_patch)).length).toBeGreaterThan(0);
  });
});
