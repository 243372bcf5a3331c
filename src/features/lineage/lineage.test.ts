/** What a collector is told of runs, and that runs do not care what becomes of it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { lineageSchema } from '../../blocks/lineage/schema.ts';
import type { ExecuteOptions } from '../../engine/engine.ts';
import type { ObservedRow, RunObserver } from '../../engine/observe/observer.ts';
import { ConnectorError, StopReason } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { Redactor } from '../../lib/redact.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { flatten } from '../../transforms/reshape/flatten.ts';
import { renameField } from '../../transforms/rename/rename-field.ts';
import { select } from '../../transforms/select.ts';
import { countedMetrics, run } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { runGraph } from '../../../test/fakes/graph.ts';
import { startHttpServer } from '../../../test/fakes/http-server.ts';
import {
  fakeSink,
  fakeSource,
  part,
  planOf,
  plannedRow,
  type FakePage,
} from '../../../test/fakes/plan.ts';
import type { Env } from '../../lib/env.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { Outages } from '../../lib/outages.ts';
import type { LineagePlan } from '../../blocks/lineage/plan.ts';
import { createLineageObserver } from './observer.ts';

function observerOf(plan: LineagePlan, env: Env, outages = new Outages(env.clock)): RunObserver {
  return createLineageObserver(plan, env, outages);
}

const folder = mkdtempSync(join(tmpdir(), 'headgate-lineage-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The shape of the standard (2-0-2), as far as events here make use of it. */
const facet = { _producer: z.url(), _schemaURL: z.url() };
const dataset = { namespace: z.string(), name: z.string() };
const schemaFacet = z.strictObject({
  ...facet,
  fields: z.array(z.strictObject({ name: z.string(), type: z.string() })).min(1),
});
const inputField = z.strictObject({ namespace: z.string(), name: z.string(), field: z.string() });
const runEvent = z.strictObject({
  eventType: z.enum(['START', 'RUNNING', 'COMPLETE', 'ABORT', 'FAIL']),
  eventTime: z.iso.datetime({ offset: true }),
  run: z.strictObject({
    runId: z.guid(),
    facets: z.strictObject({
      nominalTime: z.strictObject({
        ...facet,
        nominalStartTime: z.iso.datetime(),
        nominalEndTime: z.iso.datetime().optional(),
      }),
      parent: z
        .strictObject({
          ...facet,
          run: z.strictObject({ runId: z.guid() }),
          job: z.strictObject({ namespace: z.string(), name: z.string() }),
        })
        .optional(),
    }),
  }),
  job: z.strictObject({
    ...dataset,
    facets: z
      .strictObject({
        sourceCode: z.strictObject({
          ...facet,
          language: z.literal('yaml'),
          sourceCode: z.string(),
        }),
      })
      .optional(),
  }),
  inputs: z.array(
    z.strictObject({ ...dataset, facets: z.strictObject({ schema: schemaFacet }).optional() }),
  ),
  outputs: z.array(
    z.strictObject({
      ...dataset,
      facets: z
        .strictObject({
          schema: schemaFacet.optional(),
          columnLineage: z
            .strictObject({
              ...facet,
              fields: z.record(z.string(), z.strictObject({ inputFields: z.array(inputField) })),
            })
            .optional(),
        })
        .optional(),
    }),
  ),
  producer: z.url(),
  schemaURL: z.literal('https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent'),
});
type RunEvent = z.infer<typeof runEvent>;

let files = 0;

interface Scenario {
  readonly spec?: JsonObject;
  readonly pages?: readonly FakePage[];
  readonly row?: Partial<PlannedRow>;
  readonly fail?: Error;
  readonly document?: JsonObject;
  readonly overrides?: Partial<ExecuteOptions>;
}

const PAGES: readonly FakePage[] = [
  {
    records: [
      { id: 1, note: null },
      { id: 2.5, note: 'x' },
    ],
  },
];
const WHOLE = { include_schema_facet: true, include_column_lineage: true };

function file(): { readonly transport: JsonObject; readonly events: () => RunEvent[] } {
  const path = join(folder, 'deep', `${(files += 1)}.jsonl`);
  const lines = (): string[] => readFileSync(path, 'utf8').trimEnd().split('\n');
  return {
    transport: { type: 'file', config: { path } },
    events: () => lines().map((line) => runEvent.parse(JSON.parse(line))),
  };
}

