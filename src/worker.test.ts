/** The real worker: documents that are planned here and executed there. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testEnv } from '../test/fakes/env.ts';
import { MemoryHistory } from './history/memory/memory-history.ts';
import { stringifyJson } from './lib/text/json.ts';
import { createRegistry, type MetricRegistry } from './lib/metrics/prometheus.ts';
import { RUN_METRICS } from './runs/service/metrics.ts';
import { createPrepare } from './runs/service/prepare.ts';
import { createJobs, type Jobs } from './runs/service/jobs.ts';
import { metricsListener } from './runs/service/run-meter.ts';
import type { JobExecutor } from './runs/worker/executor.ts';
import { createRuns, type RunService } from './runs/service/run-service.ts';
import { CALLER, submission } from '../test/support/runs.ts';
import { createWorkerPool } from './runs/worker/worker-pool.ts';
import type { RunRecord } from './wire/run.ts';

let folder = '';
let runs: RunService;
let executor: JobExecutor;
let jobs: Jobs;
let registry: MetricRegistry;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-worker-'));
  registry = createRegistry(RUN_METRICS);
  const env = testEnv({ metrics: registry.metrics, variables: { FOLDER: folder } });
  executor = createWorkerPool({
    env,
    entry: fileURLToPath(new URL('worker.ts', import.meta.url)),
    maxWorkers: 2,
  });
  jobs = createJobs({
    env,
    executor,
    applyMetrics: registry.apply,
  });
  runs = createRuns({
    env,
    history: new MemoryHistory(),
    executor,
    prepare: createPrepare({ env, jobs }),
    doctor: () => Promise.resolve({ invocations: [] }),
    listeners: [metricsListener(registry.apply)],
    callbacks: { allowHosts: [], clustered: false },
    limits: {
      maxConcurrent: 1,
      maxQueued: 8,
      retainTerminalSecs: 604_800,
      idempotencySecs: 86_400,
      logRetentionSecs: 0,
      maxLogLinesPerRun: 1000,
      leaseTtlSecs: 30,
      stopGraceMs: 30_000,
    },
  });
  await runs.start();
  writeFileSync(join(folder, 'in.csv'), 'id,name\n1,ann\n2,bob\n3,cat\n');
});

afterAll(async () => {
  await runs.drain(1000);
  await executor.close();
  rmSync(folder, { recursive: true, force: true });
});

function document(over: { name?: string; input?: string } = {}): string {
  return `
version: 1
${over.name === undefined ? '' : `name: ${over.name}`}
pipeline:
  source: { type: csv, config: { path: '\${env:FOLDER}/${over.input ?? 'in.csv'}' } }
  sink: { type: jsonl, config: { path: '\${env:FOLDER}/out-\${now.date}.jsonl' } }
`;
}

async function ended(runId: string): Promise<{ record: RunRecord; lines: string[] }> {
  const lines: string[] = [];
  for await (const event of await runs.followLog(runId, new AbortController().signal)) {
    if (event.type === 'log') lines.push(event.line);
  }
  return { record: await runs.get(runId), lines };
}

describe('preparing a submission', () => {
  it('merges it over the default document, which may change meanwhile', async () => {
    const env = testEnv({ variables: { FOLDER: folder } });
    const named = { version: 1, name: 'defaults', execution: { on_error: 'stop' } };
    let base: { content: string; hash: string } | undefined = {
      content: stringifyJson(named),
      hash: 'one',
    };
    const prepare = createPrepare({ env, jobs, base: () => base });
    const request = { config: document(), config_format: 'yaml' as const, name: null };
    const stops = await prepare(request);
    expect(stops).toMatchObject({ name: 'defaults', is_named: true });
    expect(await prepare({ ...request, config: document({ name: 'own' }) })).toMatchObject({
      name: 'own',
    });
    base = { content: stringifyJson({ ...named, execution: {} }), hash: 'two' };
    expect((await prepare(request)).fingerprint).not.toBe(stops.fingerprint);
    base = undefined;
    expect(await prepare(request)).toMatchObject({ name: 'serve', is_named: false });
  });
});

describe('a worker', () => {
  it('executes a document with the clock of the submission and reports counts, log and metrics', async () => {
    const { run_id: runId } = await runs.submit(
      submission({ config: document({ name: 'people' }), clock: '2026-03-04T00:00:00Z' }),
      CALLER,
    );
    const { record, lines } = await ended(runId);
    expect(record).toMatchObject({
      name: 'people',
      status: 'completed',
      records_written: 3,
      error: null,
    });
    expect(record.invocations).toMatchObject([
      { row_id: 'row-0', records_written: 3, error: null, balance: { read: 3, written: 3 } },
    ]);
    expect(
      readFileSync(join(folder, 'out-2026-03-04.jsonl'), 'utf8').trim().split('\n'),
    ).toHaveLength(3);
    expect(lines[0]).toContain('pipeline run starting');
    const metrics = await registry.render();
    expect(metrics).toContain(
      'svc_sink_records_total{pipeline="people",row="row-0",connector="jsonl"} 3',
    );
    expect(metrics).toContain('svc_serve_runs_total{status="completed",reason="ok"} 1');
    expect(metrics).not.toContain(runId);
  });

  it('names pipelines after the submission, then the document, then `serve`', async () => {
    const names: unknown[] = [];
    for (const over of [
      { config: document({ name: 'people' }), name: 'mine' },
      { config: document() },
    ]) {
      const { run_id: runId } = await runs.submit(submission(over), CALLER);
      names.push((await ended(runId)).record.name);
    }
    expect(names).toEqual(['mine', null]);
    const metrics = await registry.render();
    for (const name of ['mine', 'serve'])
      expect(metrics).toContain(`svc_sink_records_total{pipeline="${name}"`);
  });

  it('fails a run whose input is missing, with the sentence of the connector', async () => {
    const { run_id: runId } = await runs.submit(
      submission({ config: document({ input: 'missing.csv' }) }),
      CALLER,
    );
    const { record } = await ended(runId);
    expect(record).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('1 invocation(s) failed'),
    });
    expect(record.error).toContain('missing.csv');
  });

  it('refuses at submit what cannot be read, filled in, or planned', async () => {
    const refused = (config: string): Promise<unknown> =>
      runs.submit(submission({ config }), CALLER);
    await expect(refused('version: [')).rejects.toMatchObject({ stage: 'parse' });
    await expect(refused(`${document()}schedule: { every: 1h }\n`)).rejects.toMatchObject({
      stage: 'parse',
    });
    await expect(refused(document().replace('FOLDER', 'NOT_SET'))).rejects.toMatchObject({
      stage: 'interpolate',
    });
    await expect(refused(document().replace('csv', 'cvs'))).rejects.toMatchObject({
      stage: 'validate',
    });
    await expect(refused(`extends: other.yaml\n${document()}`)).rejects.toMatchObject({
      code: 'bad_config',
    });
  });
});
