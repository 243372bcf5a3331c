import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { executionSchema, type AdaptiveBatchSpec } from '../../blocks/execution/schema.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { countedMetrics, run, sqliteTable } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import {
  connectionLost,
  dlqPlan,
  fakeSink,
  fakeSource,
  fakeState,
  part,
  planOf,
  plannedRow,
} from '../../../test/fakes/plan.ts';
import { AdaptiveBatch } from './adaptive-batch.ts';

function spec(block: JsonObject): AdaptiveBatchSpec {
  const parsed = executionSchema.parse({
    adaptive_batch_size: { enabled: true, ...block },
  }).adaptive_batch_size;
  if (parsed === undefined) throw new Error('no block');
  return parsed;
}

function controller(block: JsonObject, start: number) {
  const metrics = countedMetrics();
  const env = testEnv({ metrics });
  const batch = new AdaptiveBatch(spec(block), { env, labels: { pipeline: 'p', row: 'r' } });
  const sizes = [batch.next(start)];
  const feed = (failed: number, latencyMs = 0): number => {
    batch.observe({ size: 100, failed, latencyMs });
    sizes.push(batch.next(start));
    return sizes.at(-1) ?? 0;
  };
  return { feed, sizes, metrics, env };
}

describe('the controller', () => {
  it('starts at the length of the first page, within its bounds', () => {
    expect(
      [5, 300, 9000].map((start) => controller({ min: 100, max: 1000 }, start).sizes[0]),
    ).toEqual([100, 300, 1000]);
  });

  it('halves on errors, rests, and grows again by steps (spec 2.12)', () => {
    const { feed, sizes, metrics } = controller({ cooldown_batches: 2, increase_step: 50 }, 1000);
    for (const failed of [2, 0, 0, 0, 0]) feed(failed);
    expect(sizes).toEqual([1000, 500, 500, 500, 550, 600]);
    expect(metrics.of('svc_pipeline_adaptive_batch_adjustments_total')).toEqual({
      '{p,r,down,error}': 1,
      '{p,r,up,success}': 2,
    });
  });

  it('lets a share of errors up to the threshold pass, and shrinks above it even at rest', () => {
    const { feed } = controller({ increase_step: 10 }, 1000);
    expect([feed(1), feed(2), feed(2)]).toEqual([1010, 505, 252]);
  });

  it('follows the median latency when there is a target', () => {
    const { feed } = controller(
      { target_latency_ms: 100, cooldown_batches: 1, increase_step: 10, latency_window: 3 },
      1000,
    );
    expect([
      feed(0, 40),
      feed(0, 60),
      feed(0, 60),
      feed(0, 500),
      feed(0, 500),
      feed(0, 9),
      feed(0, 100),
    ]).toEqual([1010, 1010, 1010, 1010, 505, 505, 252]);
  });

  it('warns once when records fail at the smallest size', () => {
    const { feed, env } = controller({ min: 100 }, 100);
    for (let i = 0; i < 3; i += 1) feed(50);
    expect(env.lines.filter(({ line }) => line.includes('smallest batch size'))).toHaveLength(1);
  });

  it('never leaves its bounds', () => {
    const step = fc.record({
      failed: fc.integer({ min: 0, max: 100 }),
      latencyMs: fc.integer({ min: 0, max: 400 }),
    });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 5000 }),
        (steps, targeted, start) => {
          const { feed } = controller(
            {
              min: 10,
              max: 900,
              increase_step: 333,
              ...(targeted ? { target_latency_ms: 100 } : {}),
            },
            start,
          );
          return steps.every(({ failed, latencyMs }) => {
            const size = feed(failed, latencyMs);
            return size >= 10 && size <= 900;
          });
        },
      ),
    );
  });

  it.each([
    ['controller', { controller: 'pid' }],
    ['min', { min: 10, max: 5 }],
    ['decrease_factor', { decrease_factor: 1 }],
    ['error_threshold', { error_threshold: 1.1 }],
    ['respect_source_max', { respect_source_max: false }],
  ])('is refused with a bad `%s`', (key, block) => {
    const checked = check(executionSchema, { adaptive_batch_size: block });
    expect(checked.ok ? [] : checked.issues.map((issue) => issue.path)).toEqual([
      `adaptive_batch_size.${key}`,
    ]);
  });
});

describe('pages', () => {
  const records: JsonValue[] = Array.from({ length: 10 }, (_, id) => ({ id }));
  const small = { min: 3, max: 4, increase_step: 1 };

  it('are cut into batches of the current size, under one flush and one bookmark', async () => {
    const trace: string[] = [];
    const sink = fakeSink({ trace });
    const row = plannedRow(fakeSource([{ records, bookmark: 1 }]), sink.definition, {
      adaptiveBatch: spec(small),
      state: part(fakeState(new Map(), trace)),
    });
    await run(planOf([row]));
    expect(trace.slice(0, 5)).toEqual(['write 4', 'write 4', 'write 2', 'flush', 'put 1']);
    expect(sink.records).toEqual(records);
  });

  it('divert only the batch that failed as a whole, and name records by their place in the page', async () => {
    const dead = fakeSink({ name: 'dead' });
    const sink = fakeSink({
      reject: (record) => ((record as { id: number }).id === 9 ? 'no' : undefined),
      onWrite: (_, call) => {
        if (call === 2) throw connectionLost();
      },
    });
    const dlq = dlqPlan(dead.definition, { onBatchError: 'dlq_all' });
    const row = plannedRow(fakeSource([{ records }]), sink.definition, {
      adaptiveBatch: spec(small),
      dlq,
    });
    const outcome = await run(planOf([row]));
    expect((dead.records as { record_index: number }[]).map((one) => one.record_index)).toEqual([
      4, 5, 6, 7, 9,
    ]);
    expect(outcome.invocations[0]?.balance).toMatchObject({ written: 5, dead_lettered: 5 });
  });

  it('arrive whole in a real table', async () => {
    using table = sqliteTable();
    const row = plannedRow(fakeSource([{ records }]), fakeSink().definition, {
      adaptiveBatch: spec(small),
      sink: table.sink(),
    });
    expect((await run(planOf([row]))).error).toBeNull();
    expect(table.query('SELECT count(*) AS n FROM t')).toEqual([{ n: 10 }]);
  });
});
