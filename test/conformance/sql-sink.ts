/** What every SQL sink must do; each database runs it against the real thing. */
import { expect, test } from 'vitest';
import { ConnectorError } from '../../src/lib/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../src/lib/text/json.ts';
import { quoteName } from '../../src/lib/sql/sql-name.ts';
import { Page } from '../../src/kit/page.ts';
import { check } from '../../src/kit/schema.ts';
import type { FinishReason, Sink, SinkDefinition } from '../../src/kit/sink.ts';
import { stagingName } from '../../src/connectors/_sql/table-names.ts';
import { testContext, type TestContext } from '../fakes/env.ts';
import { sqlFieldsSuite } from './sql-fields.ts';

export interface SqlHarness {
  readonly definition: SinkDefinition;
  /** The connection part of a config. */
  readonly connection: JsonObject;
  /** What `column_mapping` is where the document has none; one column of JSON unless given. */
  readonly mappingByDefault?: 'auto';
  /** A name no other test uses. */
  table(): string;
  exec(sql: string): Promise<void>;
  /** Rows as the database's own client gives them. */
  query(sql: string): Promise<JsonObject[]>;
}

const WHOLE = { partial: false };
const SINGLE = { partial: true };

export function sqlSinkSuite(harness: SqlHarness): void {
  const open = async (
    config: JsonObject,
    context: TestContext = testContext('/'),
  ): Promise<Sink> => {
    const checked = check(harness.definition.config, { ...harness.connection, ...config });
    if (!checked.ok)
      throw new Error(checked.issues.map((issue) => `${issue.path}: ${issue.message}`).join('; '));
    return harness.definition.open(checked.value, context);
  };
  const auto = (table: string, more: JsonObject = {}): JsonObject => ({
    table_name: table,
    column_mapping: 'auto_map',
    ...more,
  });
  const whole = (table: string): JsonObject => ({
    table_name: table,
    ...(harness.mappingByDefault === 'auto' ? { column_mapping: { type: 'json' } } : {}),
  });
  const keyed = (table: string, more: JsonObject = {}): JsonObject =>
    auto(table, { write_mode: 'upsert', key: ['id'], ...more });
  const run = async (
    config: JsonObject,
    pages: readonly JsonValue[][],
    reason: FinishReason = 'success',
  ): Promise<void> => {
    const sink = await open(config);
    try {
      for (const page of pages) await sink.write(Page.ofRecords(page), WHOLE);
      await sink.flush();
      await sink.finish(reason);
    } finally {
      await sink.close();
    }
  };
  const rows = (table: string): Promise<JsonObject[]> =>
    harness.query(`SELECT * FROM ${quoteName(table)} ORDER BY 1`);
  /** Tables that an overwrite made and did not take away. */
  const leftBeside = async (table: string): Promise<unknown[]> => {
    const tables =
      harness.definition.type === 'sqlite'
        ? 'SELECT name FROM sqlite_master'
        : 'SELECT table_name AS name FROM information_schema.tables';
    const { prefix } = stagingName(table);
    return (await harness.query(tables))
      .map(({ name }) => name)
      .filter((name) => typeof name === 'string' && name.startsWith(prefix));
  };
  const failure = async (work: Promise<unknown>): Promise<ConnectorError> => {
    const error: unknown = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof ConnectorError))
      throw new Error(`expected a connector error, got ${String(error)}`);
    return error;
  };

  sqlFieldsSuite(harness, { open, run, rows, failure });

  test('the table is made from the first page; later unknown fields are ignored and missing ones are null', async () => {
    const table = harness.table();
    await run(auto(table), [
      [
        { id: 1, name: 'a', score: 1 },
        { id: 2, score: 1.5 },
      ],
      [{ id: 3, other: true }],
    ]);
    expect(await rows(table)).toEqual([
      { id: 1, name: 'a', score: 1 },
      { id: 2, name: null, score: 1.5 },
      { id: 3, name: null, score: null },
    ]);
  });

  test('names are quoted, whatever they hold', async () => {
    const table = `${harness.table()} "x"; --`;
    const record = Object.fromEntries([
      ['a "b"', 1],
      ['constructor', 'c'],
      ['__proto__', 'p'],
    ]) as JsonObject;
    await run(auto(table), [[record, { 'a "b"': 2 }]]);
    expect((await rows(table)).map((row) => Object.entries(row))).toEqual([
      Object.entries(record),
      [
        ['a "b"', 2],
        ['constructor', null],
        ['__proto__', null],
      ],
    ]);
  });

  test('64-bit integers keep every digit', async () => {
    const table = harness.table();
    await run(auto(table), [[{ id: 9_223_372_036_854_775_807n }, { id: 9_007_199_254_740_993n }]]);
    const found = await harness.query(
      `SELECT CAST(id AS text) AS id FROM ${quoteName(table)} ORDER BY 1`,
    );
    expect(found).toEqual([{ id: '9007199254740993' }, { id: '9223372036854775807' }]);
  });

  test('the whole record goes into one JSON column', async () => {
    const table = harness.table();
    await run(whole(table), [[{ id: 1, tags: ['x'] }, 'text', [1]]]);
    const found = await harness.query(`SELECT CAST(data AS text) AS data FROM ${quoteName(table)}`);
    expect(found.map((row) => JSON.parse(row['data'] as string) as unknown)).toEqual([
      { id: 1, tags: ['x'] },
      'text',
      [1],
    ]);
  });

  test('a record without any known column is skipped with a warning', async () => {
    const table = harness.table();
    await harness.exec(`CREATE TABLE ${quoteName(table)} (id INTEGER)`);
    const context = testContext('/');
    const sink = await open(auto(table), context);
    await sink.write(Page.ofRecords([{ id: 1 }, { other: 2 }]), WHOLE);
    await sink.flush();
    await sink.close();
    expect(await rows(table)).toEqual([{ id: 1 }]);
    expect(context.lines.filter((line) => line.level === 'WARN').map((line) => line.line)).toEqual([
      expect.stringContaining('skipped') as string,
    ]);
  });

  test('a column no record names keeps its default', async () => {
    const table = harness.table();
    await harness.exec(`CREATE TABLE ${quoteName(table)} (id INTEGER, made TEXT DEFAULT 'here')`);
    await run(auto(table), [[{ id: 1 }]]);
    expect(await rows(table)).toEqual([{ id: 1, made: 'here' }]);
  });

  test('an upsert makes the key the primary key, and the last record of a key wins within and across pages', async () => {
    const table = harness.table();
    await run(keyed(table), [
      [
        { id: 1, v: 'a' },
        { id: 2, v: 'b' },
        { id: 1, v: 'c' },
      ],
      [{ id: 2, v: 'd' }],
    ]);
    expect(await rows(table)).toEqual([
      { id: 1, v: 'c' },
      { id: 2, v: 'd' },
    ]);
  });

  test('an upsert of nothing but the key leaves the row alone', async () => {
    const table = harness.table();
    await run(keyed(table), [[{ id: 1, v: 'a' }], [{ id: 1 }]]);
    expect(await rows(table)).toEqual([{ id: 1, v: 'a' }]);
  });

  test('an upsert without a unique index says which one is missing', async () => {
    const table = harness.table();
    await harness.exec(`CREATE TABLE ${quoteName(table)} (id INTEGER, v TEXT)`);
    const error = await failure(run(keyed(table), [[{ id: 1, v: 'a' }]]));
    expect(error.kind).toBe('data');
    expect(error.message).toContain('no unique index on (id)');
    expect(error.hint).toContain('CREATE UNIQUE INDEX');
  });

  test('marked records delete their row and the marker is never written', async () => {
    const table = harness.table();
    await run(keyed(table, { delete_marker: { field: '__op', values: ['d'] } }), [
      [
        { id: 1, v: 'a', __op: 'u' },
        { id: 2, v: 'b', __op: 'u' },
      ],
      [
        { id: 1, __op: 'd' },
        { id: 3, v: 'c' },
        { id: 4, __op: 'd' },
      ],
    ]);
    expect(await rows(table)).toEqual([
      { id: 2, v: 'b' },
      { id: 3, v: 'c' },
    ]);
  });

  test('delete mode removes rows by key', async () => {
    const table = harness.table();
    await run(keyed(table), [[{ id: 1 }, { id: 2 }]]);
    await run(auto(table, { write_mode: 'delete', key: ['id'] }), [[{ id: 1 }, { id: 7 }]]);
    expect(await rows(table)).toEqual([{ id: 2 }]);
  });

  test('delete mode on a table that does not exist fails', async () => {
    const error = await failure(
      run(auto(harness.table(), { write_mode: 'delete', key: ['id'] }), [[{ id: 1 }]]),
    );
    expect(error.kind).toBe('missing');
  });

  test('records with a bad key are rejected one by one when somebody takes them, and fail the page otherwise', async () => {
    const table = harness.table();
    const page = Page.ofRecords([{ id: 1 }, { v: 'x' }, { id: null }]);
    const sink = await open(keyed(table));
    const result = await sink.write(page, SINGLE);
    expect(result.written).toBe(1);
    expect(result.rejected.map((one) => one.index)).toEqual([1, 2]);
    const error = await failure(sink.write(Page.ofRecords([{ id: 9 }, {}]), WHOLE));
    expect(error.kind).toBe('data');
    await sink.close();
    expect(await rows(table)).toEqual([{ id: 1 }]);
  });

  test('a page that breaks a constraint leaves nothing behind', async () => {
    const table = harness.table();
    await harness.exec(`CREATE TABLE ${quoteName(table)} (id INTEGER NOT NULL)`);
    const error = await failure(run(auto(table), [[{ id: 1 }, { id: null }]]));
    expect(error.kind).toBe('data');
    expect(await rows(table)).toEqual([]);
  });

  test('without `create_table` a missing table is an error', async () => {
    const error = await failure(run(auto(harness.table(), { create_table: false }), [[{ id: 1 }]]));
    expect([error.kind, error.hint]).toEqual(['missing', 'create it, or leave `create_table` on']);
  });

  test('overwrite replaces the rows at the end of a run, and only then', async () => {
    const table = harness.table();
    await run(keyed(table), [[{ id: 1, v: 'old' }]]);
    const overwrite = auto(table, { write_mode: 'overwrite' });
    const sink = await open(overwrite);
    await sink.write(Page.ofRecords([{ id: 2, v: 'new' }]), WHOLE);
    await sink.write(Page.ofRecords([{ id: 3, v: 'new' }]), WHOLE);
    await sink.flush();
    expect(await rows(table)).toEqual([{ id: 1, v: 'old' }]);
    await sink.finish('success');
    await sink.close();
    expect(await rows(table)).toEqual([
      { id: 2, v: 'new' },
      { id: 3, v: 'new' },
    ]);
    expect(await leftBeside(table)).toEqual([]);
  });

  test.each(['a table that is there', 'a table that is not'])(
    'of two overwrites at once the last to begin does it, and the other fails: %s',
    async (which) => {
      const table = harness.table();
      if (which === 'a table that is there') await run(auto(table), [[{ id: 0 }]]);
      const [first, second] = [
        await open(auto(table, { write_mode: 'overwrite' })),
        await open(auto(table, { write_mode: 'overwrite' })),
      ];
      await first.write(Page.ofRecords([{ id: 1 }]), WHOLE);
      await second.write(Page.ofRecords([{ id: 3 }]), WHOLE);
      const late = await failure(first.write(Page.ofRecords([{ id: 2 }]), WHOLE));
      expect([late.kind, late.message]).toEqual([
        'refused',
        expect.stringContaining('another run has started to replace'),
      ]);
      expect((await failure(first.finish('success'))).kind).toBe('refused');
      await second.write(Page.ofRecords([{ id: 4 }]), WHOLE);
      await second.finish('success');
      await Promise.all([first.close(), second.close()]);
      expect(await rows(table)).toEqual([{ id: 3 }, { id: 4 }]);
      expect(await leftBeside(table)).toEqual([]);
    },
  );

  test.each(['failed', 'cancelled'] as const)(
    'a %s overwrite leaves the table as it was',
    async (reason) => {
      const table = harness.table();
      await run(auto(table), [[{ id: 1 }]]);
      await run(auto(table, { write_mode: 'overwrite' }), [[{ id: 2 }]], reason);
      expect(await rows(table)).toEqual([{ id: 1 }]);
    },
  );

  test('an overwrite without any record empties the table', async () => {
    const table = harness.table();
    await run(auto(table), [[{ id: 1 }]]);
    await run(auto(table, { write_mode: 'overwrite' }), []);
    expect(await rows(table)).toEqual([]);
  });

  test('an overwrite makes the table on its first run and ignores what an interrupted run left', async () => {
    const table = harness.table();
    await harness.exec(
      `CREATE TABLE ${quoteName(stagingName(table).name)} (id INTEGER, stale TEXT)`,
    );
    await run(auto(table, { write_mode: 'overwrite' }), [[{ id: 1 }]]);
    expect(await rows(table)).toEqual([{ id: 1 }]);
    expect(await leftBeside(table)).toEqual([]);
    await run({ table_name: `${table}_json`, write_mode: 'overwrite' }, [[{ id: 1 }]]);
    expect(await rows(`${table}_json`)).toHaveLength(1);
  });

  test('a page and its token are stored together or not at all', async () => {
    const table = harness.table();
    const scope = `p::${table}`;
    const sink = await open(keyed(table));
    const { tokens } = sink;
    if (tokens === undefined) throw new Error('the sink has no tokens');
    expect(await tokens.last(scope)).toBeUndefined();
    await tokens.write(
      Page.ofRecords([{ id: 1 }, { id: 2 }]),
      scope,
      '00000000000000000001#{"at":1}',
    );
    expect(await tokens.last(scope)).toBe('00000000000000000001#{"at":1}');
    await failure(tokens.write(Page.ofRecords([{ id: 3 }, {}]), scope, '00000000000000000002'));
    await tokens.write(Page.ofRecords([]), scope, '00000000000000000003');
    expect(await tokens.last(scope)).toBe('00000000000000000003');
    expect(await tokens.last(`${scope}::other`)).toBeUndefined();
    await sink.close();
    expect(await rows(table)).toEqual([{ id: 1 }, { id: 2 }]);
  });

  test('a page of an execution that another one has followed is not stored', async () => {
    const table = harness.table();
    const scope = `p::${table}`;
    await run(keyed(table), [[{ id: 0 }]]);
    const execution = (runId: string, claim: number): Promise<Sink> =>
      open(keyed(table), testContext('/', { runId, claim }));
    const first = await execution('run', 1);
    await first.tokens?.last(scope);
    await first.tokens?.write(Page.ofRecords([{ id: 1 }]), scope, '00000000000000000001');
    await first.close();
    const second = await execution('run', 2);
    expect(await second.tokens?.last(scope)).toBe('00000000000000000001');
    await second.close();

    const stale = await execution('run', 1);
    const late = async (): Promise<unknown> =>
      stale.tokens?.write(Page.ofRecords([{ id: 2 }]), scope, '00000000000000000002');
    expect((await failure(late())).message).toContain('another server took over the run');
    expect((await failure(stale.tokens?.last(scope) ?? Promise.resolve())).message).toContain(
      'another server took over the run',
    );
    await stale.close();

    const again = await execution('run', 2);
    await again.tokens?.last(scope);
    await again.tokens?.write(Page.ofRecords([{ id: 3 }]), scope, '00000000000000000002');
    await again.close();
    const next = await execution('next', 1);
    expect(await next.tokens?.last(scope)).toBe('00000000000000000002');
    await next.tokens?.write(Page.ofRecords([{ id: 4 }]), scope, '00000000000000000003');
    await next.close();
    expect((await rows(table)).map((row) => Number(row['id']))).toEqual([0, 1, 3, 4]);
  });

  test('held pages are stored with the next token or not at all, whatever is flushed', async () => {
    const table = harness.table();
    const scope = `p::${table}`;
    await run(auto(table), [[{ id: 0 }]]);
    const first = await open(auto(table));
    await first.tokens?.last(scope);
    await first.tokens?.hold(Page.ofRecords([{ id: 1 }, { id: 2 }]));
    await first.tokens?.hold(Page.ofRecords([{ id: 3 }]));
    expect(
      await first.tokens?.write(Page.ofRecords([{ id: 4 }]), scope, '00000000000000000001'),
    ).toEqual({ written: 4, rejected: [] });
    await first.tokens?.hold(Page.ofRecords([{ id: 5 }]));
    await first.flush();
    await first.finish('cancelled');
    await first.close();
    expect((await rows(table)).map((row) => Number(row['id']))).toEqual([0, 1, 2, 3, 4]);
    const second = await open(auto(table));
    expect(await second.tokens?.last(scope)).toBe('00000000000000000001');
    await second.close();
  });

  test('the live columns are told, and a column can be added', async () => {
    const table = harness.table();
    const sink = await open(auto(table));
    const { schema } = sink;
    if (schema?.evolve === undefined) throw new Error('the sink cannot evolve');
    expect(await schema.current()).toBeUndefined();
    await sink.write(Page.ofRecords([{ id: 1 }]), WHOLE);
    expect(
      (await schema.current())?.map((column) => [column.name, column.types[0], column.nullable]),
    ).toEqual([['id', 'integer', true]]);
    await schema.evolve({ add: [], widen: [], relaxNull: [] });
    await schema.evolve({ add: [{ name: 'added', type: 'string' }], widen: [], relaxNull: [] });
    await schema.evolve({ add: [{ name: 'added', type: 'string' }], widen: [], relaxNull: [] });
    await sink.write(Page.ofRecords([{ id: 2, added: 'x' }]), WHOLE);
    await sink.flush();
    await sink.close();
    expect(await rows(table)).toEqual([
      { id: 1, added: null },
      { id: 2, added: 'x' },
    ]);
  });

  test('as a dead-letter queue it appends, whatever the config says', async () => {
    const table = harness.table();
    const sink = await open(keyed(table), testContext('/', { role: 'dlq' }));
    await sink.write(Page.ofRecords([{ id: 1 }, { id: 1 }]), WHOLE);
    await sink.close();
    expect(await rows(table)).toHaveLength(2);
  });

  test('keyed modes need real columns', async () => {
    const config = { ...harness.connection, ...whole('t'), write_mode: 'upsert', key: ['id'] };
    const checked = check(harness.definition.config, config);
    expect(!checked.ok && checked.issues.map((issue) => issue.path)).toEqual(['column_mapping']);
  });

  test.each([
    ['auto_map', 'auto'],
    [{ type: 'auto_map' }, 'auto'],
    [{ json: { column: 'c' } }, 'c'],
    [{ jsonb: { column: 'c' } }, 'c'],
    [{ type: 'jsonb', column: 'c' }, 'c'],
    [{ type: 'json' }, 'data'],
    [null, harness.mappingByDefault ?? 'data'],
  ])('column_mapping can be written as %j', (written, expected) => {
    const checked = check(harness.definition.config, {
      ...harness.connection,
      table_name: 't',
      column_mapping: written,
    });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const mapping = isObject(checked.value) ? checked.value['column_mapping'] : undefined;
    expect(isObject(mapping) && (mapping['column'] ?? mapping['kind'])).toBe(expected);
  });

  test('the probe passes on a database that can be reached', async () => {
    const checked = check(harness.definition.config, { ...harness.connection, table_name: 't' });
    if (!checked.ok) throw new Error('config');
    const findings = await harness.definition.probe?.(checked.value, testContext('/'));
    const name = harness.definition.type === 'mssql' ? 'connect' : 'auth';
    expect(findings?.[0]).toEqual({ name, status: 'pass' });
  });

  test('the capabilities follow the config', () => {
    const capabilities = (config: JsonObject) => {
      const checked = check(harness.definition.config, { ...harness.connection, ...config });
      if (!checked.ok) throw new Error('config');
      return harness.definition.capabilities(checked.value);
    };
    expect(capabilities(keyed('t'))).toMatchObject({
      writeMode: 'upsert',
      key: ['id'],
      idempotent: true,
      token: true,
      schema: 'evolve',
    });
    expect(capabilities(whole('t'))).toMatchObject({
      key: [],
      idempotent: false,
      token: true,
      schema: 'none',
      atomicity: 'atomic',
    });
    expect(capabilities(auto('t', { write_mode: 'overwrite' }))).toMatchObject({
      token: false,
      flushDurable: false,
      idempotent: false,
    });
  });

  const sweeps = canSweepRows(harness, keyed('any'));

  test.runIf(sweeps)(
    'rows inside the scope whose key was not seen are removed, and no others',
    async () => {
      const table = harness.table();
      const days = [1, 2, 3, 4].map((id) => ({ id, day: id === 4 ? 'tue' : 'mon', note: null }));
      await run(keyed(table), [days]);
      const sink = await open(keyed(table));
      try {
        await sink.write(Page.ofRecords([{ id: 2, day: 'mon' }]), WHOLE);
        await sink.flush();
        // A key may be spelled as text.
        expect(await sink.sweep?.({ scope: { day: 'mon' }, keys: [[2], ['2'], [99]] })).toBe(2);
        expect((await rows(table)).map((row) => Number(row['id']))).toEqual([2, 4]);
        expect(await sink.sweep?.({ scope: { day: 'mon' }, keys: [] })).toBe(1);
        expect(await sink.sweep?.({ scope: { day: 'wed' }, keys: [] })).toBe(0);
        expect(await sink.sweep?.({ scope: { day: 'tue', note: null }, keys: [[5]] })).toBe(1);
        expect(await rows(table)).toEqual([]);
      } finally {
        await sink.close();
      }
    },
  );

  test.runIf(sweeps)('keys of several columns are compared as a whole', async () => {
    const table = harness.table();
    const config = keyed(table, { key: ['a', 'b'] });
    await run(config, [['x', 'y'].flatMap((a) => [1, 2].map((b) => ({ a, b, scope: 1 })))]);
    const sink = await open(config);
    try {
      expect(
        await sink.sweep?.({
          scope: { scope: 1 },
          keys: [
            ['x', 1],
            ['y', 2],
          ],
        }),
      ).toBe(2);
      expect((await rows(table)).map((row) => [row['a'], Number(row['b'])])).toEqual([
        ['x', 1],
        ['y', 2],
      ]);
    } finally {
      await sink.close();
    }
  });

  test.runIf(sweeps)(
    'nothing is removed by columns that the table does not have, or without a table',
    async () => {
      const table = harness.table();
      const sink = await open(keyed(table));
      try {
        expect(await sink.sweep?.({ scope: { day: 'mon' }, keys: [] })).toBe(0);
        await sink.write(Page.ofRecords([{ id: 1, day: 'mon' }]), WHOLE);
        await sink.flush();
        const error = await failure(
          Promise.resolve(sink.sweep?.({ scope: { dya: 'mon' }, keys: [] })),
        );
        expect([error.kind, error.hint]).toEqual(['missing', 'it has: id, day']);
        expect(await rows(table)).toHaveLength(1);
      } finally {
        await sink.close();
      }
    },
  );

  test.runIf(sweeps)('only an upsert can tell which rows vanished', async () => {
    const sink = await open(auto(harness.table()));
    expect('sweep' in sink).toBe(false);
    await sink.close();
  });
}

function canSweepRows({ definition, connection }: SqlHarness, config: JsonObject): boolean {
  const checked = check(definition.config, { ...connection, ...config });
  return checked.ok && definition.capabilities(checked.value).sweep === true;
}
