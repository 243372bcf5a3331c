import { describe, expect, it } from 'vitest';
import {
  breakerPolicyOf,
  poisonPolicyOf,
  resilienceSchema,
  retryPolicyOf,
} from '../../blocks/resilience/schema.ts';
import { ConnectorError, RecordError } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { elasticsearchSink } from '../../connectors/elasticsearch/index.ts';
import { sqliteSink } from '../../connectors/sqlite/index.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { countedMetrics, run, sqliteTable } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { startHttpServer } from '../../../test/fakes/http-server.ts';
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
  type FakeSinkOptions,
} from '../../../test/fakes/plan.ts';

const busy = new RecordError('RateLimited', 'too many requests', {
  cause: new ConnectorError('rate_limited', 'too many requests'),
});
const idOf = (record: JsonValue): number => (record as { id: number }).id;
const PAGE: FakePage = { records: [{ id: 1 }, { id: 2 }, { id: 3 }], bookmark: 1 };

async function move(
  block: JsonObject,
  sinkOptions: FakeSinkOptions,
  options: { pages?: readonly FakePage[]; dlq?: boolean; dlqAll?: boolean } = {},
) {
  const spec = resilienceSchema.parse(block);
  const metrics = countedMetrics();
  const clock = stillClock();
  const env = testEnv({ metrics, clock });
  const trace: string[] = [];
  const values = new Map<string, JsonValue>();
  const sink = fakeSink({ trace, ...sinkOptions });
  const dead = fakeSink({ name: 'dead' });
  const row = plannedRow(fakeSource(options.pages ?? [PAGE]), sink.definition, {
    state: part(fakeState(values)),
    blocks: { resilience: { poison: poisonPolicyOf(spec), breaker: breakerPolicyOf(spec) } },
    dlq:
      options.dlq === false
        ? undefined
        : dlqPlan(dead.definition, {
            onBatchError: options.dlqAll === true ? 'dlq_all' : 'propagate',
          }),
  });
  const outcome = await run(planOf([row]), { env });
  return {
    row: outcome.invocations[0],
    written: sink.records.map(idOf).sort((a, b) => a - b),
    dead: (dead.records as { payload: JsonValue; reason: string }[]).map(
      (one) => `${one.reason} ${idOf(one.payload)}`,
    ),
    writes: trace.filter((line) => line.startsWith('write')),
    bookmark: values.get('test::row-0'),
    waits: clock.waits,
    warnings: env.lines.map((line) => line.line).filter((line) => line.includes('every attempt')),
    metrics,
  };
}

describe('poison', () => {
  const poison = (settings: JsonObject): JsonObject => ({
    poison: settings,
    retry: { backoff: 'fixed', base_ms: 50, jitter: false },
  });

  it('sends failing records again, together, and forgets the trouble when they get through', async () => {
    const { row, written, writes, waits, dead } = await move(poison({ max_row_attempts: 5 }), {
      reject: (record, call) => (idOf(record) > 1 && call < 3 ? busy : undefined),
    });
    expect([written, writes, waits, dead]).toEqual([
      [1, 2, 3],
      ['write 3', 'write 2', 'write 2'],
      [50, 50],
      [],
    ]);
    expect(row).toMatchObject({ status: 'completed', balance: { written: 3, dead_lettered: 0 } });
  });

  it('gives a record to the dead letters after the last try', async () => {
    const { row, written, writes, dead, metrics } = await move(poison({ max_row_attempts: 3 }), {
      reject: (record) => (idOf(record) === 2 ? busy : undefined),
    });
    expect([written, writes, dead]).toEqual([
      [1, 3],
      ['write 3', 'write 1', 'write 1'],
      ['partial 2'],
    ]);
    expect(row).toMatchObject({ status: 'completed', balance: { written: 2, dead_lettered: 1 } });
    expect(metrics.of('svc_resilience_poison_rows_total')).toEqual({ '{test,row-0,dlq}': 1 });
  });

  it('leaves records out on `drop`, warned about once, and the balance closes', async () => {
    const pages = [PAGE, { records: [{ id: 2 }], bookmark: 2 }];
    const sink = { reject: (record: JsonValue) => (idOf(record) === 2 ? busy : undefined) };
    const { row, bookmark, warnings } = await move(poison({ action: 'drop' }), sink, {
      pages,
      dlq: false,
    });
    expect(row).toMatchObject({
      status: 'completed',
      error: null,
      balance: { written: 2, withheld: 2 },
    });
    expect([bookmark, warnings.length]).toEqual([2, 1]);
  });

  it('ends the run on `fail`, whatever the queue does with whole pages', async () => {
    const sink = { reject: (record: JsonValue) => (idOf(record) === 2 ? busy : undefined) };
    const { row, bookmark, dead } = await move(poison({ action: 'fail' }), sink, { dlqAll: true });
    expect(row?.error).toMatchObject({ kind: 'RateLimited', code: 'poison_records' });
    expect([bookmark, dead]).toEqual([undefined, []]);
  });

  it('does not repeat what would fail again', async () => {
    const { writes, dead } = await move(poison({}), {
      reject: (record) => (idOf(record) === 2 ? 'not a number' : undefined),
    });
    expect([writes, dead]).toEqual([['write 3'], ['partial 2']]);
  });

  it('takes a repeat that fails as a whole for the failure of each of its records', async () => {
    const { writes, dead, row } = await move(poison({ max_row_attempts: 2 }), {
      reject: (record, call) => (call === 1 && idOf(record) > 1 ? busy : undefined),
      onWrite: (_, call) => {
        if (call === 2) throw connectionLost();
      },
    });
    expect([writes, dead]).toEqual([
      ['write 3', 'write 2'],
      ['partial 2', 'partial 3'],
    ]);
    expect(row?.balance).toMatchObject({ written: 1, dead_lettered: 2 });
  });

  it('fails the run for a record that is not worth a repeat when nobody takes it', async () => {
    const { row } = await move(
      poison({ action: 'drop' }),
      { reject: () => 'not a number' },
      { dlq: false },
    );
    expect(row?.error).toMatchObject({ code: 'records_rejected' });
  });
});

