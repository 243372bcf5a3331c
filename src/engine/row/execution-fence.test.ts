/** A run that two servers execute, because the first was frozen and the second took it over. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { openState } from '../../../test/fakes/open-state.ts';
import { run, sqliteTable } from '../../../test/fakes/engine.ts';
import {
  dlqPlan,
  fakeSink,
  fakeSource,
  part,
  planOf,
  plannedRow,
  type FakePage,
} from '../../../test/fakes/plan.ts';
import { slaSchema } from '../../blocks/sla/schema.ts';
import { check } from '../../kit/schema.ts';
import type { StateStore, StateStoreDefinition } from '../../kit/state-store.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { sqliteState } from '../../state/sqlite.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import { ExecutionFence } from './execution-fence.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-fence-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Held up at a place until it is let go. */
class Freeze {
  readonly #reached = Promise.withResolvers<void>();
  readonly #over = Promise.withResolvers<void>();
  readonly reached = this.#reached.promise;

  async here(): Promise<void> {
    this.#reached.resolve();
    await this.#over.promise;
  }

  end(): void {
    this.#over.resolve();
  }
}

let files = 0;
let path = '';
let elapsedMs = 0;
/** The execution to which the run belongs. */
let owner = 1;
let sink = fakeSink();
let queue = fakeSink({ name: 'queue' });
let finished: string[] = [];

beforeEach(() => {
  path = join(folder, `state-${(files += 1)}.db`);
  [elapsedMs, owner] = [0, 1];
  finished = [];
  sink = fakeSink({
    trace: finished,
    reject: (record) => (isBad(record) ? 'bad' : undefined),
  });
  queue = fakeSink({ name: 'queue' });
});

const isBad = (record: JsonValue): boolean => (record as { bad?: boolean }).bad === true;
const clock = { elapsedMs: () => elapsedMs };
/** Its server answers by what it knows; `deaf`: the answer was given before the freeze. */
const fence = (claim: number, deaf = false): ExecutionFence =>
  new ExecutionFence(claim, () => Promise.resolve(deaf || owner === claim), clock);

const PAGES: readonly FakePage[] = [
  { records: [{ id: 1 }], bookmark: 1 },
  { records: [{ id: 2 }, { id: 3, bad: true }], bookmark: 2 },
];
const ROLLBACK = { column: '_svc_run_id', journal: true, keepPrevious: true, retain: 10 };
const sla = slaSchema.parse({ volume_anomaly: { min_history: 2 } });

function checkedConfig(): unknown {
  const checked = check(sqliteState.config, { database_url: path, table: 'state' });
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  return checked.value;
}

interface Execution {
  readonly deaf?: boolean;
  readonly beforePage?: (index: number) => void | Promise<void>;
  readonly state?: StateStoreDefinition;
  readonly row?: Partial<PlannedRow>;
  readonly runId?: string;
}

function execution(
  claim: number,
  { deaf, beforePage, state = sqliteState, row = {}, runId = 'run-1' }: Execution = {},
): Promise<RunOutcome> {
  const source = fakeSource(PAGES, {
    positional: true,
    ...(beforePage === undefined ? {} : { beforePage }),
  });
  const plan = planOf([
    plannedRow(source, sink.definition, {
      state: { ...part(state), parsed: checkedConfig() },
      dlq: dlqPlan(queue.definition),
      blocks: { sla },
      ...row,
    }),
  ]);
  return run(plan, { fence: fence(claim, deaf), runId });
}

/** The store of an execution that is held up before it does this for the first time. */
function freezing(
  freeze: Freeze,
  isHere: (method: keyof StateStore, key: string) => boolean,
): StateStoreDefinition {
  let isFirst = true;
  const wait = async (method: keyof StateStore, key: string): Promise<void> => {
    if (!isFirst || !isHere(method, key)) return;
    isFirst = false;
    await freeze.here();
  };
  return {
    ...sqliteState,
    open: async (config, context) => {
      const store = await sqliteState.open(config as never, context);
      return {
        get: async (key) => (await wait('get', key), store.get(key)),
        put: async (key, value) => (await wait('put', key), store.put(key, value)),
        putHeld: async (key, value, by) => (
          await wait('putHeld', key),
          store.putHeld(key, value, by)
        ),
        delete: async (key) => (await wait('delete', key), store.delete(key)),
        deleteHeld: async (key, by) => (await wait('deleteHeld', key), store.deleteHeld(key, by)),
        entries: (key) => store.entries(key),
        lease: async (key, request) => (await wait('lease', key), store.lease(key, request)),
        release: (key, token) => store.release(key, token),
        close: () => store.close(),
      };
    },
  };
}

