/** What is asked of the server meanwhile is answered, whatever a request makes it do. */
import { readdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ATTACKS, holdLock, post } from '../support/attacks.ts';
import { csvToJsonl, silentApi } from './serve-documents.ts';
import { workshop, type Program } from './serve-program.ts';

/** A server that stands still gives one answer, or two, which had been under way. */
const ENOUGH = 20;
const shop = workshop();
let program: Program;

beforeAll(async () => {
  writeFileSync(shop.path('in.csv'), 'id\n1\n2\n');
  program = await shop.start({
    args: ['--data-dir', shop.path('data'), '--probe-timeout-secs', '3', '--preview-local-outputs'],
  });
});
afterAll(() => shop.dispose());

/** Answers of `/healthz`, one after the other, between now and the end of the work. */
async function answersDuring(work: Promise<unknown>): Promise<number> {
  let isOver = false;
  const over = (): void => void (isOver = true);
  work.then(over, over);
  for (let answers = 0; ; answers += 1) {
    const url = `${program.url}/healthz`;
    expect((await fetch(url, { signal: AbortSignal.timeout(20_000) })).status).toBe(200);
    if (isOver || answers > 50 * ENOUGH) return answers;
  }
}

describe.each(ATTACKS)('$name', ({ begin, statuses, isLong }) => {
  test('keeps nobody else waiting', { timeout: 150_000 }, async () => {
    const attack = begin({ url: program.url, folder: shop.dir });
    const answers = await answersDuring(attack);
    const { status } = await attack;
    expect(status).toBeOneOf([...statuses]);
    if (isLong) expect(answers).toBeGreaterThanOrEqual(ENOUGH);
  });
});

test('a preview of a large file keeps nobody else waiting', { timeout: 120_000 }, async () => {
  const query =
    'with recursive c(i) as (select 1 union all select i + 1 from c limit 50000) select i, hex(zeroblob(300)) as filler from c';
  const run = await program.submit({
    version: 1,
    pipeline: {
      source: { type: 'sqlite', config: { database_url: 'sqlite::memory:', query } },
      sink: { type: 'jsonl', config: { path: shop.path('large.jsonl') } },
    },
  });
  expect((await program.endedAtLast(run)).status).toBe('completed');
  const listed = await program.call('GET', '/v1/local-outputs');
  const { outputs } = listed.json() as { outputs: { id: string; run_id: string }[] };
  const id = outputs.find(({ run_id }) => run_id === run)?.id;
  const preview = program.call('GET', `/v1/local-outputs/${id}/preview?row_count_to_load=all`);
  expect(await answersDuring(preview)).toBeGreaterThanOrEqual(ENOUGH);
  const answer = await preview;
  expect(answer.status, answer.text.slice(0, 500)).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
});

describe('a history that another process has locked', () => {
  const history = (): string => {
    const name = readdirSync(shop.path('data')).find((file) => /\.(db|sqlite)$/.test(file));
    return shop.path(`data/${name}`);
  };
  const readiness = async (): Promise<unknown> => {
    const answer = await program.call('GET', '/readyz');
    return [answer.status, (answer.json() as { history_ok: boolean }).history_ok];
  };

  test('is told by /readyz, stops no answer and loses no run', { timeout: 60_000 }, async () => {
    const api = await silentApi();
    const before = await program.submit(csvToJsonl(shop.path('in.csv'), shop.path('a.jsonl')));
    await program.ended(before);
    const running = await program.submit(api.document(shop.path('b.jsonl')));
    await api.asked();
    const lock = await holdLock(history());

    // Without a write before it: whoever asks learns how things are now.
    expect(await readiness()).toEqual([503, false]);
    api.answer();
    const config = JSON.stringify(csvToJsonl(shop.path('in.csv'), shop.path('c.jsonl')));
    const refused = post(program.url, '/v1/runs', { config });
    expect(await answersDuring(refused)).toBeGreaterThanOrEqual(ENOUGH);
    expect((await refused).status).toBe(503);
    expect((await program.get(before)).status).toBe('completed');
    // A read that succeeds does not say that the history can be written.
    expect(await readiness()).toEqual([503, false]);
    expect((await program.get(running)).status).toBe('running');

    const accepted = post(program.url, '/v1/runs', { config });
    await lock.release();
    expect((await accepted).status).toBe(202);
    expect((await program.ended(running)).status).toBe('completed');
    await expect.poll(readiness).toEqual([200, true]);
    const log = await program.call('GET', `/v1/runs/${running}/logs?format=text`);
    expect(log.text).toContain('pipeline run');
    api.close();
  });
});
