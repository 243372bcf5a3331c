import { afterAll, describe, expect, test } from 'vitest';
import { freshDatabase } from '../../test/servers/postgres.ts';
import { check } from '../kit/schema.ts';
import { postgresState } from './postgres.ts';
import { openState } from '../../test/fakes/open-state.ts';

const database = await freshDatabase();
afterAll(() => database.drop());

describe('the postgres state store', () => {
  test('the table is made only when asked to', async () => {
    const config = { url: database.url, table: 'marks' };
    await expect(openState(postgresState, config)).rejects.toMatchObject({
      kind: 'missing',
      hint: expect.stringContaining('ensure_table: true') as string,
    });
    const stores = await Promise.all(
      [1, 2, 3].map(() => openState(postgresState, { ...config, ensure_table: true })),
    );
    await Promise.all(stores.map((store) => store.close()));
    const store = await openState(postgresState, config);
    await store.put('p::row', 1);
    expect(await store.get('p::row')).toBe(1);
    await store.close();
  });

  test('a wrong password is told apart and not shown', async () => {
    const url = new URL(database.url);
    url.password = 'not-the-password';
    const opening = openState(postgresState, { url: url.href });
    await expect(opening).rejects.toMatchObject({
      kind: 'auth',
      message: expect.not.stringContaining('not-the-password') as string,
    });
  });

  test.each([
    { max_connections: 0 },
    { table: 'a.b' },
    { table: 'x'.repeat(64) },
    { url: 'redis://h' },
  ])('%j is refused', (more) => {
    expect(check(postgresState.config, { url: database.url, ...more }).ok).toBe(false);
  });
});
