/**
 * Connections that are reset in the middle of a move: it goes on, or it fails and says why, and the
 * next run completes it. A move is never complete with less than there was, and none breaks what its
 * delivery promises. Held by every part of this build that speaks with a server.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SinkSubject } from '../../src/conformance/sink/subject.ts';
import { SourceSubject } from '../../src/conformance/source/subject.ts';
import { RECORDS_LANE } from '../../src/kit/page.ts';
import type { SinkFixture } from '../../src/kit/sink-fixture.ts';
import type { SourceFixture } from '../../src/kit/source-fixture.ts';
import type { SourceDefinition } from '../../src/kit/source.ts';
import { check } from '../../src/kit/schema.ts';
import { messageOf } from '../../src/lib/errors.ts';
import {
  canonicalJson,
  isObject,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../src/lib/text/json.ts';
import { attemptOf, crashCases, Crasher, holdPromise } from './crash/crash.ts';
import { sinkFixtures, sourceFixtures } from './fixtures/fixtures-of.ts';
import { SINK_TOOLS } from './sink-tools.ts';
import { Wires, type Direction, type Fault } from './wire/faulty-wire.ts';

const LONG = { timeout: 300_000 };
/** What reconnecting may take, with the waits that sources make. */
const LATE_MS = 40_000;
const BROKEN_AT: Readonly<Record<Direction, readonly number[]>> = {
  up: [0.4, 0.8, 1],
  down: [0.3, 0.6, 0.95],
};

/** Parts that speak with no server themselves, each with the reason. */
const NO_WIRE: Readonly<Record<string, string>> = {
  singer: 'a process, with which it has pipes',
  stdout: 'its own output',
  webhook: 'others come to it',
};

/** Stubs of servers that keep what was cut off on its way, each with the reason. */
const NO_REDELIVERY: Readonly<Record<string, string>> = {
  pubsub: 'its time for answers never ends by itself',
};

/** What else the config of a part needs to go by a wire. */
const ALTERED: Readonly<Record<string, JsonObject>> = {
  // The key of the server is known with its port.
  'sink sftp': { known_hosts: 'insecure' },
  'source sftp': { known_hosts: 'insecure' },
  // A message whose delivery was cut off is hidden for so long.
  'source sqs': { visibility_timeout_secs: 10 },
};

/** Stubs of servers live in this process, and have nobody to tell that a request was cut off. */
const isCutOff = (reason: unknown): boolean =>
  // Only the server's side of a request ends there; a part that leaves an error alone is not hidden.
  reason instanceof Error && /\babortIncoming\b/.test(reason.stack ?? '');

let told: NodeJS.UnhandledRejectionListener[] = [];
beforeAll(() => {
  told = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (reason, promise) => {
    if (!isCutOff(reason)) for (const tell of told) tell(reason, promise);
  });
});
afterAll(() => {
  process.removeAllListeners('unhandledRejection');
  for (const tell of told) process.on('unhandledRejection', tell);
});

/** Of what an undisturbed run sent and got. */
function faultsOf(passed: Readonly<Record<Direction, number>>): readonly Fault[] {
  const moments = (['up', 'down'] as const).flatMap((direction) =>
    BROKEN_AT[direction].map((share): Fault => ({
      direction,
      after: Math.max(1, Math.floor(passed[direction] * share)),
      lasts: 'a moment',
    })),
  );
  return [...moments, { direction: 'down', after: Math.floor(passed.down / 2), lasts: 'for good' }];
}

const said = ({ direction, after, lasts }: Fault): string =>
  `after ${after} bytes ${direction === 'up' ? 'to' : 'from'} the server and a reset for ${lasts === 'a moment' ? 'a moment' : 'good'}`;