/** Runs one row that moves from memory to memory. */
async function told(scenario: Scenario = {}) {
  const { transport, events } = file();
  const outcome = await moved({ ...scenario, spec: { transport, ...scenario.spec } });
  return { outcome, events: events() };
}

function moved({ spec = {}, pages = PAGES, row = {}, fail, document, overrides = {} }: Scenario) {
  const env = overrides.env ?? testEnv();
  const source = fakeSource(pages, fail === undefined ? {} : { failAfter: fail });
  const plan: Plan = planOf([plannedRow(source, fakeSink().definition, row)]);
  const lineage = {
    spec: lineageSchema.parse({ namespace: 'ns', ...spec }),
    ...(document === undefined ? {} : { document }),
  };
  return run(plan, {
    runId: '0198c0de-0000-7000-8000-000000000001',
    ...overrides,
    env,
    observers: [observerOf(lineage, env)],
  });
}

describe('the events of a row', () => {
  it('are START and COMPLETE of one run when it succeeds', async () => {
    const { events, outcome } = await told();
    expect(events.map(({ eventType }) => eventType)).toEqual(['START', 'COMPLETE']);
    const [start, complete] = events;
    const [invocation] = outcome.invocations;
    expect(new Set(events.map((event) => event.run.runId))).toEqual(
      new Set([invocation?.invocation_id]),
    );
    expect(start).toMatchObject({
      eventTime: invocation?.started_at,
      job: { namespace: 'ns', name: 'test::row-0' },
    });
    expect(complete).toMatchObject({
      eventTime: invocation?.finished_at,
      run: {
        facets: {
          nominalTime: {
            nominalStartTime: invocation?.started_at,
            nominalEndTime: invocation?.finished_at,
          },
        },
      },
      inputs: [{ namespace: 'ns', name: 'fake://source' }],
      outputs: [{ namespace: 'ns', name: 'fake://sink' }],
    });
    expect(start?.run.facets.nominalTime.nominalEndTime).toBeUndefined();
  });

  it('end with FAIL when it fails', async () => {
    const { events } = await told({ fail: new ConnectorError('data', 'the disk is full') });
    expect(events.map(({ eventType }) => eventType)).toEqual(['START', 'FAIL']);
  });

  it('end with ABORT when it is cancelled', async () => {
    const stop = new AbortController();
    const onProgress = (): void => stop.abort(new StopReason('cancel', 'the run was cancelled'));
    const { events, outcome } = await told({
      pages: [...PAGES, ...PAGES],
      overrides: { signal: stop.signal, onProgress },
    });
    expect(outcome.status).toBe('cancelled');
    expect(events.map(({ eventType }) => eventType)).toEqual(['START', 'ABORT']);
  });

  it('are those the document asks for, and the others are counted', async () => {
    const metrics = countedMetrics();
    const { events } = await told({
      spec: { emit_on: { start: false } },
      overrides: { env: testEnv({ metrics }) },
    });
    expect(events.map(({ eventType }) => eventType)).toEqual(['COMPLETE']);
    expect(metrics.of('svc_lineage_dropped_total')).toEqual({ '{disabled}': 1 });
    expect(metrics.of('svc_lineage_events_total')).toEqual({ '{complete,ok}': 1 });
  });

  it('name job and parent as the document says', async () => {
    const spec = {
      job_name: '${name}/${row_id}@${now.date}',
      parent_job: { namespace: 'up', name: 'dag' },
    };
    const [event] = (await told({ spec })).events;
    expect(event?.job.name).toBe('test/row-0@2026-01-31');
    expect(event?.run.facets.parent).toMatchObject({
      run: { runId: '0198c0de-0000-7000-8000-000000000001' },
      job: { namespace: 'up', name: 'dag' },
    });
  });

  it('are not sent by a dry run', async () => {
    const { transport, events } = file();
    await moved({ spec: { transport }, overrides: { dryRun: true } });
    expect(events).toThrow('ENOENT');
  });
});

