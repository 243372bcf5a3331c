/**
 * What a real PostgreSQL makes of drift and watermarks: the same claims as on SQLite, where types
 * and transactions are stricter.
 */
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { run } from '../../../test/fakes/engine.ts';
import {
  connectionLost,
  dlqPlan,
  fakeSink,
  fakeSource,
  fakeState,
  part,
  planOf,
  plannedRow,
  type FakePage,
} from '../../../test/fakes/plan.ts';
import { postgresSink } from '../../connectors/postgres/index.ts';
import { schemaDriftSchema } from '../../blocks/schema-drift/schema.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { PlannedRow } from '../../plan/plan.ts';

const database = await freshDatabase();
const client = new Client({ connectionString: database.url });

beforeAll(() => client.connect());
afterAll(async () => {
  await client.end();
  await database.drop();
});

function sinkFor(table: string): PlannedRow['sink'] {
  const checked = check(postgresSink.config, {
    connection_url: database.url,
    table_name: table,
    column_mapping: 'auto_map',
  });
  if (!checked.ok) throw new Error(checked.issues[0]?.message);
  return { ...part(postgresSink), parsed: checked.value };
}

const drift = (block: JsonObject): PlannedRow['blocks'] => ({
  schema: schemaDriftSchema.parse(block),
});

test(
  'evolve adds, widens and relaxes columns and then writes the page; what no type holds is quarantined',
  { timeout: 30_000 },
  async () => {
    await client.query('CREATE TABLE drifting (id bigint NOT NULL, v bigint, name text NOT NULL)');
    const dead = fakeSink({ name: 'dead' });
    const pages: readonly FakePage[] = [
      { records: [{ id: 1, v: 1.5, name: null, extra: { a: [1] } }] },
      { records: [{ id: 2, v: 2.5, name: 'b' }, { id: 'three' }] },
    ];
    const row = plannedRow(fakeSource(pages), postgresSink, {
      sink: sinkFor('drifting'),
      blocks: drift({ on_drift: 'evolve', on_incompatible: 'quarantine' }),
      dlq: dlqPlan(dead.definition),
    });
    expect((await run(planOf([row]))).error).toBeNull();
    expect((await client.query('SELECT v, name, extra FROM drifting ORDER BY v')).rows).toEqual([
      { v: 1.5, name: null, extra: { a: [1] } },
    ]);
    expect((dead.records as { reason: string }[]).map((one) => one.reason)).toEqual([
      'schema_drift',
      'schema_drift',
    ]);
  },
);

test('a crash between commit and state writes no page twice', { timeout: 30_000 }, async () => {
  const pages = [1, 2, 3].map((id) => ({ records: [{ id }], bookmark: id }));
  const values = new Map<string, JsonValue>();
  const store = fakeState(values);
  const failing = {
    ...store,
    open: async () => ({
      ...(await store.open({}, undefined as never)),
      put: () => Promise.reject(connectionLost()),
    }),
  };
  const attempt = (state: typeof store) =>
    run(
      planOf([
        plannedRow(fakeSource(pages, { positional: true }), postgresSink, {
          sink: sinkFor('once'),
          delivery: 'exactly_once',
          state: part(state),
        }),
      ]),
    );
  expect((await attempt(failing)).status).toBe('failed');
  expect((await attempt(failing)).status).toBe('failed');
  expect((await attempt(store)).error).toBeNull();
  expect((await client.query('SELECT id::int FROM once ORDER BY id')).rows).toEqual([
    { id: 1 },
    { id: 2 },
    { id: 3 },
  ]);
  expect(values.get('test::row-0')).toEqual({ __svc_commit: 1, bookmark: 3, seq: 3 });
});
