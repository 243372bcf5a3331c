import { describe, expect, it } from 'vitest';
import { defineMetric } from './metrics.ts';
import { createRegistry } from './prometheus.ts';

const HITS = defineMetric({ name: 'svc_hits_total', type: 'counter', help: 'Hits.', labels: [] });
const DEPTH = defineMetric({ name: 'svc_depth', type: 'gauge', help: 'Depth.', labels: ['queue'] });
const TIME = defineMetric({ name: 'svc_time_seconds', type: 'histogram', help: 'Time.', labels: [], buckets: [1, 2] });

async function shown(registry: ReturnType<typeof createRegistry>): Promise<string[]> {
  return (await registry.render()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
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

  it('takes changes measured elsewhere, of metrics it knows or is told about', async () => {
    const registry = createRegistry([HITS]);
    registry.apply([
      { metric: 'svc_hits_total', op: 'inc', labels: {}, value: 2 },
      { metric: 'svc_depth', op: 'set', labels: { queue: 'a' }, value: 9 },
    ]);
    expect(await shown(registry)).toEqual(['svc_hits_total 2']);
    registry.apply([{ metric: 'svc_depth', op: 'set', labels: { queue: 'a' }, value: 9 }], [DEPTH]);
    expect(await shown(registry)).toEqual(['svc_hits_total 2', 'svc_depth{queue="a"} 9']);
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
