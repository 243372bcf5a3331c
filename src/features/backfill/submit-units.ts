/**
 * `POST /v1/backfill`: submits one run for each window of a range, like every other run.
 */
import { parseText } from '../../document/parse/parse.ts';
import type { Env } from '../../lib/env.ts';
import { assert, ConfigError, RefusedError } from '../../lib/errors.ts';
import { stringifyJson, type JsonObject } from '../../lib/text/json.ts';
import { CLEAN_UP_HINT, SCOPING_HINT } from '../../blocks/backfill/rules.ts';
import type { Audit } from '../../runs/service/audit.ts';
import type { Prepare } from '../../runs/service/prepared.ts';
import type { PlanSummary, RangeSummary } from '../../wire/plan-summary.ts';
import type { Caller, Runs } from '../../runs/service/runs.ts';
import type { BackfillReceipt, BackfillRequest, BackfillUnitReceipt } from '../../wire/backfill.ts';
import { fillUnit } from './fill-unit.ts';
import { MANY_UNITS, planUnits, type BackfillUnit, type BackfillPlan } from './units.ts';

export interface BackfillOptions {
  readonly env: Pick<Env, 'log'>;
  readonly runs: Pick<Runs, 'submit'>;
  /** Keeps the tokens of backfills. */
  readonly prepare: Prepare;
  readonly audit: Pick<Audit, 'record'>;
}

export type SubmitBackfill = (request: BackfillRequest, caller: Caller) => Promise<BackfillReceipt>;

/** The name when neither the request nor the document has one. */
const UNNAMED = 'pipeline';

/** Rejects with `RefusedError`, or `ConfigError` of a stage that is a 400. */
export function createBackfill(options: BackfillOptions): SubmitBackfill {
  return async (request, caller) => {
    if (request.callback != null) {
      throw new RefusedError(
        'unprocessable',
        'a backfill takes no `callback`: each per-window unit of it is a run of its own',
        {
          hint: 'look at the runs of the units, or submit them as runs with a callback each',
        },
      );
    }
    const { summary, range: scope } = await prepareRange(request, options);
    const name = request.name ?? (summary.is_named ? summary.name : UNNAMED);
    const { window, timezone, from, to } = request;
    const range = {
      from,
      to,
      window: window ?? scope.window ?? undefined,
      timezone: timezone ?? scope.timezone ?? 'UTC',
    };
    const plan = planUnits(range, name);
    const count = plan.units.length;
    if (count > MANY_UNITS)
      options.env.log.warn('a backfill of very many units', { backfill: plan.hash, units: count });
    const { tree } = parseText(request.config, request.config_format, { kind: 'submitted' });
    const units = await submitAll({ request, name, tree, plan, caller }, options.runs);
    await options.audit.record({ ...actionOf(caller), config_fingerprint: plan.hash });
    const submitted = units.filter(({ status }) => status === 'submitted').length;
    return { backfill: plan.hash, descriptor: plan.descriptor, planned: count, submitted, units };
  };
}

/** Checks the document before any unit is submitted. */
async function prepareRange(
  request: BackfillRequest,
  { prepare }: BackfillOptions,
): Promise<{ readonly summary: PlanSummary; readonly range: RangeSummary }> {
  let summary: PlanSummary;
  try {
    summary = await prepare({
      config: request.config,
      config_format: request.config_format,
      name: request.name,
    });
  } catch (error) {
    throw error instanceof ConfigError
      ? new ConfigError(error.issues, { stage: 'parse', cause: error })
      : error;
  }
  const { range } = summary;
  assert(range !== undefined, 'a document that is prepared for a backfill has a range');
  if (range.clean_up_fault !== null)
    throw new RefusedError('bad_config', range.clean_up_fault, { hint: CLEAN_UP_HINT });
  const unscoped = range.unscoped_sources.map((id) => `\`${id}\``);
  if (unscoped.length === 0) return { summary, range };
  const message = `every window would read the same records: the source of ${unscoped.join(', ')} names no window`;
  throw new RefusedError('bad_config', message, { hint: SCOPING_HINT });
}

interface Submitting {
  readonly request: BackfillRequest;
  readonly name: string;
  /** As it was written. */
  readonly tree: JsonObject;
  readonly plan: BackfillPlan;
  readonly caller: Caller;
}

/**
 * Submits one after the other. When the queue is full, the remaining units are not submitted; any
 * other error fails the whole request.
 */
async function submitAll(
  submitting: Submitting,
  runs: BackfillOptions['runs'],
): Promise<BackfillUnitReceipt[]> {
  const receipts: BackfillUnitReceipt[] = [];
  let full: string | undefined;
  for (const unit of submitting.plan.units) {
    const { id, start, end } = unit;
    if (full === undefined) {
      try {
        // A unit of another range may have had the same name.
        const { run_id } = await runs.submit(submissionOf(unit, submitting), submitting.caller, {
          anew: true,
          measuredAs: submitting.name,
        });
        receipts.push({ unit: id, start, end, status: 'submitted', run_id });
        continue;
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        if (error.code === 'conflict') throw unitConflict(unit, submitting);
        if (error.code !== 'queue_full') throw error;
        full = `${error.message}; post the same request again later: what was submitted is not submitted twice`;
      }
    }
    receipts.push({ unit: id, start, end, status: 'not_submitted', error: full });
  }
  return receipts;
}

function submissionOf(
  unit: BackfillUnit,
  { request, name, tree, plan }: Submitting,
): Parameters<Runs['submit']>[0] {
  const { timezone, hash } = plan;
  return {
    config: stringifyJson(fillUnit(tree, { ...unit, timezone }, 'written')),
    config_format: 'json',
    name: `${name}-backfill-${unit.id}`,
    labels: { ...request.labels, backfill: hash, backfill_unit: unit.id },
    timeout_secs: request.timeout_secs,
    priority: request.priority,
    idempotency_key: `backfill:${hash}:${unit.id}`,
    clock: unit.start,
  };
}

function actionOf({ principal, role, sourceIp }: Caller) {
  const entry = { principal, role, action: 'backfill.submit', result: 'ok' };
  return sourceIp === undefined ? entry : { ...entry, source_ip: sourceIp };
}

/** The key of a unit is ours: nobody sent it. */
function unitConflict({ id }: BackfillUnit, { name }: Submitting): RefusedError {
  return new RefusedError(
    'conflict',
    `the window ${id} of \`${name}\` was submitted before, with another document or other settings`,
    { hint: 'give this backfill another `name`, or post the request as it was' },
  );
}
