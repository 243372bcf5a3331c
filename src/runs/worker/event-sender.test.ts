import { describe, expect, it, vi } from 'vitest';
import { defineMetric } from '../../lib/metrics/metrics.ts';
import { EventSender } from './event-sender.ts';
import { createMetricRelay } from '../../lib/metrics/metric-relay.ts';
import type { Batch } from './protocol.ts';
import { FakeClock } from '../../../test/support/runs.ts';

const line = (n: number) => ({ ts: '2026-08-01T12:00:00.000Z', level: 'INFO', line: `line ${n}` });
const PROGRESS = {
  records_read: 1,
  records_written: 1,
  records_dead_lettered: 0,
  bytes_read: 1,
  row_id: 'r',
  invocations_done: 0,
};
const HITS = defineMetric({
  name: 'svc_hits_total',
  type: 'counter',
  help: 'Hits.',
  labels: ['a'],
});
const TIME = defineMetric({
  name: 'svc_time_seconds',
  type: 'histogram',
  help: 'Time.',
  labels: [],
});

const linesOf = (batch: Batch) =>
  batch.flatMap((event) => (event.kind === 'log' ? event.lines : []));

function sender(): { sender: EventSender; sent: Batch[]; awaited: boolean[] } {
  const sent: Batch[] = [];
  const awaited: boolean[] = [];
  const send = (batch: Batch, isAwaited: boolean): void => {
    sent.push(batch);
    awaited.push(isAwaited);
  };
  return {
    sender: new EventSender({ clock: new FakeClock(), relay: createMetricRelay(), send }),
    sent,
    awaited,
  };
}

describe('news of a run', () => {
  it('starts with its first line at once, then gathers, one batch on the way at a time', () => {
    vi.useFakeTimers();
    const { sender: made, sent, awaited } = sender();
    made.log(line(0));
    expect(sent.map((batch) => linesOf(batch).length)).toEqual([1]);
    made.log(line(1));
    made.event({ kind: 'progress', progress: PROGRESS });
    vi.advanceTimersByTime(49);
    expect(sent).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(sent.map((batch) => linesOf(batch).length)).toEqual([1, 1]);
    expect(sent[1]?.at(-1)).toEqual({ kind: 'progress', progress: PROGRESS });
    made.log(line(2));
    vi.advanceTimersByTime(1000);
    expect(sent).toHaveLength(2);
    made.acknowledged();
    made.log(line(3));
    vi.advanceTimersByTime(50);
    expect(sent.map((batch) => linesOf(batch).length)).toEqual([1, 1, 2]);
    expect(awaited).toEqual([false, true, true]);
    made.acknowledged();
    vi.advanceTimersByTime(1000);
    expect(sent).toHaveLength(3);
    vi.useRealTimers();
  });

  it('goes at once where it is no matter of counting: the process may die', () => {
    const { sender: made, sent, awaited } = sender();
    made.log(line(0));
    made.event({ kind: 'credentials' });
    expect(sent.at(-1)).toEqual([{ kind: 'credentials' }]);
    expect(awaited).toEqual([false, false]);
  });

  it('says what was moved with the end, which alone makes it count', () => {
    const { sender: made, sent } = sender();
    made.log(line(0));
    made.event({ kind: 'moved', movements: [] });
    made.log(line(1));
    expect(sent).toHaveLength(1);
    expect(made.end()).toEqual([
      { kind: 'log', lines: [line(1)] },
      { kind: 'moved', movements: [] },
    ]);
  });

  it('ends with everything that is left, though nobody acknowledged', () => {
    const { sender: made, sent } = sender();
    for (let n = 0; n < 2500; n += 1) made.log(line(n));
    const rest = made.end();
    expect(linesOf(rest)).not.toEqual([]);
    expect([...sent, rest].flatMap(linesOf).map((one) => one.line)).toEqual(
      Array.from({ length: 2500 }, (_, n) => `line ${n}`),
    );
  });

  it('is bounded: lines beyond what the server takes are counted and reported', () => {
    const { sender: made, sent } = sender();
    for (let n = 0; n < 20_011; n += 1) made.log(line(n));
    const rest = made.end();
    const lines = [...sent, rest].flatMap(linesOf);
    expect(lines).toHaveLength(20_002);
    expect(lines.at(-1)?.line).toContain(
      'log lines were lost because the server was busy lines=10',
    );
  });
});

describe('metric relay', () => {
  it('adds up sums, keeps the last gauge and every observation, and introduces each definition once', () => {
    const relay = createMetricRelay();
    relay.metrics.inc(HITS, { a: 'x' });
    relay.metrics.inc(HITS, { a: 'x' }, 4);
    relay.metrics.inc(HITS, { a: 'y' });
    relay.metrics.observe(TIME, {}, 1);
    relay.metrics.observe(TIME, {}, 2);
    expect(relay.take()).toEqual({
      changes: [
        { metric: 'svc_hits_total', op: 'inc', labels: { a: 'x' }, value: 5 },
        { metric: 'svc_hits_total', op: 'inc', labels: { a: 'y' }, value: 1 },
        { metric: 'svc_time_seconds', op: 'observe', labels: {}, value: 1 },
        { metric: 'svc_time_seconds', op: 'observe', labels: {}, value: 2 },
      ],
      definitions: [HITS, TIME],
    });
    relay.metrics.inc(HITS, { a: 'x' });
    expect(relay.take()).toEqual({
      changes: [{ metric: 'svc_hits_total', op: 'inc', labels: { a: 'x' }, value: 1 }],
      definitions: [],
    });
    expect(relay.take()).toEqual({ changes: [], definitions: [] });
  });
});
