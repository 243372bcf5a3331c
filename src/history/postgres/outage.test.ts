import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aRun } from '../../../test/conformance/history.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { tcpProxy, type TcpProxy } from '../../../test/fakes/tcp-proxy.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { History, RunEnding } from '../history.ts';
import { openHistory } from '../open.ts';
import { openPostgresHistory } from './open-postgres.ts';

const AWAY = { code: 'history_unavailable' };
const END: RunEnding = {
  status: 'completed',
  finished_at: '2026',
  records_written: 1,
  invocations: [],
  error: null,
};
const fence = { owner: 'one', attempt: 0 };

const database = await freshDatabase();
let proxy: TcpProxy;
let history: History;
/** The same tables, for what comes back in time however busy the machine is. */
let patient: History;

beforeAll(async () => {
  const url = new URL(database.url);
  proxy = await tcpProxy({ host: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  const brief = { waitMs: 1000, statementTimeoutMs: 500 };
  history = await openPostgresHistory(url.href, testEnv(), brief);
  patient = await openPostgresHistory(url.href, testEnv(), { waitMs: 40_000 });
});
afterAll(async () => {
  proxy.heal();
  await history.close();
  await patient.close();
  await proxy.close();
  await database.drop();
});

/** How often others got the event loop while `work` went on, with five milliseconds in between. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  const over = work.then(
    () => true,
    () => true,
  );
  for (let turns = 0; ; turns += 1) if (await Promise.race([over, sleep(5, false)])) return turns;
}

describe('a database that is away', () => {
  it('keeps writes waiting that come back in time, in their order', async () => {
    await patient.admit(aRun('order'), {});
    proxy.cut();
    const writes = Promise.all([
      patient.startRun({ run_id: 'order', ...fence }, '2026'),
      patient.finishRun({ run_id: 'order', ...fence }, END),
      patient.admit(aRun('later'), {}),
    ]);
    await sleep(200);
    proxy.heal();
    expect(await writes).toEqual([true, true, { type: 'admitted' }]);
    expect(await patient.getRun('order')).toMatchObject({ status: 'completed' });
  });

  it('rejects what waits for an answer, soon once that is known, and stores the log when it is back', async () => {
    const line = { run_id: 'log', seq: 0, ts: '2026', level: 'INFO', line: 'x' };
    proxy.cut();
    const log = history.appendLog([line]);
    await expect(history.admit(aRun('lost'), {})).rejects.toMatchObject(AWAY);
    const before = performance.now();
    await expect(history.admit(aRun('lost too'), {})).rejects.toMatchObject(AWAY);
    await expect(history.getRun('order')).rejects.toMatchObject(AWAY);
    await expect(history.ping()).rejects.toMatchObject(AWAY);
    expect(performance.now() - before).toBeLessThan(2500);
    proxy.heal();
    await log;
    await history.ping();
    expect((await history.readLog('log', { after: -1, limit: 9 })).lines).toHaveLength(1);
    expect(await history.getRun('lost')).toBeUndefined();
    expect(await history.getRun('lost too')).toBeUndefined();
  });

  it('blocks nobody while it says nothing, and has nothing of what was rejected', async () => {
    await history.admit(aRun('frozen'), {});
    proxy.freeze();
    const admitted = history.admit(aRun('in between'), {});
    const rejected = expect(admitted).rejects.toMatchObject(AWAY);
    // Some two hundred where the machine is idle, and none or one where it blocks.
    expect(await turnsDuring(admitted)).toBeGreaterThan(10);
    await rejected;
    await expect(history.getRun('frozen')).rejects.toMatchObject(AWAY);
    const finished = history.finishRun({ run_id: 'frozen', ...fence }, END).catch(() => false);
    proxy.heal();
    await finished;
    await history.ping();
    expect(await history.getRun('in between')).toBeUndefined();
  });

  it('is asked what became of a commit whose answer was lost, and does nothing twice', async () => {
    await patient.admit(aRun('doubt'), {});
    proxy.cutAfter('COMMIT');
    expect(await patient.finishRun({ run_id: 'doubt', ...fence }, END)).toBe(true);
    proxy.cutAfter('COMMIT');
    expect(await patient.admit(aRun('once'), {})).toEqual({ type: 'admitted' });
  });

  it('does again what was not committed when the connection was lost', async () => {
    proxy.cutAfter('INSERT INTO svc_serve_instances');
    const instance = { instance_id: 'i', host: 'h', pid: 1, pid_started: null, listen: null };
    await patient.putInstance({
      ...instance,
      started_at: '2026',
      seen_at: '2026',
      max_concurrent: 1,
      in_flight: 0,
    });
    expect(await patient.listInstances()).toHaveLength(1);
  });

  it('goes on after the server ended its connections', async () => {
    const admin = new Client({ connectionString: database.url });
    await admin.connect();
    await admin.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    await admin.end();
    expect(await patient.getRun('once')).toBeDefined();
    expect(await patient.admit(aRun('after'), {})).toEqual({ type: 'admitted' });
  });
});

it('a write that was rejected while a table was locked is not done afterwards', async () => {
  const hasty = await openPostgresHistory(database.url, testEnv(), { waitMs: 200 });
  const other = new Client({ connectionString: database.url });
  await other.connect();
  await other.query('BEGIN; LOCK TABLE svc_serve_audit IN ACCESS EXCLUSIVE MODE');
  const audit = {
    id: 'a',
    timestamp: '2026',
    principal: 'p',
    role: 'r',
    action: 'a',
    result: 'ok',
  };
  await expect(hasty.admit(aRun('locked'), { audits: [audit] })).rejects.toMatchObject(AWAY);
  const later = hasty.appendLog([{ run_id: 'l', seq: 0, ts: '2026', level: 'INFO', line: 'x' }]);
  await other.query('ROLLBACK');
  await other.end();
  await later;
  expect(await hasty.getRun('locked')).toBeUndefined();
  await hasty.close();
});

it('of two instances whose changes are in each other’s way, both are done', async () => {
  const other = await openHistory(database.url, testEnv());
  const text = (hash: string) => ({ hash, content: hash });
  const [one, two] = [text('t1'), text('t2')];
  const rounds = Array.from({ length: 30 }, (_, n) =>
    Promise.all([
      history.admit(aRun(`x${n}`), { submission: { content: '', document: one, base: two } }),
      other.admit(aRun(`y${n}`), { submission: { content: '', document: two, base: one } }),
    ]),
  );
  await Promise.all(rounds);
  const { runs } = await other.listRuns({ limit: 500 });
  expect(runs.filter(({ run_id }) => /^[xy]\d/.test(run_id))).toHaveLength(60);
  await other.close();
});
