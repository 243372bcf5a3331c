/**
 * A whole server for tests: real routes and framework, a run service in memory, small parts,
 * recorded log and audit.
 */
import { inProcessJobs } from './jobs.ts';
import { z } from 'zod';
import { createCatalog } from '../../src/features/catalog/catalog.ts';
import { createDeadLetterFiles } from '../../src/features/dlq/dead-letter-files.ts';
import { createDocumentPlan, createRunPlan } from '../../src/features/plan-view/run-plan.ts';
import { createRunReceipt } from '../../src/features/receipt/run-receipt.ts';
import { createRerun } from '../../src/features/rerun/rerun.ts';
import { createDiscovery } from '../../src/features/discovery/discovery-service.ts';
import { createStagePreview } from '../../src/features/stage-preview/stage-preview.ts';
import { createSchedules } from '../../src/features/schedule/server/schedules.ts';
import { createTemplates } from '../../src/features/templates/templates.ts';
import { createLocalOutputs } from '../../src/features/local-outputs/local-outputs.ts';
import type { LoadedTriggers } from '../../src/features/triggers/load-triggers.ts';
import { createTriggers } from '../../src/features/triggers/triggers.ts';
import { MemoryCatalog } from '../../src/history/memory/memory-catalog.ts';
import { MemorySchedules } from '../../src/history/memory/memory-schedules.ts';
import { MemoryTemplates } from '../../src/history/memory/memory-templates.ts';
import { MemoryTriggers } from '../../src/history/memory/memory-triggers.ts';
import { MemoryOutputs } from '../../src/history/memory/memory-outputs.ts';
import type { OutputStore } from '../../src/history/outputs.ts';
import { text as filledText } from '../../src/kit/schema.ts';
import { createParts } from '../../src/kit/parts.ts';
import { APPEND_ONLY, defineSink } from '../../src/kit/sink.ts';
import { defineSource } from '../../src/kit/source.ts';
import { defineStateStore } from '../../src/kit/state-store.ts';
import { defineTransform } from '../../src/kit/transform.ts';
import type { Clock } from '../../src/lib/time/clock.ts';
import { RefusedError } from '../../src/lib/errors.ts';
import { createLog } from '../../src/lib/log.ts';
import type { Labels, Metrics } from '../../src/lib/metrics/metrics.ts';
import { Redactor } from '../../src/lib/redact.ts';
import { RunEnds } from '../../src/runs/service/run-ends.ts';
import { createAudit } from '../../src/runs/service/audit.ts';
import type { LogEvent, RunQuery, Runs, StoredLog } from '../../src/runs/service/runs.ts';
import type { AuditEntry, AuditQuery } from '../../src/wire/audit.ts';
import type { DoctorReport } from '../../src/wire/doctor.ts';
import { isTerminal } from '../../src/wire/run-status.ts';
import type { RunRecord, Submission } from '../../src/wire/run.ts';
import { storedSubmission } from './runs.ts';
import { bearerAuth } from '../../src/server/auth/auth.ts';
import { createServer, type InjectedAnswer, type Server } from '../../src/server/http/http.ts';
import type { ServerOptions } from '../../src/server/options.ts';

export const TOKENS = {
  viewer: 'viewer-token',
  operator: 'operator-token',
  admin: 'admin-token',
} as const;
export type TestRole = keyof typeof TOKENS;

/** Time stands still; a sleep lasts until its signal fires or `wake` is called. */
export interface FakeClock extends Clock {
  wake(): void;
  readonly sleeping: number;
}

export function fakeClock(): FakeClock {
  const waking = new Set<() => void>();
  return {
    now: () => new Date('2026-08-01T12:00:00Z'),
    elapsedMs: () => 0,
    sleep: (_ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const done = (): void => {
          waking.delete(done);
          resolve();
        };
        waking.add(done);
        signal?.addEventListener('abort', done, { once: true });
      }),
    wake: () => waking.forEach((done) => done()),
    get sleeping() {
      return waking.size;
    },
  };
}