describe('the facets of the last event', () => {
  it('tell columns in the order of their appearance, with the type of the first value', async () => {
    const [start, complete] = (await told({ spec: WHOLE })).events;
    const fields = [
      { name: 'id', type: 'number' },
      { name: 'note', type: 'string' },
    ];
    expect(start?.inputs[0]?.facets).toBeUndefined();
    expect(complete?.inputs[0]?.facets?.schema.fields).toEqual(fields);
    expect(complete?.outputs[0]?.facets?.schema?.fields).toEqual(fields);
  });

  it('tell where columns come from through rename and select, and not through what nobody can follow', async () => {
    const rename = part(renameField, { fields: { id: 'key' } });
    const through = await told({
      spec: WHOLE,
      row: { transforms: [rename, part(select, { fields: ['key'] })] },
    });
    expect(through.events[1]?.outputs[0]?.facets?.columnLineage?.fields).toEqual({
      key: { inputFields: [{ namespace: 'ns', name: 'fake://source', field: 'id' }] },
    });
    const flat = await told({
      spec: WHOLE,
      row: { transforms: [part(flatten, { separator: '__' })] },
    });
    expect(flat.events[1]?.outputs[0]?.facets).toHaveProperty('schema');
    expect(flat.events[1]?.outputs[0]?.facets).not.toHaveProperty('columnLineage');
  });

  it('are absent when no record is looked at', async () => {
    const { events } = await told({ spec: { ...WHOLE, sample_records: 0 } });
    expect(events[1]?.outputs[0]?.facets).toBeUndefined();
  });

  it('tell the document with its secrets masked', async () => {
    const redactor = new Redactor();
    redactor.register('CANARY-registered');
    const document = {
      pipeline: {
        source: {
          config: {
            url: 'postgres://me:CANARY@h/d',
            text: 'a CANARY-registered b',
            auth: { config: { api_key: 'CANARY' } },
          },
        },
        masking: { key: 'CANARY' },
        headers: { 'X-Key': 'CANARY' },
        channels: [
          { routing_key: 'CANARY', hmac_secret: 'CANARY', webhook_url: 'https://chat/CANARY' },
        ],
        sink: { config: { key: ['id'], path: '$\u0000{x}', n: 12345678901234567890n } },
      },
    };
    const { events } = await told({ document, overrides: { env: testEnv({ redactor }) } });
    const code = events[0]?.job.facets?.sourceCode.sourceCode ?? '';
    expect(code).not.toContain('CANARY');
    for (const kept of ['postgres://h/d', 'a *** b', '${x}', '12345678901234567890', '- id'])
      expect(code).toContain(kept);
  });
});

describe('the events of a graph', () => {
  it('are those of one job for each sink, with all sources that reach it', async () => {
    const { transport, events } = file();
    const env = testEnv();
    const lineage = { spec: lineageSchema.parse({ namespace: 'ns', transport, ...WHOLE }) };
    const one = { ...fakeSource([{ records: [{ x: 1 }] }]), datasetUri: () => 'fake://one' };
    const two = { ...fakeSource([{ records: [{ y: 1 }] }]), datasetUri: () => 'fake://two' };
    const node = (kind: string, type?: string): JsonObject =>
      type === undefined ? { kind } : { kind, type };
    const outcome = await runGraph(
      {
        nodes: {
          a: node('source', 'one'),
          b: node('source', 'two'),
          t: node('tee'),
          m: node('merge'),
          both: node('sink', 'out'),
          first: node('sink', 'out'),
        },
        edges: [
          ['a', 't'],
          ['t', 'm'],
          ['b', 'm'],
          ['m', 'both'],
          ['t', 'first'],
        ],
      },
      { sources: { one, two }, sinks: { out: fakeSink().definition } },
      { env, observers: [observerOf(lineage, env)] },
    );
    expect(outcome.error).toBeNull();
    const ended = Object.fromEntries(
      events()
        .filter(({ eventType }) => eventType === 'COMPLETE')
        .map((event) => [event.job.name, event]),
    );
    expect(ended['graph.both']?.inputs.map(({ name }) => name)).toEqual([
      'fake://one',
      'fake://two',
    ]);
    expect(ended['graph.both']?.outputs[0]?.facets).not.toHaveProperty('columnLineage');
    expect(ended['graph.first']).toMatchObject({
      inputs: [
        { name: 'fake://one', facets: { schema: { fields: [{ name: 'x', type: 'integer' }] } } },
      ],
      outputs: [
        { facets: { columnLineage: { fields: { x: { inputFields: [{ field: 'x' }] } } } } },
      ],
    });
  });
});

