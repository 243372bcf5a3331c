/** Rolls back one invocation of a recorded run. */
import { ConfigError, RefusedError } from '../../lib/errors.ts';
import type { RollbackReport, RollbackRequest } from '../../wire/rollback.ts';
import { isTerminal } from '../../wire/run-status.ts';
import type { RunRecord } from '../../wire/run.ts';
import { actionOf, type Audit } from '../../runs/service/audit.ts';
import type { Jobs } from '../../runs/service/jobs.ts';
import { refusalOf } from '../../runs/service/job-refusal.ts';
import { submittedDocument, type BaseDocument } from '../../runs/service/prepared.ts';
import { JobError } from '../../runs/worker/job-fault.ts';
import type { SubmittedDocument } from '../../wire/submission.ts';
import { rollbackJob } from './rollback-job.ts';
import type { Caller, Runs, SubmittedRun } from '../../runs/service/runs.ts';

export interface RollbackServices {
  readonly jobs: Jobs;
  readonly runs: Pick<Runs, 'get'>;
  readonly base?: () => BaseDocument | undefined;
  /** What a run was submitted as, where it need not be sent again. */
  readonly submitted?: (runId: string) => Promise<SubmittedRun>;
  readonly audit: Pick<Audit, 'record'>;
}

export interface RollbackCall {
  readonly runId: string;
  readonly request: RollbackRequest;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/**
 * Rejects with `RefusedError`: 404 for an unknown run, 409 when it has not ended, 422 when nothing
 * was recorded or the document is missing, 400 for an invalid request or document.
 */
export type Rollback = (call: RollbackCall) => Promise<RollbackReport>;

export function createRollback(services: RollbackServices): Rollback {
  const { jobs, runs, audit } = services;
  return async ({ runId, request, caller, signal }) => {
    const run = await runs.get(runId);
    const invocationId = invocationOf(run, request);
    const document = await documentOf(request, run, services);
    const { dry_run, force, row } = request;
    const report = await jobs
      .run(
        rollbackJob,
        {
          kind: 'rollback',
          document,
          invocation_id: invocationId,
          row: row ?? null,
          dry_run,
          force,
        },
        { signal },
      )
      .catch(refused);
    const result = dry_run ? 'dry_run' : report.blocked ? 'blocked' : 'ok';
    await audit.record({ ...actionOf(caller, 'run.rollback', runId), result });
    return report;
  };
}

function invocationOf(
  { status, invocations }: RunRecord,
  { invocation_id: wanted }: RollbackRequest,
): string {
  if (!isTerminal(status))
    throw new RefusedError('conflict', 'the run has not ended; only ended runs can be undone', {
      hint: 'cancel it first',
    });
  const ids = invocations.map((invocation) => invocation.run_id);
  const [first] = ids;
  if (first === undefined) {
    throw new RefusedError(
      'unprocessable',
      'the run recorded no invocations, so there is nothing to undo',
      {
        hint: 'where its worker died, `headgate rollback --list` shows what it left that can be undone',
      },
    );
  }
  const hint = `its invocations are: ${ids.join(', ')}`;
  if (wanted !== undefined && wanted !== null) {
    if (ids.includes(wanted)) return wanted;
    throw new RefusedError('bad_config', `the run has no invocation \`${wanted}\``, { hint });
  }
  if (ids.length === 1) return first;
  throw new RefusedError(
    'bad_config',
    `the run has ${ids.length} invocations: name one as \`invocation_id\``,
    { hint },
  );
}

/** Uses the name of the run: state keys begin with it. */
async function documentOf(
  { config, config_format }: RollbackRequest,
  { run_id, name }: RunRecord,
  { base, submitted }: RollbackServices,
): Promise<SubmittedDocument> {
  if (config !== undefined && config !== null)
    return submittedDocument({ config, config_format, name }, base?.());
  const { content, base: stored } = await (submitted?.(run_id) ?? notStored()).catch(notStored);
  return submittedDocument({ ...content, name }, stored);
}

/** Passes other errors on. */
function notStored(error?: unknown): Promise<never> {
  const isNotStored = error instanceof RefusedError && error.code === 'unprocessable';
  if (error !== undefined && !isNotStored) return Promise.reject(error);
  const message = 'the document of the run is not stored here';
  return Promise.reject(
    new RefusedError('unprocessable', message, { hint: 'send it as `config`' }),
  );
}

/** Issues of the document are reported as issues of the request. */
function refused(error: unknown): never {
  if (error instanceof JobError) throw refusalOf(error.error, rollbackJob.word);
  if (!(error instanceof ConfigError)) throw error;
  throw new ConfigError(error.issues, { stage: 'parse', cause: error });
}
