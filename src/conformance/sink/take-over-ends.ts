/**
 * Clauses about what ends a run at its destination, when another server has taken the run over: the
 * earlier execution may wake up just before that, and changes nothing any more.
 */
import assert from 'node:assert/strict';
import { TAKEN_OVER } from '../../kit/execution.ts';
import type { Destination } from '../../kit/sink-fixture.ts';
import type { Sink } from '../../kit/sink.ts';
import { messageOf } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { SinkClause } from './clause.ts';
import { COLUMN, record, rollBack, rollbackOf, type Run } from './rollback.ts';
import { row, write, type SinkSubject } from './subject.ts';
import { assertRefused, codeOf, end, outcomeOf, RACES, repeated, withBoth } from './take-over.ts';
import { SCOPE } from './tokens.ts';

/** One change of a whole table. The ids of its rows say whether it was made. */
export interface End {
  readonly name: string;
  readonly what: string;
  readonly inapplicable: (subject: SinkSubject) => string | undefined;
  configOf(subject: SinkSubject, config: JsonObject): JsonObject;
  /** Makes the rows that are there before. */
  setUp(subject: SinkSubject, config: JsonObject): Promise<unknown>;
  /** All that comes before the change. */
  begin(sink: Sink): Promise<void>;
  change(sink: Sink): Promise<unknown>;
  readonly before: readonly number[];
  readonly after: readonly number[];
}

const OLD = [row(1, 'a'), row(2, 'a')];
const NOT_FENCED = 'does not refuse it to executions that were taken over';

const sweep: End = {
  name: 'taken-over-sweep',
  what: 'removes no vanished rows',
  inapplicable: ({ keyedCapabilities: can }) =>
    can?.sweep === true && can.fenced === true ? undefined : NOT_FENCED,
  configOf: (subject, config) => subject.keyed(config),
  setUp: (subject, config) => subject.run(subject.keyed(config), [OLD]),
  async begin(sink) {
    await write(sink, [row(1, 'a')]);
    await sink.flush();
  },
  async change(sink) {
    if (sink.sweep === undefined)
      assert.fail('`capabilities.sweep` is true, and there is no `sweep`');
    await sink.sweep({ scope: { v: 'a' }, keys: [[1]] });
  },
  before: [1, 2],
  after: [1],
};

const overwrite: End = {
  name: 'taken-over-overwrite',
  what: 'replaces no rows',
  inapplicable: ({ overwritingCapabilities: can }) =>
    can?.fenced === true ? undefined : NOT_FENCED,
  configOf: (subject, config) => subject.overwriting(config),
  setUp: (subject, config) => subject.run(config, [OLD]),
  async begin(sink) {
    await write(sink, [row(3)]);
    await sink.flush();
  },
  change: (sink) => sink.finish('success'),
  before: [1, 2],
  after: [3],
};

const firstOverwrite: End = {
  ...overwrite,
  name: 'taken-over-overwrite-empty',
  what: 'shows no rows where there were none',
  setUp: () => Promise.resolve(),
  before: [],
};

export function takeScope(sink: Sink): Promise<void> {
  return repeated(async () => {
    if (sink.takeScope === undefined)
      assert.fail('`capabilities.fenced` is true, and there is no `takeScope`');
    await sink.takeScope(SCOPE);
  });
}

export async function idsIn(to: Destination): Promise<number[]> {
  return ((await to.rows()) ?? []).map(({ id }) => Number(id)).sort((a, b) => a - b);
}

/** What ends a row as a whole. */
export const ENDS: readonly End[] = [sweep, overwrite, firstOverwrite];

function clauseOf(one: End): SinkClause {
  return {
    name: one.name,
    title: `${one.what} for an execution that a later one has taken over`,
    inapplicable: one.inapplicable,
    async check(subject) {
      await checkRefusal(subject, one);
      for (let race = 1; race <= RACES; race += 1) await checkRace(subject, one, race);
    },
  };
}

