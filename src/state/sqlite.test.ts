import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { check } from '../kit/schema.ts';
import { holdLock } from '../../test/support/attacks.ts';
import { openState } from '../../test/fakes/open-state.ts';
import { sqliteState } from './sqlite.ts';

const cwd = mkdtempSync(join(tmpdir(), 'sqlite-state-'));

/** A store that blocked the event loop while it waits would have given up before they are over. */
async function manyTurns(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await setTimeout(1);
}

describe('the sqlite state store', () => {
  test('the table can be chosen', async () => {
    const store = await openState(sqliteState, { database_url: 'other.db', table: 'marks' }, cwd);
    await store.put('p::row', { at: 1 });
    await store.close();
    const db = new DatabaseSync(join(cwd, 'other.db'));
    expect(db.prepare('SELECT key, value FROM marks').all()).toEqual([
      { key: 'p::row', value: '{"at":1}' },
    ]);
    db.exec("UPDATE marks SET value = '{'");
    db.close();
    const again = await openState(sqliteState, { database_url: 'other.db', table: 'marks' }, cwd);
    await expect(again.get('p::row')).rejects.toMatchObject({ kind: 'data' });
    await again.close();
  });

  test('waits for a lock of another process without blocking the event loop', async () => {
    const lock = await holdLock(join(cwd, 'locked.db'));
    const opening = openState(sqliteState, { database_url: 'locked.db' }, cwd);
    await manyTurns();
    await lock.release();
    const store = await opening;

    await store.put('a', 0);
    const again = await holdLock(join(cwd, 'locked.db'));
    const writes = Promise.all([store.put('a', 1), store.put('a', 2), store.put('b', 3)]);
    await manyTurns();
    await again.release();
    await writes;
    expect([await store.get('a'), await store.get('b')]).toEqual([2, 3]);
    await store.close();
  });

  test('a write that waited for its lock is not overwritten by an older one', async () => {
    const store = await openState(sqliteState, { database_url: 'order.db' }, cwd);
    await store.put('a', 0);
    const lock = await holdLock(join(cwd, 'order.db'));
    const writes = [1, 2, 3, 4, 5].map(async (value) => {
      await setTimeout(value * 7);
      await store.put('a', value);
    });
    await setTimeout(40);
    await lock.release();
    await Promise.all(writes);
    expect(await store.get('a')).toBe(5);
    await store.close();
  });

  test('reports a lock that is held for too long', { timeout: 20_000 }, async () => {
    const store = await openState(sqliteState, { database_url: 'held.db' }, cwd);
    const lock = await holdLock(join(cwd, 'held.db'));
    await expect(store.put('a', 1)).rejects.toMatchObject({
      kind: 'timeout',
      message: expect.stringContaining('the state cannot be written'),
    });
    await lock.release();
    await store.close();
  });

  test.each([
    { database_url: ':memory:' },
    { database_url: 'a.db', table: 'a-b' },
    { database_url: '' },
    {},
  ])('%j is refused', (config) => {
    expect(check(sqliteState.config, config).ok).toBe(false);
  });
});
