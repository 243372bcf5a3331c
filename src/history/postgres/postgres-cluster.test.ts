import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { aRun } from '../../../test/conformance/history.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { ClaimRequest, DoneSoFar, ClusterStore, OpenedHistory } from '../cluster.ts';
import {
  NOBODY,
  type Instance,
  type RunEnding,
  type RunFence,
  type StoredRun,
} from '../history.ts';
import { openHistory } from '../open.ts';
import { finishRun, holdRun, startRun } from '../sql/run-statements.ts';
import { CLAIM, claimValues } from './claim-statements.ts';
import type { SqlValue } from '../sql/sql-store.ts';
import { mergeStatements, type MergedStatement } from './write-waves.ts';
import { eventually } from '../../../test/support/eventually.ts';

const database = await freshDatabase();
const opened: OpenedHistory[] = [];
afterAll(async () => {
  for (const history of opened) await history.close();
  await database.drop();
});

let schemas = 0;
/** A history that so many servers have open. */
async function openBy(servers: number): Promise<readonly Opened[]> {
  const url = `${database.url}?schema=cluster_${(schemas += 1)}`;
  const all: Opened[] = [];
  for (let n = 0; n < servers; n += 1) {
    const history = await openHistory(url, testEnv());
    opened.push(history);
    const { cluster } = history;
    if (cluster === undefined) throw new Error('PostgreSQL has a cluster');
    all.push({ history, cluster });
  }
  return all;
}

const schemaOf = (url: string): string => new URL(url).searchParams.get('schema') ?? '';

interface Opened {
  readonly history: OpenedHistory;
  readonly cluster: ClusterStore;
}

async function openOne(): Promise<Opened> {
  const [one] = await openBy(1);
  if (one === undefined) throw new Error('one was opened');
  return one;
}

const AT = '2026-08-01T00:00:00.000Z';
const ENDING: RunEnding = {
  status: 'completed',
  finished_at: AT,
  records_written: 1,
  invocations: [],
  error: null,
};
const INVOCATION: DoneSoFar['invocations'][number] = {
  run_id: 'i',
  row_id: 'r',
  parent_record_key: null,
  records_written: 7,
  error: null,
  status: 'cancelled',
  duration_ms: 1,
  balance: {
    read: 7,
    filtered: 0,
    expanded: 0,
    transformed: 7,
    written: 7,
    dead_lettered: 0,
    withheld: 0,
  },
};
const NOTHING: DoneSoFar = { records_written: 0, invocations: [] };
const LOST = { maxAttempts: 1, error: 'given up' };

const queue = ({ history }: Opened, id: string, over: Partial<StoredRun> = {}): Promise<unknown> =>
  history.admit(aRun(id, { owner: NOBODY, ...over }), { submission: { content: `of ${id}` } });
const by = (owner: string, over: Partial<ClaimRequest> = {}): ClaimRequest => ({
  owner,
  leaseMs: 60_000,
  limit: 9,
  behind: {},
  ...over,
});
const idsOf = (claimed: readonly { readonly run: StoredRun }[]): string[] =>
  claimed.map(({ run }) => run.run_id).sort();
const instance = (id: string): Instance => ({
  instance_id: id,
  host: 'h',
  pid: 4,
  pid_started: null,
  listen: null,
  started_at: '2026-08-01T00:00:00.000Z',
  seen_at: '',
  max_concurrent: 4,
  in_flight: 1,
});

