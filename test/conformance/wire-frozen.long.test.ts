/**
 * An execution that is frozen before any of the messages it sends to its destination, while another
 * server takes the run over: the later one finds what the earlier one has done, or it is never done.
 * Held by every sink that says so (`fenced`, `token`) and speaks with a server.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SinkSubject } from '../../src/conformance/sink/subject.ts';
import { codeOf, commit, last, outcomeOf, repeated } from '../../src/conformance/sink/take-over.ts';
import { ENDS, idsIn, takeScope } from '../../src/conformance/sink/take-over-ends.ts';
import { mysqlSink } from '../../src/connectors/mysql/index.ts';
import { TAKEN_OVER } from '../../src/kit/execution.ts';
import type { Destination, SinkFixture } from '../../src/kit/sink-fixture.ts';
import type { Sink, SinkDefinition } from '../../src/kit/sink.ts';
import { messageOf } from '../../src/lib/errors.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { fixtures as mysqlFixtures } from './fixtures/sinks/mysql.ts';
import { SINK_TOOLS } from './sink-tools.ts';
import { Gate, Wires } from './wire/faulty-wire.ts';
import { alteredFor, NO_WIRE, wiredSinks } from './wire/wired-parts.ts';

const LONG = { timeout: 300_000 };
const [EARLIER, LATER] = [1, 2].map((claim) => ({ runId: 'conformance', claim }));
/** Where the destination holds up whoever takes over, it is for the frozen one: that goes on then. */
const HELD_UP_MS = 700;

/** What an execution does to its destination, and what tells whoever takes over that it was done. */
interface Act {
  readonly name: string;
  readonly inapplicable: (subject: SinkSubject) => string | undefined;
  configOf(subject: SinkSubject, config: JsonObject): JsonObject;
  setUp(subject: SinkSubject, config: JsonObject): Promise<unknown>;
  begin(earlier: Sink): Promise<void>;
  act(earlier: Sink): Promise<unknown>;
  takeOver(later: Sink): Promise<void>;
  /** By the later execution, afterwards. */
  goOn(later: Sink): Promise<unknown>;
  readonly left: { readonly before: number[]; readonly after: number[] };
  /** What is there in the end, of what was there when the run was taken over. */
  end(found: readonly number[]): readonly number[];
}

const ends = ENDS.map((one): Act => ({
  name: one.name,
  inapplicable: one.inapplicable,
  configOf: (subject, config) => one.configOf(subject, config),
  setUp: (subject, config) => one.setUp(subject, config),
  async begin(earlier) {
    await takeScope(earlier);
    await repeated(() => one.begin(earlier));
  },
  act: (earlier) => repeated(() => one.change(earlier)),
  takeOver: takeScope,
  async goOn(later) {
    await repeated(() => one.begin(later));
    await repeated(() => one.change(later));
  },
  left: { before: [...one.before], after: [...one.after] },
  end: () => one.after,
}));

const page: Act = {
  name: 'page with a watermark',
  inapplicable: ({ capabilities: { token } }) => (token ? undefined : 'commits no watermark'),
  configOf: (_subject, config) => config,
  setUp: () => Promise.resolve(),
  async begin(earlier) {
    await last(earlier);
    await commit(earlier, 1, 'one');
  },
  act: (earlier) => commit(earlier, 2, 'two'),
  takeOver: async (later) => void (await last(later)),
  goOn: (later) => commit(later, 3, 'three'),
  left: { before: [1], after: [1, 2] },
  end: (found) => [...found, 3],
};

const ACTS: readonly Act[] = [...ends, page];

interface Scene {
  readonly subject: SinkSubject;
  readonly to: Destination;
  readonly earlier: Sink;
  readonly later: Sink;
  readonly wires: Wires;
}

async function play(
  subject: SinkSubject,
  act: Act,
  work: (scene: Scene) => Promise<void>,
): Promise<void> {
  await using wires = new Wires();
  const to = await subject.fresh();
  const config = act.configOf(subject, to.config);
  await act.setUp(subject, to.config);
  const wired = await wires.through({ ...config, ...alteredFor('sink', subject.definition.type) });
  await subject.using(
    wired,
    (earlier) =>
      subject.using(
        config,
        async (later) => {
          await act.begin(earlier);
          await work({ subject, to, earlier, later, wires });
        },
        LATER,
      ),
    EARLIER,
  );
}

