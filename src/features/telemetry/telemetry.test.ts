import { createServer, type Server } from 'node:http';
import { gunzipSync } from 'node:zlib';
import type { AddressInfo } from 'node:net';
import { Server as GrpcServer, ServerCredentials, type Metadata } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import {
  fakeSink,
  fakeSource,
  fakeState,
  noParts,
  part,
  planOf,
  plannedRow,
} from '../../../test/fakes/plan.ts';
import { observabilitySchema, type OtelConfig } from '../../blocks/observability/schema.ts';
import { execute } from '../../engine/execute.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { MetricDefinition, Metrics } from '../../lib/metrics/metrics.ts';
import { noMetrics } from '../../lib/metrics/metrics.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { Outages } from '../../lib/outages.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { observed } from '../observers.ts';
import { addressOf } from './collector.ts';
import { listenForScrapes } from './listen.ts';

const otelOf = (given: object): OtelConfig => {
  const { otel } = observabilitySchema.parse({ otel: given });
  if (otel === undefined) throw new Error('there is no otel');
  return otel;
};

interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

let server: Server;
let received: Received[] = [];
let answer = 200;
/** Time passes while it answers. */
let whileAnswering = (): unknown => undefined;
beforeEach(async () => {
  received = [];
  answer = 200;
  whileAnswering = () => undefined;
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
      received.push({ path: request.url ?? '', headers: request.headers, body });
      whileAnswering();
      response.writeHead(answer).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

const endpoint = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const sent = (path: string): string =>
  received
    .filter((one) => one.path === path)
    .map(({ body }) => body.toString('latin1'))
    .join('');

interface Counted {
  readonly metrics: Metrics;
  readonly failures: unknown[];
}

function counting(): Counted {
  const failures: unknown[] = [];
  const inc = (metric: MetricDefinition, labels: unknown): void => {
    if (metric.name === 'svc_otel_export_failures_total') failures.push(labels);
  };
  return { metrics: { ...noMetrics, inc }, failures };
}

async function run(
  otel: OtelConfig,
  row: PlannedRow,
  env = testEnv(),
  outages = new Outages(env.clock),
) {
  const plan = { ...planOf([row]), blocks: { observability: { otel } } };
  const { signal } = new AbortController();
  const clock = new Date('2026-01-31T00:00:00Z');
  return execute({
    plan,
    parts: noParts,
    ...(await observed(plan, env, { outages })),
    runId: 'run-1',
    clock,
    signal,
  });
}

const moving = (): PlannedRow =>
  plannedRow(fakeSource([{ records: [{ id: 1 }], bookmark: 1 }]), fakeSink().definition, {
    state: part(fakeState(new Map())),
  });

describe('a run that is exported', () => {
  it('gives a trace of the run, its rows and what their pages cost', async () => {
    const outcome = await run(
      otelOf({
        endpoint: endpoint(),
        protocol: 'http',
        headers: { 'x-key': 'k' },
        export: ['traces'],
        service_name: 'orders',
      }),
      moving(),
    );
    expect(outcome.status).toBe('completed');
    expect(new Set(received.map(({ path }) => path))).toEqual(new Set(['/v1/traces']));
    expect(received[0]?.headers).toMatchObject({
      'x-key': 'k',
      'content-type': 'application/x-protobuf',
    });
    const text = sent('/v1/traces');
    for (const word of [
      'orders',
      'run',
      'row row-0',
      'page fetch',
      'write',
      'flush',
      'state',
      'run-1',
      'pipeline',
    ])
      expect(text).toContain(word);
  });

  it('gives its metrics under their names, once more at its end', async () => {
    await run(
      otelOf({ endpoint: `${endpoint()}/`, protocol: 'http', export: ['metrics'] }),
      moving(),
    );
    const text = sent('/v1/metrics');
    for (const name of [
      'svc_pipeline_runs_total',
      'svc_source_records_total',
      'svc_pipeline_in_flight',
      'svc_sink_write_duration_seconds',
    ]) {
      expect(text).toContain(name);
    }
  });

  it('makes no series of its own: nothing of its metrics tells it from the run before', async () => {
    const otel = otelOf({ endpoint: endpoint(), protocol: 'http', export: ['metrics'] });
    await run(otel, moving());
    await run(otel, moving());
    const instances = received.map(
      ({ body }) => /service\.instance\.id[^\w]+([\w.:-]+)/.exec(body.toString('latin1'))?.[1],
    );
    expect(instances).toHaveLength(2);
    expect(instances[0]).toContain(`:${process.pid}`);
    expect(new Set(instances).size).toBe(1);
    expect(sent('/v1/metrics')).not.toContain('run-1');
  });

  it('marks what failed', async () => {
    const { definition } = fakeSink({
      onWrite: () => {
        throw new ConnectorError('data', 'the disk is full');
      },
    });
    await run(
      otelOf({ endpoint: endpoint(), protocol: 'http', export: ['traces'] }),
      plannedRow(fakeSource([{ records: [{ id: 1 }] }]), definition),
    );
    expect(sent('/v1/traces')).toContain('the disk is full');
  });

  it('is not traced when the ratio leaves it out', async () => {
    await run(
      otelOf({ endpoint: endpoint(), protocol: 'http', export: ['traces'], sample_ratio: 0 }),
      moving(),
    );
    expect(received).toEqual([]);
  });

  it('does not fail with its collector, and counts what was not sent', async () => {
    answer = 400;
    const { metrics, failures } = counting();
    const env = testEnv({ metrics });
    const outcome = await run(
      otelOf({ endpoint: endpoint(), protocol: 'http', timeout_secs: 1 }),
      moving(),
      env,
    );
    expect(outcome.status).toBe('completed');
    expect(failures).toEqual(expect.arrayContaining([{ signal: 'traces' }, { signal: 'metrics' }]));
    expect(env.lines.filter(({ line }) => line.includes('could not be sent'))).toHaveLength(2);
  });

  it('leaves a collector alone that kept an earlier run of the process waiting, for a while', async () => {
    const { metrics, failures } = counting();
    let nowMs = 0;
    const env = testEnv({ metrics, clock: { ...systemClock, elapsedMs: () => nowMs } });
    const outages = new Outages(env.clock);
    const otel = otelOf({ endpoint: endpoint(), protocol: 'http', export: ['traces'] });
    answer = 400;
    whileAnswering = () => (nowMs += 2000);
    await run(otel, moving(), env, outages);
    await run(otel, moving(), env, outages);
    expect([received.length, failures.length]).toEqual([1, 2]);
    nowMs += 30_000;
    await run(otel, moving(), env, outages);
    expect(received).toHaveLength(2);
  });

  it('reaches a collector over gRPC, with its headers as metadata', async () => {
    const calls: { readonly path: string; readonly key: unknown }[] = [];
    const collector = new GrpcServer();
    const identity = (bytes: Buffer): Buffer => bytes;
    const method = (path: string) => ({
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: identity,
      requestDeserialize: identity,
      responseSerialize: identity,
      responseDeserialize: identity,
    });
    const take =
      (path: string) =>
      (call: { readonly metadata: Metadata }, done: (error: null, value: Buffer) => void) => {
        calls.push({ path, key: call.metadata.get('x-key')[0] });
        done(null, Buffer.alloc(0));
      };
    for (const signal of ['trace', 'metrics']) {
      const path = `/opentelemetry.proto.collector.${signal}.v1.${signal === 'trace' ? 'Trace' : 'Metrics'}Service/Export`;
      collector.addService({ Export: method(path) }, { Export: take(path) });
    }
    const port = await new Promise<number>((resolve, reject) =>
      collector.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      ),
    );
    try {
      await run(
        otelOf({ endpoint: `http://127.0.0.1:${port}`, headers: { 'x-key': 'k' } }),
        moving(),
      );
      expect(new Set(calls.map(({ path }) => path.split('/')[1]))).toEqual(
        new Set([
          'opentelemetry.proto.collector.trace.v1.TraceService',
          'opentelemetry.proto.collector.metrics.v1.MetricsService',
        ]),
      );
      expect(new Set(calls.map(({ key }) => key))).toEqual(new Set(['k']));
    } finally {
      collector.forceShutdown();
    }
  });
});

describe('the address of a signal', () => {
  it.each([
    [{}, 'traces', 'http://localhost:4317'],
    [{ protocol: 'http' }, 'metrics', 'http://localhost:4318/v1/metrics'],
    [
      { protocol: 'http', endpoint: 'https://c.example/otlp/' },
      'traces',
      'https://c.example/otlp/v1/traces',
    ],
    [
      { protocol: 'http', endpoint: 'https://c.example/v1/traces' },
      'traces',
      'https://c.example/v1/traces',
    ],
    [
      { protocol: 'http', endpoint: 'https://c.example/v1/traces' },
      'metrics',
      'https://c.example/v1/traces/v1/metrics',
    ],
  ] as const)('of %j for %s is %s', (given, signal, address) => {
    expect(addressOf(otelOf(given), signal)).toBe(address);
  });
});

describe('a listener for scrapes', () => {
  it('shows what was measured, in the buckets of the document', async () => {
    await using listener = await listenForScrapes({ listen: '127.0.0.1:0', buckets: [0.5, 2] });
    listener.metrics.observe(
      { name: 'svc_x_seconds', type: 'histogram', help: 'X.', labels: ['row'] },
      { row: 'a' },
      1,
    );
    const text = await (await fetch(`http://127.0.0.1:${listener.port}/metrics`)).text();
    expect(text).toContain('svc_x_seconds_bucket{le="0.5",row="a"} 0');
    expect(text).toContain('svc_x_seconds_bucket{le="2",row="a"} 1');
    expect(text).toMatch(/^svc_build_info\{version="\d[^"]*"\} 1$/m);
    expect((await fetch(`http://127.0.0.1:${listener.port}/`)).status).toBe(404);
  });

  it('says which setting to change when the address is taken', async () => {
    await using first = await listenForScrapes({ listen: '127.0.0.1:0', buckets: undefined });
    const second = listenForScrapes({ listen: `127.0.0.1:${first.port}`, buckets: undefined });
    await expect(second).rejects.toMatchObject({
      code: 'listen_failed',
      hint: expect.stringContaining('observability.prometheus.listen') as string,
    });
  });
});
