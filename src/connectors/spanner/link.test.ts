/** Transactions and changes of the schema, against a server of the tests. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { stillClock } from '../../../test/fakes/clock.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { FakeSpanner, type Answers } from '../../../test/fakes/spanner.ts';
import { SpannerLink } from './link.ts';

const ABORTED = { code: 10, details: 'Transaction was aborted' };
const GONE = { code: 14, details: 'the connection is gone' };
const INSERT = { insert: { table: 't', columns: ['id'], values: [['1']] } };

let fake: FakeSpanner;
let link: SpannerLink;
beforeAll(async () => {
  fake = await FakeSpanner.start();
  const place = { project_id: 'p', instance: 'i', database: 'd', max_sessions: 1 };
  // The time of day is not asked for: it may be set.
  const now = (): Date => new Date('2026-02-01T00:00:00Z');
  const env = testEnv({ clock: { ...stillClock(), now } });
  link = new SpannerLink(
    { ...place, auth: { type: 'anonymous' }, emulator_host: fake.host },
    { env, signal: new AbortController().signal },
  );
});
afterAll(async () => {
  await link.close();
  fake.close();
});
afterEach(() => {
  fake.calls.length = 0;
  fake.answer = undefined;
});

/** Answers of the calls of a method, one after the other; then they succeed. */
function answering(method: string, ...answers: readonly Answers[]): void {
  let asked = 0;
  fake.answer = (call) => (call.method === method ? answers[asked++] : undefined);
}

const methods = (): string[] => fake.calls.map(({ method }) => method);

describe('a transaction', () => {
  const commit = (): Promise<void> => link.transaction('writing', () => Promise.resolve([INSERT]));

  it('is begun again when it is aborted', async () => {
    answering('Commit', [ABORTED], [ABORTED]);
    await commit();
    const attempt = ['BeginTransaction', 'Commit'];
    const aborted = [...attempt, 'Rollback'];
    expect(methods().filter((one) => one !== 'CreateSession')).toEqual([
      ...aborted,
      ...aborted,
      ...attempt,
    ]);
  });

  it('is committed once more under its own name where the answer was lost', async () => {
    answering('Commit', [GONE]);
    await commit();
    expect(fake.seen('BeginTransaction')).toHaveLength(1);
    expect(fake.seen('Commit').map(({ request }) => request['mutations'])).toHaveLength(2);
  });

  it('is undone when its work fails, so that nobody waits for it', async () => {
    await expect(
      link.transaction('writing', () => Promise.reject(new Error('no work'))),
    ).rejects.toThrow('no work');
    expect(methods().slice(-2)).toEqual(['BeginTransaction', 'Rollback']);
  });

  it('is not repeated for what stays wrong, and gets a session that is there', async () => {
    answering('Commit', [{ code: 6, details: 'Row [1] already exists' }]);
    await expect(commit()).rejects.toMatchObject({ grpcStatus: 6 });
    expect(fake.seen('Commit')).toHaveLength(1);
    answering('BeginTransaction', [{ code: 5, details: 'Session not found: session' }]);
    fake.calls.length = 0;
    await commit();
    expect(methods()).toEqual(['BeginTransaction', 'CreateSession', 'BeginTransaction', 'Commit']);
  });

  it('numbers its statements', async () => {
    fake.answer = ({ method }) =>
      method === 'ExecuteSql' ? [{ rows: [], stats: { row_count_exact: 3n } }] : undefined;
    await link.transaction('writing', async (transaction) => {
      expect(await transaction.change({ sql: 'DELETE FROM t WHERE TRUE' })).toBe(3);
      await transaction.change({ sql: 'DELETE FROM t WHERE TRUE' });
      return [];
    });
    expect(fake.seen('ExecuteSql').map(({ request }) => request['seqno'])).toEqual([1n, 2n]);
  });
});

describe('a change of the schema', () => {
  const change = (): Promise<void> => link.changeSchema('making a table', ['CREATE …'], 60);
  const DONE: Answers = [{ name: 'o', done: true }];
  const OPEN: Answers = [{ name: 'o', done: false }];

  it('is waited for', async () => {
    fake.answer = ({ method }) => {
      if (method === 'UpdateDatabaseDdl') return OPEN;
      if (method !== 'GetOperation') return undefined;
      return fake.seen('GetOperation').length < 3 ? OPEN : DONE;
    };
    await change();
    expect(methods()).toEqual(['UpdateDatabaseDdl', ...Array(3).fill('GetOperation')]);
  });

  it('fails as its operation does, or when it takes too long', async () => {
    const error = { code: 3, message: 'Duplicate name in schema: t' };
    answering('UpdateDatabaseDdl', [{ name: 'o', done: true, error }]);
    await expect(change()).rejects.toThrow('making a table: Duplicate name in schema: t');
    fake.answer = ({ method }) => (method.endsWith('Session') ? undefined : OPEN);
    await expect(change()).rejects.toMatchObject({
      kind: 'timeout',
      hint: expect.stringContaining('ddl_timeout_secs') as string,
    });
  });

  it('waits for another one, and not after other refusals', async () => {
    const busy = {
      code: 9,
      details:
        'Schema change operation rejected because a concurrent schema change operation or read-write transaction is already in progress.',
    };
    answering('UpdateDatabaseDdl', [busy], [busy], DONE);
    await change();
    expect(fake.seen('UpdateDatabaseDdl')).toHaveLength(3);
    answering('UpdateDatabaseDdl', [{ code: 9, details: 'no such thing' }]);
    await expect(change()).rejects.toThrow('no such thing');
  });
});
