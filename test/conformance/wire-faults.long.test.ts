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
import type { SinkFixture } from '../../src/kit/sink-fixture.ts';
import type { SourceFixture } from '../../src/kit/source-fixture.ts';
import { stringifyJson, type JsonValue } from '../../src/lib/text/json.ts';
import { attemptOf, crashCases, Crasher, holdPromise } from './crash/crash.ts';
import { sourceFixtures } from './fixtures/fixtures-of.ts';
import { SINK_TOOLS } from './sink-tools.ts';
import { Wires, type Direction, type Fault } from './wire/faulty-wire.ts';
import {
  alteredFor,
  bounded,
  expectClear,
  keyOf,
  NO_REDELIVERY,
  NO_WIRE,
  readAll,
  wiredSinks,
  withServer,
} from './wire/wired-parts.ts';

const LONG = { timeout: 300_000 };
const BROKEN_AT: Readonly<Record<Direction, readonly number[]>> = {
  up: [0.4, 0.8, 1],
  down: [0.3, 0.6, 0.95],
};

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

const sinks = await wiredSinks();

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
          wires.through({ ...config, ...alteredFor('sink', type) }),
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
              config: await wires.through({ ...config, ...alteredFor('source', type) }),
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
        const wired = await wires.through({ ...config, ...alteredFor('source', type) });
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
