/** Dead letters that are discarded while a run adds others to the same file. */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { testContext } from '../../../test/fakes/env.ts';
import { jsonlSink } from '../../connectors/jsonl/index.ts';
import { check } from '../../kit/schema.ts';
import { lockFile } from '../../lib/files/file-lock.ts';
import { Page } from '../../kit/page.ts';
import type { Sink } from '../../kit/sink.ts';
import { purge } from './purge.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-discard-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function queue(path: string): Promise<Sink> {
  const config = check(jsonlSink.config, { path });
  if (!config.ok) throw new Error(config.issues[0]?.message);
  return jsonlSink.open(config.value, testContext(folder, { role: 'dlq' }));
}

async function add(sink: Sink, ids: readonly number[], reason = 'quality'): Promise<void> {
  const letters = ids.map((id) => ({
    error: { kind: 'QualityFailure', message: 'no' },
    reason,
    payload: { id },
    ts_ms: 1000,
    sink: 'jsonl',
    pipeline: 'p',
    row: 'r',
    record_index: 0,
  }));
  await sink.write(Page.ofRecords(letters), { partial: false });
}

const discard = (path: string, reason: 'quality' | 'contract') =>
  purge({ location: path, filter: { reason }, delete: true, keys: [], cwd: folder });
const idsIn = (path: string): number[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { payload: { id: number } }).payload.id);

test('what a run adds after that is there', async () => {
  const path = join(folder, 'after.jsonl');
  const sink = await queue(path);
  await add(sink, [1, 2]);
  await sink.flush();
  expect(await discard(path, 'quality')).toMatchObject({ discarded: 2 });
  for (const ids of [[3], [4, 5]]) await add(sink, ids);
  await sink.flush();
  expect(idsIn(path)).toEqual([3, 4, 5]);
  await add(sink, [6]);
  await sink.finish('success');
  await sink.close();
  expect(idsIn(path)).toEqual([3, 4, 5, 6]);
});

test('whenever a run adds some, they stay', async () => {
  const path = join(folder, 'meanwhile.jsonl');
  const sink = await queue(path);
  const over = new AbortController();
  const others = await queue(path);
  const discarding = (async () => {
    for (let n = 0; !over.signal.aborted; n += 1) {
      await add(others, [-1], 'contract');
      await others.flush();
      await discard(path, 'contract');
    }
  })();
  for (let id = 1; id <= 300; id += 1) {
    await add(sink, [id]);
    if (id % 3 === 0) await sink.flush();
  }
  await sink.finish('success');
  over.abort();
  await discarding;
  for (const one of [sink, others]) await one.close();
  const left = new Set(idsIn(path));
  expect(Array.from({ length: 300 }, (_, n) => n + 1).filter((id) => !left.has(id))).toEqual([]);
});

test('a file that was replaced meanwhile is left alone', async () => {
  const path = join(folder, 'replaced.jsonl');
  const sink = await queue(path);
  await add(sink, [1, 2, 3]);
  await sink.finish('success');
  await sink.close();
  writeFileSync(join(folder, 'other'), '');
  let looks = 0;
  const { signal } = new AbortController();
  // Asked before each line: another server is faster.
  signal.throwIfAborted = () => {
    if ((looks += 1) === 3) renameSync(join(folder, 'other'), path);
  };
  const filter = { reason: 'quality' } as const;
  const request = { location: path, filter, delete: true, keys: [], cwd: folder, signal };
  await expect(purge(request)).rejects.toMatchObject({ code: 'conflict' });
  expect(readFileSync(path, 'utf8')).toBe('');
});

test('a file of which another process discards dead letters is left alone', async () => {
  const path = join(folder, 'locked.jsonl');
  const sink = await queue(path);
  await add(sink, [1]);
  await sink.finish('success');
  await sink.close();
  {
    await using lock = await lockFile(path, 'discard');
    expect(lock).toBeDefined();
    await expect(discard(path, 'quality')).rejects.toMatchObject({ code: 'conflict' });
    expect(idsIn(path)).toEqual([1]);
  }
  expect(await discard(path, 'quality')).toMatchObject({ discarded: 1 });
});

test('the file that a link leads to is replaced, and the link stays', async () => {
  const path = join(folder, 'behind-a-link.jsonl');
  const sink = await queue(path);
  await add(sink, [1]);
  await sink.flush();
  const link = join(folder, 'link.jsonl');
  symlinkSync(path, link);
  expect(await discard(link, 'quality')).toMatchObject({ discarded: 1 });
  await add(sink, [2]);
  await sink.finish('success');
  await sink.close();
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(idsIn(link)).toEqual([2]);
});

test('a line that nobody ended stays, and whoever adds to the new file begins a line', async () => {
  const path = join(folder, 'half.jsonl');
  const sink = await queue(path);
  await add(sink, [1]);
  await sink.flush();
  const garbage = '{"payload":{"id":2';
  appendFileSync(path, garbage);
  expect(await discard(path, 'quality')).toMatchObject({ discarded: 1 });
  await add(sink, [3]);
  await sink.finish('success');
  await sink.close();
  const [first, ...others] = readFileSync(path, 'utf8').trimEnd().split('\n');
  expect(first).toBe(garbage);
  expect(others).toHaveLength(1);
  expect(others[0]).toContain('"id":3');
});

test('what a run added before the file was replaced is there, although the process was killed then', async () => {
  const path = join(mkdtempSync(join(folder, 'killed-')), 'killed.jsonl');
  const sink = await queue(path);
  await add(sink, [1]);
  await sink.finish('success');
  await sink.close();
  const late = `${JSON.stringify({ payload: { id: 2 }, reason: 'contract', ts_ms: 1 })}\n`;
  const request = {
    location: path,
    filter: { reason: 'quality' },
    delete: true,
    keys: [],
    cwd: folder,
  };
  const program = `
    import files from 'node:fs/promises';
    import { appendFileSync } from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const { rename } = files;
    files.rename = async (from, to) => {
      appendFileSync(to, ${JSON.stringify(late)});
      await rename(from, to);
      process.kill(process.pid, 'SIGKILL');
    };
    syncBuiltinESMExports();
    const { purge } = await import(${JSON.stringify(new URL('purge.ts', import.meta.url).href)});
    await purge(${JSON.stringify(request)});
  `;
  const { signal, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', program],
    { encoding: 'utf8' },
  );
  expect(signal, stderr).toBe('SIGKILL');
  expect(idsIn(path)).toEqual([]);
  expect(await discard(path, 'quality')).toMatchObject({ discarded: 0 });
  expect(idsIn(path)).toEqual([2]);
  expect(readdirSync(dirname(path))).toEqual(['killed.jsonl']);
});
