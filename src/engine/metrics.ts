import { defineMetric } from '../lib/metrics/metrics.ts';

/** The pipeline series; `connector` is the part's type. A run id is never a label. */
const ROW = ['pipeline', 'row'] as const;
const PART = ['pipeline', 'row', 'connector'] as const;

export const pipelineRuns = defineMetric({
  name: 'svc_pipeline_runs_total',
  type: 'counter',
  help: 'Invocations that ended, by status and error kind.',
  labels: [...ROW, 'status', 'kind'],
});
export const pipelineDuration = defineMetric({
  name: 'svc_pipeline_run_duration_seconds',
  type: 'histogram',
  help: 'Wall time of an invocation.',
  labels: ROW,
});
export const pipelineInFlight = defineMetric({
  name: 'svc_pipeline_in_flight',
  type: 'gauge',
  help: 'Invocations executing now.',
  labels: ROW,
});
export const pipelineStart = defineMetric({
  name: 'svc_pipeline_start_time_unix_seconds',
  type: 'gauge',
  help: 'When the last invocation started.',
  labels: ROW,
});
export const lastBookmark = defineMetric({
  name: 'svc_pipeline_last_bookmark_unix_seconds',
  type: 'gauge',
  help: 'The last stored bookmark, when it is an RFC 3339 time.',
  labels: ROW,
});
export const sinceBookmark = defineMetric({
  name: 'svc_pipeline_seconds_since_last_bookmark',
  type: 'gauge',
  help: 'Age of the last stored bookmark when it was stored.',
  labels: ROW,
});

export const sourceRecords = defineMetric({
  name: 'svc_source_records_total',
  type: 'counter',
  help: 'Records read.',
  labels: PART,
});
export const sourcePages = defineMetric({
  name: 'svc_source_pages_total',
  type: 'counter',
  help: 'Pages read.',
  labels: PART,
});
export const sourceErrors = defineMetric({
  name: 'svc_source_errors_total',
  type: 'counter',
  help: 'Failed reads.',
  labels: [...PART, 'kind'],
});
export const sourcePageDuration = defineMetric({
  name: 'svc_source_page_duration_seconds',
  type: 'histogram',
  help: 'Time the engine waited for a page.',
  labels: PART,
});
export const sourceLagRecords = defineMetric({
  name: 'svc_source_lag_records',
  type: 'gauge',
  help: 'Records that wait at the other side of a source that does not end.',
  labels: PART,
});
export const sourceLagSeconds = defineMetric({
  name: 'svc_source_lag_seconds',
  type: 'gauge',
  help: 'Age of the oldest record that waits at the other side of a source that does not end.',
  labels: PART,
});
export const sourceInFlight = defineMetric({
  name: 'svc_source_in_flight',
  type: 'gauge',
  help: 'Open sources.',
  labels: PART,
});

export const sinkRecords = defineMetric({
  name: 'svc_sink_records_total',
  type: 'counter',
  help: 'Records taken by the sink.',
  labels: PART,
});
export const sinkWrites = defineMetric({
  name: 'svc_sink_writes_total',
  type: 'counter',
  help: 'Write calls.',
  labels: PART,
});
export const sinkErrors = defineMetric({
  name: 'svc_sink_errors_total',
  type: 'counter',
  help: 'Failed writes and rejected records.',
  labels: [...PART, 'kind'],
});
export const sinkWriteDuration = defineMetric({
  name: 'svc_sink_write_duration_seconds',
  type: 'histogram',
  help: 'Time of a write call.',
  labels: PART,
});
export const sinkFlushDuration = defineMetric({
  name: 'svc_sink_flush_duration_seconds',
  type: 'histogram',
  help: 'Time of a flush.',
  labels: PART,
});
export const sinkInFlight = defineMetric({
  name: 'svc_sink_in_flight',
  type: 'gauge',
  help: 'Open sinks.',
  labels: PART,
});