describe('a collector', () => {
  const http = (url: string, more: JsonObject = {}): JsonObject => ({
    transport: { type: 'http', config: { url, ...more } },
  });

  it('gets every event, with the token', async () => {
    await using collector = await startHttpServer([{ status: 201 }]);
    const auth = { type: 'bearer', config: { token: 'lineage-token' } };
    const outcome = await moved({ spec: http(collector.url, { auth }) });
    expect(outcome.status).toBe('completed');
    expect(collector.requests.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer lineage-token',
      'Bearer lineage-token',
    ]);
    expect(collector.requests.map((request) => runEvent.parse(request.json()).eventType)).toEqual([
      'START',
      'COMPLETE',
    ]);
  });

  it('that refuses, dies halfway or is not there changes nothing about the run', async () => {
    await using refusing = await startHttpServer([{ status: 500 }]);
    await using dying = await startHttpServer(() => dying.close().then(() => ({ breaks: true })));
    const topic = { type: 'kafka', config: { brokers: '127.0.0.1:1', topic: 'lineage' } };
    const specs = [refusing.url, dying.url, 'http://127.0.0.1:1/x'].map((url) => http(url));
    for (const spec of [...specs, { transport: topic }]) {
      const metrics = countedMetrics();
      const env = testEnv({ metrics });
      const outcome = await moved({ spec, overrides: { env } });
      expect(outcome).toMatchObject({ status: 'completed', records_written: 2, error: null });
      expect(metrics.of('svc_lineage_dropped_total')).toEqual({ '{transport_error}': 2 });
      expect(
        env.lines.filter(({ line }) => line.includes('a lineage event could not be sent')),
      ).toHaveLength(1);
    }
  });

  it('that never answers holds the end of a run up no longer than one event may take', async () => {
    await using collector = await startHttpServer([{ hangs: true }]);
    const rows = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) =>
      plannedRow(fakeSource(PAGES), fakeSink().definition, { id }),
    );
    const env = testEnv();
    const spec = lineageSchema.parse({
      namespace: 'ns',
      ...http(collector.url, { timeout_secs: 1 }),
    });
    const outcome = await run(planOf(rows), { env, observers: [observerOf({ spec }, env)] });
    expect(outcome.status).toBe('completed');
    // Twelve events were to be sent, four at a time: those that had not begun when the grace period ended
    // never left.
    expect(collector.requests.length).toBeLessThan(12);
    expect(env.lines.some(({ line }) => line.includes('events=12'))).toBe(true);
  });
});

describe('a collector that kept a run waiting for nothing', () => {
  it('is left alone by the runs that follow in the same process, for a while', async () => {
    let nowMs = 0;
    // It takes two seconds to answer.
    await using collector = await startHttpServer(() => ({
      status: (nowMs += 2000) > 0 ? 503 : 200,
    }));
    const env = testEnv({ clock: { ...systemClock, elapsedMs: () => nowMs } });
    const outages = new Outages(env.clock);
    const transport = { type: 'http', config: { url: collector.url } };
    const spec = lineageSchema.parse({ namespace: 'ns', transport, emit_on: { start: false } });
    const once = () =>
      run(planOf([plannedRow(fakeSource(PAGES), fakeSink().definition)]), {
        env,
        observers: [observerOf({ spec }, env, outages)],
      });
    await once();
    await once();
    expect(collector.requests).toHaveLength(1);
    expect(
      env.lines.some(({ line }) =>
        line.includes('the collector was not asked: it did not answer a moment ago'),
      ),
    ).toBe(true);
    nowMs += 30_000;
    await once();
    expect(collector.requests).toHaveLength(2);
  });
});

describe('a running row', () => {
  it('is told of now and then', async () => {
    const { transport, events } = file();
    const env = testEnv();
    const spec = lineageSchema.parse({
      namespace: 'ns',
      transport,
      emit_on: { running: true },
      heartbeat_interval: 5,
    });
    const observer = observerOf({ spec }, env);
    expect(observer.heartbeatMs).toBe(5000);
    expect(
      observerOf({ spec: lineageSchema.parse({ namespace: 'ns', transport }) }, env).heartbeatMs,
    ).toBeUndefined();
    let running: ObservedRow | undefined;
    const beat: RunObserver = { name: 'heart', rowStarted: (row) => void (running = row) };
    const source = fakeSource(PAGES, {
      async beforePage() {
        if (running !== undefined) await observer.rowRuns?.(running);
      },
    });
    await run(planOf([plannedRow(source, fakeSink().definition)]), {
      env,
      observers: [beat, observer],
    });
    const [start, running1, complete] = events();
    expect([start, running1, complete].map((event) => event?.eventType)).toEqual([
      'START',
      'RUNNING',
      'COMPLETE',
    ]);
    expect(running1?.eventTime).toBe(start?.eventTime);
  });
});
