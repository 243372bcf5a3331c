import { defineMetric, type MetricDefinition, type Metrics } from '../../lib/metrics/metrics.ts';

const NODE = ['pipeline', 'node'] as const;
const counter = (name: string, help: string, labels: readonly string[] = NODE): MetricDefinition =>
  defineMetric({ name, type: 'counter', help, labels });

export const teeRecords = counter(
  'svc_tee_records_total',
  'Records a tee handed on, over all its edges.',
);
export const mergeRecords = counter('svc_merge_records_total', 'Records a merge handed on.');
export const joinBuildRecords = counter(
  'svc_join_build_records_total',
  'Records of the build side.',
);
export const joinProbeRecords = counter(
  'svc_join_probe_records_total',
  'Records of the probe side.',
);
export const joinDuplicates = counter(
  'svc_join_duplicates_total',
  'Build records whose key another one had before.',
);
export const joinBuildNulls = counter('svc_join_build_nulls_total', 'Build records without a key.');
export const joinProjectMisses = counter(
  'svc_join_project_misses_total',
  'Projected values that the match did not have.',
);
export const joinMatches = counter('svc_join_matches_total', 'Probe records with a match.', [
  ...NODE,
  'kind',
]);
export const joinMisses = counter('svc_join_misses_total', 'Probe records without a match.', [
  ...NODE,
  'kind',
]);
export const joinBuildDuration = defineMetric({
  name: 'svc_join_build_duration_seconds',
  type: 'histogram',
  help: 'Time until the build side was read.',
  labels: NODE,
});

/** For sink nodes: what they read was counted where it came from. */
export function withoutSourceSeries(metrics: Metrics): Metrics {
  const isSource = ({ name }: MetricDefinition): boolean => name.startsWith('svc_source_');
  return {
    inc: (metric, labels, value) => isSource(metric) || metrics.inc(metric, labels, value),
    set: (metric, labels, value) => isSource(metric) || metrics.set(metric, labels, value),
    observe: (metric, labels, value) => isSource(metric) || metrics.observe(metric, labels, value),
  };
}