export function runRecord(changes: Partial<RunRecord> = {}): RunRecord {
  return {
    run_id: 'run-1',
    name: null,
    labels: {},
    status: 'completed',
    submitted_at: '2026-08-01T12:00:00.000Z',
    started_at: null,
    finished_at: null,
    elapsed_secs: null,
    records_written: 0,
    invocations: [],
    error: null,
    idempotency_key: null,
    doctor_report: null,
    attempt: 0,
    ...changes,
  };
}

/** What the fake run service was asked, and what it answers with. */
export interface RunsScript {
  readonly records: Map<string, RunRecord>;
  readonly submitted: Submission[];
  readonly queries: RunQuery[];
  readonly ranges: { readonly after: number | undefined; readonly limit: number }[];
  /** Thrown by the next `submit`. */
  refuse: unknown;
  /** The live log; ends when the signal fires, as the contract of `followLog` has it. */
  follow: (signal: AbortSignal) => AsyncIterable<LogEvent>;
  /** The event after which there is more. */
  continueAfter: number | undefined;
  stored: StoredLog;
  readiness: Awaited<ReturnType<Runs['readiness']>>;
}

async function* justEnd(): AsyncGenerator<LogEvent> {
  yield { type: 'end' };
}

function newScript(): RunsScript {
  return {
    records: new Map([['run-1', runRecord()]]),
    submitted: [],
    queries: [],
    ranges: [],
    refuse: undefined,
    follow: justEnd,
    continueAfter: undefined,
    stored: { lines: [], truncated: false },
    readiness: { historyOk: true, queueOk: true, draining: false, instances: 0 },
  };
}

export function fakeRuns(script: RunsScript): Runs {
  const known = (runId: string): RunRecord => {
    const record = script.records.get(runId);
    if (record === undefined) throw new RefusedError('not_found', 'there is no such run');
    return record;
  };
  return {
    async submit(submission) {
      if (script.refuse !== undefined) throw script.refuse;
      script.submitted.push(submission);
      return { run_id: 'run-2', status: 'queued', submitted_at: '2026-08-01T12:00:00.000Z' };
    },
    clusterStatus: async () => ({ enabled: false, instances: 0, members: [] }),
    get: async (runId) => known(runId),
    submitted: async (runId) => {
      const record = known(runId);
      return { record, content: STORED, base: undefined };
    },
    async list(query) {
      script.queries.push(query);
      return { runs: [...script.records.values()], next_cursor: null };
    },
    cancel: async (runId) => (isTerminal(known(runId).status) ? 'noop' : 'requested'),
    async delete(runId) {
      if (!isTerminal(known(runId).status))
        throw new RefusedError('conflict', 'the run is in flight', { hint: 'cancel it first' });
      script.records.delete(runId);
    },
    async followLog(runId, signal) {
      known(runId);
      return script.follow(signal);
    },
    async continueLog(runId, after, signal) {
      known(runId);
      return script.continueAfter === after ? script.follow(signal) : undefined;
    },
    async readLog(runId, range) {
      known(runId);
      script.ranges.push(range);
      return script.stored;
    },
    readiness: () => Promise.resolve(script.readiness),
    drain: async () => {},
  };
}

/** What every run of the script was submitted as. */
const STORED = storedSubmission(
  '{"version": 1, "pipeline": {"source": {"type": "csv", "config": {"path": "in.csv"}}, "sink": {"type": "jsonl", "config": {"path": "out.jsonl"}}}}',
);

const never = async (): Promise<never> => {
  throw new Error('the server never opens a part');
};
const fileConfig = z.strictObject({ path: filledText().meta({ description: 'The file.' }) });

