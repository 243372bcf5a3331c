/**
 * Runs that are undone, with real destinations: what the table, the position and the watermark then
 * are.
 */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countedMetrics, run, sqliteTable } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import {
  connectionLost,
  fakeSource,
  fakeState,
  noParts,
  part,
  planOf,
  plannedRow,
  type FakePage,
} from '../../../test/fakes/plan.ts';
import { planOfTree } from '../../../test/fakes/verify.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { postgresSink } from '../../connectors/postgres/index.ts';
import { check } from '../../kit/schema.ts';
import type { Holding, StateStoreDefinition } from '../../kit/state-store.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { parts } from '../../parts.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { listRollbackable } from './find-run.ts';
import { rollBackRun, type RollBackRunOptions } from './roll-back-run.ts';

const database = await freshDatabase();
const client = new Client({ connectionString: database.url });
using file = sqliteTable();

beforeAll(() => client.connect());
afterAll(async () => {
  await client.end();
  await database.drop();
});

interface Destination {
  readonly sink: (config: JsonObject) => PlannedRow['sink'];
  readonly rows: (table: string) => Promise<JsonObject[]>;
}

const DESTINATIONS: Readonly<Record<string, Destination>> = {
  SQLite: {
    sink: (config) => file.sink(config),
    rows: (table) =>
      Promise.resolve(
        file.query(`SELECT * FROM ${table} ORDER BY 1, 2`).map((row) => ({ ...row }) as JsonObject),
      ),
  },
  PostgreSQL: {
    sink: (config) => {
      const checked = check(postgresSink.config, {
        connection_url: database.url,
        column_mapping: 'auto_map',
        ...config,
      });
      if (!checked.ok) throw new Error(checked.issues[0]?.message);
      return { ...part(postgresSink), parsed: checked.value };
    },
    rows: async (table) =>
      (await client.query<JsonObject>(`SELECT * FROM ${table} ORDER BY 1, 2`)).rows,
  },
};

const ROLLBACK = { column: '_svc_run_id', journal: true, keepPrevious: true, retain: 10 };
let tables = 0;

function pagesOf(ids: readonly number[]): FakePage[] {
  return ids.map((id) => ({ records: [{ id, name: `n${id}` }], bookmark: id }));
}

