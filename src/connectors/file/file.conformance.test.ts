import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { describeSource } from '../../../test/conformance/source.ts';
import { fileSource } from './index.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-file-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const records = Array.from({ length: 40 }, (_, id) => ({ id, v: `v${id}` }));
const broken = {
  'a missing file': { path: '/no/such/file.jsonl' },
  'a pattern in a missing folder': { path: '/no/such/folder/*.jsonl' },
  'an address nobody answers at': {
    path: 'http://user:s3cret@127.0.0.1:1/x.jsonl',
    http_retries: 0,
  },
};

describeSource(fileSource, {
  config: async () => {
    await writeFile(join(folder, 'in.json'), JSON.stringify(records));
    return { path: join(folder, 'in.json') };
  },
  records,
  broken,
  secret: 's3cret',
});

describeSource(fileSource, {
  config: async () => {
    const half = records.map((record) => JSON.stringify(record));
    await writeFile(join(folder, 'a.jsonl'), `${half.slice(0, 20).join('\n')}\n`);
    await writeFile(join(folder, 'b.jsonl'), `${half.slice(20).join('\n')}\n`);
    return { path: join(folder, '*.jsonl'), incremental: { by: 'name' } };
  },
  records,
  broken,
  skip: { single_page: 'with batch size 0 a page is a file, and here are two' },
});
