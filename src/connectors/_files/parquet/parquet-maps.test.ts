import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../lib/text/json.ts';
import { ParquetReader } from './parquet-reader.ts';

it('the entries of maps keep their keys, whatever these are, and null maps stay null', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'maps-'));
  const path = join(folder, 'm.parquet');
  const engine = await (await DuckDBInstance.create()).connect();
  await engine.run(`copy (
    select map([{a: 1}, {a: 2}], ['x', 'y']) s, map([date '2020-01-01'], [null]) d, [map([1], [map(['k'], [2])])] n
    union all select null, map([], []), [null, map([], [])]
  ) to '${path}'`);
  engine.closeSync();
  const { signal } = new AbortController();
  const reader = await ParquetReader.open({ path, signal, omitNulls: false });
  const rows: JsonObject[] = [];
  for await (const batch of reader.rowGroup(0)) rows.push(...batch);
  await reader.close();
  await rm(folder, { recursive: true });
  expect(rows).toEqual([
    { s: { '{"a":1}': 'x', '{"a":2}': 'y' }, d: { '2020-01-01': null }, n: [{ '1': { k: 2 } }] },
    { s: null, d: {}, n: [null, {}] },
  ]);
});
