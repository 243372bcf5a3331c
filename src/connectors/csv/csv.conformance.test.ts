import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { describeSink } from '../../../test/conformance/sink.ts';
import { describeSource } from '../../../test/conformance/source.ts';
import { csvSink, csvSource } from './index.ts';

let folder: string;
let count = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-csv-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const records = Array.from({ length: 40 }, (_, i) => ({ id: String(i), v: `v "${i}",\n` }));

describeSource(csvSource, {
  config: async () => {
    const rows = records.map(({ id, v }) => `${id},"${v.replaceAll('"', '""')}"`);
    await writeFile(join(folder, 'in.csv'), `id,v\n${rows.join('\n')}\n`);
    return { path: join(folder, 'in.csv') };
  },
  records,
  broken: { 'a missing file': { path: '/no/such/file.csv' }, 'a folder': { path: tmpdir() } },
});

describeSink(csvSink, {
  fresh: async () => {
    count += 1;
    const path = join(folder, `out-${count}.csv`);
    const rows = async () => {
      const text = await readFile(path, 'utf8').catch(() => undefined);
      return text
        ?.split('\n')
        .slice(1, -1)
        .map((line) => ({ id: Number(line.split(',')[0]), v: line.split(',')[1] ?? '' }));
    };
    return { config: { path }, rows };
  },
  broken: { 'a path below a file': { path: '/dev/null/out.csv' } },
});