function expectClear(error: string, fixture: { readonly secret?: string }, when: string): void {
  assert.match(error, /\w+ \w+/, `${when} the error says nothing`);
  assert.doesNotMatch(
    error,
    /undefined|\[object|internal error/i,
    `${when} the error is not clear`,
  );
  if (fixture.secret !== undefined)
    assert.ok(!error.includes(fixture.secret), `${when} the error has a secret`);
}

/** The first fixture of each type that needs a server. */
function withServer<D extends { readonly type: string }, F extends { start?(): Promise<void> }>(
  all: readonly (readonly [D, F])[],
): (readonly [string, D, F])[] {
  const first = new Map<string, readonly [D, F]>();
  for (const [definition, fixture] of all)
    if (fixture.start !== undefined && !first.has(definition.type))
      first.set(definition.type, [definition, fixture]);
  return [...first].map(([type, [definition, fixture]]) => [type, definition, fixture]);
}

/** As where sinks are killed: one for each way in which bytes become durable. */
const sinks = (await sinkFixtures())
  .filter(([, one]) => one.start !== undefined && one.crashesLike === undefined)
  .map(([definition, fixture]) => {
    const name = fixture.name === undefined ? '' : ` (${fixture.name})`;
    return [`${definition.type}${name}`, definition, fixture] as const;
  });

describe.each(sinks)('sink %s', (_title, definition, fixture: SinkFixture) => {
  const { type } = definition;
  const isHere = fixture.missing === undefined;
  beforeAll(() => (isHere ? fixture.start?.() : undefined), LONG.timeout);
  afterAll(() => (isHere ? fixture.stop?.() : undefined));

  it.skipIf(!isHere || NO_WIRE[type] !== undefined)('keeps its promise', LONG, async () => {
    const subject = await SinkSubject.of({ definition, fixture, tools: SINK_TOOLS });
    using runner = new Crasher();
    for (const [index, crashCase] of crashCases(subject).entries()) {
      await using wires = new Wires();
      const attempt = () =>
        attemptOf(subject, crashCase, (config) =>
          wires.through({ ...config, ...ALTERED[`sink ${type}`] }),
        );
      const passed = await (async () => {
        await using whole = await attempt();
        wires.arm();
        const report = await runner.run({ tree: whole.tree, crashAt: null }, whole.to);
        assert.equal(report?.error, null, `${crashCase.name}: fails without a fault`);
        return wires.passed;
      })();
      assert.ok(passed.up > 0, `${type} does not go by the wire`);
      // A server that stays away is waited for: once is enough.
      const faults = faultsOf(passed).filter(({ lasts }) => lasts === 'a moment' || index === 0);
      for (const fault of faults) {
        const when = `${crashCase.name}, ${said(fault)}:`;
        await using broken = await attempt();
        wires.arm(fault);
        const report = await runner.run({ tree: broken.tree, crashAt: null }, broken.to);
        assert.ok(report !== undefined, `${when} the process ended`);
        wires.arm();
        if (report.error === null)
          holdPromise(crashCase, (await broken.to.rows()) ?? [], `${when} complete, but`);
        else {
          expectClear(report.error, fixture, when);
          const again = await runner.run({ tree: broken.tree, crashAt: null }, broken.to);
          assert.equal(again?.error, null, `${when} the next run fails`);
          holdPromise(crashCase, (await broken.to.rows()) ?? [], `${when} failed and run again,`);
        }
      }
    }
  });
});

const bounded = (definition: SourceDefinition, config: JsonObject): boolean => {
  const checked = check(definition.config, config);
  return checked.ok && definition.capabilities(checked.value).unbounded === undefined;
};

describe.each(withServer(await sourceFixtures()))(
  'source %s',
  (type, definition, fixture: SourceFixture) => {
    const isHere = fixture.missing === undefined;
    let folder: string;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'headgate-wire-'));
      if (isHere) await fixture.start?.();
    }, LONG.timeout);
    afterAll(async () => {
      rmSync(folder, { recursive: true, force: true });
      if (isHere) await fixture.stop?.();
    });

    it.skipIf(!isHere || NO_WIRE[type] !== undefined)(
      'gives all or fails',
      LONG,
      async ({ skip }) => {
        const config = await fixture.config();
        if (!bounded(definition, config)) skip('never ends by itself');
        await using wires = new Wires();
        using runner = new Crasher();
        const path = join(folder, 'out.jsonl');
        const tree = stringifyJson({
          version: 1,
          name: 'wire',
          pipeline: {
            source: {
              type,
              config: await wires.through({ ...config, ...ALTERED[`source ${type}`] }),
            },
            sink: { type: 'jsonl', config: { path } },
          },
        });
        const lines = (): readonly string[] => readFileSync(path, 'utf8').split('\n').toSorted();
        wires.arm();
        const whole = await runner.run({ tree, crashAt: null });
        expect(whole?.error).toBeNull();
        const expected = lines();
        assert.equal(expected.length, fixture.records.length + 1);
        const { passed } = wires;
        assert.ok(passed.up > 0, `${type} does not go by the wire`);
        for (const fault of faultsOf(passed)) {
          rmSync(path);
          wires.arm(fault);
          const report = await runner.run({ tree, crashAt: null });
          assert.ok(report !== undefined, `${said(fault)}: the process ended`);
          wires.arm();
          if (report.error !== null) {
            expectClear(report.error, fixture, said(fault));
            const again = await runner.run({ tree, crashAt: null });
            assert.equal(again?.error, null, `${said(fault)}: the next run fails`);
          }
          assert.deepEqual(lines(), expected, `${said(fault)}: other records`);
        }
      },
    );
  },
);