async function messagesOf(subject: SinkSubject, act: Act): Promise<number> {
  let messages = 0;
  await play(subject, act, async ({ to, earlier, wires }) => {
    const gate = new Gate(Infinity);
    wires.goBy(gate);
    await act.act(earlier);
    assert.deepEqual(await idsIn(to), act.left.after, 'without another execution');
    ({ messages } = gate);
  });
  assert.ok(messages > 0, 'nothing goes by the wire');
  return messages;
}

async function checkFrozen(subject: SinkSubject, act: Act, before: number): Promise<void> {
  await play(subject, act, async ({ to, earlier, later, wires }) => {
    const when = `frozen before message ${before}`;
    const gate = new Gate(before);
    wires.goBy(gate);
    const acting = outcomeOf(act.act(earlier));
    await Promise.race([gate.closed, acting]);
    const taking = act.takeOver(later).then(() => idsIn(to));
    await Promise.race([taking, sleep(HELD_UP_MS)]);
    gate.open();
    const [found, failure] = await Promise.all([taking, acting]);
    if (failure !== undefined)
      assert.equal(
        codeOf(failure),
        TAKEN_OVER,
        `${when}, it fails otherwise: ${messageOf(failure)}`,
      );
    const { before: old, after } = act.left;
    const expected = failure === undefined ? after : old;
    assert.deepEqual(found, expected, `${when}: what the later execution found`);
    assert.deepEqual(await idsIn(to), expected, `${when}: what is there afterwards`);
    await act.goOn(later);
    assert.deepEqual(await idsIn(to), act.end(expected), `${when}: when the later one has ended`);
  });
}

async function checkAct(subject: SinkSubject, act: Act): Promise<void> {
  const messages = await messagesOf(subject, act);
  for (let before = 1; before <= messages; before += 1) await checkFrozen(subject, act, before);
}

describe.each(await wiredSinks())('sink %s', (_title, definition, fixture: SinkFixture) => {
  const isHere = fixture.missing === undefined && NO_WIRE[definition.type] === undefined;
  beforeAll(() => (isHere ? fixture.start?.() : undefined), LONG.timeout);
  afterAll(() => (isHere ? fixture.stop?.() : undefined));

  for (const act of ACTS)
    it.skipIf(!isHere)(`does not make its ${act.name} late`, LONG, async ({ skip }) => {
      const subject = await SinkSubject.of({ definition, fixture, tools: SINK_TOOLS });
      const reason = act.inapplicable(subject) ?? fixture.skip?.[act.name];
      if (reason !== undefined) skip(reason);
      await checkAct(subject, act);
    });
});

/** The scope is looked at before the last step, and what was collected stays. */
const onlyAsks: SinkDefinition = {
  ...mysqlSink,
  async open(config, context) {
    const [{ openMysqlDriver }, { createSqlSink }] = await Promise.all([
      import('../../src/connectors/mysql/driver.ts'),
      import('../../src/connectors/_sql/sink.ts'),
    ]);
    const driver = await openMysqlDriver(config, context);
    return createSqlSink(config, { ...driver, tablesFrom: () => Promise.resolve([]) }, context);
  },
};

describe('an overwrite whose staging table outlives the take-over', () => {
  const [fixture] = mysqlFixtures;
  if (fixture === undefined) throw new Error('there is no fixture of MySQL');
  const isHere = fixture.missing === undefined;
  beforeAll(() => (isHere ? fixture.start?.() : undefined), LONG.timeout);
  afterAll(() => (isHere ? fixture.stop?.() : undefined));

  it.skipIf(!isHere)('is caught', LONG, async () => {
    const subject = await SinkSubject.of({ definition: onlyAsks, fixture, tools: SINK_TOOLS });
    const overwrite = ends.find(({ name }) => name === 'taken-over-overwrite');
    assert.ok(overwrite !== undefined);
    await expect(checkAct(subject, overwrite)).rejects.toThrow('what the later execution found');
  });
});
