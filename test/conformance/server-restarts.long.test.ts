/**
 * Servers that end in the middle of a move and start again with their data: the retries of the
 * document complete it, or it fails and says why, and the next run completes it. Held by every part
 * of this build whose server can be restarted here; `NO_RESTART` says why one cannot.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { SinkSubject } from '../../src/conformance/sink/subject.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../../src/lib/text/json.ts';
import { startPostgres, type PostgresServer } from '../servers/postgres.ts';
import { restartableOn, type Ending, type Restartable } from '../servers/test-servers.ts';
import { attemptOf, crashCases, Crasher, holdPromise, type RunReport } from './crash/crash.ts';
import { sourceFixtures } from './fixtures/fixtures-of.ts';
import { SINK_TOOLS } from './sink-tools.ts';
import { Wires } from './wire/faulty-wire.ts';
import {
  alteredFor,
  bounded,
  expectClear,
  keyOf,
  NO_WIRE,
  readAll,
  wiredSinks,
  withServer,
} from './wire/wired-parts.ts';

const LONG = { timeout: 200_000 };
const SHARE = 0.6;
const COMES_BACK_MS = 30_000;

const of = (kind: 'source' | 'sink', types: string, reason: string) =>
  types.split(' ').map((type) => [`${kind} ${type}`, reason] as const);

/** Fixtures of a part whose other fixtures are restarted. */
const NO_RESTART_OF: Readonly<Record<string, string>> = {
  'nats (whoever listens)': 'who listens does not hear what is said meanwhile',
};

const IN_MEMORY = 'a fake or an emulator, which loses what it holds when it ends';

/** Parts whose server is not restarted here, each with the reason. */
const NO_RESTART: Readonly<Record<string, string>> = Object.fromEntries([
  ...of(
    'sink',
    'azure-blob bigquery databricks delta dynamodb elasticsearch gcs http iceberg kinesis mongodb mssql oracle parquet pubsub redshift s3 snowflake spanner sqs',
    IN_MEMORY,
  ),
  ...of(
    'source',
    'azure-blob bigquery databricks delta dynamodb elasticsearch file gcs graphql grpc iceberg kinesis mongodb mongodb-cdc mssql mssql-cdc oracle parquet pubsub redshift rest s3 snowflake spanner sqs websocket xml',
    IN_MEMORY,
  ),
]);

const RESILIENCE = {
  retry: { max_attempts: 8, backoff: 'fixed', base_ms: 500 },
};

let postgres: PostgresServer | undefined;
beforeAll(async () => {
  // The one of the test run is read and written by other files.
  postgres = await startPostgres();
  process.env['HEADGATE_TEST_POSTGRES_URL'] = postgres.url;
}, LONG.timeout);
afterAll(() => postgres?.stop());

/** The server behind the wire. A part without one must say why. */
function serverOf(type: string, { ports }: Wires): Restartable {
  const found = ports.map(restartableOn).find((one) => one !== undefined);
  return (
    found ??
    assert.fail(`the server of ${type} cannot be restarted: let it, or name it in NO_RESTART`)
  );
}

/** The connections of fixtures come back by themselves, each in its time. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  const until = performance.now() + COMES_BACK_MS;
  for (;;)
    try {
      return await ask();
    } catch (error) {
      if (performance.now() > until) throw error;
      await sleep(200);
    }
}

/** Restarts the server when so much has passed. Where it never does, the run has ended before. */
async function restarted(
  wires: Wires,
  { server, by }: { readonly server: Restartable; readonly by: Ending },
  running: Promise<RunReport | undefined>,
): Promise<RunReport> {
  const state = { hasEnded: false };
  const ended = running.finally(() => (state.hasEnded = true));
  while (!wires.isBroken && !state.hasEnded) await sleep(5);
  assert.ok(wires.isBroken, 'the run was over before its server ended');
  await server.restart(by);
  const report = await ended;
  wires.arm();
  return report ?? assert.fail('the process of the run ended');
}

const faultAfter = ({ passed }: Wires) =>
  ({
    direction: 'up',
    after: Math.max(1, Math.floor(passed.up * SHARE)),
    how: 'ending',
    lasts: 'a moment',
  }) as const;

const [sinks, sources] = [await wiredSinks(), withServer(await sourceFixtures())];

it('every reason is that of a part of this build', () => {
  const parts = new Set([
    ...sinks.map(([, { type }]) => `sink ${type}`),
    ...sources.map(([type]) => `source ${type}`),
  ]);
  assert.deepEqual(
    Object.keys(NO_RESTART).filter((part) => !parts.has(part)),
    [],
  );
});

