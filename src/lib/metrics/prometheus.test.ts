import { describe, expect, it } from 'vitest';
import { defineMetric } from './metrics.ts';
import { createRegistry } from './prometheus.ts';

const HITS = defineMetric({ name: 'svc_hits_total', type: 'counter', help: 'Hits.', labels: [] });
const DEPTH = defineMetric({ name: 'svc_depth', type: 'gauge', help: 'Depth.', labels: ['queue'] });
const RUNS = defineMetric({
  name: 'svc_runs_total',
  type: 'counter',
  help: 'Runs.',
  labels: ['pipeline', 'row'],
});
const TIME = defineMetric({
  name: 'svc_time_seconds',
  type: 'histogram',
  help: 'Time.',
  labels: [],
  buckets: [1, 2],
});

async function shown(registry: ReturnType<typeof createRegistry>): Promise<string[]> {
  return (await registry.render())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

describe('metric registry', () => {
  it('shows listed metrics from the start and others from their first use', async () => {
    const registry = createRegistry([HITS]);
    expect(await shown(registry)).toEqual(['svc_hits_total 0']);
    registry.metrics.set(DEPTH, { queue: 'a' }, 4);
    registry.metrics.inc(DEPTH, { queue: 'a' });
    expect(await shown(registry)).toEqual(['svc_hits_total 0', 'svc_depth{queue="a"} 5']);
    expect(await registry.render()).toContain('# HELP svc_depth Depth.\n# TYPE svc_depth gauge');
  });

  it('uses the buckets of the definition', async () => {
    const registry = createRegistry([]);
    registry.metrics.observe(TIME, {}, 1.5);
    expect(await shown(registry)).toEqual([
      'svc_time_seconds_bucket{le="1"} 0',
      'svc_time_seconds_bucket{le="2"} 1',
      'svc_time_seconds_bucket{le="+Inf"} 1',
      'svc_time_seconds_sum 1.5',
      'svc_time_seconds_count 1',
    ]);
  });

  it('takes changes measured elsewhere, of metrics it knows or is given', async () => {
    const registry = createRegistry([HITS]);
    registry.apply([
      { metric: 'svc_hits_total', op: 'inc', labels: {}, value: 2 },
      { metric: 'svc_depth', op: 'set', labels: { queue: 'a' }, value: 9 },
    ]);
    expect(await shown(registry)).toEqual(['svc_hits_total 2']);
    registry.apply([{ metric: 'svc_depth', op: 'set', labels: { queue: 'a' }, value: 9 }], [DEPTH]);
    expect(await shown(registry)).toEqual(['svc_hits_total 2', 'svc_depth{queue="a"} 9']);
  });

  it('keeps series for so many values of a label as it is told, the latest', async () => {
    const TOOK = defineMetric({
      name: 'svc_took_seconds',
      type: 'histogram',
      help: 'Time.',
      labels: ['pipeline'],
      buckets: [1],
    });
    const registry = createRegistry([HITS], { bounds: [{ label: 'pipeline', values: 10 }] });
    const measure = (pipeline: string): void =>
      registry.apply(
        [
          { metric: 'svc_hits_total', op: 'inc', labels: {}, value: 1 },
          { metric: 'svc_runs_total', op: 'inc', labels: { pipeline, row: 'a' }, value: 1 },
          { metric: 'svc_runs_total', op: 'inc', labels: { pipeline, row: 'b' }, value: 1 },
          { metric: 'svc_took_seconds', op: 'observe', labels: { pipeline }, value: 2 },
        ],
        [RUNS, TOOK],
      );
    for (let index = 0; index < 10; index += 1) measure(`p${index}`);
    expect(await shown(registry)).toHaveLength(1 + 10 * (2 + 4));
    measure('p0');
    measure('p10');
    const left = await shown(registry);
    // Nine tenths are left, so that not every new name has them looked through.
    expect(left).toHaveLength(1 + 9 * (2 + 4));
    expect(left).toContain('svc_hits_total 12');
    expect(left).toContain('svc_runs_total{pipeline="p0",row="b"} 2');
    expect(left.filter((line) => /"p[12]"/.test(line))).toEqual([]);
  });

  it('forgets the series of values that were not measured for too long, wherever they came from', async () => {
    let now = 0;
    const registry = createRegistry([RUNS], {
      bounds: [{ label: 'pipeline', values: 10, idleMs: 1000 }],
      elapsedMs: () => now,
    });
    registry.metrics.inc(RUNS, { pipeline: 'old', row: 'a' });
    now = 600;
    registry.metrics.inc(RUNS, { pipeline: 'new', row: 'a' });
    now = 1500;
    expect(await shown(registry)).toEqual(['svc_runs_total{pipeline="new",row="a"} 1']);
  });

  it('forgets the series of a value that it is told, and counts it anew', async () => {
    const registry = createRegistry([RUNS]);
    for (const pipeline of ['gone', 'kept']) registry.metrics.inc(RUNS, { pipeline, row: 'a' }, 5);
    registry.forget('pipeline', ['gone', 'never seen']);
    expect(await shown(registry)).toEqual(['svc_runs_total{pipeline="kept",row="a"} 5']);
    registry.metrics.inc(RUNS, { pipeline: 'gone', row: 'a' });
    expect(await shown(registry)).toContain('svc_runs_total{pipeline="gone",row="a"} 1');
  });

  it('bounds each label on its own, and values in their length', async () => {
    const registry = createRegistry([RUNS], {
      bounds: [
        { label: 'pipeline', values: 10 },
        { label: 'row', values: 3 },
      ],
    });
    for (const row of ['a', 'b', 'c', 'd', 'e'])
      registry.metrics.inc(RUNS, { pipeline: 'one', row });
    expect((await shown(registry)).length).toBeLessThan(5);
    registry.metrics.inc(RUNS, { pipeline: 'n'.repeat(900_000), row: 'x' });
    expect((await shown(registry)).join('').length).toBeLessThan(2000);
  });

  it('drops a measurement that does not fit instead of failing', async () => {
    const registry = createRegistry([HITS]);
    registry.metrics.inc(HITS, { unknown: 'label' });
    registry.metrics.inc(HITS, {}, -1);
    registry.metrics.inc(HITS, {}, Number.NaN);
    registry.metrics.observe(HITS, {}, 1);
    registry.metrics.set(HITS, {}, 1);
    expect(await shown(registry)).toEqual(['svc_hits_total 0']);
  });
});
