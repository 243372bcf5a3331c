import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetReadObjects, asyncBufferFromFile } from 'hyparquet';
import { parquetWriteFile } from 'hyparquet-writer';
import { afterAll, beforeAll } from 'vitest';
import { describeSink } from '../../../test/conformance/sink.ts';
import { describeSource } from '../../../test/conformance/source.ts';
import { parquetSink, parquetSource } from './index.ts';

let folder: string;
let count = 0;

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

async function rowsOf(path: string) {
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path) });
  return rows.map((row) => ({ id: Number(row['id']), v: String(row['v']) }));
}

describeSink(parquetSink, {
  fresh: async () => {
    count += 1;
    const path = join(folder, `out-${count}.parquet`);
    return {
      config: { destination: { type: 'local_path', path } },
      rows: () => rowsOf(path).catch(() => undefined),
    };
  },
  broken: {
    'a path below a file': { destination: { type: 'local_path', path: '/dev/null/x/out.parquet' } },
  },
});

describeSink(parquetSink, {
  fresh: async () => {
    count += 1;
    const path = join(folder, `lake-${count}`);
    const rows = async () => {
      const names = await readdir(path).catch(() => undefined);
      if (names === undefined) return undefined;
      return (await Promise.all(names.map((name) => rowsOf(join(path, name))))).flat();
    };
    return { config: { destination: { type: 'local_path', path } }, rows };
  },
  broken: { 'a path below a file': { destination: { type: 'local_path', path: '/dev/null/x' } } },
});
