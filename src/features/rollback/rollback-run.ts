/**
 * Undoing one invocation of a recorded run (spec 1, section 4.1). It waits for databases and
 * nothing else, so it needs no worker.
 */
import { rollBackRun } from '../../engine/rollback/roll-back-run.ts';
import type { Parts } from '../../kit/parts.ts';
import type { Env } from '../../lib/env.ts';
import { Gate } from '../../lib/gate.ts';
import { ConfigError, ConnectorError, RefusedError, RunError } from '../../lib/errors.ts';
import type { RollbackReport, RollbackRequest } from '../../wire/rollback.ts';
import { isTerminal, type RunRecord } from '../../wire/run.ts';
import { actionOf, type Audit } from '../../runs/service/audit.ts';
import type { Prepare, Prepared } from '../../runs/service/prepared.ts';
import type { Caller, Runs } from '../../runs/service/runs.ts';

export interface RollbackServices {
  readonly env: Env;
  readonly parts: Parts;
  readonly runs: Pick<Runs, 'get'>;
  readonly prepare: Prepare;
  readonly audit: Pick<Audit, 'record'>;
}

export interface RollbackCall {
  readonly runId: string;
  readonly request: RollbackRequest;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/**
 * Rejects with `RefusedError`: 404 no such run, 409 not ended, 422 nothing recorded or no document,
 * 400 what the request or document says.
 */
export type Rollback = (call: RollbackCall) => Promise<RollbackReport>;

export function createRollback({ env, parts, runs, prepare, audit }: RollbackServices): Rollback {
  // One after the other: two at once would each put back a position, and one of them over the
  // other.
  const turn = new Gate(1);
  return async ({ runId, request, caller, signal }) => {
    const run = await runs.get(runId);
    const invocationId = invocationOf(run, request);
    const { plan } = await prepared(request, run, prepare);
    const { dry_run: dryRun, force, row } = request;
    const release = await turn.enter(signal);
    const undoing = rollBackRun({
      plan,
      parts,
      env,
      runId: invocationId,
      row: row ?? undefined,
      dryRun,
      force,
      signal,
    });
    const report = await undoing.catch(refused).finally(release);
    const result = dryRun ? 'dry_run' : report.blocked ? 'blocked' : 'ok';
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

/** Under the name the run had: it decides where positions are stored. */
async function prepared(
  { config, config_format }: RollbackRequest,
  { name }: RunRecord,
  prepare: Prepare,
): Promise<Prepared> {
  if (config === undefined || config === null) {
    throw new RefusedError('unprocessable', 'the document of the run is not stored here', {
      hint: 'send it as `config`',
    });
  }
  try {
    return await prepare({ config, config_format, name });
  } catch (error) {
    throw error instanceof ConfigError
      ? new ConfigError(error.issues, { stage: 'parse', cause: error })
      : error;
  }
}

/** What a destination or a store says stands in the answer: whoever undoes has to know. */
function refused(error: unknown): never {
  if (error instanceof ConfigError)
    throw new ConfigError(error.issues, { stage: 'parse', cause: error });
  if (!(error instanceof RunError)) throw error;
  const isGone = error.cause instanceof ConnectorError && error.cause.kind === 'missing';
  const hint = error.hint === undefined ? {} : { hint: error.hint };
  throw new RefusedError(isGone ? 'bad_config' : 'unavailable', error.message, {
    ...hint,
    cause: error,
  });
}