export const transformIn = defineMetric({
  name: 'svc_transform_records_in_total',
  type: 'counter',
  help: 'Records entering the transforms.',
  labels: ROW,
});
export const transformOut = defineMetric({
  name: 'svc_transform_records_out_total',
  type: 'counter',
  help: 'Records leaving the transforms.',
  labels: ROW,
});
export const transformErrors = defineMetric({
  name: 'svc_transform_errors_total',
  type: 'counter',
  help: 'Failed transforms.',
  labels: ROW,
});
export const transformDuration = defineMetric({
  name: 'svc_transform_duration_seconds',
  type: 'histogram',
  help: 'Time of the whole chain for one page.',
  labels: ROW,
});

const DLQ = [...PART, 'dlq_connector'] as const;
export const dlqRecords = defineMetric({
  name: 'svc_sink_dlq_records_total',
  type: 'counter',
  help: 'Records sent to the dead-letter queue.',
  labels: DLQ,
});
export const dlqPages = defineMetric({
  name: 'svc_sink_dlq_pages_total',
  type: 'counter',
  help: 'Pages with dead letters, by their main reason.',
  labels: [...DLQ, 'reason'],
});
export const dlqErrors = defineMetric({
  name: 'svc_sink_dlq_errors_total',
  type: 'counter',
  help: 'Dead letters by error kind.',
  labels: [...DLQ, 'kind'],
});
export const dlqWriteDuration = defineMetric({
  name: 'svc_sink_dlq_write_duration_seconds',
  type: 'histogram',
  help: 'Time of a dead-letter write.',
  labels: DLQ,
});
export const dlqFlushDuration = defineMetric({
  name: 'svc_sink_dlq_flush_duration_seconds',
  type: 'histogram',
  help: 'Time of a dead-letter flush.',
  labels: DLQ,
});
export const dlqBudgetExceeded = defineMetric({
  name: 'svc_sink_dlq_budget_exceeded_total',
  type: 'counter',
  help: 'Runs ended by a dead-letter budget.',
  labels: [...PART, 'scope'],
});

export const stateGets = defineMetric({
  name: 'svc_state_get_total',
  type: 'counter',
  help: 'Bookmark look-ups.',
  labels: [...ROW, 'outcome'],
});
export const statePuts = defineMetric({
  name: 'svc_state_put_total',
  type: 'counter',
  help: 'Bookmarks stored.',
  labels: ROW,
});
export const stateDeletes = defineMetric({
  name: 'svc_state_delete_total',
  type: 'counter',
  help: 'Bookmarks and notes of rollbacks that were removed.',
  labels: ROW,
});
export const stateErrors = defineMetric({
  name: 'svc_state_errors_total',
  type: 'counter',
  help: 'Failed state operations.',
  labels: [...ROW, 'op', 'kind'],
});
export const stateGetDuration = defineMetric({
  name: 'svc_state_get_duration_seconds',
  type: 'histogram',
  help: 'Time of a bookmark look-up.',
  labels: ROW,
});
export const statePutDuration = defineMetric({
  name: 'svc_state_put_duration_seconds',
  type: 'histogram',
  help: 'Time of storing a bookmark.',
  labels: ROW,
});
export const stateDeleteDuration = defineMetric({
  name: 'svc_state_delete_duration_seconds',
  type: 'histogram',
  help: 'Time of removing one.',
  labels: ROW,
});

export const retries = defineMetric({
  name: 'svc_resilience_retries_total',
  type: 'counter',
  help: 'Repeated operations.',
  labels: [...ROW, 'op', 'class'],
});
export const giveups = defineMetric({
  name: 'svc_resilience_giveup_total',
  type: 'counter',
  help: 'Operations given up after the last try.',
  labels: [...ROW, 'op'],
});
export const retrySleep = defineMetric({
  name: 'svc_resilience_retry_sleep_seconds',
  type: 'histogram',
  help: 'Waits between tries.',
  labels: [...ROW, 'op'],
});
