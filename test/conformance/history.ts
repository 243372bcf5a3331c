/** The contract of a history, as a suite every implementation is held to. */
import { afterEach, describe, expect, it } from 'vitest';
import type {
  Claim,
  History,
  Instance,
  RunEnding,
  RunFence,
  StoredRun,
} from '../../src/history/history.ts';
import { anOutput } from './outputs.ts';
import type { AuditRecord } from '../../src/wire/audit.ts';

export interface HistoryHarness {
  /** An empty history. */
  readonly open: () => Promise<History>;
  /** The same store after its process ended; undefined when nothing survives. */
  readonly reopen: (() => Promise<History>) | undefined;
}

const at = (second: number): string => new Date(Date.UTC(2026, 7, 1, 0, 0, second)).toISOString();

export function aRun(id: string, over: Partial<StoredRun> = {}): StoredRun {
  return {
    run_id: id,
    name: 'orders',
    labels: { team: 'data' },
    status: 'queued',
    submitted_at: at(10),
    started_at: null,
    finished_at: null,
    records_written: 0,
    invocations: [],
    error: null,
    idempotency_key: null,
    doctor_report: null,
    attempt: 0,
    owner: 'one',
    lease_until: at(40),
    cancel_requested: false,
    ...over,
  };
}

const fenceOf = (run: StoredRun): RunFence => ({
  run_id: run.run_id,
  owner: run.owner,
  attempt: run.attempt,
});

const ENDING: RunEnding = {
  status: 'completed',
  finished_at: at(30),
  records_written: 7,
  error: null,
  invocations: [
    {
      run_id: 'i1',
      row_id: 'row-0',
      parent_record_key: null,
      records_written: 7,
      error: null,
      status: 'completed',
      duration_ms: 12.5,
      balance: {
        read: 7,
        filtered: 0,
        expanded: 0,
        transformed: 7,
        written: 7,
        dead_lettered: 0,
        withheld: 0,
      },
    },
  ],
};

const claim = (over: Partial<Claim> = {}): Claim => ({
  key: 'k',
  fingerprint: 'f',
  expired_at_or_before: at(0),
  ...over,
});

const audit = (id: string, over: Partial<AuditRecord> = {}): AuditRecord => ({
  id,
  timestamp: at(10),
  principal: 'ann',
  role: 'operator',
  action: 'run.submit',
  result: 'ok',
  ...over,
});

const instance = (id: string, over: Partial<Instance> = {}): Instance => ({
  instance_id: id,
  host: 'h',
  pid: 4,
  pid_started: '99',
  listen: '127.0.0.1:8080',
  started_at: at(1),
  seen_at: at(2),
  max_concurrent: 4,
  in_flight: 0,
  ...over,
});