const parts = createParts({
  sources: [
    defineSource({
      type: 'csv',
      aliases: ['comma'],
      description: 'Reads CSV.',
      config: fileConfig,
      examples: [],
      capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
      datasetUri: ({ path }) => path,
      open: never,
    }),
  ],
  sinks: [
    defineSink({
      type: 'jsonl',
      description: 'Writes JSON lines.',
      config: fileConfig,
      examples: [],
      capabilities: () => APPEND_ONLY,
      datasetUri: ({ path }) => path,
      open: never,
    }),
  ],
  transforms: [
    defineTransform({
      type: 'drop',
      description: 'Drops fields.',
      config: z.strictObject({ fields: z.array(z.string()) }),
      examples: [],
      reads: () => ({ kind: 'record' }),
      columns: () => ({ kind: 'opaque' }),
      compile: never,
    }),
  ],
  states: [
    defineStateStore({
      type: 'file',
      description: 'A file.',
      config: fileConfig,
      durable: true,
      examples: [],
      open: never,
    }),
    defineStateStore({
      type: 'memory',
      description: 'Memory.',
      config: z.strictObject({}),
      durable: false,
      examples: [],
      open: never,
    }),
  ],
  credentials: [],
  secrets: [],
});

export interface Fixture {
  readonly server: Server;
  readonly script: RunsScript;
  readonly audited: AuditEntry[];
  readonly auditQueries: AuditQuery[];
  readonly logged: string[];
  readonly counted: { readonly name: string; readonly labels: Labels }[];
  readonly clock: FakeClock;
  readonly redactor: Redactor;
  /** Asks as a role (default admin); `null` sends no credential. Objects are sent as JSON. */
  readonly ask: (
    method: string,
    url: string,
    options?: AskOptions,
  ) => Promise<InjectedAnswer & { json(): unknown }>;
}

