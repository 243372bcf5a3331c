/** Comparisons that are asked for over HTTP (spec 1, section 4.5). They may read millions of rows, so a worker process makes them. */
import type { Env } from '../lib/env.ts';
import { ConfigError, RefusedError } from '../lib/errors.ts';
import type { OutcomeError } from '../wire/outcome.ts';
import type { VerifyReport, VerifyRequest } from '../wire/verify.ts';
import type { Audit } from './audit.ts';
import type { RunEnd, RunExecutor, RunTicket } from './executor.ts';
import type { Prepare, Prepared } from './prepared.ts';
import { RunMeter, type ApplyMetrics } from './run-meter.ts';
import type { Caller } from './runs.ts';

export interface VerifyServices {
  readonly env: Pick<Env, 'clock' | 'ids' | 'log' | 'redactor'>;
  readonly executor: RunExecutor;
  readonly prepare: Prepare;
  readonly audit: Pick<Audit, 'record'>;
  readonly applyMetrics: ApplyMetrics;
  /** Comparisons at the same time; more are refused. */
  readonly maxAtOnce: number;
  /** How long one that is asked to stop may take. */
  readonly stopGraceMs: number;
}

export interface VerifyCall {
  readonly request: VerifyRequest;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/** Rejects with `ConfigError`, or `RefusedError`: 400 what cannot be compared, 429 too many at once, 503 a store that does not answer. */
export type Verify = (call: VerifyCall) => Promise<VerifyReport>;

/** Name of a document that has none. */
const UNNAMED = 'verify';

export function createVerify(services: VerifyServices): Verify {
  const { env, prepare, audit, maxAtOnce } = services;
  let underWay = 0;
  return async ({ request, caller, signal }) => {
    if (underWay >= maxAtOnce)
      throw new RefusedError('queue_full', `${underWay} comparisons are under way`, { hint: 'try again when one has ended' });
    underWay += 1;
    try {
      const prepared = await prepare({ config: request.config, config_format: request.config_format, name: null }).catch(asRefused);
      const report = reportOf(await execute(ticketOf(request, prepared, env), signal, services));
      const result = report.differences.length === 0 ? 'equal' : 'different';
      const entry = { principal: caller.principal, role: caller.role, action: 'verify', result };
      await audit.record(caller.sourceIp === undefined ? entry : { ...entry, source_ip: caller.sourceIp });
      return report;
    } finally {
      underWay -= 1;
    }
  };
}

function ticketOf(request: VerifyRequest, prepared: Prepared, env: VerifyServices['env']): RunTicket {
  return {
    runId: env.ids.next(),
    owner: UNNAMED,
    attempt: 0,
    document: prepared.document,
    name: prepared.isNamed ? prepared.name : UNNAMED,
    clock: env.clock.now().toISOString(),
    concurrency: null,
    timeoutSecs: null,
    secrets: [...env.redactor.values()],
    logLevel: env.log.level,
    verify: {
      row: request.row ?? undefined,
      repair: request.repair,
      allowDelete: request.allow_delete,
      dryRun: request.dry_run,
      maxDifferences: request.max_differences ?? undefined,
    },
  };
}

async function execute(
  ticket: RunTicket,
  signal: AbortSignal,
  { executor, env, applyMetrics, stopGraceMs }: VerifyServices,
): Promise<RunEnd> {
  const meter = new RunMeter(applyMetrics);
  const log = env.log.at('headgate::verify');
  const handle = executor.start(ticket, {
    begun: () => log.info('comparison started', { id: ticket.runId, pipeline: ticket.name }),
    log: () => {},
    metrics: (changes, definitions) => meter.apply(changes, definitions),
    progress: () => {},
  });
  const stop = (): void => handle.stop('cancel', stopGraceMs);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const end = await handle.done;
  signal.removeEventListener('abort', stop);
  if (end.type === 'crashed') meter.settle();
  return end;
}

function reportOf(end: RunEnd): VerifyReport {
  if (end.type === 'crashed') throw new RefusedError('unavailable', `the comparison ended abnormally: ${end.reason}`);
  const { verification, error } = end.outcome;
  if (verification !== undefined) return verification;
  throw refusalOf(error);
}

function refusalOf(error: OutcomeError | null): Error {
  if (error === null || error.kind === 'Panic')
    return new Error(`cannot happen: a comparison gave no report: ${error?.message ?? 'no error'}`);
  const hint = error.hint === undefined ? {} : { hint: error.hint };
  const code =
    error.code === 'bad_config' || error.kind === 'Config'
      ? 'bad_config'
      : error.code === 'connector_missing'
        ? 'bad_config'
        : 'unavailable';
  return new RefusedError(code, error.message, hint);
}

/** A document that asks for a comparison that cannot be made is told like every request for one. */
function asRefused(error: unknown): never {
  if (!(error instanceof ConfigError) || !error.issues.every(({ code }) => code === 'verify_impossible')) throw error;
  throw new ConfigError(error.issues, { stage: 'parse', cause: error });
}
