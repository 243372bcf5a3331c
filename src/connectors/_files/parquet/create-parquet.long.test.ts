import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { duckdbLibrary, hasDuckdb, openDuckdb } from '../../../lib/sql/duckdb.ts';
import { createParquetFile } from './create-parquet.ts';
import { learnColumns } from '../typed/column-kinds.ts';
import { ParquetOutput } from './parquet-writer.ts';

/** As if the optional package were not installed. */
vi.mock('../../../lib/lazy.ts', async (original) => {
  const lazy = await original<typeof import('../../../lib/lazy.ts')>();
  const missing = (name: string) => (): never => {
    throw new Error(`Cannot find module '${name}'\nRequire stack:\n- here`);
  };
  return {
    ...lazy,
    lazyLibrary: (name: string) =>
      name.startsWith('@duckdb/') ? missing(name) : lazy.lazyLibrary(name),
  };
});

test('without the engine a Parquet file is written by the library of before', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-parquet-'));
  const columns = learnColumns([{ id: 1 }]);
  const file = await createParquetFile({
    path: join(folder, 'f.parquet'),
    columns,
    codec: 'snappy',
    rowGroupSize: 10,
    onDropped: () => {},
  });
  expect(file).toBeInstanceOf(ParquetOutput);
  await file.discard();
  await rm(folder, { recursive: true });
});

test('without the engine whoever needs it learns which package to install', async () => {
  const refusal = {
    kind: 'missing',
    message: "the analytical engine cannot be loaded: Cannot find module '@duckdb/node-api'",
    hint: 'install the optional package `@duckdb/node-api`: npm install @duckdb/node-api',
  };
  expect(hasDuckdb()).toBe(false);
  expect(() => duckdbLibrary()).toThrow(expect.objectContaining(refusal) as Error);
  await expect(openDuckdb(':memory:')).rejects.toMatchObject(refusal);
});