export function describeHistory(name: string, harness: HistoryHarness): void {
  describe(`history ${name} keeps the contract`, () => {
    const opened: History[] = [];
    const open = async (make: () => Promise<History> = harness.open): Promise<History> => {
      const history = await make();
      opened.push(history);
      return history;
    };
    afterEach(async () => {
      for (const history of opened.splice(0)) await history.close();
    });
    const finished = async (
      history: History,
      run: StoredRun,
      ending: Partial<RunEnding> = {},
    ): Promise<void> => {
      await history.admit(run, {});
      expect(await history.finishRun(fenceOf(run), { ...ENDING, ...ending })).toBe(true);
    };

    describe('runs', () => {
      it('gives back what was stored, field by field', async () => {
        const history = await open();
        const run = aRun('a', {
          doctor_report: { invocations: [] },
          callback: { url: 'https://x' },
          idempotency_key: 'k',
          name: null,
        });
        expect(await history.admit(run, { claim: claim() })).toEqual({ type: 'admitted' });
        expect(await history.getRun('a')).toEqual(run);
        expect(await history.getRun('b')).toBeUndefined();
        const bare = aRun('c');
        await history.admit(bare, {});
        expect(await history.getRun('c')).toEqual(bare);
      });

      it('keeps what went through the nodes of a graph, and nothing of the kind for other runs', async () => {
        const history = await open();
        const counts = {
          records_in: 3,
          filtered: 1,
          expanded: 0,
          dead_lettered: 0,
          records_out: 2,
        };
        const nodes: RunEnding['nodes'] = [
          { id: 'in', kind: 'source', status: 'completed', ...counts, error: null },
          { id: 't', kind: 'transform', status: 'failed', ...counts, error: 'no such field' },
        ];
        await Promise.all([finished(history, aRun('a'), { nodes }), finished(history, aRun('b'))]);
        expect((await history.getRun('a'))?.nodes).toEqual(nodes);
        expect(await history.getRun('b')).not.toHaveProperty('nodes');
        const { runs } = await history.listRuns({ limit: 9 });
        expect(runs.find(({ run_id }) => run_id === 'a')?.nodes).toEqual(nodes);
      });

      it('starts a queued run once', async () => {
        const history = await open();
        const run = aRun('a');
        await history.admit(run, {});
        expect(await history.startRun(fenceOf(run), at(12))).toBe(true);
        expect(await history.startRun(fenceOf(run), at(13))).toBe(false);
        expect(await history.getRun('a')).toMatchObject({ status: 'running', started_at: at(12) });
      });

      it('puts a run that was started back into the queue, once', async () => {
        const history = await open();
        const run = aRun('a');
        await history.admit(run, {});
        expect(await history.returnToQueue(fenceOf(run))).toBe(false);
        await history.startRun(fenceOf(run), at(12));
        expect(await history.returnToQueue({ ...fenceOf(run), attempt: 7 })).toBe(false);
        expect(await history.returnToQueue(fenceOf(run))).toBe(true);
        expect(await history.getRun('a')).toEqual(run);
        expect(await history.startRun(fenceOf(run), at(13))).toBe(true);
        await history.finishRun(fenceOf(run), ENDING);
        expect(await history.returnToQueue(fenceOf(run))).toBe(false);
        expect(await history.getRun('a')).toMatchObject(ENDING);
      });

      it('finishes a run once and keeps everything known about it', async () => {
        const history = await open();
        const run = aRun('a');
        await finished(history, run);
        expect(
          await history.finishRun(fenceOf(run), { ...ENDING, status: 'failed', error: 'late' }),
        ).toBe(false);
        expect(await history.getRun('a')).toEqual({ ...run, ...ENDING });
      });

      it.each([
        ['another owner', { owner: 'two' }],
        ['another attempt', { attempt: 1 }],
        ['another run', { run_id: 'b' }],
      ])('refuses a fence of %s', async (_what, wrong) => {
        const history = await open();
        const run = aRun('a');
        await history.admit(run, {});
        expect(await history.startRun({ ...fenceOf(run), ...wrong }, at(12))).toBe(false);
        expect(await history.finishRun({ ...fenceOf(run), ...wrong }, ENDING)).toBe(false);
        expect(await history.getRun('a')).toEqual(run);
      });

      it('notes files of a run only for the execution that has it', async () => {
        const history = await open();
        const { outputs } = history;
        const run = aRun('a', { attempt: 1 });
        await history.admit(run, {});
        const [early, late] = [anOutput('f'), anOutput('f', { row: 'row-1' })];
        expect(await outputs.putOutputs([early], fenceOf(run))).toBe(true);
        for (const by of [
          { ...fenceOf(run), attempt: 0 },
          { ...fenceOf(run), owner: 'two' },
        ])
          expect(await outputs.putOutputs([late], by)).toBe(false);
        expect(await outputs.listOutputs({ include_deleted: true })).toEqual([early]);
        await history.finishRun(fenceOf(run), ENDING);
        expect(await outputs.putOutputs([late], fenceOf(run))).toBe(false);
      });

      it('applies writes in the order of the calls', async () => {
        const history = await open();
        const run = aRun('a');
        const results = await Promise.all([
          history.admit(run, {}),
          history.startRun(fenceOf(run), at(11)),
          history.finishRun(fenceOf(run), ENDING),
        ]);
        expect(results).toEqual([{ type: 'admitted' }, true, true]);
      });

      it('notes a wish to cancel on unfinished runs only', async () => {
        const history = await open();
        await history.admit(aRun('a'), {});
        await finished(history, aRun('b'));
        expect(await history.requestCancel('a')).toBe('requested');
        expect(await history.requestCancel('b')).toBe('terminal');
        expect(await history.requestCancel('c')).toBe('missing');
        expect(await history.getRun('a')).toMatchObject({
          status: 'queued',
          cancel_requested: true,
        });
      });

      it('deletes finished runs only', async () => {
        const history = await open();
        await history.admit(aRun('a'), {});
        await finished(history, aRun('b'));
        expect(await history.deleteRun('a')).toBe('in_flight');
        expect(await history.deleteRun('b')).toBe('deleted');
        expect(await history.deleteRun('b')).toBe('missing');
        expect(await history.getRun('b')).toBeUndefined();
      });
    });

    describe('idempotency', () => {
      it('answers the same key and fingerprint with the run as it is now', async () => {
        const history = await open();
        const run = aRun('a', { idempotency_key: 'k' });
        await history.admit(run, { claim: claim() });
        await history.finishRun(fenceOf(run), ENDING);
        const again = await history.admit(aRun('b', { idempotency_key: 'k' }), {
          claim: claim(),
          audits: [audit('x')],
        });
        expect(again).toMatchObject({ type: 'replay', run: { run_id: 'a', status: 'completed' } });
        expect(await history.getRun('b')).toBeUndefined();
        expect(await history.listAudit({ limit: 10 })).toEqual([]);
      });

      it('refuses the same key with another fingerprint and stores nothing', async () => {
        const history = await open();
        await history.admit(aRun('a'), { claim: claim() });
        expect(await history.admit(aRun('b'), { claim: claim({ fingerprint: 'g' }) })).toEqual({
          type: 'mismatch',
        });
        expect(await history.getRun('b')).toBeUndefined();
      });

      it('says who holds a key without storing anything', async () => {
        const history = await open();
        expect(await history.repeated(claim())).toBeUndefined();
        await history.admit(aRun('a', { idempotency_key: 'k' }), { claim: claim() });
        expect(await history.repeated(claim())).toMatchObject({
          type: 'replay',
          run: { run_id: 'a' },
        });
        expect(await history.repeated(claim({ fingerprint: 'g' }))).toEqual({ type: 'mismatch' });
        expect(await history.repeated(claim({ key: 'other' }))).toBeUndefined();
        expect(await history.repeated(claim({ expired_at_or_before: at(10) }))).toBeUndefined();
        expect((await history.listRuns({ limit: 10 })).runs).toHaveLength(1);
      });

      it('lets one of several simultaneous claims win', async () => {
        const history = await open();
        const all = await Promise.all(
          ['a', 'b', 'c', 'd'].map((id) => history.admit(aRun(id), { claim: claim() })),
        );
        expect(all.map((one) => one.type)).toEqual(['admitted', 'replay', 'replay', 'replay']);
        expect((await history.listRuns({ limit: 10 })).runs).toHaveLength(1);
      });

      it('hands an expired key over, at the very end of its window too', async () => {
        const history = await open();
        await history.admit(aRun('a'), { claim: claim() });
        expect(
          await history.admit(aRun('b'), {
            claim: claim({ expired_at_or_before: at(9), fingerprint: 'g' }),
          }),
        ).toEqual({
          type: 'mismatch',
        });
        expect(
          await history.admit(aRun('b'), {
            claim: claim({ expired_at_or_before: at(10), fingerprint: 'g' }),
          }),
        ).toEqual({
          type: 'admitted',
        });
      });

      it('forgets the key with its run, but not a key that points at a newer run', async () => {
        const history = await open();
        await finished(history, aRun('old', { idempotency_key: 'k' }));
        await history.admit(aRun('a', { idempotency_key: 'k' }), { claim: claim() });
        await history.deleteRun('old');
        expect(await history.admit(aRun('b'), { claim: claim() })).toMatchObject({
          type: 'replay',
        });
        await history.finishRun(fenceOf(aRun('a')), ENDING);
        await history.deleteRun('a');
        expect(await history.admit(aRun('b'), { claim: claim() })).toEqual({ type: 'admitted' });
      });
    });

    describe('lists', () => {
      const filled = async (): Promise<History> => {
        const history = await open();
        await history.admit(aRun('a', { submitted_at: at(1) }), {});
        await history.admit(aRun('b', { submitted_at: at(2), name: 'other' }), {});
        await history.admit(aRun('c', { submitted_at: at(2) }), {});
        await history.admit(aRun('d', { submitted_at: at(3) }), {});
        await history.finishRun(fenceOf(aRun('a')), { ...ENDING, status: 'failed', error: 'no' });
        return history;
      };
      const ids = (page: { runs: readonly StoredRun[] }): string[] =>
        page.runs.map((run) => run.run_id);

      it('lists newest first, ties by id, and pages without gaps or repeats', async () => {
        const history = await filled();
        expect(ids(await history.listRuns({ limit: 10 }))).toEqual(['d', 'c', 'b', 'a']);
        const first = await history.listRuns({ limit: 2 });
        expect([ids(first), first.more]).toEqual([['d', 'c'], true]);
        const second = await history.listRuns({ limit: 2, cursor: 'c' });
        expect([ids(second), second.more]).toEqual([['b', 'a'], false]);
        expect(ids(await history.listRuns({ limit: 2, cursor: 'unknown' }))).toEqual(['d', 'c']);
      });

      it('goes on behind a cursor whose run is gone meanwhile', async () => {
        const history = await open();
        const runs = [1, 2, 3, 4].map((n) => `019876b5-4a00-7000-8000-00000000000${n}`);
        for (const [n, id] of runs.entries())
          await history.admit(aRun(id, { submitted_at: at(n) }), {});
        const [one, two, three = '', four] = runs;
        expect(ids(await history.listRuns({ limit: 2 }))).toEqual([four, three]);
        await history.finishRun(fenceOf(aRun(three)), ENDING);
        expect(await history.deleteRun(three)).toBe('deleted');
        expect(ids(await history.listRuns({ limit: 2, cursor: three }))).toEqual([two, one]);
      });

      it('filters by status, name and inclusive times', async () => {
        const history = await filled();
        expect(ids(await history.listRuns({ limit: 10, status: ['failed', 'completed'] }))).toEqual(
          ['a'],
        );
        expect(ids(await history.listRuns({ limit: 10, name: 'other' }))).toEqual(['b']);
        expect(ids(await history.listRuns({ limit: 10, since: at(2), until: at(2) }))).toEqual([
          'c',
          'b',
        ]);
        expect(
          ids(
            await history.listRuns({ limit: 10, status: ['queued'], cursor: 'd', name: 'orders' }),
          ),
        ).toEqual(['c']);
      });
    });

    describe('leases', () => {
      it('renews the unfinished runs of one owner and tells who shall be cancelled', async () => {
        const history = await open();
        await history.admit(aRun('a'), {});
        await history.admit(aRun('b'), {});
        await history.admit(aRun('c', { owner: 'two' }), {});
        await finished(history, aRun('d'));
        await history.requestCancel('b');
        const renewed = await history.renewLeases('one', at(90));
        expect([...renewed].sort((x, y) => (x.run_id < y.run_id ? -1 : 1))).toEqual([
          { run_id: 'a', cancel_requested: false },
          { run_id: 'b', cancel_requested: true },
        ]);
        expect((await history.getRun('a'))?.lease_until).toBe(at(90));
        expect((await history.getRun('c'))?.lease_until).toBe(at(40));
      });

      it('fails runs whose lease ended, once, and leaves live ones alone', async () => {
        const history = await open();
        await history.admit(aRun('a', { lease_until: at(20) }), {});
        await history.admit(aRun('b', { lease_until: at(50) }), {});
        expect(await history.failExpired(at(30), 'lease expired')).toEqual(['a']);
        expect(await history.failExpired(at(30), 'lease expired')).toEqual([]);
        expect(await history.getRun('a')).toMatchObject({
          status: 'failed',
          error: 'lease expired',
          finished_at: at(30),
        });
        expect(await history.getRun('b')).toMatchObject({ status: 'queued' });
        expect(await history.finishRun(fenceOf(aRun('a')), ENDING)).toBe(false);
      });

      it('fails the runs of an owner that is gone', async () => {
        const history = await open();
        await history.admit(aRun('a'), {});
        await history.admit(aRun('b', { owner: 'two' }), {});
        expect(await history.failRunsOf('one', at(30), 'it ended')).toEqual(['a']);
        expect(await history.getRun('b')).toMatchObject({ status: 'queued' });
      });

      it('leaves queued runs whose submission is stored to whoever takes them over', async () => {
        const history = await open();
        await history.admit(aRun('a'), { submission: { content: 'A' } });
        expect(await history.failRunsOf('one', at(99), 'it ended')).toEqual([]);
        expect(await history.failExpired(at(99), 'lease expired')).toEqual([]);
        expect(await history.startRun(fenceOf(aRun('a')), at(12))).toBe(true);
        expect(await history.failExpired(at(99), 'lease expired')).toEqual(['a']);
      });

      const adoption = { owner: 'new', leaseUntil: at(99), now: at(30), limit: 9 };

      it('gives abandoned queued runs of a higher priority first', async () => {
        const history = await open();
        const levels = ['low', 'normal', 'high', 'normal'] as const;
        for (const [n, priority] of levels.entries())
          await history.admit(aRun(`${priority}-${n}`, { priority, submitted_at: at(n) }), {
            submission: { content: 'c' },
          });
        const ids = async (limit: number): Promise<string[]> =>
          (await history.adoptQueued({ ...adoption, limit })).map(({ run }) => run.run_id);
        expect(await ids(2)).toEqual(['high-2', 'normal-1']);
        await history.putInstance(instance('new'));
        expect(await ids(9)).toEqual(['normal-3', 'low-0']);
        expect((await history.getRun('low-0'))?.priority).toBe('low');
      });

      it('gives abandoned queued runs to one new owner, the oldest first, with all that was stored', async () => {
        const history = await open();
        await history.putInstance(instance('alive'));
        const base = { hash: 'h', content: '{"vars":{}}' };
        const admit = (id: string, over: Partial<StoredRun>, submission = { content: id }) =>
          history.admit(aRun(id, over), { submission });
        await admit('expired', { owner: 'alive', lease_until: at(20), submitted_at: at(3) });
        await admit('ownerless', { owner: 'gone', submitted_at: at(2) });
        await admit('based', { owner: 'gone', submitted_at: at(1) }, {
          content: 'c',
          base,
        } as never);
        await admit('held', { owner: 'alive', lease_until: at(50) });
        await admit('started', { owner: 'gone' });
        await history.startRun(fenceOf(aRun('started', { owner: 'gone' })), at(11));
        await history.admit(aRun('unstored', { owner: 'gone' }), {});
        await history.requestCancel('ownerless');

        const first = await history.adoptQueued({ ...adoption, limit: 2 });
        expect(first.map(({ submission }) => submission)).toEqual([
          { content: 'c', base },
          { content: 'ownerless' },
        ]);
        expect(first[1]?.run).toEqual({
          ...aRun('ownerless', { submitted_at: at(2), cancel_requested: true }),
          owner: 'new',
          lease_until: at(99),
        });
        await history.putInstance(instance('new'));
        const second = await Promise.all([
          history.adoptQueued(adoption),
          history.adoptQueued({ ...adoption, owner: 'other' }),
        ]);
        expect(second.map((runs) => runs.map(({ run }) => run.run_id))).toEqual([['expired'], []]);
        const stale = { run_id: 'expired', owner: 'alive', attempt: 0 };
        expect(await history.startRun(stale, at(31))).toBe(false);
        expect(await history.startRun({ ...stale, owner: 'new' }, at(31))).toBe(true);
      });

      it('has the submission of a run for as long as the run, and texts that others share for longer', async () => {
        const history = await open();
        const document = { hash: 'd', content: 'version: 1' };
        const base = { hash: 'b', content: '{}' };
        const submission = (content: string) => ({ content, document, base });
        const runs = ['a', 'b', 'c', 'd'].map((id) => aRun(id, { owner: 'gone' }));
        for (const run of runs) {
          await history.admit(run, { submission: submission(run.run_id) });
          await history.finishRun(fenceOf(run), {
            ...ENDING,
            finished_at: at(run.run_id === 'c' ? 40 : 60),
          });
        }
        const other = { hash: 'e', content: 'x' };
        await history.admit(aRun('e'), { submission: { content: 'e', document: other } });
        expect(await history.adoptQueued({ ...adoption, now: at(1) })).toHaveLength(1);
        expect(await history.getSubmission('a')).toEqual(submission('a'));
        expect(await history.getSubmission('nobody')).toBeUndefined();
        await history.deleteRun('a');
        await history.purge({ runsBefore: at(50) });
        for (const gone of ['a', 'c']) expect(await history.getSubmission(gone)).toBeUndefined();
        expect(await history.getSubmission('b')).toEqual(submission('b'));
        await history.purge({ runsBefore: at(99) });
        expect(await history.getSubmission('d')).toBeUndefined();
        expect(await history.getSubmission('e')).toEqual({ content: 'e', document: other });
        await history.admit(aRun('f'), { submission: submission('f') });
        expect(await history.getSubmission('f')).toEqual(submission('f'));
      });

      it('erases what was submitted with the end of the run, where that says so', async () => {
        const history = await open();
        const base = { hash: 'base', content: '{}' };
        for (const id of ['a', 'b'])
          await history.admit(aRun(id), { submission: { content: id, base } });
        for (const [id, erases] of [
          ['a', true],
          ['b', false],
        ] as const) {
          await history.startRun(fenceOf(aRun(id)), at(1));
          const ending = { ...ENDING, erases_submission: erases };
          expect(await history.finishRun(fenceOf(aRun(id)), ending)).toBe(true);
        }
        expect(await history.getSubmission('a')).toBeUndefined();
        expect(await history.getSubmission('b')).toEqual({ content: 'b', base });
        expect(await history.getRun('a')).toMatchObject({ status: 'completed' });
      });

      it('fails a run without forgetting what it was asked to do', async () => {
        const history = await open();
        const run = aRun('a', { owner: 'gone' });
        await history.admit(run, { submission: { content: 'A' } });
        await history.startRun(fenceOf(run), at(11));
        expect(await history.failRunsOf('gone', at(30), 'it ended')).toEqual(['a']);
        expect(await history.getSubmission('a')).toEqual({ content: 'A' });
        expect(await history.adoptQueued(adoption)).toEqual([]);
      });

      it('keeps instances by id', async () => {
        const history = await open();
        await history.putInstance(instance('b'));
        await history.putInstance(instance('a', { listen: null, pid_started: null }));
        await history.putInstance(instance('b', { seen_at: at(9), in_flight: 3 }));
        expect(await history.listInstances()).toEqual([
          instance('a', { listen: null, pid_started: null }),
          instance('b', { seen_at: at(9), in_flight: 3 }),
        ]);
        await history.removeInstance('b');
        expect(await history.listInstances()).toHaveLength(1);
      });
    });

    describe('audit', () => {
      it('lists newest first, filtered, and leaves absent fields out', async () => {
        const history = await open();
        const full = audit('2', { run_id: 'r', config_fingerprint: 'f', source_ip: '::1' });
        await history.recordAudit(audit('1', { timestamp: at(5), principal: 'bob' }));
        await history.recordAudit(full);
        await history.recordAudit(audit('3', { action: 'run.cancel' }));
        const idsOf = async (query: Parameters<History['listAudit']>[0]): Promise<string[]> =>
          (await history.listAudit(query)).map((entry) => entry.id);
        expect(await idsOf({ limit: 10 })).toEqual(['3', '2', '1']);
        expect(await idsOf({ limit: 1 })).toEqual(['3']);
        expect(await idsOf({ limit: 10, principal: 'bob' })).toEqual(['1']);
        expect(await idsOf({ limit: 10, action: 'run.cancel' })).toEqual(['3']);
        expect(await idsOf({ limit: 10, since: new Date(at(5)), until: new Date(at(5)) })).toEqual([
          '1',
        ]);
        expect((await history.listAudit({ limit: 10 })).slice(1)).toEqual([
          full,
          audit('1', { timestamp: at(5), principal: 'bob' }),
        ]);
      });

      it('stores the entry of a submission with the run', async () => {
        const history = await open();
        await history.admit(aRun('a'), { audits: [audit('1', { run_id: 'a' })] });
        expect(await history.listAudit({ limit: 10 })).toEqual([audit('1', { run_id: 'a' })]);
      });
    });

    describe('retention', () => {
      it('purges what is older than its bound and nothing else', async () => {
        const history = await open();
        await finished(history, aRun('old', { idempotency_key: 'k' }), { finished_at: at(20) });
        await history.admit(aRun('queued', { submitted_at: at(1) }), {});
        await finished(history, aRun('new'), { finished_at: at(30) });
        await history.recordAudit(audit('1', { timestamp: at(20) }));
        await history.recordAudit(audit('2', { timestamp: at(30) }));
        await history.putInstance(instance('gone', { seen_at: at(20) }));
        await history.putInstance(instance('here', { seen_at: at(30) }));
        const nothing = { runs: 0, claims: 0, audit: 0, logs: 0, instances: 0 };
        expect(await history.purge({})).toEqual(nothing);
        const bound = at(25);
        const bounds = {
          runsBefore: bound,
          auditBefore: bound,
          instancesBefore: bound,
          claimsBefore: bound,
        };
        expect(await history.purge(bounds)).toEqual({
          ...nothing,
          runs: 1,
          audit: 1,
          instances: 1,
        });
        expect(await history.purge(bounds)).toEqual(nothing);
        expect((await history.listRuns({ limit: 10 })).runs.map((run) => run.run_id)).toEqual([
          'new',
          'queued',
        ]);
        expect((await history.listInstances()).map((one) => one.instance_id)).toEqual(['here']);
      });

      it('purges a claim with its run, and by its own age', async () => {
        const history = await open();
        await history.admit(aRun('a', { idempotency_key: 'k' }), { claim: claim() });
        await history.finishRun(fenceOf(aRun('a')), ENDING);
        await history.admit(aRun('b', { idempotency_key: 'm' }), { claim: claim({ key: 'm' }) });
        expect(await history.purge({ runsBefore: at(31) })).toMatchObject({ runs: 1, claims: 1 });
        expect(
          await history.admit(aRun('c', { idempotency_key: 'k' }), { claim: claim() }),
        ).toEqual({ type: 'admitted' });
        expect(await history.purge({ claimsBefore: at(11) })).toMatchObject({ claims: 2 });
        expect(await history.admit(aRun('d'), { claim: claim({ key: 'm' }) })).toEqual({
          type: 'admitted',
        });
      });
    });

    it('answers a ping', async () => {
      await expect((await open()).ping()).resolves.toBeUndefined();
    });

    describeLog(harness, open);
    describeSurvival(harness, open);
  });
}