export interface AskOptions {
  readonly as?: TestRole | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface FixtureOptions extends Partial<
  Pick<
    ServerOptions,
    'bodyLimitBytes' | 'corsOrigins' | 'localOnly' | 'blocks' | 'metricsText' | 'parts'
  >
> {
  readonly report?: DoctorReport;
  readonly auditFails?: boolean;
  /** Where relative paths start. */
  readonly cwd?: string;
  readonly outputs?: OutputStore;
  /** Whether rows of outputs may be looked at. */
  readonly showsRows?: boolean;
  readonly triggers?: LoadedTriggers;
}

export async function startFixture(options: FixtureOptions = {}): Promise<Fixture> {
  const {
    report = { invocations: [] },
    auditFails = false,
    cwd = process.cwd(),
    outputs = new MemoryOutputs(),
    showsRows = false,
    triggers,
    ...given
  } = options;
  const script = newScript();
  const [audited, auditQueries, logged, clock, redactor] = [
    [] as AuditEntry[],
    [] as AuditQuery[],
    [] as string[],
    fakeClock(),
    new Redactor(),
  ];
  const counted: { name: string; labels: Labels }[] = [];
  const metrics: Metrics = {
    inc: ({ name }, labels) => void counted.push({ name, labels }),
    set: () => {},
    observe: ({ name }, labels) => void counted.push({ name, labels }),
  };
  const log = createLog({
    level: 'debug',
    target: 'headgate',
    clock,
    redactor,
    write: ({ line }) => logged.push(line),
  });
  const env = { clock, ids: { next: () => 'an-id' }, log, metrics, redactor, cwd };
  const audit = createAudit(
    {
      async recordAudit(record) {
        if (auditFails) throw new Error('the disk is full');
        const { id: _, timestamp: __, ...entry } = record;
        audited.push(entry);
      },
      async listAudit(query) {
        auditQueries.push(query);
        return [];
      },
    },
    env,
  );
  const server = await createServer({
    version: '0.0.0',
    env,
    runs: fakeRuns(script),
    parts,
    blocks: [
      {
        name: 'state',
        placement: 'pipeline',
        description: 'Where bookmarks live.',
        schema: z.strictObject({ type: z.string(), config: z.unknown() }),
      },
      {
        name: 'sla',
        placement: 'top',
        description: 'What is promised.',
        schema: z.strictObject({ max_age: z.string() }),
      },
    ],
    doctor: async () => report,
    backfill: async () => {
      throw new RefusedError('bad_config', 'there is nothing between `from` and `to`');
    },
    verify: async () => {
      throw new RefusedError(
        'bad_config',
        'row `row-0` has no key by which its records could be matched',
      );
    },
    replay: async () => {
      throw new RefusedError(
        'bad_config',
        'row `row-0` has no key by which its records could be matched',
      );
    },
    schedules: createSchedules({
      env,
      store: new MemorySchedules(),
      templates: () => Promise.resolve([]),
      jobs: inProcessJobs({ env: { ...env, fetch, variables: {} }, parts }),
      base: () => undefined,
      runs: fakeRuns(script),
      ends: new RunEnds(),
      audit,
      notifier: { schedulerStuck: async () => {} },
    }),
    triggers: createTriggers({
      env,
      audit,
      store: new MemoryTriggers(),
      runs: fakeRuns(script),
      runTemplate: async () =>
        fakeRuns(script).submit(
          { config: '', config_format: 'yaml' },
          { principal: 'x', role: 'admin' },
        ),
      loaded: triggers,
    }),
    reload: async () => ({ reloaded: false, reason: 'there is nothing to read' }),
    mcp: undefined,
    templateSync: {
      origins: [],
      sync: () => Promise.reject(new RefusedError('unprocessable', 'no origins')),
      publish: () => Promise.reject(new RefusedError('unprocessable', 'no origins')),
    },
    templates: createTemplates({
      env,
      store: new MemoryTemplates(),
      jobs: inProcessJobs({ env: { ...env, fetch, variables: {} }, parts }),
      runs: fakeRuns(script),
      audit,
    }),
    catalog: createCatalog(new MemoryCatalog(), env),
    deadLetters: createDeadLetterFiles(
      inProcessJobs({ env: { ...env, fetch, variables: {} }, parts }),
    ),
    localOutputs: createLocalOutputs({
      env: { ...env, fetch, variables: {} },
      jobs: inProcessJobs({ env: { ...env, fetch, variables: {} }, parts }),
      store: outputs,
      retentionDays: 7,
      graceSecs: 0,
      isRunning: () => Promise.resolve(false),
      preview: { enabled: showsRows, defaultRows: 2, maxRows: 3 },
    }),
    rerun: createRerun({ runs: fakeRuns(script), audit }),
    runPlan: createRunPlan({
      runs: fakeRuns(script),
      jobs: inProcessJobs({ env: { ...env, fetch, variables: {} }, parts }),
    }),
    receipt: createRunReceipt({
      env,
      version: '0.0.0',
      runs: fakeRuns(script),
      jobs: inProcessJobs({ env: { ...env, fetch, variables: {} }, parts }),
      plan: async () => {
        throw new RefusedError('unprocessable', 'the document of the run is not stored');
      },
      filesOf: async () => [],
    }),
    documentPlan: createDocumentPlan({
      jobs: inProcessJobs({ env: { ...env, fetch, variables: {} }, parts }),
      base: () => undefined,
    }),
    discovery: createDiscovery({
      jobs: inProcessJobs({ env: { ...env, fetch, variables: {} }, parts }),
      base: () => undefined,
    }),
    stagePreview: createStagePreview({
      jobs: inProcessJobs({ env: { ...env, fetch, variables: {} }, parts }),
      base: () => undefined,
    }),
    rollback: async () => {
      throw new RefusedError('unprocessable', 'the document of the run is not stored here');
    },
    audit,
    authenticate: bearerAuth(
      Object.entries(TOKENS).map(([role, token]) => ({
        name: `the-${role}`,
        role: role as TestRole,
        token,
      })),
    ),
    metricsText: async () => '# HELP nothing\n',
    ...given,
  });
  const ask: Fixture['ask'] = async (method, url, { as = 'admin', body, headers = {} } = {}) => {
    const payload =
      typeof body === 'string' || body instanceof Uint8Array || body === undefined
        ? body
        : JSON.stringify(body);
    const answer = await server.inject({
      method,
      url,
      headers: {
        ...(as === null ? {} : { authorization: `Bearer ${TOKENS[as]}` }),
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(payload === undefined ? {} : { payload }),
    });
    return { ...answer, json: () => JSON.parse(answer.body) as unknown };
  };
  return { server, script, audited, auditQueries, logged, counted, clock, redactor, ask };
}
