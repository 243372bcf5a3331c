import { describe, expect, it } from 'vitest';
import { slaSchema } from '../../blocks/sla/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import type { ExecuteOptions } from '../engine.ts';
import { doctor } from '../checks/doctor.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { countedMetrics, run, sqliteTable } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import {
  connectionLost,
  fakeSink,
  fakeSource,
  fakeState,
  noParts,
  part,
  planOf,
  plannedRow,
} from '../../../test/fakes/plan.ts';
import { sqliteState } from '../../state/sqlite.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { anomalyOf } from './volume.ts';

const KEY = 'test::row-0::__sla__';
const NOW = Date.parse('2026-01-31T12:00:00Z') / 1000;
const records = (count: number): JsonValue[] => Array.from({ length: count }, (_, id) => ({ id }));

interface Scenario {
  readonly values?: Map<string, JsonValue>;
  readonly count?: number;
  readonly fails?: boolean;
  readonly row?: Partial<PlannedRow>;
  readonly execute?: Partial<ExecuteOptions>;
}

async function judged(
  sla: JsonObject,
  { values = new Map(), count = 1, fails = false, row = {}, execute = {} }: Scenario = {},
) {
  const metrics = countedMetrics();
  const env = testEnv({ clock: stillClock(), metrics });
  const source = fakeSource(
    [{ records: records(count) }],
    fails ? { failAfter: connectionLost() } : {},
  );
  const plan = plannedRow(source, fakeSink().definition, {
    state: part(fakeState(values)),
    blocks: { sla: slaSchema.parse(sla) },
    ...row,
  });
  const outcome = await run(planOf([plan]), { env, ...execute });
  const kinds = Object.keys(metrics.of('svc_pipeline_sla_violations_total')).map((labels) =>
    labels.slice(1, -1).split(',').at(-1),
  );
  return { outcome, kinds, history: values.get(KEY), values, env, metrics };
}

describe('what is usual', () => {
  const judge = (volume: number, history: number[], block: JsonObject) =>
    anomalyOf(
      volume,
      history,
      slaSchema.parse({ volume_anomaly: { min_history: 2, ...block } }).volume_anomaly ??
        (undefined as never),
    );

  it('is within so many population deviations of the mean', () => {
    expect([judge(16, [8, 12], {}), judge(17, [8, 12], {}), judge(3, [8, 12], {})]).toEqual([
      undefined,
      '4 to 16',
      '4 to 16',
    ]);
    expect(judge(13, [8, 12], { sensitivity: 1 })).toBe('8 to 12');
  });

  it('is the one value where nothing ever varied', () => {
    expect([judge(5, [5, 5], {}), judge(6, [5, 5], {})]).toEqual([undefined, '5 to 5']);
  });

  it('is around the quartiles, found between the nearest values', () => {
    expect([
      judge(7, [1, 2, 3, 4], { method: 'iqr' }),
      judge(4.75, [1, 2, 3, 4], { method: 'iqr' }),
    ]).toEqual(['-0.5 to 5.5', undefined]);
  });

  it('is unknown before enough runs have been', () => {
    expect(judge(1000, [1, 1], { min_history: 3 })).toBeUndefined();
  });
});