type Open = (make?: () => Promise<History>) => Promise<History>;

function describeLog(harness: HistoryHarness, open: Open): void {
  const line = (run: string, seq: number) => ({
    run_id: run,
    seq,
    ts: at(seq),
    level: 'INFO',
    line: `line ${seq}`,
  });
  const stored = (seq: number) => ({ seq, ts: at(seq), level: 'INFO', line: `line ${seq}` });

  describe.runIf(harness.reopen === undefined)('log of a history that is not persistent', () => {
    it('keeps no lines', async () => {
      const history = await open();
      await history.appendLog([line('a', 0)]);
      await history.markLogTruncated('a', { seq: 0, ts: at(0) });
      expect(await history.readLog('a', { after: -1, limit: 10 })).toEqual({
        lines: [],
        truncated: false,
      });
      expect(history.persistent).toBe(false);
    });
  });

  describe.runIf(harness.reopen !== undefined)('log', () => {
    it('reads lines in order after a place, up to a limit', async () => {
      const history = await open();
      await history.appendLog([line('a', 0), line('b', 0), line('a', 1)]);
      await history.appendLog([line('a', 2), { ...line('a', 1), line: 'twice' }]);
      expect(await history.readLog('a', { after: -1, limit: 10 })).toEqual({
        lines: [stored(0), stored(1), stored(2)],
        truncated: false,
      });
      expect(await history.readLog('a', { after: 0, limit: 1 })).toEqual({
        lines: [stored(1)],
        truncated: false,
      });
      expect(await history.readLog('none', { after: -1, limit: 10 })).toEqual({
        lines: [],
        truncated: false,
      });
    });

    it('shows that lines were dropped where the log ends, not before', async () => {
      const history = await open();
      await history.appendLog([line('a', 0), line('a', 1)]);
      await history.markLogTruncated('a', { seq: 1, ts: at(1) });
      expect(await history.readLog('a', { after: -1, limit: 1 })).toEqual({
        lines: [stored(0)],
        truncated: false,
      });
      expect(await history.readLog('a', { after: -1, limit: 2 })).toEqual({
        lines: [stored(0), stored(1)],
        truncated: true,
      });
      expect(await history.readLog('a', { after: 1, limit: 2 })).toEqual({
        lines: [],
        truncated: true,
      });
    });

    it('goes on behind a mark that stands between lines', async () => {
      const history = await open();
      await history.appendLog([line('a', 0), line('a', 1), line('a', 5)]);
      await history.markLogTruncated('a', { seq: 1, ts: at(1) });
      await history.markLogTruncated('a', { seq: 5, ts: at(1) });
      const read = (after: number, limit: number) => history.readLog('a', { after, limit });
      expect(await read(-1, 2)).toEqual({ lines: [stored(0), stored(1)], truncated: false });
      expect(await read(1, 1)).toEqual({ lines: [stored(5)], truncated: true });
      expect(await read(-1, 3)).toMatchObject({ truncated: true });
      expect(await read(-1, 3)).toMatchObject({ lines: [stored(0), stored(1), stored(5)] });
    });

    it('purges lines by their own age and leaves the run', async () => {
      const history = await open();
      await history.admit(aRun('a'), {});
      await history.appendLog(
        Array.from({ length: 5000 }, (_, seq) => ({
          ...line('a', seq),
          ts: at(seq < 4500 ? 1 : 5),
        })),
      );
      expect(await history.purge({ logsBefore: at(5) })).toMatchObject({ logs: 4500 });
      expect((await history.readLog('a', { after: -1, limit: 1 })).lines[0]?.seq).toBe(4500);
      expect(await history.getRun('a')).toBeDefined();
    });

    it('keeps the lines of a deleted run', async () => {
      const history = await open();
      await history.admit(aRun('a'), {});
      await history.finishRun(fenceOf(aRun('a')), ENDING);
      await history.appendLog([line('a', 0)]);
      await history.deleteRun('a');
      expect((await history.readLog('a', { after: -1, limit: 5 })).lines).toHaveLength(1);
    });
  });
}

