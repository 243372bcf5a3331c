/** Clauses about what others can read, and when: after a flush, after a kill, after each end. */
import assert from 'node:assert/strict';
import type { FinishReason } from '../../kit/sink.ts';
import type { SinkClause } from './clause.ts';
import { row, write, type SinkSubject } from './subject.ts';

const notDurable = ({ capabilities }: SinkSubject): string | undefined =>
  capabilities.flushDurable ? undefined : 'its output is durable only when the run ends';

const flush: SinkClause = {
  name: 'flush',
  title: 'can be read by others after every flush, before it is finished or closed',
  inapplicable: notDurable,
  async check(subject) {
    const to = await subject.fresh();
    await subject.using(to.config, async (sink) => {
      await write(sink, [row(1), row(2)]);
      await write(sink, [row(3)]);
      await sink.flush();
      await subject.expectRows(
        to,
        [1, 2, 3].map((id) => row(id)),
        'after the first flush',
      );
      await write(sink, [row(4)]);
      await sink.flush();
      await sink.flush();
      await subject.expectRows(
        to,
        [1, 2, 3, 4].map((id) => row(id)),
        'after the second flush',
      );
    });
  },
};

const killed: SinkClause = {
  name: 'kill',
  title: 'keeps what was flushed when its process is killed',
  inapplicable: notDurable,
  async check(subject) {
    const to = await subject.fresh();
    const steps = [
      { do: 'write', records: [row(1), row(2)] },
      { do: 'flush' },
      { do: 'write', records: [row(3)] },
      { do: 'flush' },
    ] as const;
    await subject.writeAndKill(to.config, steps, to);
    await subject.expectRows(
      to,
      [1, 2, 3].map((id) => row(id)),
      'after the kill',
    );
  },
};

/** Where a flush is not durable, nothing may stand under the final name before the end. */
const unfinished: SinkClause = {
  name: 'unfinished',
  title: 'leaves what was there before when its process is killed before the end',
  inapplicable: ({ capabilities }) =>
    capabilities.flushDurable ? 'every flush is durable' : undefined,
  async check(subject) {
    const to = await subject.fresh();
    await subject.run(to.config, [[row(1), row(2)]]);
    const before = await to.rows();
    const steps = [{ do: 'write', records: [row(3), row(4)] }, { do: 'flush' }] as const;
    await subject.writeAndKill(to.config, steps, to);
    assert.deepEqual(await to.rows(), before, 'a killed run changed what was there');
    await subject.run(to.config, [[row(5)]]);
    assert.ok(
      (await to.rows())?.some((one) => one['id'] === 5),
      'what a killed run left keeps the next one from its work',
    );
  },
};

const endings: readonly SinkClause[] = (['failed', 'cancelled'] as const).map(
  (reason: FinishReason): SinkClause => ({
    name: `finish-${reason}`,
    title: `keeps what was flushed of a run that was ${reason}, or says that it threw it away`,
    async check(subject) {
      const to = await subject.fresh();
      const isDiscarded = await subject.using(to.config, async (sink) => {
        await write(sink, [row(1)]);
        await write(sink, [row(2), row(3)]);
        await sink.flush();
        await sink.finish(reason);
        return sink.discarded?.() === true;
      });
      if (isDiscarded) assert.ok(!subject.capabilities.flushDurable, 'it discards what is durable');
      const kept = isDiscarded ? [] : [1, 2, 3].map((id) => row(id));
      await subject.expectRows(to, kept, `after a run that was ${reason}`);
    },
  }),
);

const finished: SinkClause = {
  name: 'finish',
  title: 'can be read by others after `finish`, before it is closed',
  async check(subject) {
    const to = await subject.fresh();
    await subject.using(to.config, async (sink) => {
      await write(sink, [row(1), row(2)]);
      await sink.flush();
      await sink.finish('success');
      await subject.expectRows(to, [row(1), row(2)], 'after `finish`');
    });
  },
};

const continuing: SinkClause = {
  name: 'continue',
  title: 'adds to what earlier runs left when it appends',
  inapplicable: ({ fixture }) =>
    fixture.continuing === undefined ? 'no setting makes a second run add to the first' : undefined,
  async check(subject) {
    const to = await subject.fresh();
    const config = subject.continuing(to.config);
    await subject.run(config, [[row(1)]]);
    await subject.run(config, [[row(2)], [row(3)]]);
    await subject.run(config, []);
    await subject.expectRows(to, [row(1), row(2), row(3)], 'after three runs');
  },
};

const continueKilled: SinkClause = {
  name: 'continue-killed',
  title: 'goes on after a run that was killed with unflushed records, and leaves no half one',
  inapplicable: (subject) => continuing.inapplicable?.(subject) ?? notDurable(subject),
  async check(subject) {
    const to = await subject.fresh();
    const config = subject.continuing(to.config);
    const steps = [
      { do: 'write', records: [row(1)] },
      { do: 'flush' },
      { do: 'write', records: [row(2)] },
    ] as const;
    await subject.writeAndKill(config, steps, to);
    await subject.run(config, [[row(7)], [row(8)]]);
    const ids = ((await to.rows()) ?? []).map((one) => one['id']).filter((id) => id !== 2);
    assert.deepEqual(ids, [1, 7, 8], 'after a killed run and another one');
  },
};

export const DURABILITY: readonly SinkClause[] = [
  flush,
  killed,
  unfinished,
  ...endings,
  finished,
  continuing,
  continueKilled,
];