describe.each(sinks)('sink %s', (title, definition, fixture) => {
  const { type } = definition;
  const isHere =
    fixture.missing === undefined &&
    (NO_WIRE[type] ?? NO_RESTART[`sink ${type}`] ?? NO_RESTART_OF[title]) === undefined;
  beforeAll(() => (isHere ? fixture.start?.() : undefined), LONG.timeout);
  afterAll(() => (isHere ? fixture.stop?.() : undefined));

  it.skipIf(!isHere)('keeps its promise', LONG, async () => {
    const subject = await SinkSubject.of({ definition, fixture, tools: SINK_TOOLS });
    using runner = new Crasher();
    for (const crashCase of crashCases(subject)) {
      await using wires = new Wires();
      const document = { ...crashCase.document, resilience: RESILIENCE };
      const attempt = () =>
        attemptOf(subject, { ...crashCase, document }, (config) =>
          wires.through({ ...config, ...alteredFor('sink', type) }),
        );
      {
        await using whole = await attempt();
        wires.arm();
        const report = await runner.run({ tree: whole.tree, crashAt: null }, whole.to);
        assert.equal(report?.error, null, `${crashCase.name}: fails without a fault`);
      }
      const fault = faultAfter(wires);
      const server = serverOf(type, wires);
      for (const by of server.survives) {
        const when = `${crashCase.name}, ${by}:`;
        await using broken = await attempt();
        wires.arm(fault);
        const running = runner.run({ tree: broken.tree, crashAt: null }, broken.to);
        const { error } = await restarted(wires, { server, by }, running);
        if (error !== null) {
          expectClear(error, fixture, when);
          const again = await runner.run({ tree: broken.tree, crashAt: null }, broken.to);
          assert.equal(again?.error, null, `${when} the next run fails`);
        }
        const after = error === null ? 'complete, but' : 'failed and run again,';
        const rows = await answered(() => broken.to.rows());
        holdPromise(crashCase, rows ?? [], `${when} ${after}`);
      }
    }
  });
});

describe.each(sources)('source %s', (type, definition, fixture) => {
  const isHere =
    fixture.missing === undefined && (NO_WIRE[type] ?? NO_RESTART[`source ${type}`]) === undefined;
  beforeAll(() => (isHere ? fixture.start?.() : undefined), LONG.timeout);
  afterAll(() => (isHere ? fixture.stop?.() : undefined));

  it.skipIf(!isHere)('gives all or fails', LONG, async ({ skip }) => {
    const config = await fixture.config();
    if (!bounded(definition, config)) skip('it never ends by itself, and is held below');
    const folder = mkdtempSync(join(tmpdir(), 'headgate-restarts-'));
    const path = join(folder, 'out.jsonl');
    const lines = (): readonly string[] => readFileSync(path, 'utf8').split('\n').toSorted();
    try {
      await using wires = new Wires();
      using runner = new Crasher();
      const wired = await wires.through({ ...config, ...alteredFor('source', type) });
      const tree = stringifyJson({
        version: 1,
        name: 'restarts',
        resilience: RESILIENCE,
        pipeline: {
          source: { type, config: wired },
          sink: { type: 'jsonl', config: { path } },
        },
      });
      const run = () => runner.run({ tree, crashAt: null });
      const whole = await run();
      assert.equal(whole?.error, null, 'fails without a fault');
      const expected = lines();
      const fault = faultAfter(wires);
      const server = serverOf(type, wires);
      for (const by of server.survives) {
        rmSync(path);
        wires.arm(fault);
        const { error } = await restarted(wires, { server, by }, run());
        if (error !== null) {
          expectClear(error, fixture, by);
          const again = await run();
          assert.equal(again?.error, null, `${by}: the next run fails`);
        }
        assert.deepEqual(lines(), expected, `${by}: other records`);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe.each(sources)('source %s, which never ends,', (type, definition, fixture) => {
  const isHere =
    fixture.missing === undefined && (NO_WIRE[type] ?? NO_RESTART[`source ${type}`]) === undefined;
  beforeAll(() => (isHere ? fixture.start?.() : undefined), LONG.timeout);
  afterAll(() => (isHere ? fixture.stop?.() : undefined));

  it.skipIf(!isHere)('goes on where it was', LONG, async ({ skip }) => {
    const { records, upstream } = fixture;
    if (bounded(definition, await fixture.config())) skip('it ends, and is held above');
    const prepared = async (wires: Wires): Promise<JsonObject> => {
      const config = (await upstream?.fresh()) ?? (await fixture.config());
      await upstream?.send(config, records);
      return wires.through({ ...config, ...alteredFor('source', type) });
    };
    const lostOf = (seen: readonly JsonValue[]): readonly JsonValue[] => {
      const keys = new Set(seen.map(keyOf));
      return records.filter((one) => !keys.has(keyOf(one)));
    };
    await using calm = new Wires();
    const whole = await readAll(definition, fixture, await prepared(calm));
    assert.deepEqual(whole.errors, [], 'fails without a fault');
    assert.deepEqual(lostOf(whole.seen), [], 'loses records without a fault');
    for (const by of serverOf(type, calm).survives) {
      await using wires = new Wires();
      const config = await prepared(wires);
      // Cut off, too: a server that ends may wait for its readers, whose answers would be held back.
      wires.arm({
        direction: 'down',
        after: Math.floor(calm.passed.down / 2),
        lasts: 'a moment',
      });
      const reading = readAll(definition, fixture, config);
      while (!wires.isBroken) await sleep(5);
      await serverOf(type, wires).restart(by);
      const { seen, errors } = await reading;
      for (const error of errors) expectClear(error, fixture, by);
      assert.deepEqual(lostOf(seen), [], `${by}: records are lost (${errors.join('; ')})`);
    }
  });
});