describe.each(Object.keys(DESTINATIONS))('in %s', (name) => {
  const { sink, rows } = DESTINATIONS[name] as Destination;

  /** A row over a source that goes on after its bookmark. */
  function pipeline(config: JsonObject = {}, overrides: Partial<PlannedRow> = {}) {
    const table = `u${(tables += 1)}`;
    const values = new Map<string, JsonValue>();
    const state: { definition: StateStoreDefinition } = { definition: fakeState(values) };
    const plan = (pages: readonly FakePage[], more: Partial<PlannedRow> = {}): Plan =>
      planOf([
        plannedRow(fakeSource(pages, { positional: true }), postgresSink, {
          sink: sink({ table_name: table, ...config }),
          state: part(state.definition),
          blocks: { rollback: ROLLBACK },
          metadataColumns: [{ column: 'run_id', name: '_svc_run_id' }],
          ...overrides,
          ...more,
        }),
      ]);
    const move = async (
      pages: readonly FakePage[],
      more: Partial<PlannedRow> = {},
    ): Promise<string> => {
      const outcome = await run(plan(pages, more));
      if (outcome.error !== null) throw new Error(outcome.error.message);
      return outcome.invocations[0]?.invocation_id ?? '';
    };
    const options = (): Pick<RollBackRunOptions, 'plan' | 'parts' | 'env' | 'signal'> => {
      return {
        plan: plan([]),
        parts: noParts,
        env: testEnv(),
        signal: new AbortController().signal,
      };
    };
    const undo = (runId: string, more: Partial<RollBackRunOptions> = {}) =>
      rollBackRun({ ...options(), runId, dryRun: false, force: false, ...more });
    const list = async (): Promise<string[]> =>
      (await listRollbackable(options())).map((marker) => marker.run_id);
    const ids = async (): Promise<unknown[]> =>
      (await rows(table)).map((row) => row['id']).map(Number);
    return { table, values, state, plan, move, undo, list, ids, rows: () => rows(table) };
  }

  test('what a rollback removes from the state store is counted', async () => {
    const { move, undo, values } = pipeline();
    const first = await move(pagesOf([1, 2]));
    const metrics = countedMetrics();
    await undo(first, { env: testEnv({ metrics }) });
    expect(values.has('test::row-0')).toBe(false);
    // The position, and the note of the run.
    expect(metrics.of('svc_state_delete_total')).toEqual({ '{test,row-0}': 2 });
  });

  test('an appending run is undone, and the next one reads again what it had read', async () => {
    const { move, undo, ids, values, list } = pipeline();
    await move(pagesOf([1, 2]));
    const second = await move(pagesOf([1, 2, 3, 4]));
    expect(await undo(second, { dryRun: true })).toMatchObject({
      applied: false,
      dry_run: true,
      deleted: 2,
      bookmark_rewound: false,
    });
    expect(values.get('test::row-0')).toBe(4);
    expect(await undo(second)).toEqual({
      run_id: second,
      row: 'row-0',
      sink_kind: name === 'SQLite' ? 'sqlite' : 'postgres',
      dataset: expect.stringContaining('table=') as string,
      mode: 'append',
      dry_run: false,
      applied: true,
      blocked: false,
      deleted: 2,
      restored: 0,
      conflicts: 0,
      bookmark_rewound: true,
      token_rewound: false,
      later_runs: [],
      note: null,
    });
    expect(await ids()).toEqual([1, 2]);
    expect(values.get('test::row-0')).toBe(2);
    expect(await list()).toHaveLength(1);
    await move(pagesOf([1, 2, 3, 4]));
    expect(await ids()).toEqual([1, 2, 3, 4]);
  });

  test('the bookmark of the first run goes, because there was none before', async () => {
    const { move, undo, ids, values } = pipeline();
    const first = await move(pagesOf([1]));
    await undo(first);
    expect(await ids()).toEqual([]);
    expect([...values.keys()]).toEqual(['test::row-0::__rollback__']);
  });

  test('appended rows of later runs would be read again, so they stand in the way', async () => {
    const { move, undo, ids } = pipeline();
    const first = await move(pagesOf([1]));
    const second = await move(pagesOf([1, 2]));
    const third = await move(pagesOf([1, 2, 3]));
    const blocked = await undo(first);
    expect(blocked).toMatchObject({
      applied: false,
      blocked: true,
      conflicts: 2,
      deleted: 0,
      later_runs: [second, third],
    });
    expect(blocked.note).toContain('undo them first');
    expect(await ids()).toEqual([1, 2, 3]);
    const forced = await undo(first, { force: true });
    expect(forced).toMatchObject({
      applied: true,
      blocked: false,
      conflicts: 2,
      deleted: 1,
      bookmark_rewound: true,
    });
    expect(forced.note).toContain('twice');
    expect(await ids()).toEqual([2, 3]);
  });

  test('with exactly-once delivery the watermark goes back, too', async () => {
    const exact = { delivery: 'exactly_once' } as const;
    const { move, undo, ids, values } = pipeline({}, exact);
    await move(pagesOf([1, 2]));
    const stored = values.get('test::row-0');
    const second = await move(pagesOf([1, 2, 3]));
    expect(await undo(second)).toMatchObject({
      applied: true,
      deleted: 1,
      bookmark_rewound: true,
      token_rewound: true,
    });
    expect(values.get('test::row-0')).toEqual(stored);
    await move(pagesOf([1, 2, 3]));
    expect(await ids()).toEqual([1, 2, 3]);
  });

  test('an upsert whose keys a later run changed is blocked, and forced if asked', async () => {
    const { move, undo, rows: all } = pipeline({ write_mode: 'upsert', key: ['id'] });
    const first = await move([
      {
        records: [
          { id: 1, n: 1 },
          { id: 2, n: 1 },
        ],
        bookmark: 'a',
      },
    ]);
    await move([
      { records: [{ id: 1, n: 1 }], bookmark: 'a' },
      { records: [{ id: 1, n: 2 }], bookmark: 'b' },
    ]);
    expect(await undo(first)).toMatchObject({
      applied: false,
      blocked: true,
      conflicts: 1,
      deleted: 0,
    });
    expect(await all()).toHaveLength(2);
    expect(await undo(first, { force: true })).toMatchObject({
      applied: true,
      conflicts: 1,
      deleted: 2,
      bookmark_rewound: true,
    });
    expect(await all()).toEqual([]);
  });

  test.each<[string, JsonObject, Partial<PlannedRow>]>([
    ['an upsert', { write_mode: 'upsert', key: ['id'] }, {}],
    [
      'an upsert that delivers exactly once',
      { write_mode: 'upsert', key: ['id'] },
      { delivery: 'exactly_once' },
    ],
    ['an appending row that was forced', {}, {}],
    ['an appending row that delivers exactly once', {}, { delivery: 'exactly_once' }],
  ])(
    'undoing an earlier run and then a later one loses nothing of either: %s',
    async (_what, config, more) => {
      const { move, undo, ids } = pipeline(config, {
        ...more,
        stateKey: `test::pulled-${(tables += 1)}`,
      });
      await move(pagesOf([1]));
      const second = await move(pagesOf([1, 2]));
      const third = await move(pagesOf([1, 2, 3]));
      expect(await undo(second, { force: true })).toMatchObject({ applied: true, deleted: 1 });
      expect(await ids()).toEqual([1, 3]);
      expect(await undo(third)).toMatchObject({ applied: true, deleted: 1, blocked: false });
      expect(await ids()).toEqual([1]);
      await move(pagesOf([1, 2, 3]));
      expect(await ids()).toEqual([1, 2, 3]);
    },
  );

  test('what a run that is not kept appended would be read again, so it stands in the way', async () => {
    const { move, undo, ids } = pipeline();
    const first = await move(pagesOf([1]));
    await move(pagesOf([1, 2]), { blocks: {} });
    const blocked = await undo(first);
    expect(blocked).toMatchObject({ applied: false, blocked: true, conflicts: 1, later_runs: [] });
    expect(blocked.note).toContain('a later run that is not kept');
    expect(await ids()).toEqual([1, 2]);
    expect(await undo(first, { force: true })).toMatchObject({
      applied: true,
      deleted: 1,
      conflicts: 1,
    });
  });

  test('a later run that has not ended would store its position over the one that is put back, so it stands in the way', async () => {
    const { plan, move, undo, ids, values } = pipeline({ write_mode: 'upsert', key: ['id'] });
    const first = await move(pagesOf([1]));
    const reached = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const slow = fakeSource(pagesOf([1, 2, 3]), {
      positional: true,
      beforePage: async (index) => {
        if (index === 0) return;
        reached.resolve();
        await goOn.promise;
      },
    });
    const [row] = plan([]).rows;
    const running = run(planOf([{ ...(row as PlannedRow), source: part(slow) }]));
    await reached.promise;
    const blocked = await undo(first);
    goOn.resolve();
    const second = (await running).invocations[0]?.invocation_id;
    expect(blocked).toMatchObject({
      applied: false,
      blocked: true,
      conflicts: 1,
      later_runs: [second],
    });
    expect(blocked.note).toContain('have not ended');
    expect([await ids(), values.get('test::row-0')]).toEqual([[1, 2, 3], 3]);
    expect(await undo(first)).toMatchObject({ applied: true, deleted: 1, conflicts: 0 });
  });

  test('a document that tells rows apart by another key is refused', async () => {
    const { move, undo, plan, table, ids } = pipeline({ write_mode: 'upsert', key: ['id'] });
    await move([{ records: [{ id: 1, code: 7 }], bookmark: 1 }]);
    const second = await move([{ records: [{ id: 7, code: 1 }], bookmark: 2 }]);
    const other = plan([], {
      sink: sink({ table_name: table, write_mode: 'upsert', key: ['code'] }),
    });
    await expect(undo(second, { plan: other })).rejects.toThrow(
      'the run identified records by `id`, but row `row-0` now identifies them by `code`',
    );
    expect(await ids()).toEqual([1, 7]);
  });

  test('only the last overwrite can be undone', async () => {
    const { move, undo, ids, list } = pipeline({ write_mode: 'overwrite' });
    const first = await move([{ records: [{ id: 1 }] }]);
    const second = await move([{ records: [{ id: 2 }, { id: 3 }] }]);
    expect(await list()).toEqual([second]);
    await expect(undo(first)).rejects.toThrow(`there is no undoable run \`${first}\``);
    expect(await undo(second)).toMatchObject({
      applied: true,
      mode: 'overwrite',
      deleted: 2,
      restored: 1,
    });
    expect(await ids()).toEqual([1]);
    await move([{ records: [{ id: 4 }] }]);
    await expect(undo(second)).rejects.toThrow(`the run \`${second}\` was already undone`);
  });

  test('an overwrite that failed replaced nothing, so there is nothing to undo', async () => {
    const { plan, list, move } = pipeline({ write_mode: 'overwrite' });
    const first = await move([{ records: [{ id: 1 }] }]);
    const failing = fakeSource([{ records: [{ id: 2 }] }], { failAfter: connectionLost() });
    const [row] = plan([]).rows;
    expect((await run(planOf([{ ...(row as PlannedRow), source: part(failing) }]))).status).toBe(
      'failed',
    );
    expect(await list()).toEqual([first]);
  });

  test('no more runs are kept than asked for, and none that changed nothing', async () => {
    const { move, list, table, values } = pipeline(
      { write_mode: 'upsert', key: ['id'] },
      { blocks: { rollback: { ...ROLLBACK, retain: 2 } } },
    );
    const ran = [];
    for (const id of [1, 2, 3, 3]) ran.push(await move(pagesOf([1, 2, 3].slice(0, id))));
    expect(await list()).toEqual([ran[1], ran[2]]);
    const logged = (await rows('_svc_run_journal')).filter((row) => row['table_name'] === table);
    expect(new Set(logged.map((row) => row['run_id']))).toEqual(new Set([ran[1], ran[2]]));
    expect([...values.keys()].filter((key) => key.includes('__rollback__::'))).toHaveLength(2);
  });

  test('what a failed run wrote can be undone', async () => {
    const { plan, undo, ids } = pipeline();
    const failing = fakeSource(pagesOf([1, 2]), { failAfter: connectionLost(), positional: true });
    const [row] = plan([]).rows;
    const outcome = await run(planOf([{ ...(row as PlannedRow), source: part(failing) }]));
    expect(await ids()).toEqual([1, 2]);
    expect(await undo(outcome.invocations[0]?.invocation_id ?? '')).toMatchObject({
      applied: true,
      deleted: 2,
      bookmark_rewound: true,
    });
    expect(await ids()).toEqual([]);
  });

  test('after a failure between destination and store the next run goes on as if all had been undone', async () => {
    const { move, undo, ids, values, state, list } = pipeline();
    await move(pagesOf([1]));
    const second = await move(pagesOf([1, 2]));
    const whole = state.definition;
    state.definition = {
      ...whole,
      open: async (config: JsonObject, context) => {
        const store = await whole.open(config, context);
        return {
          ...store,
          putHeld: (key: string, value: JsonValue, by: Holding) =>
            key === 'test::row-0'
              ? Promise.reject(connectionLost())
              : store.putHeld(key, value, by),
        };
      },
    } as StateStoreDefinition;
    await expect(undo(second)).rejects.toThrow('the connection was lost');
    expect([await ids(), values.get('test::row-0')]).toEqual([[1], 2]);
    state.definition = whole;
    const third = await move(pagesOf([1, 2]));
    expect(await ids()).toEqual([1, 2]);
    expect(await list()).toHaveLength(2);
    expect(await undo(third)).toMatchObject({ applied: true, deleted: 1 });
    expect(await ids()).toEqual([1]);
  });

  test('an undo that was interrupted is finished by asking again', async () => {
    const { move, undo, ids, values, state } = pipeline();
    const first = await move(pagesOf([1]));
    const whole = state.definition;
    state.definition = {
      ...whole,
      open: async (config: JsonObject, context) => {
        const store = await whole.open(config, context);
        return { ...store, deleteHeld: () => Promise.reject(connectionLost()) };
      },
    } as StateStoreDefinition;
    await expect(undo(first)).rejects.toThrow('the connection was lost');
    state.definition = whole;
    expect(await undo(first)).toMatchObject({ applied: true, deleted: 1, bookmark_rewound: true });
    expect([await ids(), values.get('test::row-0')]).toEqual([[], undefined]);
  });

  test('a run that was announced and never undone is not taken for undone', async () => {
    const { move, ids, values } = pipeline();
    const first = await move(pagesOf([1]));
    values.set('test::row-0::__rollback__', { runs: [first], undoing: first });
    await move(pagesOf([1, 2]));
    expect(await ids()).toEqual([1, 2]);
  });

  test('a store that cannot remember the run does not keep it from running', async () => {
    const { plan, ids, state, values } = pipeline();
    const whole = state.definition;
    state.definition = {
      ...whole,
      open: async (config: JsonObject, context) => {
        const store = await whole.open(config, context);
        return {
          ...store,
          put: (key: string, value: JsonValue) =>
            key.includes('__rollback__') ? Promise.reject(connectionLost()) : store.put(key, value),
        };
      },
    } as StateStoreDefinition;
    const env = testEnv();
    expect((await run(plan(pagesOf([1])), { env })).status).toBe('completed');
    expect(env.lines.map((line) => line.line).join('\n')).toContain('cannot be rolled back');
    expect([await ids(), values.get('test::row-0')]).toEqual([[1], 1]);
  });

  test('a limited run remembers nothing, so it cannot be undone', async () => {
    const { plan, ids, list } = pipeline();
    expect((await run(plan(pagesOf([1, 2])), { limit: 1 })).status).toBe('completed');
    expect([await ids(), await list()]).toEqual([[1], []]);
  });

  test('what the document does not keep cannot be undone', async () => {
    const {
      move,
      list,
      rows: all,
    } = pipeline(
      { write_mode: 'upsert', key: ['id'] },
      { blocks: { rollback: { ...ROLLBACK, journal: false } } },
    );
    const id = await move(pagesOf([1]));
    expect(await list()).toEqual([]);
    expect((await all())[0]?.['_svc_run_id']).toBe(id);
  });

  test('a document that now writes elsewhere is refused', async () => {
    const { move, undo, plan } = pipeline();
    const first = await move(pagesOf([1]));
    const other = plan([], { sink: sink({ table_name: 'elsewhere' }) });
    await expect(undo(first, { plan: other })).rejects.toThrow('now writes to');
    await expect(undo(first, { row: 'nobody' })).rejects.toThrow('there is no row `nobody`');
    await expect(undo('unheard-of')).rejects.toThrow('there is no undoable run');
  });

  test(
    'whichever runs are undone in whatever order, the next run makes it whole: nothing is lost, and nothing is there twice',
    { timeout: 60_000 },
    async () => {
      const step = fc.oneof(fc.constant('run' as const), fc.nat({ max: 5 }));
      const config = fc.constantFrom<JsonObject>({}, { write_mode: 'upsert', key: ['id'] });
      const delivery = fc.constantFrom('at_least_once', 'exactly_once');
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 2, maxLength: 9 }),
          config,
          delivery,
          async (steps, written, guarantee) => {
            const { move, undo, ids } = pipeline(written, {
              delivery: guarantee,
              stateKey: `test::any-${(tables += 1)}`,
            });
            const all = [1];
            const ran = [await move(pagesOf(all))];
            for (const what of steps) {
              if (what === 'run') {
                all.push(all.length + 1);
                ran.push(await move(pagesOf(all)));
                continue;
              }
              const [runId] = ran.splice(what % ran.length, ran.length === 0 ? 0 : 1);
              if (runId === undefined) continue;
              const report = await undo(runId);
              if (!report.applied) ran.push(runId);
            }
            all.push(all.length + 1);
            await move(pagesOf(all));
            expect(await ids()).toEqual(all);
          },
        ),
        { numRuns: 12 },
      );
    },
  );

  test(
    'whatever runs came before, undoing the last one leaves no trace of it',
    { timeout: 60_000 },
    async () => {
      const write = fc.record({
        id: fc.integer({ min: 1, max: 5 }),
        n: fc.integer(),
        op: fc.constantFrom('u', 'u', 'd'),
      });
      const runs = fc.array(fc.array(fc.array(write, { maxLength: 4 }), { maxLength: 3 }), {
        minLength: 1,
        maxLength: 4,
      });
      const delivery = fc.constantFrom('at_least_once', 'exactly_once');
      await fc.assert(
        fc.asyncProperty(runs, delivery, async (moves, guarantee) => {
          // Watermarks stand in one table of the database: each try has its own.
          const stateKey = `test::try-${(tables += 1)}`;
          const config = {
            write_mode: 'upsert',
            key: ['id'],
            delete_marker: { field: 'op', values: ['d'] },
          };
          const {
            move,
            undo,
            rows: all,
            values,
          } = pipeline(config, { delivery: guarantee, stateKey });
          await move([{ records: [{ id: 0, n: 0 }], bookmark: 'start' }]);
          const pages: FakePage[] = [{ records: [], bookmark: 'start' }];
          for (const [index, added] of moves.entries()) {
            const before = { table: await all(), stored: values.get(stateKey) };
            pages.push(
              ...added.map((records, page) => ({ records, bookmark: `${index}.${page}` })),
            );
            const id = await move(pages);
            const after = await all();
            if (added.length === 0) continue;
            expect(await undo(id)).toMatchObject({ applied: true, conflicts: 0 });
            expect({ table: await all(), stored: values.get(stateKey) }).toEqual(before);
            await move(pages);
            expect((await all()).map(({ id: key, n }) => [key, n])).toEqual(
              after.map(({ id: key, n }) => [key, n]),
            );
          }
        }),
        { numRuns: 8 },
      );
    },
  );
});

test('tokens of the sink stand for what they stood for in the zone of the run', async () => {
  const folder = dirname(file.path);
  writeFileSync(join(folder, 'in.csv'), 'id\n1\n');
  const plan = planOfTree({
    rollback: {},
    pipeline: {
      source: { type: 'csv', config: { path: join(folder, 'in.csv') } },
      sink: {
        type: 'sqlite',
        config: {
          database_url: file.path,
          table_name: 'day_${now.date}',
          column_mapping: 'auto_map',
        },
      },
      state: { type: 'file', config: { path: join(folder, 'state') } },
    },
  });
  const outcome = await run(plan, {
    parts,
    clock: new Date('2026-01-30T20:00:00Z'),
    zone: 'Asia/Tokyo',
  });
  expect(file.query('SELECT count(*) AS n FROM "day_2026-01-31"')[0]).toEqual({ n: 1 });
  const runId = outcome.invocations[0]?.invocation_id ?? '';
  const request = {
    plan,
    parts,
    env: testEnv(),
    signal: new AbortController().signal,
    runId,
    dryRun: false,
    force: false,
  };
  expect(await rollBackRun(request)).toMatchObject({ applied: true, deleted: 1 });
});
