/** One invocation of a fan-out row, and its outcome: like any other, but nothing is written. */
import type { JsonValue } from '../../lib/text/json.ts';
import type { FanOutPlan } from '../../plan/plan.ts';
import { failureFacts, type InvocationOutcome } from '../../wire/outcome.ts';
import { outcomeErrorOf } from '../failure.ts';
import * as metrics from '../metrics.ts';
import { PAGE_BYTES, partContext } from '../row/parts.ts';
import type { InvocationRequest } from '../row/request.ts';
import { Tally } from '../row/tally.ts';
import { listValues } from './list-values.ts';
import { listedMaskOf } from './mask-listed.ts';

interface FanOutOptions extends Pick<
  InvocationRequest,
  | 'env'
  | 'plan'
  | 'invocationId'
  | 'credentials'
  | 'tokens'
  | 'iteration'
  | 'stop'
  | 'kill'
  | 'hasReceipt'
> {
  readonly row: FanOutPlan;
}

export interface Listed {
  readonly outcome: InvocationOutcome;
  readonly values: readonly JsonValue[];
}

/** Never throws: whatever happens is in the outcome. */
export async function runFanOut(options: FanOutOptions): Promise<Listed> {
  const { env, row, plan, iteration, tokens, stop, hasReceipt } = options;
  const log = env.log.at('headgate::engine');
  const startedAt = env.clock.now();
  const from = env.clock.elapsedMs();
  const tally = new Tally();
  let values: readonly JsonValue[] = [];
  let failure: unknown;
  log.info('fan-out row started', {
    row: row.id,
    source: row.source.type,
    key: iteration.key ?? undefined,
  });
  try {
    const signal = AbortSignal.any([stop, options.kill]);
    const retry = row.retry === undefined ? {} : { retry: row.retry };
    const context = {
      ...partContext(options),
      ...retry,
      signal,
      records: tokens.records,
      pageBytes: PAGE_BYTES,
    };
    values = await listValues(row, { context, tokens, tally, mask: listedMaskOf(row, plan) });
  } catch (error) {
    // A source may answer a stop with the reason of the stop.
    failure = stop.aborted && error === stop.reason ? undefined : error;
  }
  const durationMs = Math.round(env.clock.elapsedMs() - from);
  const error = failure === undefined ? null : outcomeErrorOf(failure, env.redactor);
  const status = error !== null ? 'failed' : stop.aborted ? 'cancelled' : 'completed';
  env.metrics.inc(metrics.pipelineRuns, {
    pipeline: plan.name,
    row: row.id,
    status: error === null ? 'ok' : 'err',
    kind: error?.kind ?? '',
  });
  const facts = { row: row.id, read: tally.read, values: values.length, duration_ms: durationMs };
  if (error === null) log.info(`fan-out row ${status}`, facts);
  else log.error('fan-out row failed', { ...facts, ...failureFacts(error, hasReceipt) });
  // What is null, missing or known already is filtered; the values themselves stay here.
  const balance = {
    ...tally.balance(),
    filtered: tally.read - values.length,
    transformed: values.length,
    withheld: values.length,
  };
  return {
    values,
    outcome: {
      invocation_id: options.invocationId,
      row_id: row.id,
      parent_record_key: iteration.key,
      source: row.source.type,
      sink: '',
      status,
      balance,
      bytes_read: tally.bytes,
      pages: tally.pages,
      lane: 'records',
      error,
      started_at: startedAt.toISOString(),
      finished_at: env.clock.now().toISOString(),
      duration_ms: durationMs,
    },
  };
}