describe('circuit breaker', () => {
  const pages = [1, 2, 3, 4].map((id) => ({ records: [{ id }], bookmark: id }));
  const block = { circuit_breaker: { consecutive_failures: 2, cooldown_secs: 30 } };

  it('opens after so many pages without a success, once the last of them is committed', async () => {
    const { row, dead, bookmark, metrics } = await move(
      block,
      {
        onWrite: () => {
          throw connectionLost();
        },
      },
      { pages, dlqAll: true },
    );
    expect(row).toMatchObject({
      status: 'failed',
      error: { kind: 'CircuitOpen', code: 'circuit_open' },
    });
    expect(row?.error?.hint).toContain('30 s');
    expect([dead, bookmark]).toEqual([['dlq_all 1', 'dlq_all 2'], 2]);
    expect(metrics.of('svc_resilience_circuit_state')).toEqual({ '{test,row-0}': 1 });
    expect(metrics.of('svc_resilience_circuit_opened_total')).toEqual({ '{test,row-0}': 1 });
  });

  it('starts counting again after one success', async () => {
    const { row, metrics } = await move(
      block,
      { reject: (record) => (idOf(record) % 2 === 1 ? 'odd' : undefined) },
      { pages },
    );
    expect(row).toMatchObject({ status: 'completed', balance: { written: 2, dead_lettered: 2 } });
    expect(metrics.of('svc_resilience_circuit_state')).toEqual({ '{test,row-0}': 0 });
  });

  it('opens for a real table that takes none of the records', async () => {
    using table = sqliteTable('CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL)');
    const dead = fakeSink({ name: 'dead' });
    const row = plannedRow(fakeSource(pages), sqliteSink, {
      blocks: { resilience: { breaker: breakerPolicyOf(resilienceSchema.parse(block)) } },
      dlq: dlqPlan(dead.definition, { onBatchError: 'dlq_all' }),
      sink: table.sink(),
    });
    const outcome = await run(planOf([row]));
    expect(outcome.invocations[0]?.error).toMatchObject({ kind: 'CircuitOpen' });
    expect([dead.records.length, table.query('SELECT * FROM t')]).toEqual([2, []]);
  });
});

describe('retries', () => {
  const policy = (retry: JsonObject) =>
    retryPolicyOf(resilienceSchema.parse({ retry: { backoff: 'none', ...retry } }));

  it('does not multiply the attempts of a sink that repeats its own requests', async () => {
    await using server = await startHttpServer(() => ({ status: 503 }));
    const row = plannedRow(fakeSource([PAGE]), elasticsearchSink, {
      blocks: { resilience: { retry: policy({ max_attempts: 3 }) } },
      sink: part(elasticsearchSink, {
        base_url: server.url,
        index: 'orders',
        write_mode: 'upsert',
        key: ['id'],
      }),
    });
    const metrics = countedMetrics();
    const outcome = await run(planOf([row]), { env: testEnv({ metrics, clock: stillClock() }) });
    expect(outcome.invocations[0]?.error?.message).toContain('503');
    expect(server.requests).toHaveLength(3);
    expect(metrics.of('svc_resilience_giveup_total')).toEqual({ '{test,row-0,sink_write}': 1 });
  });

  it.each([
    [3600, 4, [3_600_000, 3_600_000, 3_600_000]],
    [3601, 1, []],
  ])('waits for as long as a server asks, up to an hour: %d s', async (asked, writes, waits) => {
    const busyFor = new ConnectorError('rate_limited', 'busy', { retryAfterMs: asked * 1000 });
    const trace: string[] = [];
    const clock = stillClock();
    const onWrite = (): never => {
      throw busyFor;
    };
    const sink = fakeSink({ trace, capabilities: { idempotent: true }, onWrite });
    const row = plannedRow(fakeSource([PAGE]), sink.definition, {
      blocks: { resilience: { retry: policy({ max_attempts: 4 }) } },
    });
    const outcome = await run(planOf([row]), { env: testEnv({ clock }) });
    expect(outcome.invocations[0]?.error?.message).toContain('busy');
    expect(trace.filter((line) => line.startsWith('write'))).toHaveLength(writes);
    expect(clock.waits).toEqual(waits);
  });
});