/** Pages of tables and indexes that a statement looks at, by a plan that is made for all values. */
async function blocksReadBy(
  client: Client,
  { sql, values }: Pick<MergedStatement, 'sql' | 'values'>,
): Promise<number> {
  let count = 0;
  const text = sql.replaceAll('?', () => `$${(count += 1)}`);
  const inList = (value: SqlValue): string =>
    value === null ? 'NULL' : JSON.stringify(`${value}`);
  const given = values.map((value) =>
    client.escapeLiteral(Array.isArray(value) ? `{${value.map(inList).join(',')}}` : `${value}`),
  );
  await client.query('BEGIN; SET LOCAL plan_cache_mode = force_generic_plan');
  await client.query(`PREPARE looked_at AS ${text}`);
  const { rows } = await client.query<{ 'QUERY PLAN': readonly Explained[] }>(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE looked_at (${given.join(', ')})`,
  );
  await client.query('ROLLBACK; DEALLOCATE looked_at');
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
  if (plan === undefined) throw new Error('PostgreSQL explained nothing');
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

interface Explained {
  readonly Plan: { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number };
}

/** Of a queue that is long, as many pages as of a short one, and not many more. */
async function expectSameReads(
  one: Opened,
  statements: readonly Pick<MergedStatement, 'sql' | 'values'>[],
  more: number,
): Promise<void> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  const reads = async (): Promise<readonly number[]> => {
    const counts: number[] = [];
    for (const statement of statements) counts.push(await blocksReadBy(client, statement));
    return counts;
  };
  try {
    await client.query(`SET search_path TO cluster_${schemas}`);
    // The planner takes the queue for short from now on.
    await client.query('ALTER TABLE svc_serve_runs SET (autovacuum_enabled = off)');
    await client.query('ANALYZE svc_serve_runs');
    for (let n = 10; n < 18; n += 1) await queue(one, `few-${n}`, { name: `p${n % 5}` });
    const short = await reads();
    await client.query(
      `INSERT INTO svc_serve_runs (run_id, name, labels, status, submitted_at, records_written, invocations, attempt, owner, lease_until, cancel_requested, priority)
       SELECT 'many-' || n, 'p' || n % 5, '{}', 'queued', '2026-08-01T00:00:00.000Z', 0, '[]', 0, '', '', 0, n % 2 - 1 FROM generate_series(1, 10000) AS n`,
    );
    for (const [index, count] of (await reads()).entries())
      expect(count, statements[index]?.sql).toBeLessThan((short[index] ?? 0) + more);
  } finally {
    await client.end();
  }
}

describe('the queue of a cluster', () => {
  it('gives each of many runs to one of several servers that claim at the same time', async () => {
    const servers = await openBy(4);
    const [first] = servers;
    if (first === undefined) throw new Error('none');
    const ids = Array.from({ length: 40 }, (_, n) => `run-${n}`);
    await Promise.all(ids.map((id, n) => queue(first, id, { name: `p${n % 3}` })));
    const taken = await Promise.all(
      servers.map(async ({ cluster }, n) => {
        const mine: string[] = [];
        for (let empty = 0; empty < 5;) {
          const claimed = await cluster.claimRuns(by(`server-${n}`, { limit: 2 }));
          empty = claimed.length === 0 ? empty + 1 : 0;
          mine.push(...idsOf(claimed));
        }
        return mine;
      }),
    );
    expect(taken.flat().sort()).toEqual([...ids].sort());
  });

  it('starts what it gives, with all that was stored', async () => {
    const one = await openOne();
    await queue(one, 'a', { name: null });
    const [claimed] = await one.cluster.claimRuns(by('me'));
    expect(claimed).toMatchObject({ claim: 1, submission: { content: 'of a' } });
    const run = await one.history.getRun('a');
    expect(run).toEqual(claimed?.run);
    expect(run).toMatchObject({ status: 'running', owner: 'me', attempt: 0 });
    expect(Math.abs(Date.parse(run?.started_at ?? '') - Date.now())).toBeLessThan(60_000);
    expect(await one.cluster.claimRuns(by('me'))).toEqual([]);
  });

  it('lets pipelines take turns, however many runs one of them has', async () => {
    const one = await openOne();
    for (let n = 10; n < 40; n += 1) await queue(one, `many-${n}`, { name: 'many' });
    for (const name of ['few', 'some', 'zero']) await queue(one, `${name}-1`, { name });
    expect(idsOf(await one.cluster.claimRuns(by('me', { limit: 4 })))).toEqual([
      'few-1',
      'many-10',
      'some-1',
      'zero-1',
    ]);
    await queue(one, 'some-2', { name: 'some' });
    await queue(one, 'few-2', { name: 'few' });
    const next = await one.cluster.claimRuns(by('me', { limit: 1, behind: { normal: 'few' } }));
    expect(idsOf(next)).toEqual(['many-11']);
    const wrapped = await one.cluster.claimRuns(by('me', { limit: 1, behind: { normal: 'some' } }));
    expect(idsOf(wrapped)).toEqual(['few-2']);
  });

  it('gives those of a higher priority first, and in each the pipelines their turns', async () => {
    const one = await openOne();
    const levels = ['low', 'normal', 'high'] as const;
    for (const priority of levels)
      for (const name of ['a', 'b'])
        for (const n of [1, 2]) await queue(one, `${priority}-${name}${n}`, { name, priority });
    const take = async (limit: number, behind: ClaimRequest['behind']): Promise<string[]> =>
      (await one.cluster.claimRuns(by('me', { limit, behind }))).map(({ run }) => run.run_id);
    expect(await take(3, { high: 'a', normal: 'b' })).toEqual(['high-b1', 'high-a1', 'high-b2']);
    expect(await take(3, { high: 'b', normal: 'a' })).toEqual([
      'high-a2',
      'normal-b1',
      'normal-a1',
    ]);
    // One that was lost, or given back, is in the queue as it was.
    const fence = { run_id: 'high-a2', owner: 'me', attempt: 0 };
    expect(await one.cluster.releaseRun(fence, NOTHING)).toBe(true);
    expect(await take(9, {})).toEqual([
      'high-a2',
      'normal-a2',
      'normal-b2',
      'low-a1',
      'low-b1',
      'low-a2',
      'low-b2',
    ]);
  });

  it('reads no more of a long queue than of a short one, whatever its priorities', async () => {
    const one = await openOne();
    const claim = {
      sql: CLAIM,
      values: claimValues({ owner: 'me', leaseMs: 1000, limit: 4, behind: { normal: 'p2' } }),
    };
    // It finds twice as many candidates as it may take of each name.
    await expectSameReads(one, [claim], 300);
  });

  it('starts and ends a run, or several, without a look at the others', async () => {
    const one = await openOne();
    const fences = Array.from({ length: 8 }, (_, n) => ({
      run_id: `few-${10 + n}`,
      owner: NOBODY,
      attempt: 0,
    }));
    const statements = [
      (fence: RunFence) => startRun(fence, AT),
      (fence: RunFence) => finishRun(fence, { ...ENDING, error: 'e' }),
      holdRun,
    ].flatMap((make) => [
      ...mergeStatements(fences.slice(0, 1).map(make)),
      ...mergeStatements(fences.map(make)),
    ]);
    expect(statements).toHaveLength(6);
    await expectSameReads(one, statements, 100);
  });

  it('does not start a run whose end was asked for', async () => {
    const one = await openOne();
    await queue(one, 'a');
    await one.history.requestCancel('a');
    const [claimed] = await one.cluster.claimRuns(by('me'));
    expect(claimed?.run).toMatchObject({ status: 'queued', owner: 'me', started_at: null });
    expect(claimed?.run.cancel_requested).toBe(true);
    const fence = { run_id: 'a', owner: 'me', attempt: 0 };
    expect(await one.history.finishRun(fence, { ...ENDING, status: 'cancelled' })).toBe(true);
  });

  it('gives one run for its end, unless somebody executes it', async () => {
    const one = await openOne();
    await queue(one, 'a');
    const request = { owner: 'me', leaseMs: 60_000 };
    expect((await one.cluster.claimQueued('a', request))?.run.status).toBe('queued');
    expect(await one.cluster.claimQueued('a', request)).toBeUndefined();
    expect(await one.cluster.claimRuns(by('other'))).toEqual([]);
  });
});

it('goes on when a newer server adds a column', async () => {
  const one = await openOne();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query(`SET search_path TO cluster_${schemas}`);
    await queue(one, 'a');
    await queue(one, 'b');
    const known = await one.history.getRun('a');
    expect(idsOf(await one.cluster.claimRuns(by('me', { limit: 1 })))).toEqual(['a']);
    await client.query('ALTER TABLE svc_serve_runs ADD COLUMN later INTEGER NOT NULL DEFAULT 0');
    expect(await one.history.getRun('b')).toEqual({ ...known, run_id: 'b' });
    expect(idsOf(await one.cluster.claimRuns(by('me', { limit: 1 })))).toEqual(['b']);
  } finally {
    await client.end();
  }
});

describe('a run whose server is lost', () => {
  it('goes on elsewhere, and what its old owner says of it changes nothing', async () => {
    const one = await openOne();
    await queue(one, 'a');
    await one.cluster.claimRuns(by('old', { leaseMs: 0 }));
    await sleep(5);
    expect(await one.cluster.reclaim(LOST)).toMatchObject({ requeued: ['a'], failed: [] });
    expect(await one.cluster.reclaim(LOST)).toMatchObject({ requeued: [], failed: [] });
    expect(await one.history.getRun('a')).toMatchObject({
      status: 'queued',
      attempt: 1,
      started_at: null,
    });
    const [again] = await one.cluster.claimRuns(by('new'));
    expect(again).toMatchObject({ claim: 2, run: { attempt: 1, owner: 'new' } });
    const stale = { run_id: 'a', owner: 'old', attempt: 0 };
    expect(await one.history.finishRun(stale, ENDING)).toBe(false);
    expect(await one.cluster.releaseRun(stale, NOTHING)).toBe(false);
    // The same server may have it again.
    expect(await one.history.finishRun({ ...stale, owner: 'new' }, ENDING)).toBe(false);
    expect(await one.history.finishRun({ ...stale, owner: 'new', attempt: 1 }, ENDING)).toBe(true);
  });

  it('fails after the last attempt', async () => {
    const one = await openOne();
    await queue(one, 'a', { attempt: 1 });
    await one.cluster.claimRuns(by('old', { leaseMs: 0 }));
    await sleep(5);
    expect(await one.cluster.reclaim(LOST)).toMatchObject({ requeued: [], failed: ['a'] });
    expect(await one.history.getRun('a')).toMatchObject({
      status: 'failed',
      error: 'given up',
      attempt: 1,
    });
  });

  it('keeps its server as long as that says that it lives', async () => {
    const one = await openOne();
    await queue(one, 'a');
    await one.cluster.claimRuns(by('me', { leaseMs: 0 }));
    const beat = await one.cluster.beat(instance('me'), 60_000);
    expect(beat).toEqual({
      leases: [{ run_id: 'a', attempt: 0, cancel_requested: false, isExtended: true }],
      instances: 1,
      isWaiting: false,
    });
    expect(await one.cluster.reclaim(LOST)).toMatchObject({ requeued: [], failed: [] });
    await one.cluster.expire('me');
    expect(await one.cluster.members()).toEqual([]);
    expect((await one.cluster.reclaim(LOST)).requeued).toEqual(['a']);
  });

  it('keeps its server beside a change that does not end, unless it is what changes', async () => {
    const url = `${database.url}?schema=cluster_${schemas + 1}`;
    const one = await openOne();
    for (const id of ['a', 'b', 'ended']) await queue(one, id);
    await one.cluster.claimRuns(by('me', { leaseMs: 0 }));
    await one.history.finishRun({ run_id: 'ended', owner: 'me', attempt: 0 }, ENDING);
    await one.cluster.beat(instance('me'), 0);
    const other = new Client({ connectionString: url, options: `-c search_path=${schemaOf(url)}` });
    await other.connect();
    await other.query(
      `BEGIN; UPDATE svc_serve_runs SET status = 'completed' WHERE run_id = 'b'; UPDATE svc_serve_instances SET in_flight = 0`,
    );
    const beat = await one.cluster.beatAside(instance('me'), 60_000, 1000);
    expect(beat.leases).toMatchObject([
      { run_id: 'a', isExtended: true },
      { run_id: 'b', isExtended: false },
    ]);
    expect(beat.instances).toBe(1);
    // What is locked is taken by nobody.
    expect(await one.cluster.reclaim(LOST)).toMatchObject({ requeued: [], failed: [] });
    await other.query('ROLLBACK');
    await other.end();
    expect((await one.cluster.reclaim(LOST)).requeued).toEqual(['b']);
    expect((await one.cluster.beatAside(instance('me'), 60_000, 1000)).leases).toMatchObject([
      { run_id: 'a', isExtended: true },
    ]);
    expect((await one.cluster.members()).map(({ isAlive }) => isAlive)).toEqual([true]);
  });

  it('that was given back is no attempt', async () => {
    const one = await openOne();
    await queue(one, 'a');
    await one.cluster.claimRuns(by('old'));
    const fence = { run_id: 'a', owner: 'old', attempt: 0 };
    expect(await one.cluster.releaseRun(fence, NOTHING)).toBe(true);
    expect(await one.cluster.releaseRun(fence, NOTHING)).toBe(false);
    const [again] = await one.cluster.claimRuns(by('new'));
    expect(again).toMatchObject({ claim: 2, run: { attempt: 0 } });
    expect(await one.history.finishRun(fence, ENDING)).toBe(false);
  });

  it('which was given back says what was done of it, also after its next server was lost', async () => {
    const one = await openOne();
    await queue(one, 'a');
    await one.cluster.claimRuns(by('old'));
    const done = { records_written: 7, invocations: [INVOCATION] };
    const fence = { run_id: 'a', owner: 'old', attempt: 0 };
    expect(await one.cluster.releaseRun(fence, done)).toBe(true);
    expect(await one.history.getRun('a')).toMatchObject({ status: 'queued', ...done });
    const [lost] = await one.cluster.claimRuns(by('lost', { leaseMs: 0 }));
    expect(lost?.run).toMatchObject(done);
    await sleep(5);
    await one.cluster.reclaim({ ...LOST, maxAttempts: 3 });
    expect((await one.cluster.claimRuns(by('new')))[0]?.run).toMatchObject(done);
  });

  it('which worked alone waits in the common queue', async () => {
    const one = await openOne();
    await one.history.putInstance({ ...instance('alive'), seen_at: new Date().toISOString() });
    const later = new Date(Date.now() + 60_000).toISOString();
    await queue(one, 'gone', { owner: 'gone', lease_until: later });
    await queue(one, 'held', { owner: 'alive', lease_until: later });
    expect(await one.cluster.adoptWaiting()).toEqual(['gone']);
    expect(idsOf(await one.cluster.claimRuns(by('me')))).toEqual(['gone']);
  });
});

describe('servers of a cluster', () => {
  it('delete a run once, when several are asked at the same time', async () => {
    const servers = await openBy(2);
    const ids = Array.from({ length: 20 }, (_, n) => `ended-${n}`);
    for (const id of ids)
      await servers[0]?.history.admit(aRun(id, { status: 'completed', finished_at: AT }), {});
    for (const id of ids) {
      const ends = await Promise.all(servers.map(({ history }) => history.deleteRun(id)));
      expect(ends.toSorted()).toEqual(['deleted', 'missing']);
    }
  });

  it('see each other, and who works alone', async () => {
    const one = await openOne();
    await one.cluster.beat(instance('a'), 60_000);
    await one.cluster.beat(instance('b'), 0);
    await one.history.putInstance({ ...instance('c'), seen_at: new Date().toISOString() });
    await sleep(5);
    expect(
      (await one.cluster.members()).map((member) => [
        member.instance_id,
        member.isAlive,
        member.isClustered,
      ]),
    ).toEqual([
      ['a', true, true],
      ['b', false, true],
      ['c', true, false],
    ]);
  });

  it('hear what one of them announces, but not those of another schema', async () => {
    const [one, two] = await openBy(2);
    const other = await openOne();
    const stop = new AbortController();
    const heard: string[] = [];
    const servers = [one, two, other].filter((server) => server !== undefined);
    const over = servers.map(({ cluster }, n) =>
      cluster.listen((news) => heard.push(`${n} ${news}`), stop.signal),
    );
    await eventually(async () => {
      await one?.cluster.announce('news');
      expect(new Set(heard)).toEqual(new Set(['0 news', '1 news']));
    });
    stop.abort();
    await Promise.all(over);
  });
});
