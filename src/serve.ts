/** Composes the control plane from its options: history, workers, run service, HTTP server. */
import { availableParallelism, hostname } from 'node:os';
import { historyAddress, type RunningServer, type ServeOptions } from './cli/serve-options.ts';
import { DESCRIBED_BLOCKS } from './blocks/index.ts';
import { createPreflight } from './features/doctor/doctor-service.ts';
import { threadsToSpare } from './engine/threads/budget.ts';
import { createNotifier } from './features/notifications/index.ts';
import { catalogListener, createCatalog } from './features/catalog/catalog.ts';
import {
  createLocalOutputs,
  keepCollecting,
  outputExpiries,
} from './features/local-outputs/local-outputs.ts';
import { outputsListener } from './features/local-outputs/recording.ts';
import type { ClusterStore } from './history/cluster.ts';
import { openHistory } from './history/open.ts';
import { passwordIn } from './history/postgres/address.ts';
import { logAccess, type Access } from './lib/access.ts';
import type { Env } from './lib/env.ts';
import { Redactor } from './lib/redact.ts';
import { AppError, assert } from './lib/errors.ts';
import { parseJson, stringifyJson } from './lib/text/json.ts';
import { programFile } from './lib/files/program-file.ts';
import { createRegistry } from './lib/metrics/prometheus.ts';
import { packageFaults, parts as ownParts, partsWith } from './parts.ts';
import type { ClusterSettings } from './runs/cluster/cluster.ts';
import { CLUSTER_METRICS } from './runs/cluster/metrics.ts';
import { residentMemory, RUN_METRICS } from './runs/service/metrics.ts';
import { createJobs } from './runs/service/jobs.ts';
import { createPrepare } from './runs/service/prepare.ts';
import { submittedDocument, type BaseDocument } from './runs/service/prepared.ts';
import { metricsListener } from './runs/service/run-meter.ts';
import { createBackfill } from './features/backfill/submit-units.ts';
import { createDeadLetterFiles } from './features/dlq/dead-letter-files.ts';
import { createReplay } from './features/dlq/replay-service.ts';
import { createMcpEndpoint } from './mcp/mcp-endpoint.ts';
import { createReload } from './features/reload/reload.ts';
import { createDocumentPlan, createRunPlan } from './features/plan-view/run-plan.ts';
import { createRunReceipt } from './features/receipt/run-receipt.ts';
import { createRerun } from './features/rerun/rerun.ts';
import { createDiscovery } from './features/discovery/discovery-service.ts';
import { createStagePreview } from './features/stage-preview/stage-preview.ts';
import { createRollback } from './features/rollback/rollback-run.ts';
import { RunEnds } from './runs/service/run-ends.ts';
import { createRuns } from './runs/service/run-service.ts';
import type { Caller } from './runs/service/runs.ts';
import { createSchedules, type PauseChange } from './features/schedule/server/schedules.ts';
import { createTemplateSync } from './features/templates/sync/sync.ts';
import { createTemplates } from './features/templates/templates.ts';
import { createTriggers } from './features/triggers/triggers.ts';
import { createVerify } from './features/verify/verify-service.ts';
import { createWorkerPool } from './runs/worker/worker-pool.ts';
import { loadAuth } from './server/auth/auth-settings.ts';
import type { Authenticator } from './server/auth/auth.ts';
import { openDefaults } from './serve-defaults.ts';
import { readSchedules, schedulesFolder } from './serve-schedules.ts';
import { readTriggers, triggersFile } from './serve-triggers.ts';
import { createServer } from './server/http/http.ts';
import { isLoopback, parseListen } from './server/http/listen.ts';

/** How long a run that was asked to stop may take to flush. */
const STOP_GRACE_MS = 30_000;

/**
 * Labels that documents give values to. A name may never come again; its series would stay for
 * good, ten kilobytes of text for each pipeline.
 */
const MEASURED = [
  { label: 'pipeline', values: 1000 },
  { label: 'row', values: 10_000 },
  { label: 'channel', values: 1000 },
  { label: 'module', values: 1000 },
  { label: 'check', values: 10_000 },
  { label: 'field', values: 10_000 },
  { label: 'rule', values: 10_000 },
] as const;
/** A run that is silent for a while must not lose its series. */
const SHORTEST_MEASURED_SECS = 3600;

