/** Clauses about rolling a run back. */
import assert from 'node:assert/strict';
import { Page } from '../../kit/page.ts';
import type {
  RollbackMode,
  SinkRollback,
  SinkRollbackRequest,
  SinkRollbackResult,
} from '../../kit/rollback.ts';
import type { Sink } from '../../kit/sink.ts';
import { canonicalJson, type JsonObject } from '../../lib/text/json.ts';
import type { SinkClause } from './clause.ts';
import type { Destination } from '../../kit/sink-fixture.ts';
import { row, type SinkSubject } from './subject.ts';

export const COLUMN = '_svc_run_id';

const noRollback = ({ capabilities: { rollback } }: SinkSubject): string | undefined =>
  rollback === true ? undefined : (rollback ?? 'cannot roll a run back');

export function rollbackOf({ rollback }: Sink): SinkRollback {
  if (rollback === undefined)
    assert.fail('`capabilities.rollback` is true, and there is no `rollback`');
  return rollback;
}

export interface Run {
  readonly runId: string;
  readonly mode: RollbackMode;
  readonly config: JsonObject;
}

export function record(
  subject: SinkSubject,
  { runId, mode, config }: Run,
  pages: readonly (readonly JsonObject[])[],
): Promise<void> {
  return subject.using(config, async (sink) => {
    await rollbackOf(sink).record({ runId, mode, column: COLUMN });
    for (const records of pages) {
      const marked = records.map((one) => ({ ...one, [COLUMN]: runId }));
      await sink.write(Page.ofRecords(marked), { partial: false });
    }
    await sink.flush();
    await sink.finish('success');
  });
}

export function rollBack(
  subject: SinkSubject,
  { runId, mode, config }: Run,
  more: Partial<SinkRollbackRequest> = {},
): Promise<SinkRollbackResult> {
  return subject.using(config, (sink) =>
    rollbackOf(sink).apply({ runId, mode, column: COLUMN, dryRun: false, force: false, ...more }),
  );
}

/** The records without the column of the run, with their fields in one order. */
async function contents(to: Destination): Promise<string[]> {
  return ((await to.rows()) ?? []).map(({ [COLUMN]: _run, ...rest }) => canonicalJson(rest)).sort();
}

/** Two runs, the second of which is rolled back, and what it is expected to count. */
interface Case {
  readonly mode: RollbackMode;
  readonly config: (subject: SinkSubject, config: JsonObject) => JsonObject;
  readonly first: readonly (readonly JsonObject[])[];
  readonly second: readonly (readonly JsonObject[])[];
  readonly deleted: number;
  readonly restored: number;
}

const CASES: readonly Case[] = [
  {
    mode: 'append',
    config: (_subject, config) => config,
    first: [[row(1), row(2)]],
    second: [[row(3)], [row(4), row(5)]],
    deleted: 3,
    restored: 0,
  },
  {
    mode: 'upsert',
    config: (subject, config) => subject.keyed(config),
    first: [[row(1), row(2), row(3)]],
    second: [[row(1, 'x'), row(4)], [row(1, 'y'), row(2, 'z')], [row(5)]],
    deleted: 2,
    restored: 2,
  },
  {
    mode: 'overwrite',
    config: (subject, config) => subject.overwriting(config),
    first: [[row(1), row(2)]],
    second: [[row(7)], [row(8), row(9)]],
    deleted: 3,
    restored: 2,
  },
];

const clauses: readonly SinkClause[] = CASES.map(
  ({ mode, config: configOf, first, second, deleted, restored }): SinkClause => ({
    name: `rollback-${mode}`,
    title: `gives everything back that was there before a run in mode \`${mode}\``,
    inapplicable: (subject) =>
      noRollback(subject) ?? (subject.offers(mode) ? undefined : `has no mode \`${mode}\``),
    async check(subject) {
      const to = await subject.fresh();
      const config = configOf(subject, to.config);
      await record(subject, { runId: 'run-1', mode, config }, first);
      const before = await contents(to);
      await record(subject, { runId: 'run-2', mode, config }, second);
      const after = await contents(to);
      const counts = { deleted, restored, conflicts: 0 };
      const run = { runId: 'run-2', mode, config };
      assert.deepEqual(await rollBack(subject, run, { dryRun: true }), {
        applied: false,
        ...counts,
      });
      assert.deepEqual(await contents(to), after, 'a count without a rollback changed rows');
      assert.deepEqual(await rollBack(subject, run), { applied: true, ...counts });
      assert.deepEqual(await contents(to), before, 'a rollback left another content than before');
      assert.deepEqual(
        await rollBack(subject, run),
        { applied: true, ...counts },
        'asked again, a rollback gives another result',
      );
      assert.deepEqual(await contents(to), before, 'a repeated rollback changed rows');
      const applied = await subject.using(config, (sink) => rollbackOf(sink).applied('run-2'));
      assert.deepEqual(applied, { applied: true, ...counts });
    },
  }),
);

const conflicts: SinkClause = {
  name: 'rollback-conflict',
  title: 'changes nothing without force where a later run changed the same keys',
  inapplicable: (subject) =>
    noRollback(subject) ?? (subject.offers('upsert') ? undefined : 'has no keys'),
  async check(subject) {
    const to = await subject.fresh();
    const config = subject.keyed(to.config);
    const run = { mode: 'upsert', config } as const;
    await record(subject, { ...run, runId: 'run-1' }, [[row(1), row(2)]]);
    await record(subject, { ...run, runId: 'run-2' }, [[row(1, 'later')]]);
    const before = await contents(to);
    const refused = await rollBack(subject, { ...run, runId: 'run-1' });
    assert.deepEqual([refused.applied, refused.conflicts], [false, 1]);
    assert.deepEqual(await contents(to), before, 'a rollback with conflicts changed rows');
    const forced = await rollBack(subject, { ...run, runId: 'run-1' }, { force: true });
    assert.equal(forced.applied, true);
    assert.deepEqual(await contents(to), []);
  },
};

const watermark: SinkClause = {
  name: 'rollback-token',
  title: 'puts the watermark back together with the records',
  inapplicable: (subject) =>
    noRollback(subject) ?? (subject.capabilities.token ? undefined : 'commits no watermark'),
  async check(subject) {
    const to = await subject.fresh();
    const { config } = to;
    const last = (): Promise<string | undefined> =>
      subject.using(config, async (sink) => sink.tokens?.last('s'));
    const run = { mode: 'append', config } as const;
    for (const [id, token] of [
      [1, 'one'],
      [2, 'two'],
    ] as const) {
      await subject.using(config, async (sink) => {
        await rollbackOf(sink).record({ ...run, runId: token, column: COLUMN });
        const page = Page.ofRecords([{ ...row(id), [COLUMN]: token }]);
        await sink.tokens?.write(page, 's', token);
      });
    }
    await rollBack(subject, { ...run, runId: 'two' }, { watermark: { scope: 's', token: 'one' } });
    assert.equal(await last(), 'one');
    assert.deepEqual(await contents(to), [canonicalJson(row(1))]);
    const removed = { watermark: { scope: 's', token: undefined } };
    await rollBack(subject, { ...run, runId: 'one' }, removed);
    assert.equal(await last(), undefined);
    assert.deepEqual(await contents(to), []);
  },
};

export const ROLLBACK: readonly SinkClause[] = [...clauses, conflicts, watermark];
