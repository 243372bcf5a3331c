import { describe, expect, it } from 'vitest';
import { countedMetrics, run } from '../../../test/fakes/engine.ts';
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
  type FakePage,
  type Trace,
} from '../../../test/fakes/plan.ts';
import { contractSchema } from '../../blocks/contract/schema.ts';
import { maskingSchema } from '../../blocks/masking/schema.ts';
import type { RejectedRecord } from '../../kit/rejected-record.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { cast } from '../../transforms/cast/cast.ts';

function broken(index: number, payload: JsonValue = `{"id": ${index}`): RejectedRecord {
  const at = { line: index + 2, byte: index * 10 };
  return { message: `line ${index + 2} of f is not JSON`, payload, input: 'f', at, index };
}

const PAGES: FakePage[] = [
  { records: [{ id: 1 }, { id: 2 }], rejected: [broken(1)], bookmark: 1 },
  { records: [], rejected: [broken(0), broken(1)], bookmark: 2 },
  { records: [{ id: 3 }], bookmark: 3 },
];

describe('records that a source cannot read', () => {
  it('are counted, told, and become dead letters that say where they stood', async () => {
    const dead = fakeSink({ name: 'dlq' });
    const sink = fakeSink();
    const metrics = countedMetrics();
    const env = testEnv({ metrics });
    const row = plannedRow(fakeSource(PAGES), sink.definition, { dlq: dlqPlan(dead.definition) });
    const { invocations, status } = await run(planOf([row]), { env });
    expect(status).toBe('completed');
    expect(invocations[0]?.balance).toMatchObject({
      read: 6,
      transformed: 6,
      written: 3,
      dead_lettered: 3,
    });
    expect(sink.records).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    expect(dead.records).toMatchObject([
      {
        error: { kind: 'Source', message: 'line 3 of f is not JSON' },
        reason: 'parse',
        payload: '{"id": 1',
        record_index: 1,
        record_number: 2,
        position: { input: 'f', line: 3, byte: 10, page: 1 },
      },
      { record_index: 0, record_number: 4, position: { line: 2, byte: 0, page: 2 } },
      { record_index: 1, record_number: 5, position: { line: 3, page: 2 } },
    ]);
    expect(metrics.of('svc_source_records_total')).toEqual({ '{test,row-0,fake}': 6 });
    expect(metrics.of('svc_sink_dlq_pages_total')).toEqual({
      '{test,row-0,fake,fakedlq,parse}': 2,
    });
    expect(metrics.of('svc_sink_dlq_errors_total')).toEqual({
      '{test,row-0,fake,fakedlq,Source}': 3,
    });
    const told = env.lines.filter(({ line }) => line.includes('cannot be read'));
    expect(told.map(({ line }) => line)).toEqual([
      expect.stringContaining('line 3 of f is not JSON'),
    ]);
  });

  it('are durable before the bookmark behind them is stored', async () => {
    const trace: Trace = [];
    const row = plannedRow(fakeSource(PAGES), fakeSink({ trace }).definition, {
      dlq: dlqPlan(fakeSink({ name: 'dlq', trace }).definition),
      state: part(fakeState(new Map(), trace)),
    });
    await run(planOf([row]));
    expect(trace.slice(0, 9)).toEqual([
      'write 2',
      'dlq write 1',
      'flush',
      'dlq flush',
      'put 1',
      'dlq write 2',
      'flush',
      'dlq flush',
      'put 2',
    ]);
  });

  it('are not put aside twice by a run that goes on after another one', async () => {
    const dead = fakeSink({ name: 'dlq' });
    const values = new Map<string, JsonValue>();
    const rowWith = (pages: readonly FakePage[], failAfter?: Error) =>
      plannedRow(
        fakeSource(pages, {
          positional: true,
          ...(failAfter === undefined ? {} : { failAfter }),
        }),
        fakeSink().definition,
        { dlq: dlqPlan(dead.definition), state: part(fakeState(values)) },
      );
    expect((await run(planOf([rowWith(PAGES.slice(0, 1), connectionLost())]))).status).toBe(
      'failed',
    );
    expect((await run(planOf([rowWith(PAGES)]))).status).toBe('completed');
    expect(dead.records).toHaveLength(3);
  });

  it('count to the budgets of the queue, and the page that trips one is committed', async () => {
    const values = new Map<string, JsonValue>();
    const dead = fakeSink({ name: 'dlq' });
    const row = plannedRow(fakeSource(PAGES), fakeSink().definition, {
      dlq: dlqPlan(dead.definition, { maxFailuresPerPage: 1 }),
      state: part(fakeState(values)),
    });
    const { error } = await run(planOf([row]));
    expect(error).toMatchObject({ code: 'dlq_budget_exceeded' });
    expect(dead.records).toHaveLength(3);
    expect(values.get('test::row-0')).toBe(2);
  });

  it('are not asked for where there is no queue', async () => {
    const sink = fakeSink();
    const { invocations } = await run(planOf([plannedRow(fakeSource(PAGES), sink.definition)]));
    expect(invocations[0]?.balance).toMatchObject({ read: 3, written: 3, dead_lettered: 0 });
  });

  it('count when other records of the page are named', async () => {
    const dead = fakeSink({ name: 'dlq' });
    const contract = contractSchema.parse({
      version: '1',
      on_breach: 'quarantine',
      fields: [{ name: 'id', type: 'integer', max: 1 }],
    });
    const row = plannedRow(fakeSource(PAGES), fakeSink().definition, {
      dlq: dlqPlan(dead.definition),
      blocks: { contract },
    });
    await run(planOf([row]));
    expect(
      dead.records.map((letter) => {
        const { reason, record_number: number } = letter as Record<string, unknown>;
        return [reason, number];
      }),
    ).toEqual([
      ['parse', 2],
      ['contract', 3],
      ['parse', 4],
      ['parse', 5],
      ['contract', 6],
    ]);
    const failing = plannedRow(
      fakeSource([{ records: [{ id: 1 }, { id: 'x' }], rejected: [broken(0), broken(2)] }]),
      fakeSink().definition,
      {
        dlq: dlqPlan(dead.definition),
        transforms: [part(cast, { fields: { id: 'int' }, on_error: 'error' })],
      },
    );
    const { invocations } = await run(planOf([failing]));
    expect(invocations[0]?.error?.message).toContain('record 4 of the source');
  });

  it('show nothing of what masking hides', async () => {
    const dead = fakeSink({ name: 'dlq' });
    const masking = maskingSchema.parse({
      rules: [{ match: { fields: ['mail'] }, action: { type: 'redact' } }],
    });
    const rejected = [
      { ...broken(0, '{"mail":"a@b.c"'), base64: 'eyJtYWlsIjoiYUBiLmMi' },
      broken(1, { mail: 'a@b.c', n: 'many' }),
    ];
    const row = plannedRow(fakeSource([{ records: [], rejected }]), fakeSink().definition, {
      dlq: dlqPlan(dead.definition),
      blocks: { masking },
    });
    await run(planOf([row]));
    expect(dead.records).toMatchObject([
      { payload: '***', position: { input: 'f', line: 2 } },
      { payload: { mail: '***', n: 'many' } },
    ]);
    expect(JSON.stringify(dead.records)).not.toMatch(/a@b|payload_base64/);
  });
});
