/**
 * Replays of dead letters that are asked for over HTTP (spec 1, section 4.6). Transforms run in
 * them, so a worker process makes them.
 */
import { RefusedError } from '../../lib/errors.ts';
import type { ReplayBody, ReplayReport } from '../../wire/dlq.ts';
import type { OutcomeError } from '../../wire/outcome.ts';
import { actionOf, type Audit } from '../../runs/service/audit.ts';
import { Errands, refusalOf, type ErrandServices } from '../../runs/service/jobs.ts';
import type { Prepare } from '../../runs/service/prepared.ts';
import type { Caller } from '../../runs/service/runs.ts';

export interface ReplayServices extends ErrandServices {
  readonly prepare: Prepare;
  readonly audit: Pick<Audit, 'record'>;
}

export interface ReplayCall {
  readonly request: ReplayBody;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/**
 * Rejects with `ConfigError`, or `RefusedError`: 400 letters or a row that are not there, 422 a
 * replay that failed, 429 too many at once.
 */
export type Replay = (call: ReplayCall) => Promise<ReplayReport>;

const KIND = { name: 'replay', word: 'replay' };

export function createReplay(services: ReplayServices): Replay {
  const { env, prepare, audit } = services;
  const errands = new Errands(KIND, services);
  return ({ request, caller, signal }) =>
    errands.inTurn(async () => {
      const {
        config,
        config_format,
        from,
        reason,
        row,
        failed_dlq: failedDlq,
        dry_run: dryRun,
        encryption_keys: keys,
      } = request;
      for (const key of keys) env.redactor.register(key);
      const prepared = await prepare({ config, config_format, name: null });
      const replay = { from, reason, row, failedDlq, dryRun, asWritten: false, keys };
      const { replay: report, error } = await errands.run({ prepared, task: { replay }, signal });
      const failed = report === undefined || error !== null;
      await audit.record({ ...actionOf(caller, 'dlq.replay'), result: failed ? 'error' : 'ok' });
      if (failed) throw failureOf(error);
      return report;
    });
}

/** What was written before a replay failed stays written; the letters are still there. */
function failureOf(error: OutcomeError | null): Error {
  if (error === null || error.kind === 'Panic' || error.code === 'bad_config')
    return refusalOf(error, KIND);
  return new RefusedError(
    'unprocessable',
    error.message,
    error.hint === undefined ? {} : { hint: error.hint },
  );
}
