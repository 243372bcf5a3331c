import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { expect, it } from 'vitest';
import { learnColumns } from '../typed/column-kinds.ts';
import { ParquetEngineOutput } from './parquet-engine-writer.ts';
import type { ParquetFile, ParquetOutputOptions } from './parquet-file.ts';
import { ParquetOutput } from './parquet-writer.ts';

type Create = (options: ParquetOutputOptions) => Promise<ParquetFile>;

it.each<[string, Create]>([
  ['the engine', (options) => ParquetEngineOutput.create(options)],
  ['the library', (options) => ParquetOutput.create(options)],
])('columns keep any name when %s writes them', async (_title, create) => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-parquet-'));
  const path = join(folder, 'f.parquet');
  const record = {
    Id: 'a',
    id: 'b',
    ID: { id: [{ Id: 'c', c1: 'd' }], c0: 'e' },
    '': 'f',
    'x\0y': 'g',
    'a "q"': 'h',
    c0: 'i',
    2024: 'j',
  };
  const file = await create({
    path,
    columns: learnColumns([record]),
    codec: 'snappy',
    rowGroupSize: 10,
    onDropped: () => {},
  });
  for (let part = 0; part < 3; part += 1) await file.add([record]);
  await file.finish();
  const bytes = new Uint8Array(await readFile(path)).buffer;
  const rows = await parquetReadObjects({ file: bytes, compressors });
  expect(rows).toEqual([record, record, record]);
  expect(Object.keys(rows[0] ?? {})).toEqual(Object.keys(record));
  await rm(folder, { recursive: true });
});
