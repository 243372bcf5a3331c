import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { describeSink } from '../../../test/conformance/sink.ts';
import { describeSource } from '../../../test/conformance/source.ts';
import type { JsonObject } from '../../lib/json.ts';
import { jsonlSink, jsonlSource } from './index.ts';

let folder: string;
let count = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-jsonl-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const records = Array.from({ length: 40 }, (_, id) => ({ id, v: [`v${id}`, { n: null }] }));

describeSource(jsonlSource, {
  config: async () => {
    await writeFile(join(folder, 'in.jsonl'), records.map((record) => `${JSON.stringify(record)}\n`).join('\n'));
    return { path: join(folder, 'in.jsonl') };
  },
  records,
  broken: { 'a missing file': { path: '/no/such/file.jsonl' }, 'a folder': { path: tmpdir() } },
});

describeSink(jsonlSink, {
  fresh: async () => {
    count += 1;
    const path = join(folder, `out-${count}.jsonl`);
    const rows = async () => {
      const text = await readFile(path, 'utf8').catch(() => undefined);
      return text
        ?.split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as JsonObject);
    };
    return { config: { path }, rows };
  },
  broken: { 'a path below a file': { path: '/dev/null/out.jsonl' }, 'a full disk': { path: '/dev/full' } },
});
