/** What a server of a cluster measures. */
import { defineMetric } from '../../lib/metrics/metrics.ts';

export const clusterEnabled = defineMetric({
  name: 'svc_serve_cluster_enabled',
  type: 'gauge',
  help: '1 when this server shares its queue with others.',
  labels: [],
});
export const clusterInstances = defineMetric({
  name: 'svc_serve_cluster_instances',
  type: 'gauge',
  help: 'Servers of the cluster that live, this one included.',
  labels: [],
});
export const runsClaimed = defineMetric({
  name: 'svc_serve_runs_claimed_total',
  type: 'counter',
  help: 'Runs that this server took from the common queue.',
  labels: [],
});
export const runsReclaimed = defineMetric({
  name: 'svc_serve_runs_reclaimed_total',
  type: 'counter',
  help: 'Runs of servers that were lost, as this server decided: `requeued`, or `failed` after the last attempt.',
  labels: ['outcome'],
});

export const shardsExecuting = defineMetric({
  name: 'svc_serve_shards',
  type: 'gauge',
  help: 'Shards of runs that this server executes, as of its last heartbeat.',
  labels: [],
});
export const shardsClaimed = defineMetric({
  name: 'svc_serve_shards_claimed_total',
  type: 'counter',
  help: 'Shards of runs that this server took.',
  labels: [],
});
export const shardsReclaimed = defineMetric({
  name: 'svc_serve_shards_reclaimed_total',
  type: 'counter',
  help: 'Shards of servers that were lost, as this server decided: `requeued`, or `failed` after the last attempt.',
  labels: ['outcome'],
});

export const CLUSTER_METRICS = [
  clusterEnabled,
  clusterInstances,
  runsClaimed,
  runsReclaimed,
  shardsExecuting,
  shardsClaimed,
  shardsReclaimed,
];