describe('an invocation that ended (spec 2.13)', () => {
  it('is reported when it wrote too few records, and succeeds', async () => {
    const { outcome, kinds, env } = await judged({ min_rows_per_run: 5 }, { count: 4 });
    expect([outcome.status, kinds]).toEqual(['completed', ['min_rows']]);
    expect(env.lines.some(({ line }) => line.includes('service level not met'))).toBe(true);
    expect((await judged({ min_rows_per_run: 5 }, { count: 5 })).kinds).toEqual([]);
  });

  it('says in its outcome what was not met', async () => {
    const violations = async (...of: Parameters<typeof judged>) =>
      (await judged(...of)).outcome.invocations[0]?.sla_violations;
    expect(await violations({ min_rows_per_run: 5 }, { count: 4 })).toEqual([
      { kind: 'min_rows', message: 'records written: 4; at least 5 are expected' },
    ]);
    expect(await violations({ min_rows_per_run: 5 }, { count: 5 })).toBeUndefined();
    const values = new Map<string, JsonValue>([
      [KEY, { last_success_unix: NOW - 20, volumes: [1, 1, 1, 1, 1] }],
    ]);
    expect(await violations({ volume_anomaly: {} }, { count: 3, values: new Map(values) })).toEqual(
      [{ kind: 'volume', message: 'records written: 3; usual are 1 to 1' }],
    );
    expect(await violations({ max_staleness_secs: 10 }, { fails: true, values })).toEqual([
      { kind: 'staleness', message: 'the last success was 20 s ago; 10 s are allowed' },
    ]);
  });

  it('needs no state store for that', async () => {
    expect((await judged({ min_rows_per_run: 5 }, { row: { state: undefined } })).kinds).toEqual([
      'min_rows',
    ]);
  });

  it('joins the history, the newest last and no longer than the window, also when it stands out', async () => {
    const values = new Map<string, JsonValue>([
      [KEY, { last_success_unix: 1, volumes: [2, 2, 2] }],
    ]);
    const { kinds, history, metrics } = await judged(
      { volume_anomaly: { min_history: 3, window: 3 } },
      { values, count: 9 },
    );
    expect([kinds, history]).toEqual([['volume'], { last_success_unix: NOW, volumes: [2, 2, 9] }]);
    expect(metrics.of('svc_pipeline_sla_baseline_runs')).toEqual({ '{test,row-0}': 3 });
  });

  it('is judged by the runs before it only', async () => {
    const values = new Map<string, JsonValue>();
    for (let turn = 0; turn < 2; turn += 1)
      expect(
        (await judged({ volume_anomaly: { min_history: 2 } }, { values, count: 3 })).kinds,
      ).toEqual([]);
    expect(
      (await judged({ volume_anomaly: { min_history: 2 } }, { values, count: 4 })).kinds,
    ).toEqual(['volume']);
  });

  it('is stale when it fails too long after the last success, and leaves the history alone', async () => {
    const at = (ago: number) =>
      new Map<string, JsonValue>([[KEY, { last_success_unix: NOW - ago, volumes: [] }]]);
    const stale = await judged({ max_staleness_secs: 60 }, { values: at(61), fails: true });
    expect([stale.kinds, stale.history]).toEqual([
      ['staleness'],
      { last_success_unix: NOW - 61, volumes: [] },
    ]);
    expect(
      (await judged({ max_staleness_secs: 60 }, { values: at(60), fails: true })).kinds,
    ).toEqual([]);
    expect((await judged({ max_staleness_secs: 60 }, { fails: true })).kinds).toEqual([]);
    expect((await judged({ max_staleness_secs: 60 }, { values: at(61) })).history).toEqual({
      last_success_unix: NOW,
      volumes: [],
    });
  });

  it('is not judged when it is limited, dry, cancelled or a child', async () => {
    const sla = { min_rows_per_run: 9, volume_anomaly: {} };
    const stopped = new AbortController();
    stopped.abort();
    for (const execute of [{ limit: 1 }, { dryRun: true }, { signal: stopped.signal }]) {
      const { kinds, history } = await judged(sla, { execute });
      expect([kinds, history]).toEqual([[], undefined]);
    }
    expect((await judged(sla, { row: { role: 'child' } })).kinds).toEqual([]);
  });

  it('starts a history anew that cannot be read, and survives a store that fails', async () => {
    const { history, env } = await judged(
      { volume_anomaly: {} },
      { values: new Map([[KEY, 'broken']]) },
    );
    expect(history).toEqual({ last_success_unix: NOW, volumes: [1] });
    expect(env.lines.some(({ line }) => line.includes('starts again'))).toBe(true);
    const broken = { ...fakeState(new Map()), open: () => Promise.reject(connectionLost()) };
    expect(
      (await judged({ volume_anomaly: {} }, { row: { state: part(broken) }, fails: true })).outcome
        .status,
    ).toBe('failed');
  });

  it('keeps its history in a real store, read by the doctor without a change', async () => {
    using files = sqliteTable();
    const state = {
      ...part(sqliteState),
      parsed: sqliteState.config.parse({ database_url: `sqlite:${files.path}.state` }),
    };
    const row = plannedRow(fakeSource([{ records: records(2) }]), files.sink().definition, {
      sink: files.sink(),
      state,
      blocks: { sla: slaSchema.parse({ max_staleness_secs: 60, volume_anomaly: {} }) },
    });
    const clock = stillClock();
    const env = testEnv({ clock });
    expect((await run(planOf([row]), { env })).error).toBeNull();
    const probe = async () => {
      const options = { plan: planOf([row]), parts: noParts };
      const report = await doctor({
        ...options,
        env,
        clock: new Date(),
        signal: new AbortController().signal,
        timeoutMs: 10_000,
      });
      return report.invocations[0]?.probes.find((one) => one.name === 'staleness')?.status;
    };
    expect(await probe()).toBe('pass');
    clock.advance(61_000);
    expect([await probe(), await probe()]).toEqual(['fail', 'fail']);
  });
});
