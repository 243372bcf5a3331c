import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { check } from '../kit/schema.ts';
import { openState } from '../../test/fakes/open-state.ts';
import { sqliteState } from './sqlite.ts';

const cwd = mkdtempSync(join(tmpdir(), 'sqlite-state-'));

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

  test.each([
    { database_url: ':memory:' },
    { database_url: 'a.db', table: 'a-b' },
    { database_url: '' },
    {},
  ])('%j is refused', (config) => {
    expect(check(sqliteState.config, config).ok).toBe(false);
  });
});