/** The sink of an execution that is held up before it does this. */
function freezingSink(
  planned: PlannedRow['sink'],
  member: 'finish' | 'sweep',
  freeze: Freeze,
): PlannedRow['sink'] {
  const { definition } = planned;
  const open: typeof definition.open = async (config, context) => {
    const opened = await definition.open(config, context);
    return {
      ...opened,
      [member]: async (what: never) => {
        await freeze.here();
        return opened[member]?.(what);
      },
    };
  };
  return { ...planned, definition: { ...definition, open } };
}

function notFrozen({ error, invocations }: RunOutcome): never {
  throw new Error(`it ended before: ${error?.message ?? invocations[0]?.status ?? ''}`);
}

/** Everything that is stored of the run. */
async function stored(): Promise<unknown> {
  const store = await openState(sqliteState, { database_url: path, table: 'state' });
  const keys = ['test::row-0', 'test::row-0::__sla__', 'test::row-0::__rollback__'];
  const values = await Promise.all(keys.map((key) => store.get(key)));
  await store.close();
  return {
    values,
    queue: [...queue.records],
    finished: finished.filter((step) => step !== 'close'),
  };
}

/** The second execution begins and ends while the first one is held up. */
async function takeOver(row: Partial<PlannedRow> = {}): Promise<unknown> {
  owner = 2;
  elapsedMs += 60_000;
  expect((await execution(2, { row })).error).toBeNull();
  return stored();
}

test('an execution that is frozen between two pages writes nothing when it wakes up', async () => {
  const freeze = new Freeze();
  const old = execution(1, { beforePage: (index) => (index === 1 ? freeze.here() : undefined) });
  await Promise.race([freeze.reached, old.then(notFrozen)]);
  const after = await takeOver();
  freeze.end();
  expect((await old).invocations[0]?.error?.code).toBe('run_taken_over');
  expect(await stored()).toEqual(after);
  expect(queue.records).toHaveLength(1);
});

test('an execution that is frozen before it takes its lease finds that the run is over', async () => {
  const freeze = new Freeze();
  const state = freezing(freeze, (method, key) => method === 'lease' && key === 'test::row-0');
  let hasRead = false;
  const old = execution(1, { state, beforePage: () => void (hasRead = true) });
  await Promise.race([freeze.reached, old.then(notFrozen)]);
  const after = await takeOver();
  freeze.end();
  expect((await old).invocations[0]?.error?.code).toBe('run_taken_over');
  expect(await stored()).toEqual(after);
  expect(hasRead).toBe(false);
  // It has left no lease behind.
  owner = 1;
  expect((await execution(1, { runId: 'run-2' })).error).toBeNull();
});

test('a bookmark is refused by the store although the server answered before the freeze', async () => {
  const freeze = new Freeze();
  let last = false;
  const state = freezing(
    freeze,
    (method, key) => last && method === 'putHeld' && key === 'test::row-0',
  );
  const beforePage = (index: number): void => void (last = index === 1);
  const old = execution(1, { deaf: true, state, beforePage });
  await Promise.race([freeze.reached, old.then(notFrozen)]);
  const { values } = (await takeOver()) as { values: unknown };
  freeze.end();
  expect((await old).error).not.toBeNull();
  expect(await stored()).toMatchObject({ values });
});

