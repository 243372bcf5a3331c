import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../lib/text/json.ts';
import { check } from '../../kit/schema.ts';
import { sqliteSource } from '../../connectors/sqlite/index.ts';
import type { ReconcilePlan } from '../../blocks/reconcile/plan.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import type { ExecuteOptions } from '../engine.ts';
import { run, sqliteTable } from '../../../test/fakes/engine.ts';
import {
  connectionLost,
  fakeSink,
  fakeSource,
  fakeState,
  part,
  planOf,
  plannedRow,
} from '../../../test/fakes/plan.ts';

const PAGE = { records: Array.from({ length: 90 }, (_, id) => ({ id })), bookmark: 90 };

function authority(
  records: readonly JsonValue[],
  rest: Partial<ReconcilePlan> = {},
): ReconcilePlan {
  return {
    source: part(fakeSource([{ records: [] }, { records }])),
    countField: undefined,
    tolerancePct: 0,
    ...rest,
  };
}

async function reconciled(
  reconcile: ReconcilePlan,
  execute: Partial<ExecuteOptions> = {},
  overrides: Partial<PlannedRow> = {},
) {
  const values = new Map<string, JsonValue>();
  const sink = fakeSink();
  const row = plannedRow(fakeSource([PAGE]), sink.definition, {
    blocks: { reconcile },
    state: part(fakeState(values)),
    ...overrides,
  });
  const outcome = await run(planOf([row]), execute);
  return {
    error: outcome.invocations[0]?.error,
    written: sink.records.length,
    bookmark: values.get('test::row-0'),
  };
}

describe('reconcile (spec 2.13)', () => {
  it('passes when as many or more were written as are counted', async () => {
    expect((await reconciled(authority([{ n: 90 }]))).error).toBeNull();
    expect((await reconciled(authority([{ n: 89 }]))).error).toBeNull();
  });

  it('fails after the data is written and the position stored', async () => {
    const { error, written, bookmark } = await reconciled(authority([{ n: 91 }]));
    expect(error).toMatchObject({
      kind: 'Source',
      code: 'reconcile_shortfall',
      message: '90 records were written, but `fake` counts 91',
    });
    expect([written, bookmark]).toEqual([90, 90]);
  });

  it('tolerates so many percent', async () => {
    expect((await reconciled(authority([{ n: 100 }], { tolerancePct: 10 }))).error).toBeNull();
    expect((await reconciled(authority([{ n: 101 }], { tolerancePct: 10 }))).error).not.toBeNull();
  });

  it('takes the field that is named, or the first number; also digits, fractions and less than nothing', async () => {
    const readsAs = async (record: JsonValue, countField?: string) =>
      (await reconciled(authority([record], { countField }))).error;
    expect(await readsAs({ a: 'x', b: 1, c: 500 })).toBeNull();
    expect(await readsAs({ a: 1, b: '500' }, 'b')).toMatchObject({ code: 'reconcile_shortfall' });
    expect(await readsAs({ n: -5 })).toBeNull();
    expect(await readsAs({ n: 90.5 })).toMatchObject({ code: 'reconcile_shortfall' });
  });

  it('fails when there is no count', async () => {
    const cases: [readonly JsonValue[], string | undefined][] = [
      [[], undefined],
      [[{ a: 'x' }], undefined],
      [[{ a: 1 }], 'n'],
      [[{ n: '1e3' }], 'n'],
    ];
    for (const [records, countField] of cases) {
      expect((await reconciled(authority(records, { countField }))).error).toMatchObject({
        kind: 'Source',
        code: 'reconcile_no_count',
      });
    }
    const broken = authority([], { source: part(fakeSource([], { failAfter: connectionLost() })) });
    expect((await reconciled(broken)).error).toMatchObject({
      kind: 'Source',
      message: 'source `fake (reconcile)`: the connection was lost',
    });
  });

  it('is left out for limited and dry runs and for rows of parent records', async () => {
    expect((await reconciled(authority([{ n: 91 }]), { limit: 5 })).error).toBeNull();
    expect((await reconciled(authority([{ n: 91 }]), { dryRun: true })).error).toBeNull();
    expect((await reconciled(authority([{ n: 91 }]), {}, { role: 'child' })).error).toBeNull();
  });

  it('counts with a query on a real database', async () => {
    using table = sqliteTable(
      'CREATE TABLE all_orders (id INTEGER); INSERT INTO all_orders VALUES (1), (2)',
    );
    const checked = check(sqliteSource.config, {
      database_url: table.path,
      query: 'SELECT count(*) AS n FROM all_orders',
    });
    if (!checked.ok) throw new Error('config');
    const source = { ...part(sqliteSource), parsed: checked.value };
    const row = (records: JsonValue[]) =>
      plannedRow(fakeSource([{ records }]), fakeSink().definition, {
        sink: table.sink(),
        blocks: { reconcile: authority([], { source }) },
      });
    expect((await run(planOf([row([{ id: 1 }])]))).error?.message).toContain(
      '1 records were written, but `sqlite` counts 2',
    );
    expect((await run(planOf([row([{ id: 1 }, { id: 2 }])]))).error).toBeNull();
  });
});
