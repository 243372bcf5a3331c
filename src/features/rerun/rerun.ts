/** Runs a run again: the same document over the same default document. */
import { RefusedError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { actionOf, type Audit } from '../../runs/service/audit.ts';
import type { Caller, How, Runs, SubmittedRun } from '../../runs/service/runs.ts';
import { isWithheld, withheldOf } from '../../runs/service/stored-submission.ts';
import type { RerunReceipt, RerunRequest } from '../../wire/rerun.ts';
import { isTerminal } from '../../wire/run-status.ts';
import type { Submission } from '../../wire/run.ts';
import type { StoredSubmissionContent } from '../../wire/submission.ts';

/** Label of a run that names the one that it runs again. */
export const RERUN_OF = 'rerun_of';

export interface RerunServices {
  readonly runs: Pick<Runs, 'submit' | 'submitted'>;
  readonly audit: Pick<Audit, 'record'>;
}

/**
 * Rejects with `RefusedError`: 404 for an unknown run, 409 for one that has not ended, 422 where
 * its document or a value that it was given is not stored; and as every submission does.
 */
export type Rerun = (runId: string, request: RerunRequest, caller: Caller) => Promise<RerunReceipt>;

export function createRerun({ runs, audit }: RerunServices): Rerun {
  return async (runId, request, caller) => {
    const run = await runs.submitted(runId);
    if (!isTerminal(run.record.status))
      throw new RefusedError(
        'conflict',
        'the run has not ended; only ended runs can be run again',
        {
          hint: 'wait for its end, or cancel it',
        },
      );
    const how = howOf(run, request);
    const receipt = await runs.submit(submissionOf(run, request), caller, how);
    await audit.record(actionOf(caller, 'run.rerun', runId));
    return { ...receipt, rerun_of: runId };
  };
}

function submissionOf(
  { record, content }: SubmittedRun,
  {
    clock,
    labels,
    timeout_secs,
    concurrency,
    priority,
    doctor_first,
    idempotency_key,
    callback,
  }: RerunRequest,
): Submission {
  return {
    config: content.config,
    config_format: content.config_format,
    name: content.name,
    labels: { ...record.labels, ...labels, [RERUN_OF]: record.run_id },
    timeout_secs: timeout_secs ?? content.timeout_secs,
    concurrency: concurrency ?? content.concurrency,
    priority: priority ?? record.priority,
    ...(clock === 'now' ? {} : { clock: clock === 'same' ? content.clock : clock }),
    doctor_first,
    idempotency_key,
    callback,
  };
}

function howOf({ content, base }: SubmittedRun, request: RerunRequest): How {
  const bound = boundOf(content, request);
  const isAnew = request.from == null ? content.reads_anew : request.from === 'start';
  return {
    base: base ?? null,
    ...(bound === undefined ? {} : { bound }),
    ...(content.zone === undefined ? {} : { zone: content.zone }),
    ...(isAnew ? { anew: true } : {}),
    ...(content.measured_as === null ? {} : { measuredAs: content.measured_as }),
  };
}

/** The values of the run with those of the request; all that was not stored has to be among these. */
function boundOf(content: StoredSubmissionContent, request: RerunRequest): How['bound'] {
  const params = (request.params ?? {}) as Readonly<Record<string, JsonValue>>;
  const env = request.env ?? {};
  requireWithheld(content, { params, env });
  const { bound } = content;
  if (bound === undefined && Object.keys({ ...params, ...env }).length === 0) return undefined;
  const stored = bound?.params ?? {};
  if (bound?.params_are_data === true) requirePlain(params);
  return {
    ...bound,
    params: { ...stored, ...params },
    env: { ...bound?.env, ...env },
    // What was stored before is no secret. Of other values nobody has said so.
    secretParams: Object.keys(params).filter((name) => !Object.hasOwn(stored, name)),
  };
}

/** What came with an event is text, whatever it holds; what a caller gives is held to the same as ever. */
function requirePlain(params: Readonly<Record<string, JsonValue>>): void {
  const isPlain = (value: JsonValue | undefined): boolean =>
    typeof value !== 'string' || !value.includes('${');
  const name = Object.keys(params).find((one) => !isPlain(params[one]));
  if (name !== undefined)
    throw new RefusedError(
      'bad_config',
      `the value of \`${name}\` holds \`\${\`: a supplied value is plain data`,
    );
}

function requireWithheld(
  content: StoredSubmissionContent,
  given: { readonly params: object; readonly env: object },
): void {
  if (!isWithheld(content)) return;
  const withheld = withheldOf(content);
  const missing = {
    params: withheld.params.filter((name) => !Object.hasOwn(given.params, name)),
    env: withheld.env.filter((name) => !Object.hasOwn(given.env, name)),
  };
  const names = [
    ...missing.params.map((name) => `param \`${name}\``),
    ...missing.env.map((name) => `variable \`${name}\``),
  ];
  const isAnyGiven = Object.keys({ ...given.params, ...given.env }).length > 0;
  if (names.length === 0 && (isAnyGiven || withheld.params.length + withheld.env.length > 0))
    return;
  const list = names.length === 0 ? 'its params and variables' : names.join(', ');
  throw new RefusedError(
    'unprocessable',
    `the run was given secret values, which are not stored: ${list}`,
    { hint: 'give them again as `params` and `env`', details: { missing } },
  );
}
