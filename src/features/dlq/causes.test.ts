/** Dead letters by their cause, and one by one. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { load } from '../../../test/fakes/documents.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { causeOf } from './cause.ts';
import { inspect } from './inspect.ts';
import { purge } from './purge.ts';
import { replay, type ReplayRequest } from './replay.ts';

let cwd = '';
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'headgate-causes-'));
  await put(
    letter(1, '`amount` is -1, not 0 or more'),
    letter(2, '`amount` is -20, not 0 or more'),
    letter(3, '`name` is missing'),
  );
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const letter = (id: number, message: string): string =>
  JSON.stringify({
    error: { kind: 'Quality', message },
    reason: 'quality',
    payload: { id },
    ts_ms: id,
  });
const put = (...lines: string[]): Promise<void> =>
  writeFile(join(cwd, 'dead.jsonl'), lines.map((line) => `${line}\n`).join(''));
const look = (cause?: string) =>
  inspect({ location: 'dead.jsonl', limit: 9, keys: [], cwd, cause });
const written = async (): Promise<string> =>
  readFile(join(cwd, 'out.jsonl'), 'utf8').catch(() => '');

function again(which: Partial<ReplayRequest>) {
  const sink = { type: 'jsonl', config: { path: 'out.jsonl', append: true } };
  const source = { type: 'csv', config: { path: 'in.csv' } };
  const text = JSON.stringify({ version: 1, name: 'p', pipeline: { source, sink } });
  const plan = planDocument(load(text, { format: 'json' }), parts, { cpus: 1 });
  const env = testEnv({ cwd });
  const { signal } = new AbortController();
  return replay({
    plan,
    parts,
    env,
    signal,
    from: 'dead.jsonl',
    dryRun: false,
    asWritten: false,
    keys: [],
    ...which,
  });
}

it.each([
  ['`amount` is -1, not "more"', '`amount` is \u2026, not \u2026'],
  ["row 7: can't read 2026-01-01T00:00:00Z", "row \u2026: can't read \u2026"],
  ['field `a1` of col_2 has no x1', 'field `a1` of col_2 has no x1'],
])('the cause of %j has no values', (errorMessage, message) => {
  expect(causeOf({ reason: 'quality', errorKind: null, errorMessage }).message).toBe(message);
});

it('counts dead letters by cause, and shows those of one', async () => {
  const { causes, sample } = await look();
  expect(causes.map(({ message, letters }) => [message, letters])).toEqual([
    ['`amount` is \u2026, not \u2026 or more', 2],
    ['`name` is missing', 1],
  ]);
  expect(sample.map(({ cause }) => causes.findIndex(({ id }) => id === cause))).toEqual([0, 0, 1]);
  const one = await look(causes[1]?.id);
  expect(one).toMatchObject({ total_envelopes: 1, sample: [{ payload: { id: 3 } }] });
});

it('replays those of one cause, and one alone', async () => {
  const { causes, sample } = await look();
  const { report } = await again({ cause: causes[0]?.id });
  expect(report).toMatchObject({ candidates: 2, records_written: 2 });
  expect(await written()).toBe('{"id":1}\n{"id":2}\n');
  await again({ letter: sample[2]?.id });
  expect(await written()).toBe('{"id":1}\n{"id":2}\n{"id":3}\n');
});

it('replays another record in place of the one that was stored', async () => {
  const { sample } = await look();
  const { report } = await again({ letter: sample[1]?.id, payload: { id: 22, note: 'mended' } });
  expect(report).toMatchObject({ candidates: 1, records_written: 1 });
  expect(await written()).toBe('{"id":22,"note":"mended"}\n');
  expect(await readFile(join(cwd, 'dead.jsonl'), 'utf8')).toContain('"payload":{"id":2}');
});

it('replays one of two equal dead letters', async () => {
  await put(letter(1, 'x'), letter(1, 'x'));
  const { sample } = await look();
  await again({ letter: sample[0]?.id });
  expect(await written()).toBe('{"id":1}\n');
});

it('refuses a dead letter that is not there', async () => {
  await expect(again({ letter: '0'.repeat(16) })).rejects.toMatchObject({ code: 'bad_config' });
  expect(await written()).toBe('');
});

it('takes one out of the queue, whose others keep their ids', async () => {
  const { sample } = await look();
  const filter = { letter: sample[0]?.id };
  const report = await purge({ location: 'dead.jsonl', filter, delete: false, keys: [], cwd });
  expect(report.discarded).toBe(1);
  expect((await look()).sample.map(({ id }) => id)).toEqual(sample.slice(1).map(({ id }) => id));
});
