/** What log, metrics and outcome say of an invocation. */
import { laneName } from '../../kit/page.ts';
import type { WrittenFile } from '../../lib/files/written-file.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import {
  failureFacts,
  type InvocationOutcome,
  type OutcomeError,
  type SlaViolation,
} from '../../wire/outcome.ts';
import { outcomeErrorOf, withoutOverflow } from '../failure.ts';
import * as metrics from '../metrics.ts';
import { canonicalUri } from '../observe/canonical-uri.ts';
import { datasetOf } from '../observe/datasets.ts';
import { documentPlaceOf } from './document-place.ts';
import type { ObservedRow } from '../observe/observer.ts';
import type { InvocationRequest } from './request.ts';
import type { Tally } from './tally.ts';

/** What opening, moving and finishing came to. */
export interface Attempt {
  readonly tally: Tally;
  /** The last bookmark stored. */
  readonly stored: JsonValue | undefined;
  readonly outputs: readonly WrittenFile[];
  readonly failure: unknown;
  readonly cancelled: boolean;
}

export interface EndedAttempt extends Attempt {
  readonly durationMs: number;
  readonly violations: readonly SlaViolation[];
}

export function reportStart(request: InvocationRequest, { startedAt }: ObservedRow): void {
  const { env, row, plan, iteration } = request;
  const labels = { pipeline: plan.name, row: row.id };
  env.metrics.inc(metrics.pipelineInFlight, labels);
  env.metrics.set(metrics.pipelineStart, labels, startedAt.getTime() / 1000);
  env.log.at('headgate::engine').info('row started', {
    row: row.id,
    source: row.source.type,
    sink: row.sink.type,
    lane: laneName(row.lane.lane),
    key: iteration.key ?? undefined,
    chunk: iteration.chunk,
    shard: iteration.shard?.id,
  });
}

export function reportEnd(
  request: InvocationRequest,
  { startedAt, name }: ObservedRow,
  ended: EndedAttempt,
): InvocationOutcome {
  const { env, row, plan, iteration, invocationId } = request;
  const { tally, outputs, failure, cancelled, durationMs, violations } = ended;
  const error =
    failure === undefined
      ? null
      : {
          ...outcomeErrorOf(failure, env.redactor),
          ...documentPlaceOf(withoutOverflow(failure), row, plan),
        };
  const status = error !== null ? 'failed' : cancelled ? 'cancelled' : 'completed';
  countEnd(request, durationMs, error?.kind);
  logEnd(request, ended, { status, error });
  return {
    invocation_id: invocationId,
    row_id: name,
    parent_record_key: iteration.key,
    source: row.source.type,
    sink: row.sink.type,
    status,
    balance: tally.balance(),
    ...(tally.withheld === 0 ? {} : { withheld_by: tally.withheldBy }),
    ...(tally.breaches === 0 ? {} : { contract_breaches: tally.breaches }),
    bytes_read: tally.bytes,
    pages: tally.pages,
    lane: tally.lanes.size === 0 ? laneName(row.lane.lane) : [...tally.lanes].join('+'),
    error,
    started_at: startedAt.toISOString(),
    finished_at: env.clock.now().toISOString(),
    duration_ms: durationMs,
    ...(ended.stored === undefined ? {} : { bookmark: ended.stored }),
    ...(outputs.length === 0
      ? {}
      : { outputs: { dataset_uri: sinkUriOf(request), files: outputs } }),
    ...(tally.unknownFields.size === 0
      ? {}
      : {
          dropped_fields: [...tally.unknownFields].map(([field, records]) => ({ field, records })),
        }),
    ...(tally.roundedFields.size === 0
      ? {}
      : {
          rounded_fields: [...tally.roundedFields].map(([field, records]) => ({ field, records })),
        }),
    ...(violations.length === 0 ? {} : { sla_violations: violations }),
  };
}

function countEnd(
  { env, row, plan }: InvocationRequest,
  durationMs: number,
  kind: string | undefined,
): void {
  const labels = { pipeline: plan.name, row: row.id };
  const result = { status: kind === undefined ? 'ok' : 'err', kind: kind ?? '' };
  env.metrics.inc(metrics.pipelineInFlight, labels, -1);
  env.metrics.inc(metrics.pipelineRuns, { ...labels, ...result });
  env.metrics.observe(metrics.pipelineDuration, labels, durationMs / 1000);
}

function logEnd(
  { env, row, hasReceipt }: InvocationRequest,
  { tally, failure, durationMs }: EndedAttempt,
  { status, error }: { readonly status: string; readonly error: OutcomeError | null },
): void {
  const log = env.log.at('headgate::engine');
  if (error?.kind === 'Panic' && failure instanceof Error)
    log.error('unexpected failure', { row: row.id, stack: failure.stack });
  const { read, written, filtered, dead_lettered } = tally.balance();
  const facts = {
    row: row.id,
    read,
    written,
    filtered,
    dead_lettered,
    ...withheldFacts(tally),
    duration_ms: durationMs,
  };
  if (error === null) log.info(`row ${status}`, facts);
  else
    log.error('row failed', {
      ...facts,
      ...failureFacts(error, hasReceipt),
    });
}

/** `withheld_limit=3`, for each reason there was. */
function withheldFacts(tally: Tally): Record<string, number> {
  const facts = Object.entries(tally.withheldBy).map(
    ([reason, count]) => [`withheld_${reason}`, count] as const,
  );
  return {
    ...Object.fromEntries(facts),
    ...(tally.breaches > 0 ? { contract_breaches: tally.breaches } : {}),
  };
}

export function sinkUriOf({ env, plan, row, tokens }: InvocationRequest): string {
  return canonicalUri(datasetOf(row.id, row.sink, { plan, tokens, env }), tokens) ?? '';
}
