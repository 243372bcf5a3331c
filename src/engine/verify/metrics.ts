import { defineMetric, type Metrics } from '../../lib/metrics/metrics.ts';
import type { Compared } from './comparison.ts';

const ROW = ['pipeline', 'row'] as const;
const verifyRuns = defineMetric({
  name: 'svc_verify_runs_total',
  type: 'counter',
  help: 'Comparisons of a destination with its source, by outcome: equal or different.',
  labels: [...ROW, 'outcome'],
});
const verifyRanges = defineMetric({
  name: 'svc_verify_ranges_total',
  type: 'counter',
  help: 'Key ranges whose digests were compared, by outcome: equal or different.',
  labels: [...ROW, 'outcome'],
});
const verifyDifferences = defineMetric({
  name: 'svc_verify_differences_total',
  type: 'counter',
  help: 'Keys that differ, by kind.',
  labels: [...ROW, 'kind'],
});
const verifyDuration = defineMetric({
  name: 'svc_verify_duration_seconds',
  type: 'histogram',
  help: 'How long comparisons took, repairs among them.',
  labels: ROW,
});

export function countVerification(
  metrics: Metrics,
  labels: { readonly pipeline: string; readonly row: string },
  { found, ranges_compared: ranges, ranges_differing: differing }: Compared,
  seconds: number,
): void {
  metrics.inc(verifyRuns, { ...labels, outcome: found.length === 0 ? 'equal' : 'different' });
  if (ranges > differing)
    metrics.inc(verifyRanges, { ...labels, outcome: 'equal' }, ranges - differing);
  if (differing > 0) metrics.inc(verifyRanges, { ...labels, outcome: 'different' }, differing);
  for (const { difference } of found)
    metrics.inc(verifyDifferences, { ...labels, kind: difference.kind });
  metrics.observe(verifyDuration, labels, seconds);
}
