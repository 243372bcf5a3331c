import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { aGain, describeCatalog } from '../../test/conformance/catalog.ts';
import { testEnv } from '../../test/fakes/env.ts';
import { freshDatabase } from '../../test/servers/postgres.ts';
import { MemoryCatalog } from './memory/memory-catalog.ts';
import { MemoryHistory } from './memory/memory-history.ts';
import { openCatalog } from './open-catalog.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-catalog-'));
const databases: { drop(): Promise<void> }[] = [];
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  for (const database of databases) await database.drop();
});

const env = testEnv({ cwd: folder });
let count = 0;

describeCatalog('memory', { open: () => openCatalog('memory', env) });
describeCatalog('memory history', {
  async open() {
    const history = new MemoryHistory();
    return { store: history.catalog, close: () => history.close() };
  },
});
describeCatalog('sqlite', { open: () => openCatalog(`sqlite:catalog-${(count += 1)}.db`, env) });
describeCatalog('postgres', {
  async open() {
    const database = await freshDatabase();
    databases.push(database);
    return openCatalog(database.url, env);
  },
});

describe('opening a catalog', () => {
  it('finds again what was recorded', async () => {
    for (const url of ['sqlite://again.db', 'sqlite:again.db']) {
      const { store, close } = await openCatalog(url, env);
      await store.addMovements({ datasets: [aGain('a')], edges: [], points: [] });
      await close();
    }
    const { store, close } = await openCatalog('sqlite:again.db', env);
    expect(await store.getDataset('a')).toMatchObject({ runs: 2 });
    await close();
  });

  it('may be done by several processes at once', async () => {
    const database = await freshDatabase();
    databases.push(database);
    const opened = await Promise.all([1, 2, 3].map(() => openCatalog(database.url, env)));
    expect(opened.every(({ persistent }) => persistent)).toBe(true);
    await Promise.all(opened.map(({ close }) => close()));
  });

  it.each(['mysql://me:hunter22@h/d', 'catalog.db'])(
    'is refused for %s, without its password',
    async (url) => {
      const error: unknown = await openCatalog(url, env).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        hint: 'accepted forms: `memory`, `sqlite:PATH`, `postgres://…`',
      });
      expect(String(error)).not.toContain('hunter22');
    },
  );

  it('fails where nobody answers, without the password', async () => {
    const error: unknown = await openCatalog('postgres://me:hunter22@127.0.0.1:1/d', env).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'history_unavailable' });
    expect(String(error)).not.toContain('hunter22');
  });
});

describe('the memory catalog', () => {
  it('forgets the data set that was used least recently, with its edges', async () => {
    const catalog = new MemoryCatalog(2);
    const seen = (id: string, second: number) =>
      aGain(id, { last_seen: new Date(second * 1000).toISOString() });
    await catalog.addMovements({
      datasets: [seen('a', 3), seen('b', 1), seen('c', 2)],
      edges: [],
      points: [],
    });
    expect((await catalog.listDatasets({ limit: 9 })).datasets.map(({ id }) => id)).toEqual([
      'a',
      'c',
    ]);
  });
});
