/** Composes the control plane from its options: history, workers, run service, HTTP server. */
import { availableParallelism } from 'node:os';
import type { RunningServer, ServeOptions } from './cli/serve-options.ts';
import { DESCRIBED_BLOCKS } from './blocks/index.ts';
import { secretAsker } from './document/tokens/ask-secrets.ts';
import { loadFileWithSecrets } from './document/load.ts';
import { localFiles } from './document/text/local-file.ts';
import { doctor } from './engine/checks/doctor.ts';
import { threadsToSpare } from './engine/threads/budget.ts';
import { createNotifier } from './features/notifications/index.ts';
import { createCatalog } from './features/catalog/catalog.ts';
import {
  createLocalOutputs,
  keepCollecting,
  noteOutputs,
  recordOutputs,
} from './features/local-outputs/local-outputs.ts';
import { openHistory } from './history/open.ts';
import type { Env } from './lib/env.ts';
import type { JsonObject } from './lib/text/json.ts';
import { programFile } from './lib/files/program-file.ts';
import { createRegistry } from './lib/metrics/prometheus.ts';
import { findVariable, VARIABLES } from './lib/variables.ts';
import { parts } from './parts.ts';
import { RUN_METRICS } from './runs/service/metrics.ts';
import { createPrepare } from './runs/service/prepare.ts';
import type { Prepared } from './runs/service/prepared.ts';
import { createBackfill } from './features/backfill/submit-units.ts';
import { createReplay, type ReplayServices } from './features/dlq/replay-service.ts';
import { createRollback } from './features/rollback/rollback-run.ts';
import { createRuns } from './runs/service/run-service.ts';
import { createVerify, type VerifyServices } from './features/verify/verify-service.ts';
import { createWorkerPool } from './runs/worker/worker-pool.ts';
import { loadAuth } from './server/auth/auth-settings.ts';
import { createServer } from './server/http/http.ts';
import { parseListen } from './server/http/listen.ts';
import type { DoctorReport } from './wire/doctor.ts';

/** How long a run that was asked to stop may take to flush (spec 1, section 3.1). */
const STOP_GRACE_MS = 30_000;

/**
 * Names of runs may never come again; their series would stay for good, ten kilobytes of text for
 * each.
 */
const PIPELINES_MEASURED = 1000;

const FAILED_START_GRACE_SECS = 5;

/**
 * Of each kind; they have worker processes of their own: no run waits for them, and runs never get
 * more than theirs.
 */
const ERRANDS_AT_ONCE = 4;

