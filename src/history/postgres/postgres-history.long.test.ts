import { Client } from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { aRun } from '../../../test/conformance/history.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import type { History } from '../history.ts';
import { openHistory } from '../open.ts';
import { MIGRATIONS } from '../sql/migrations/index.ts';

const database = await freshDatabase();
const opened: History[] = [];
afterAll(async () => {
  for (const history of opened) await history.close();
  await database.drop();
});

const at = (schema: string): string => `${database.url}?schema=${schema}`;

async function open(url: string): Promise<History> {
  const history = await openHistory(url, testEnv());
  opened.push(history);
  return history;
}

async function withClient<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

describe('a history in PostgreSQL', () => {
  it('is set up once by several instances that start at once', async () => {
    const histories = await Promise.all([1, 2, 3, 4].map(() => open(at('together'))));
    await Promise.all(histories.map((history, n) => history.admit(aRun(`run-${n}`), {})));
    expect((await histories[0]?.listRuns({ limit: 9 }))?.runs).toHaveLength(4);
    const { rows } = await withClient((client) =>
      client.query('SELECT version FROM together.svc_serve_migrations ORDER BY version'),
    );
    const released = MIGRATIONS.filter(({ isAddition }) => isAddition !== true);
    expect(rows).toEqual(released.map(({ version }) => ({ version })));
  });

  it('has its tables in the schema that the address names', async () => {
    const [one, other] = [await open(at('one')), await open(at('other'))];
    await one.admit(aRun('a'), {});
    expect(await other.getRun('a')).toBeUndefined();
    const again = await open(at('one'));
    expect(await again.getRun('a')).toEqual(aRun('a'));
  });

  it('sorts and compares texts as SQLite does, whatever the database does', async () => {
    const history = await open(at('sorted'));
    const names = ['a', 'B', 'ä', '_', 'b', 'A'];
    for (const id of names) await history.admit(aRun(id), {});
    const { runs } = await history.listRuns({ limit: 9 });
    expect(runs.map(({ run_id }) => run_id)).toEqual(['ä', 'b', 'a', '_', 'B', 'A']);
  });

  it('stores texts with characters that PostgreSQL has no place for', async () => {
    const history = await open(at('characters'));
    await history.admit(aRun('a', { name: 'zero \0 and \ud800' }), {});
    await history.appendLog([
      { run_id: 'a', seq: 0, ts: '2026', level: 'INFO', line: '\0' },
      { run_id: 'a', seq: 1, ts: '2026', level: 'INFO', line: '🦆' },
    ]);
    expect((await history.getRun('a'))?.name).toBe('zero � and �');
    const { lines } = await history.readLog('a', { after: -1, limit: 9 });
    expect(lines.map(({ line }) => line)).toEqual(['�', '🦆']);
  });

  it('refuses tables of a newer version', async () => {
    await open(at('newer'));
    await withClient((client) =>
      client.query(`INSERT INTO newer.svc_serve_migrations VALUES (99, 'later', 'now')`),
    );
    await expect(open(at('newer'))).rejects.toThrow('newer version (99');
  });

  it.each([
    ['postgres://me:hunter22@127.0.0.1:1/d', 'cannot be reached'],
    ['postgres://me:hunter22@127.0.0.1:1/d?schema=x;drop', 'not a plain name'],
    ['postgres://me:hunter22@bad host/d', 'cannot be read'],
  ])('is refused at %s, without its password', async (url, why) => {
    const error: unknown = await open(url).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'history_unavailable' });
    expect(String(error)).toContain(why);
    expect(String(error)).not.toContain('hunter22');
  });

  it('does not wait for a login or a database that are wrong', async () => {
    const url = new URL(database.url);
    url.pathname = '/no_such_database';
    const begun = performance.now();
    await expect(open(url.href)).rejects.toThrow('no_such_database');
    expect(performance.now() - begun).toBeLessThan(2000);
  });

  it('fails only the one of many writes that cannot be stored', async () => {
    const history = await open(at('partly'));
    await history.admit(aRun('twice'), {});
    const settled = await Promise.allSettled(
      ['a', 'twice', 'b'].map((id) => history.admit(aRun(id), {})),
    );
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await history.getRun('b')).toBeDefined();
  });

  it('keeps a text that another instance takes into use while it is erased', async () => {
    const [one, other] = [await open(at('texts')), await open(at('texts'))];
    const document = { hash: 'h', content: 'version: 1' };
    const submission = { content: '{}', document };
    const end = { status: 'completed', finished_at: '2026', records_written: 0 } as const;
    for (let n = 0; n < 40; n += 1) {
      const [old, fresh] = [aRun(`old-${n}`), aRun(`new-${n}`)];
      await one.admit(old, { submission });
      await Promise.all([
        one.finishRun(old, { ...end, invocations: [], error: null, erases_submission: true }),
        other.admit(fresh, { submission }),
      ]);
      expect(await other.getSubmission(fresh.run_id)).toEqual(submission);
      await other.finishRun(fresh, {
        ...end,
        invocations: [],
        error: null,
        erases_submission: true,
      });
    }
  });

  it('gives abandoned runs to one of several instances that ask at once', async () => {
    const instances = await Promise.all([1, 2, 3].map(() => open(at('adopted'))));
    const first = await open(at('adopted'));
    const known = { host: 'h', pid: 1, pid_started: null, listen: null, started_at: '2026' };
    for (const n of instances.keys())
      await first.putInstance({
        ...known,
        instance_id: `o${n}`,
        seen_at: '2026',
        max_concurrent: 1,
        in_flight: 0,
      });
    const ids = Array.from({ length: 60 }, (_, n) => `run-${n}`);
    await Promise.all(
      ids.map((id) => first.admit(aRun(id, { owner: 'gone' }), { submission: { content: id } })),
    );
    const adopted = await Promise.all(
      instances.map((history, n) =>
        history.adoptQueued({
          owner: `o${n}`,
          leaseUntil: '2030',
          now: '2026-08-01T00:00:11.000Z',
          limit: 30,
        }),
      ),
    );
    const taken = adopted.flat().map(({ run }) => run.run_id);
    expect(new Set(taken).size).toBe(taken.length);
    expect(taken.length).toBeGreaterThanOrEqual(30);
  });
});