/** Who sends SIGHUP may do everything to this process. */
const HANGUP: Caller = { principal: 'SIGHUP', role: 'admin' };
/** Somebody asked another server of the cluster, which knows who. */
const PEER: Caller = { principal: 'cluster', role: 'admin' };

const FAILED_START_GRACE_SECS = 5;

/** Characters from which on a token that stands inside of another value is no accident. */
const LONG_TOKEN = 12;

/** For jobs that are no runs: no run waits for them, and runs never get more than theirs. */
const JOB_WORKERS = 24;
/** Most of them take a millisecond; a process that takes the place of another has to warm up first. */
const JOBS_PER_WORKER = 500_000;

export async function serve(options: ServeOptions, version: string): Promise<RunningServer> {
  // As long as its runs are kept.
  const measuredMs = 1000 * Math.max(options.retainTerminalRunsSecs, SHORTEST_MEASURED_SECS);
  const registry = createRegistry([...RUN_METRICS, ...CLUSTER_METRICS], {
    version,
    bounds: MEASURED.map((bound) => ({ ...bound, idleMs: measuredMs })),
    elapsedMs: () => options.env.clock.elapsedMs(),
  });
  const env: Env = { ...options.env, metrics: registry.metrics };
  const { host, port } = parseListen(options.listen);
  const doors = openDoors(options, env, host);
  const { access } = doors;
  logAccess(env.log, access);
  const defaults =
    options.defaultConfig === undefined
      ? undefined
      : await openDefaults(options.defaultConfig, env, access);
  const base = (): BaseDocument | undefined => defaults?.now();
  const parts = await partsWith(options.allowConnectors, env.cwd);
  for (const { message, hint } of packageFaults(parts, options.allowConnectors))
    env.log.warn(message, { hint });
  const surroundings = { env, access, parts, base };
  const loadedTriggers =
    options.triggers === undefined ? undefined : readTriggers(options.triggers, surroundings);
  const history = await openHistory(historyAddress(options.history), env, { mayBeAway: true });
  const clustered = options.cluster !== undefined;
  const catalog = createCatalog(history.catalog, env);
  const ledger = { env, store: history.outputs, machine: clustered ? hostname() : undefined };
  const entry = programFile('worker');
  const threads = threadsToSpare(availableParallelism(), options.maxConcurrentRuns);
  const executor = createWorkerPool({
    env,
    access,
    entry,
    maxWorkers: options.maxConcurrentRuns,
    threads,
  });
  const jobExecutor = createWorkerPool({
    env,
    access,
    entry,
    purpose: 'jobs',
    maxWorkers: JOB_WORKERS,
    jobsPerWorker: JOBS_PER_WORKER,
  });
  const jobs = createJobs({
    env,
    executor: jobExecutor,
    applyMetrics: registry.apply,
    isLevelChosen: options.isLevelChosen,
  });
  const prepare = createPrepare({ env, jobs, base });
  const preflight = createPreflight({ jobs, probeTimeoutMs: options.probeTimeoutSecs * 1000 });
  const localOutputs = createLocalOutputs({
    ...ledger,
    ...options.localOutputs,
    jobs,
    isRunning: async (runId) =>
      ['queued', 'running'].includes((await history.getRun(runId))?.status ?? ''),
  });
  const notifier = createNotifier(env);
  const ends = new RunEnds();
  const runs = createRuns({
    env,
    history,
    executor,
    prepare,
    doctor: preflight,
    base,
    callbacks: { allowHosts: options.callbackAllowHosts, clustered },
    listeners: [
      metricsListener(registry.apply),
      catalogListener(catalog),
      outputsListener({ ...ledger, retentionDays: options.localOutputs.retentionDays }),
      notifier,
      ends,
    ],
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
    outputsExpire: (outcome) => outputExpiries(outcome, options.localOutputs.retentionDays),
    isLevelChosen: options.isLevelChosen,
    listen: options.listen,
    sharedBy: history.cluster,
    ...clusterSettings(options, history.cluster),
  });
  const services = { jobs, base, audit: runs.audit };
  const schedules = createSchedules({
    ...services,
    env,
    store: history.schedules,
    templates: () => templates.scheduled(),
    runs,
    ends,
    notifier,
    onPause: (change) => runs.cluster?.tellOthers('pause', stringifyJson({ ...change })),
  });
  runs.cluster?.onNews('pause', (change) =>
    schedules.hearPause(parseJson(change) as unknown as PauseChange),
  );
  const templates = createTemplates({
    ...services,
    env,
    store: history.templates,
    runs,
    onChanged: () => {
      void schedules.lookAtTemplates();
      runs.cluster?.tellOthers('templates');
    },
  });
  runs.cluster?.onNews('templates', () => void schedules.lookAtTemplates());
  const templateSync = createTemplateSync({
    env,
    file: options.templatesSync,
    dataDir: options.dataDir,
    templates,
    audit: runs.audit,
  });
  const triggers = createTriggers({
    env,
    audit: runs.audit,
    store: history.triggers,
    runs,
    runTemplate: (id, request, { caller, signal, how }) =>
      templates.run(id, request, caller, signal, how),
    loaded: loadedTriggers,
    onGone: (names) => registry.forget('trigger', names),
  });
  const { authConfig } = options.auth;
  const reload = createReload({
    env,
    audit: runs.audit,
    ...(defaults === undefined ? {} : { defaultConfig: defaults.file }),
    ...(authConfig === undefined
      ? {}
      : { auth: { path: authConfig, load: async () => reopenDoors(doors, options, env, host) } }),
    ...(options.triggers === undefined
      ? {}
      : { triggers: triggersFile(options.triggers, triggers, surroundings) }),
    ...(options.schedules === undefined
      ? {}
      : { schedules: schedulesFolder(options.schedules, schedules, { env, jobs, base }) }),
  });
  runs.cluster?.onNews('reload', () => void reload(PEER).catch(isLogged));
  const runPlan = createRunPlan({ runs, jobs });
  const server = await createServer({
    version,
    env,
    runs,
    parts,
    blocks: DESCRIBED_BLOCKS,
    doctor: (request, signal) =>
      preflight(submittedDocument({ ...request, name: null }, base()), signal),
    backfill: createBackfill({
      env,
      runs,
      prepare: createPrepare({ env, jobs, base, isRange: true }),
      audit: runs.audit,
    }),
    rerun: createRerun({ runs, audit: runs.audit }),
    runPlan,
    receipt: createRunReceipt({
      env,
      version,
      runs,
      jobs,
      plan: runPlan,
      filesOf: (runId) => localOutputs.ofRun(runId),
    }),
    documentPlan: createDocumentPlan({ jobs, base }),
    stagePreview: createStagePreview({ jobs, base }),
    discovery: createDiscovery({ jobs, base }),
    hasConsole: options.hasConsole,
    rollback: createRollback({
      ...services,
      runs,
      // A server that works alone asks for the document, as it always did.
      ...(clustered ? { submitted: (runId: string) => runs.submitted(runId) } : {}),
    }),
    verify: createVerify(services),
    replay: createReplay(services),
    templates,
    templateSync,
    schedules,
    triggers,
    mcp:
      options.mcp === undefined
        ? undefined
        : createMcpEndpoint({
            version,
            env,
            parts,
            blocks: DESCRIBED_BLOCKS,
            jobs,
            base,
            runs,
            ends,
            templates,
            audit: runs.audit,
            allowsMutations: options.mcp.allowsMutations,
          }),
    catalog,
    deadLetters: createDeadLetterFiles(jobs),
    localOutputs,
    audit: runs.audit,
    reload: async (caller) => {
      const report = await reload(caller);
      runs.cluster?.tellOthers('reload');
      return report;
    },
    authenticate: (authorization) => doors.authenticate(authorization),
    metricsText: () => {
      env.metrics.set(residentMemory, {}, process.memoryUsage.rss());
      return registry.render();
    },
    clustered,
    bodyLimitBytes: options.bodyLimitBytes,
    corsOrigins: options.corsOrigins,
    ...(options.auth.noAuth === true && isLoopback(host)
      ? { localOnly: { listenHost: host } }
      : {}),
  });
  const closed = Promise.withResolvers<void>();
  const closing = new AbortController();
  let collecting = Promise.resolve();
  const close = async (): Promise<void> => {
    closing.abort();
    await collecting;
    await server.close();
    await Promise.all([executor.close(), jobExecutor.close()]);
    await catalog.settled();
    await history.close();
  };
  try {
    const scheduled = await readSchedules(options.schedules, { env, jobs, base });
    await runs.start();
    await schedules.begin(scheduled);
    await triggers.start();
    const { address } = await server.listen(host, port);
    templateSync.begin();
    if (localOutputs.retentionDays > 0)
      collecting = keepCollecting(localOutputs, env, closing.signal);
    return {
      url: address,
      historyText: options.history.kind,
      reload: () => reload(HANGUP).then(isLogged, isLogged),
      drain: async (graceSecs) => {
        schedules.close();
        await Promise.all([triggers.close(), templateSync.close()]);
        await runs.drain(graceSecs * 1000);
        await schedules.settled();
        await close();
        closed.resolve();
      },
      closed: closed.promise,
    };
  } catch (error) {
    await triggers.close();
    // Nothing runs yet; this ends what looks after leases and retention, which would keep the
    // process for ever.
    schedules.close();
    await runs.drain(FAILED_START_GRACE_SECS * 1000);
    await close();
    throw error;
  }
}

