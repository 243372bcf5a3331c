import { mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { inProcessJobs } from '../../../test/support/jobs.ts';
import { parts } from '../../parts.ts';
import type { DiscoverRequest, DiscoveryReport } from '../../wire/discovery.ts';
import { createDiscovery } from './discovery-service.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-discovery-'));
  const database = new DatabaseSync(join(folder, 'shop.db'));
  database.exec('CREATE TABLE orders (id INTEGER, note TEXT); CREATE TABLE items (id INTEGER)');
  database.close();
});
afterEach(() => rmSync(folder, { recursive: true }));

function list(config: string, options: Partial<DiscoverRequest> = {}): Promise<DiscoveryReport> {
  const jobs = inProcessJobs({ env: testEnv(), parts });
  const discovery = createDiscovery({ jobs, base: () => undefined });
  const request = { config, config_format: 'yaml' as const, include: [], exclude: [], ...options };
  return discovery(request, new AbortController().signal);
}

const source = (): string => `{ type: sqlite, config: { database_url: ${folder}/shop.db } }`;

it('lists the data sets of a document that has nothing but a source', async () => {
  const found = await list(`version: 1\npipeline:\n  source: ${source()}\n`);
  expect(found).toMatchObject({ source: 'sqlite', total: 2 });
  expect(found.data_sets.map(({ name, columns, row }) => [name, columns, row['id']])).toEqual([
    ['items', ['id'], 'items'],
    ['orders', ['id', 'note'], 'orders'],
  ]);
});

it('gives rows whose ids and destinations are not taken', async () => {
  const { data_sets: found } = await list(
    `version: 1\npipeline:\n  source: ${source()}\n  sink: { type: jsonl, config: { path: out/all.jsonl } }\nmatrix:\n  - { id: orders }\n`,
    { include: ['ord*'] },
  );
  expect(found.map(({ row }) => row)).toMatchObject([
    { id: 'orders_2', sink: { config: { path: 'out/orders_2.jsonl' } } },
  ]);
});

it('asks a preset, and leaves out what is not wanted', async () => {
  const text = `version: 1\npipeline:\n  sources: { shop: ${source()}, other: { type: stdin } }\n`;
  const { data_sets: found } = await list(text, { source: 'shop', exclude: ['items'] });
  expect(found.map(({ row }) => row)).toMatchObject([{ id: 'orders', source: { ref: 'shop' } }]);
});

it('refuses a source that lists nothing, and one that cannot be reached', async () => {
  await expect(
    list('version: 1\npipeline:\n  source: { type: csv, config: { path: a.csv } }\n'),
  ).rejects.toMatchObject({
    code: 'unprocessable',
    message: 'the source `csv` lists no data sets',
  });
  const absent = source().replace('shop.db', 'absent/shop.db');
  await expect(list(`version: 1\npipeline:\n  source: ${absent}\n`)).rejects.toMatchObject({
    code: 'unprocessable',
  });
});