function describeSurvival(harness: HistoryHarness, open: Open): void {
  const { reopen } = harness;
  describe.runIf(reopen !== undefined)('the end of the process', () => {
    it('survives it with runs, claims, audit and log', async () => {
      const before = await open();
      await before.admit(aRun('a', { idempotency_key: 'k' }), {
        claim: claim(),
        audits: [audit('1')],
      });
      await before.appendLog([{ run_id: 'a', seq: 0, ts: at(0), level: 'INFO', line: 'x' }]);
      const after = await open(reopen);
      expect(await after.getRun('a')).toMatchObject({ idempotency_key: 'k' });
      expect(await after.admit(aRun('b'), { claim: claim() })).toMatchObject({ type: 'replay' });
      expect(await after.listAudit({ limit: 5 })).toHaveLength(1);
      expect((await after.readLog('a', { after: -1, limit: 5 })).lines).toHaveLength(1);
      expect(after.persistent).toBe(true);
    });

    it('is shared by two processes without two winners', async () => {
      const one = await open();
      const two = await open(reopen);
      const all = await Promise.all([
        one.admit(aRun('a'), { claim: claim() }),
        two.admit(aRun('b'), { claim: claim() }),
      ]);
      expect(all.map((each) => each.type).sort()).toEqual(['admitted', 'replay']);
    });
  });
}