test('the service-level history is refused by the store', async () => {
  const freeze = new Freeze();
  const state = freezing(
    freeze,
    (method, key) => method === 'putHeld' && key === 'test::row-0::__sla__',
  );
  const old = execution(1, { deaf: true, state });
  await Promise.race([freeze.reached, old.then(notFrozen)]);
  const { values } = (await takeOver()) as { values: unknown };
  freeze.end();
  await old;
  expect(await stored()).toMatchObject({ values });
});

test('the rollback log is refused by the store, and forgets nothing', async () => {
  using table = sqliteTable();
  const row: Partial<PlannedRow> = {
    sink: table.sink({ table_name: 't' }),
    dlq: undefined,
    blocks: { rollback: ROLLBACK },
    metadataColumns: [{ column: 'run_id', name: '_svc_run_id' }],
  };
  const freeze = new Freeze();
  let isMoved = false;
  const state = freezing(
    freeze,
    (method, key) => isMoved && method === 'putHeld' && key.includes('__rollback__'),
  );
  const beforePage = (index: number): void => void (isMoved = index === 1);
  const old = execution(1, { deaf: true, state, beforePage, row });
  await Promise.race([freeze.reached, old.then(notFrozen)]);
  const after = await takeOver(row);
  freeze.end();
  await old;
  expect(await stored()).toEqual(after);
});

test('a marker of an outdated run is deleted by the execution that has the lease alone', async () => {
  using table = sqliteTable();
  const row: Partial<PlannedRow> = {
    sink: table.sink({ table_name: 't' }),
    dlq: undefined,
    blocks: { rollback: { ...ROLLBACK, retain: 1 } },
    metadataColumns: [{ column: 'run_id', name: '_svc_run_id' }],
    readsAnew: true,
  };
  expect((await execution(1, { row, runId: 'run-0' })).error).toBeNull();
  const freeze = new Freeze();
  let marker = '';
  const state = freezing(freeze, (method, key) => {
    if (method === 'deleteHeld') marker = key;
    return method === 'deleteHeld';
  });
  const old = execution(1, { deaf: true, state, row });
  await Promise.race([freeze.reached, old.then(notFrozen)]);
  owner = 2;
  const begun = new Freeze();
  const next = execution(2, { row, beforePage: () => begun.here() });
  await Promise.race([begun.reached, next.then(notFrozen)]);
  freeze.end();
  await old;
  const store = await openState(sqliteState, { database_url: path, table: 'state' });
  expect(await store.get(marker)).toMatchObject({ mode: 'append' });
  begun.end();
  expect((await next).error).toBeNull();
  expect(await store.get(marker)).toBeUndefined();
  await store.close();
});

test.each([
  ['the end of an overwrite', 'finish', { write_mode: 'overwrite' }],
  ['a removal of vanished records', 'sweep', { write_mode: 'upsert', key: ['id'] }],
] satisfies [string, 'finish' | 'sweep', JsonObject][])(
  '%s is refused by the destination although the server answered before the freeze',
  async (_what, member, mode) => {
    using table = sqliteTable(
      'CREATE TABLE t (id INTEGER PRIMARY KEY, bad); INSERT INTO t VALUES (9, NULL)',
    );
    const sound = table.sink(mode);
    const row: Partial<PlannedRow> = {
      sink: sound,
      dlq: undefined,
      blocks: {},
      readsAnew: true,
      ...(member === 'sweep' ? { cleanUp: { path: '', scope: {}, tokens: [] } } : {}),
    };
    const freeze = new Freeze();
    const frozen = { ...row, sink: freezingSink(sound, member, freeze) };
    const old = execution(1, { deaf: true, row: frozen });
    await Promise.race([freeze.reached, old.then(notFrozen)]);
    const before = table.query('SELECT id FROM t ORDER BY id');
    owner = 2;
    const begun = new Freeze();
    const next = execution(2, {
      row,
      beforePage: (index) => (index === 0 ? begun.here() : undefined),
    });
    await Promise.race([begun.reached, next.then(notFrozen)]);
    freeze.end();
    expect((await old).invocations[0]?.error?.code).toBe('run_taken_over');
    expect(table.query('SELECT id FROM t ORDER BY id')).toEqual(before);
    begun.end();
    expect((await next).error).toBeNull();
  },
);
