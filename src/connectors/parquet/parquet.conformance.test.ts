import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetWriteFile } from 'hyparquet-writer';
import { afterAll, beforeAll } from 'vitest';
import { describeSource } from '../../../test/conformance/source.ts';
import { parquetSource } from './index.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-parquet-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const records = Array.from({ length: 40 }, (_, id) => ({ id, v: `v${id}` }));

describeSource(parquetSource, {
  config: () => {
    const columnData = [
      { name: 'id', data: records.map((record) => record.id) },
      { name: 'v', data: records.map((record) => record.v) },
    ];
    parquetWriteFile({ filename: join(folder, 'in.parquet'), columnData });
    return { source: { type: 'local_path', path: join(folder, 'in.parquet') } };
  },
  records,
  broken: {
    'a missing file': { source: { type: 'local_path', path: '/no/such/file.parquet' } },
    'a pattern without matches': {
      source: { type: 'glob', pattern: '/tmp/no-such-name-*.parquet' },
    },
  },
});
