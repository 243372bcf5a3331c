import type { Placed } from '../../document/parse/read-blocks.ts';
import type { SinkDefinition } from '../../kit/sink.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { AssembledPart } from '../../plan/plan-part.ts';
import type { PlannedSink } from '../../plan/plan.ts';
import type { BlockTools } from '../define-block.ts';
import type { DlqSpec } from './schema.ts';

/** The dead-letter queue of a row. */
export interface DlqPlan {
  readonly sink: PlannedSink;
  readonly onBatchError: 'propagate' | 'dlq_all';
  readonly maxFailuresPerPage: number | undefined;
  readonly maxFailuresTotal: number | undefined;
}

export interface DlqOfRow {
  readonly dlq: DlqPlan | undefined;
}

/** The dead-letter queue of a row while it is assembled. */
export interface AssembledDlq {
  readonly dlq?:
    | {
        readonly spec: DlqSpec;
        readonly path: string;
        readonly sink: AssembledPart<SinkDefinition>;
      }
    | undefined;
}

export function assembleDlq(
  { path, value }: Placed<DlqSpec>,
  { assembleSink }: BlockTools,
): AssembledDlq {
  const { type, config = {} } = value.sink;
  const sink = assembleSink({
    path: joinPath(path, 'sink'),
    value: { type, config: appending(config) },
  });
  return { dlq: sink === undefined ? undefined : { spec: value, path, sink } };
}

/** A dead-letter queue always appends, whatever the config of its sink is. */
function appending(config: JsonObject): JsonObject {
  if (config['write_mode'] === undefined || config['write_mode'] === 'append') return config;
  const { write_mode: _mode, key: _key, delete_marker: _marker, ...rest } = config;
  return rest;
}

export function planDlq({ dlq }: AssembledDlq): DlqOfRow {
  if (dlq === undefined) return { dlq };
  const { spec, sink } = dlq;
  return {
    dlq: {
      sink: sink.plan,
      onBatchError: spec.on_batch_error,
      maxFailuresPerPage: spec.max_failures_per_page,
      maxFailuresTotal: spec.max_failures_total,
    },
  };
}
