/**
 * Comparisons that are asked for over HTTP (spec 1, section 4.5). They may read millions of rows,
 * so a worker process makes them.
 */
import { ConfigError } from '../../lib/errors.ts';
import type { VerifyReport, VerifyRequest } from '../../wire/verify.ts';
import { actionOf, type Audit } from '../../runs/service/audit.ts';
import { Errands, refusalOf, type ErrandServices } from '../../runs/service/jobs.ts';
import type { Prepare } from '../../runs/service/prepared.ts';
import type { Caller } from '../../runs/service/runs.ts';

export interface VerifyServices extends ErrandServices {
  readonly prepare: Prepare;
  readonly audit: Pick<Audit, 'record'>;
}

export interface VerifyCall {
  readonly request: VerifyRequest;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/**
 * Rejects with `ConfigError`, or `RefusedError`: 400 what cannot be compared, 429 too many at once,
 * 503 a store that does not answer.
 */
export type Verify = (call: VerifyCall) => Promise<VerifyReport>;

const KIND = { name: 'verify', word: 'comparison' };

export function createVerify(services: VerifyServices): Verify {
  const { prepare, audit } = services;
  const errands = new Errands(KIND, services);
  return ({ request, caller, signal }) =>
    errands.inTurn(async () => {
      const prepared = await prepare({
        config: request.config,
        config_format: request.config_format,
        name: null,
      }).catch(asRefused);
      const verify = {
        row: request.row ?? undefined,
        repair: request.repair,
        allowDelete: request.allow_delete,
        dryRun: request.dry_run,
        maxDifferences: request.max_differences ?? undefined,
      };
      const { verification, error } = await errands.run({ prepared, task: { verify }, signal });
      if (verification === undefined) throw refusalOf(error, KIND);
      const result = verification.differences.length === 0 ? 'equal' : 'different';
      await audit.record({ ...actionOf(caller, 'verify'), result });
      return verification;
    });
}

/** A document that asks for a comparison that cannot be made is told like every request for one. */
function asRefused(error: unknown): never {
  if (
    !(error instanceof ConfigError) ||
    !error.issues.every(({ code }) => code === 'verify_impossible')
  )
    throw error;
  throw new ConfigError(error.issues, { stage: 'parse', cause: error });
}