async function checkRefusal(subject: SinkSubject, one: End): Promise<void> {
  const to = await subject.fresh();
  await one.setUp(subject, to.config);
  await withBoth(subject, one.configOf(subject, to.config), async (earlier, later) => {
    await takeScope(earlier);
    await repeated(() => one.begin(earlier));
    await takeScope(later);
    for (const time of ['once', 'again']) {
      await assertRefused(
        repeated(() => one.change(earlier)),
        'the end of an execution that was taken over',
      );
      assert.deepEqual(await idsIn(to), one.before, `after it was tried ${time}`);
    }
    await assertRefused(takeScope(earlier), 'taking the place back');
    await end(earlier);
    assert.deepEqual(await idsIn(to), one.before, 'when the earlier execution has ended');
    await repeated(() => one.begin(later));
    await repeated(() => one.change(later));
    assert.deepEqual(await idsIn(to), one.after, 'after the later execution went on');
  });
}

/** Whoever takes the scope finds the change made, or it is refused. */
async function checkRace(subject: SinkSubject, one: End, race: number): Promise<void> {
  const to = await subject.fresh();
  await one.setUp(subject, to.config);
  await withBoth(subject, one.configOf(subject, to.config), async (earlier, later) => {
    await takeScope(earlier);
    await repeated(() => one.begin(earlier));
    const change = (): Promise<unknown> => outcomeOf(repeated(() => one.change(earlier)));
    // Each of them is the first to begin now and then.
    const begun = race % 2 === 0 ? change() : undefined;
    const taken = takeScope(later).then(() => idsIn(to));
    const [found, failure] = await Promise.all([taken, begun ?? change()]);
    if (failure !== undefined)
      assert.equal(codeOf(failure), TAKEN_OVER, `it fails otherwise: ${messageOf(failure)}`);
    const expected = failure === undefined ? one.after : one.before;
    assert.deepEqual(found, expected, 'what the later execution found');
    assert.deepEqual(await idsIn(to), expected, 'what is there afterwards');
  });
}

const rollback: SinkClause = {
  name: 'taken-over-rollback',
  title: 'keeps the rollback log of a run from an execution that a later one has taken over',
  inapplicable: ({ keyedCapabilities: can }) =>
    can?.rollback === true && can.fenced === true ? undefined : NOT_FENCED,
  async check(subject) {
    const to = await subject.fresh();
    const config = subject.keyed(to.config);
    await subject.run(config, [[row(1, 'old')]]);
    const run: Run = { runId: 'recorded', mode: 'upsert', config };
    await record(subject, run, [[row(1, 'new'), row(2)]]);
    await withBoth(subject, config, async (earlier, later) => {
      await takeScope(earlier);
      await takeScope(later);
      const log = rollbackOf(earlier);
      await assertRefused(
        repeated(() => log.forget([run.runId])),
        'forgetting a run',
      );
      const request = { ...run, column: COLUMN, dryRun: false, force: false };
      await assertRefused(
        repeated(() => log.apply(request)),
        'rolling a run back',
      );
      await end(earlier);
    });
    assert.deepEqual(await idsIn(to), [1, 2]);
    const { deleted, restored } = await rollBack(subject, run);
    assert.deepEqual(
      { deleted, restored },
      { deleted: 1, restored: 1 },
      'what was kept of the run',
    );
  },
};

const staged: SinkClause = {
  name: 'taken-over-staged',
  title: 'leaves what a later execution has collected for its overwrite',
  inapplicable: overwrite.inapplicable,
  async check(subject) {
    const to = await subject.fresh();
    await overwrite.setUp(subject, to.config);
    const config = subject.overwriting(to.config);
    await withBoth(subject, config, async (earlier, later) => {
      await takeScope(earlier);
      await takeScope(later);
      await repeated(() => overwrite.begin(later));
      // Whether its page is refused or only never shown.
      await outcomeOf(repeated(() => overwrite.begin(earlier)));
      await end(earlier);
      assert.deepEqual(await idsIn(to), overwrite.before, 'when the earlier execution has ended');
      await overwrite.change(later);
      assert.deepEqual(await idsIn(to), overwrite.after, 'after the later execution went on');
    });
  },
};

export const TAKE_OVER_ENDS: readonly SinkClause[] = [...ENDS.map(clauseOf), staged, rollback];