/** Reads with one connector after the other until all records came; each goes on where the last failed. */
async function readAll(
  definition: SourceDefinition,
  fixture: SourceFixture,
  config: JsonObject,
): Promise<{ readonly seen: readonly JsonValue[]; readonly errors: readonly string[] }> {
  const subject = (await SourceSubject.of(definition, fixture)).with(config);
  const [seen, errors]: [JsonValue[], string[]] = [[], []];
  const missing = (): boolean => new Set(seen.map(keyOf)).size < fixture.records.length;
  const until = performance.now() + LATE_MS;
  let bookmark: JsonValue | undefined;
  while (missing() && performance.now() < until) {
    const stop = new AbortController();
    const late = setTimeout(() => stop.abort(new Error('late')), until - performance.now());
    try {
      const source = await subject.open({ config, signal: stop.signal, batchSize: 4 });
      try {
        const request = { lane: RECORDS_LANE, ...(bookmark === undefined ? {} : { bookmark }) };
        for await (const page of source.pages(request)) {
          seen.push(...structuredClone([...page.records()]));
          if (page.bookmark !== undefined) {
            bookmark = page.bookmark;
            await source.acknowledge?.(bookmark);
          }
          if (!missing()) stop.abort(new Error('seen enough'));
        }
      } finally {
        await source.close();
      }
    } catch (error) {
      if (!stop.signal.aborted) errors.push(messageOf(error));
    } finally {
      clearTimeout(late);
    }
  }
  return { seen, errors };
}

/** Of a change what was done: positions and names differ from table to table. */
function keyOf(record: JsonValue): string {
  if (!isObject(record) || record['op'] === undefined) return canonicalJson(record);
  const { op, before = null, after = null, document_key: key = null } = record;
  return canonicalJson({ op, before, after, key });
}

describe.each(withServer(await sourceFixtures()).filter(([, , { upstream }]) => upstream))(
  'source %s, which never ends,',
  (type, definition, fixture: SourceFixture) => {
    const isHere = fixture.missing === undefined;
    beforeAll(() => (isHere ? fixture.start?.() : undefined), LONG.timeout);
    afterAll(() => (isHere ? fixture.stop?.() : undefined));

    const isLeftOut = (NO_WIRE[type] ?? NO_REDELIVERY[type]) !== undefined;
    it.skipIf(!isHere || isLeftOut)('gives all', LONG, async () => {
      const { upstream, records } = fixture;
      assert.ok(upstream !== undefined);
      const readSent = async (wires: Wires, fault?: Fault) => {
        const config = await upstream.fresh();
        const wired = await wires.through({ ...config, ...ALTERED[`source ${type}`] });
        await upstream.send(config, records);
        wires.arm(fault);
        const read = await readAll(definition, fixture, wired);
        return { ...read, passed: wires.passed };
      };
      await using calm = new Wires();
      const lostOf = (all: readonly JsonValue[]): readonly JsonValue[] => {
        const keys = new Set(all.map(keyOf));
        return records.filter((one) => !keys.has(keyOf(one)));
      };
      const { passed, errors, seen } = await readSent(calm);
      assert.deepEqual(errors, [], 'fails without a fault');
      assert.deepEqual(lostOf(seen), [], 'loses records without a fault');
      assert.ok(passed.up > 0, `${type} does not go by the wire`);
      for (const fault of faultsOf(passed).filter(({ lasts }) => lasts === 'a moment')) {
        await using wires = new Wires();
        const read = await readSent(wires, fault);
        for (const error of read.errors) expectClear(error, fixture, said(fault));
        assert.deepEqual(
          lostOf(read.seen),
          [],
          `${said(fault)}: records are lost (${read.errors.join('; ')})`,
        );
      }
    });
  },
);
