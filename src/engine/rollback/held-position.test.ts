/** Rollbacks of a position that others want at the same time: a run, or a rollback elsewhere. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run, sqliteTable } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { fakeSource, noParts, part, planOf, plannedRow } from '../../../test/fakes/plan.ts';
import { sqliteSink } from '../../connectors/sqlite/index.ts';
import type { StateStore, StateStoreDefinition } from '../../kit/state-store.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Plan } from '../../plan/plan.ts';
import { sqliteState } from '../../state/sqlite.ts';
import { rollBackRun } from './roll-back-run.ts';

using file = sqliteTable();
const KEY = 'test::row-0';
/** Of a run on another machine. */
const OTHER = { token: 'other', ttlMs: 60_000, holder: { run_id: 'other', host: 'elsewhere' } };
let tables = 0;

/** A row whose store calls `beforePut` before it stores a value on the condition of a lease. */
function pipeline(beforePut: (key: string, store: StateStore) => Promise<void> = async () => {}) {
  const table = `held${(tables += 1)}`;
  const stored = { database_url: join(file.path, `../${table}.db`), table: 'state' };
  const open: typeof sqliteState.open = async (config, context) => {
    const store = await sqliteState.open(config, context);
    return {
      ...store,
      async putHeld(key, value, by) {
        await beforePut(key, store);
        return store.putHeld(key, value, by);
      },
    };
  };
  const state = { ...sqliteState, open } as StateStoreDefinition;
  const plan = (last: number): Plan => {
    const pages = Array.from({ length: last }, (_, n) => ({
      records: [{ id: n + 1 }],
      bookmark: n + 1,
    }));
    return planOf([
      plannedRow(fakeSource(pages, { positional: true }), sqliteSink, {
        sink: file.sink({ table_name: table }),
        state: part(state, stored),
        blocks: {
          rollback: { column: '_svc_run_id', journal: true, keepPrevious: true, retain: 9 },
        },
        metadataColumns: [{ column: 'run_id', name: '_svc_run_id' }],
      }),
    ]);
  };
  const move = async (last: number): Promise<string> => {
    const outcome = await run(plan(last));
    expect(outcome.error).toBeNull();
    return outcome.invocations[0]?.invocation_id ?? '';
  };
  const undo = (runId: string, force = false, dryRun = false) =>
    rollBackRun({
      plan: plan(0),
      parts: noParts,
      env: testEnv(),
      signal: new AbortController().signal,
      runId,
      dryRun,
      force,
    });
  const use = async <T>(work: (store: StateStore) => Promise<T>): Promise<T> => {
    const env = testEnv();
    const store = await sqliteState.open(stored, { env } as never);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };
  const position = (): Promise<JsonValue | undefined> => use((store) => store.get(KEY));
  const ids = (): unknown[] =>
    file.query(`SELECT id FROM ${table} ORDER BY id`).map(({ id }) => id);
  return { move, undo, use, position, ids };
}

test('while somebody else has the position nothing is undone, not by force either', async () => {
  const { move, undo, use, position, ids } = pipeline();
  await move(1);
  const second = await move(2);
  await use((store) => store.lease(KEY, OTHER));
  for (const force of [false, true])
    await expect(undo(second, force)).rejects.toMatchObject({
      code: 'state_held',
      message: expect.stringContaining('in use by run `other`') as string,
    });
  expect([await position(), ids()]).toEqual([2, [1, 2]]);
  expect(await undo(second, false, true)).toMatchObject({ applied: false, deleted: 1 });
  await use((store) => store.release(KEY, OTHER.token));
  expect(await undo(second)).toMatchObject({ applied: true, deleted: 1 });
  expect([await position(), ids()]).toEqual([1, [1]]);
});

test('two rollbacks at once, on whatever servers: one of them is refused', async () => {
  const { move, undo, position } = pipeline();
  await move(1);
  const later = [await move(2), await move(3)];
  const ends = await Promise.allSettled(later.map((runId) => undo(runId, true)));
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(await position()).toBeLessThan(3);
});

test.each([
  ['before it changes the destination', '::__rollback__', [1, 2]],
  ['before it puts the position back', KEY, [1]],
])('a rollback that was frozen %s moves no position that another run has', async (_, at, left) => {
  let isFrozen = false;
  const { move, undo, use, position, ids } = pipeline(async (key, store) => {
    if (!isFrozen || !key.endsWith(at)) return;
    isFrozen = false;
    // Its lease ended, and another run began.
    const held = await store.lease(KEY, OTHER);
    await store.lease(KEY, { ...OTHER, instead: held.token });
    await store.put(KEY, 7);
  });
  await move(1);
  const second = await move(2);
  isFrozen = true;
  await expect(undo(second)).rejects.toMatchObject({ code: 'state_lease_lost' });
  expect([await position(), ids()]).toEqual([7, left]);
  await use((store) => store.release(KEY, OTHER.token));
});