export async function serve(options: ServeOptions, version: string): Promise<RunningServer> {
  const registry = createRegistry(RUN_METRICS, {
    bound: { label: 'pipeline', values: PIPELINES_MEASURED },
  });
  const env: Env = { ...options.env, metrics: registry.metrics };
  const { host, port } = parseListen(options.listen);
  const authenticate = loadAuth(options.auth, env, host);
  const base =
    options.defaultConfig === undefined ? undefined : await defaultTree(options.defaultConfig, env);
  const readFile = localFiles(env.cwd);
  const preparing = {
    env,
    parts,
    cpus: availableParallelism(),
    readFile,
    ...(base === undefined ? {} : { base: () => base }),
  };
  const prepare = createPrepare(preparing);
  /**
   * For documents of many runs: those of a backfill, and the one a run was made with, which may be
   * such.
   */
  const prepareRange = createPrepare({ ...preparing, backfill: 'kept' });
  const preflight = ({ plan }: Prepared, signal: AbortSignal): Promise<DoctorReport> =>
    doctor({
      plan,
      parts,
      env,
      clock: env.clock.now(),
      signal,
      timeoutMs: options.probeTimeoutSecs * 1000,
    });
  const history = await openHistory(
    options.history.kind === 'memory' ? 'memory' : `sqlite:${options.history.path}`,
    env,
  );
  const catalog = createCatalog(history.catalog, env);
  const ledger = { env, store: history.outputs };
  const localOutputs = createLocalOutputs({
    ...ledger,
    ...options.localOutputs,
    parts,
    isRunning: async (runId) =>
      ['queued', 'running'].includes((await history.getRun(runId))?.status ?? ''),
  });
  const entry = programFile('worker');
  const threads = threadsToSpare(availableParallelism(), options.maxConcurrentRuns);
  const executor = createWorkerPool({ env, entry, maxWorkers: options.maxConcurrentRuns, threads });
  const messengers = createWorkerPool({ env, entry, maxWorkers: 2 * ERRANDS_AT_ONCE, spares: 0 });
  const runs = createRuns({
    env,
    history,
    executor,
    prepare,
    doctor: preflight,
    applyMetrics: (changes, definitions) => registry.apply(changes, definitions),
    callbacks: { allowHosts: options.callbackAllowHosts, clustered: false },
    onEnd: createNotifier(env),
    onOutcome: (runId, outcome) => void recordOutputs(runId, outcome, ledger),
    onMoved: (movements) => catalog.record(movements),
    onOpened: (runId, news) => void noteOutputs(runId, news, ledger),
    limits: {
      maxConcurrent: options.maxConcurrentRuns,
      maxQueued: options.maxQueuedRuns,
      retainTerminalSecs: options.retainTerminalRunsSecs,
      idempotencySecs: options.idempotencyRetentionSecs,
      logRetentionSecs: options.logRetentionSecs,
      maxLogLinesPerRun: options.logMaxLinesPerRun,
      leaseTtlSecs: options.leaseTtlSecs,
      stopGraceMs: STOP_GRACE_MS,
    },
    isLevelChosen: options.isLevelChosen,
    listen: options.listen,
  });
  const errands: VerifyServices & ReplayServices = {
    env,
    executor: messengers,
    prepare,
    audit: runs.audit,
    applyMetrics: (changes, definitions) => registry.apply(changes, definitions),
    maxAtOnce: ERRANDS_AT_ONCE,
    stopGraceMs: STOP_GRACE_MS,
  };
  const server = await createServer({
    version,
    env,
    runs,
    parts,
    blocks: DESCRIBED_BLOCKS,
    doctor: async (request, signal) => preflight(await prepare({ ...request, name: null }), signal),
    backfill: createBackfill({ env, runs, prepare: prepareRange, audit: runs.audit }),
    rollback: createRollback({ env, parts, runs, prepare: prepareRange, audit: runs.audit }),
    verify: createVerify(errands),
    replay: createReplay(errands),
    catalog,
    localOutputs,
    audit: runs.audit,
    authenticate,
    metricsText: () => registry.render(),
    bodyLimitBytes: options.bodyLimitBytes,
    corsOrigins: options.corsOrigins,
  });
  const closed = Promise.withResolvers<void>();
  const closing = new AbortController();
  let collecting = Promise.resolve();
  const close = async (): Promise<void> => {
    closing.abort();
    await collecting;
    await server.close();
    await Promise.all([executor.close(), messengers.close()]);
    await catalog.settled();
    await history.close();
  };
  try {
    await runs.start();
    const { address } = await server.listen(host, port);
    if (localOutputs.retentionDays > 0)
      collecting = keepCollecting(localOutputs, env, closing.signal);
    return {
      url: address,
      historyText: options.history.kind,
      drain: async (graceSecs) => {
        await runs.drain(graceSecs * 1000);
        await close();
        closed.resolve();
      },
      closed: closed.promise,
    };
  } catch (error) {
    // Nothing runs yet; this ends what looks after leases and retention, which would keep the
    // process for ever.
    await runs.drain(FAILED_START_GRACE_SECS * 1000);
    await close();
    throw error;
  }
}

async function defaultTree(path: string, env: Env): Promise<JsonObject> {
  const profile = findVariable(VARIABLES.profile, env.variables)?.text;
  const overlay = profile === undefined || profile === '' ? {} : { profile };
  const loading = {
    variables: env.variables,
    redactor: env.redactor,
    readFile: localFiles(env.cwd),
    ...overlay,
  };
  return (await loadFileWithSecrets(path, loading, secretAsker({ managers: parts.secrets, env })))
    .tree;
}