/** What is wrong stands in the log. */
function isLogged(): void {}

function clusterSettings(
  { cluster, leaseTtlSecs }: ServeOptions,
  store: ClusterStore | undefined,
): { readonly cluster?: ClusterSettings } {
  if (cluster === undefined) return {};
  assert(store !== undefined, 'the options were checked: PostgreSQL has one');
  return { cluster: { ...cluster, store, leaseMs: leaseTtlSecs * 1000 } };
}

/** Who may call, and what the documents of those who may can reach. */
interface Doors {
  authenticate: Authenticator;
  readonly access: Access;
}

function openDoors(options: ServeOptions, env: Env, host: string): Doors {
  const {
    auth,
    history,
    credentialVariables,
    allowEnv: allowed,
    dataRoot: root,
    allowConnectors: connectors,
  } = options;
  const files: string[] = [];
  const found = new Redactor();
  const authEnv = { ...env, redactor: found, secretManagers: ownParts.secrets };
  let authenticate: Authenticator;
  try {
    authenticate = loadAuth(auth, authEnv, host, (path) => files.push(path));
  } finally {
    for (const token of found.values()) env.redactor.register(token);
  }
  const tokens = [
    ...found.values(),
    ...(history.kind === 'postgres' ? passwordIn(history.url) : []),
  ];
  const holdsToken = ([, value = '']: readonly [string, string | undefined]): boolean =>
    tokens.some(
      (token) =>
        value.trim() === token.trim() || (token.length >= LONG_TOKEN && value.includes(token)),
    );
  const credentials = [
    ...credentialVariables,
    // The client of PostgreSQL takes from it what the address does not say.
    ...(history.kind === 'postgres' ? ['PGPASSWORD'] : []),
    ...Object.entries(env.variables)
      .filter(holdsToken)
      .map(([name]) => name),
  ];
  if (history.kind === 'sqlite') files.push(history.path);
  // It may hold what senders sign with.
  if (options.triggers !== undefined) files.push(options.triggers);
  const access: Access = {
    variables: {
      credentials: [...new Set(credentials)],
      ...(allowed === undefined ? {} : { allowed }),
    },
    files: { refused: files, ...(root === undefined ? {} : { root }) },
    ...(connectors.length === 0 ? {} : { connectors }),
  };
  return { authenticate, access };
}

/**
 * The principals as the file has them now. Workers were started with the variables that documents
 * may read: a token that stands in another one now would lie open to them.
 */
function reopenDoors(doors: Doors, options: ServeOptions, env: Env, host: string): () => void {
  const { authenticate, access } = openDoors(options, env, host);
  const { credentials } = doors.access.variables;
  const open = access.variables.credentials.find((name) => !credentials.includes(name));
  if (open !== undefined) {
    throw new AppError(
      'token_in_variable',
      `the environment variable \`${open}\` holds one of the tokens, and documents may read it`,
      { hint: 'use another token, or restart the server' },
    );
  }
  return () => {
    doors.authenticate = authenticate;
  };
}
