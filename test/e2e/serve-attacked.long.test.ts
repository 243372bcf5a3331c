/** The server answers other requests, whatever one request makes it do. */
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ATTACKS, holdLock, post } from '../support/attacks.ts';
import { csvToJsonl, silentApi } from './serve-documents.ts';
import { workshop, type Program } from './serve-program.ts';

/** A server whose event loop is blocked gives one answer or two. */
const ENOUGH = 20;
/** Far above what a busy machine needs, and below what any of these attacks takes. */
const LONGEST_MS = 1000;
/** What a large run writes, and a rollback restores. */
const RECORDS = 50_000;
/** Files of the ledger that one request deletes. */
const FILES = 3000;
const shop = workshop();
let program: Program;

beforeAll(async () => {
  writeFileSync(shop.path('in.csv'), 'id\n1\n2\n');
  program = await shop.start({
    args: '--probe-timeout-secs 3 --preview-local-outputs --preview-max-rows 0'
      .split(' ')
      .concat('--data-dir', shop.path('data')),
  });
});
afterAll(() => shop.dispose());

interface Watched {
  readonly answers: number;
  /** The longest time between a request and its answer. */
  readonly longestMs: number;
}

/** Asks `/healthz`, one request after the other, until the work is done. */
async function watchDuring(work: Promise<unknown>): Promise<Watched> {
  let isOver = false;
  const over = (): void => void (isOver = true);
  work.then(over, over);
  let longestMs = 0;
  for (let answers = 0; ; answers += 1) {
    const asked = performance.now();
    const url = `${program.url}/healthz`;
    expect((await fetch(url, { signal: AbortSignal.timeout(20_000) })).status).toBe(200);
    longestMs = Math.max(longestMs, performance.now() - asked);
    if (isOver) return { answers, longestMs };
    await sleep(2);
  }
}

/** Work that takes a while must not stop the server from answering, not even for a part of it. */
async function expectAnswers(work: Promise<unknown>): Promise<void> {
  const { answers, longestMs } = await watchDuring(work);
  expect(answers).toBeGreaterThanOrEqual(ENOUGH);
  expect(longestMs).toBeLessThan(LONGEST_MS);
}

function historyFile(): string {
  const name = readdirSync(shop.path('data')).find((file) => /\.(db|sqlite)$/.test(file));
  return shop.path(`data/${name}`);
}

describe.each(ATTACKS)('$name', ({ begin, statuses, isLong }) => {
  test('blocks no other request', { timeout: 150_000 }, async () => {
    const attack = begin({ url: program.url, folder: shop.dir });
    await (isLong ? expectAnswers(attack) : watchDuring(attack));
    const { status } = await attack;
    expect(status).toBeOneOf([...statuses]);
  });
});

test('a preview of a large file blocks no other request', { timeout: 120_000 }, async () => {
  const query =
    'with recursive c(i) as (select 1 union all select i + 1 from c limit ' +
    `${RECORDS}) select i, hex(zeroblob(300)) as filler from c`;
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
  await expectAnswers(preview);
  const answer = await preview;
  expect(answer.status, answer.text.slice(0, 500)).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  const { rows, row_count, truncated } = answer.json() as Record<string, unknown>;
  expect(rows).toHaveLength(RECORDS);
  expect({ row_count, truncated }).toEqual({ row_count: RECORDS, truncated: false });
});

test('a large lineage graph blocks no other request', { timeout: 120_000 }, async () => {
  const db = new DatabaseSync(historyFile());
  db.exec(`with recursive c(i) as (select 1 union all select i + 1 from c limit ${RECORDS})
    insert into svc_catalog_edges select 'a' || (i % 300), 'b' || i, 'file:///in/' || i, 'file:///out/' || i, 'p', 'r',
      '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 'run', 1, 1, '{"fields":{"a":["b"]}}' from c`);
  db.close();
  const graph = program.call('GET', '/v1/catalog/lineage');
  await expectAnswers(graph);
  const { edges } = (await graph).json() as { edges: { src_id: string }[] };
  expect(edges.filter(({ src_id }) => /^a\d+$/.test(src_id))).toHaveLength(RECORDS);
});

/** A run of fifty thousand records over others, under the same keys. */
async function runOverOthers(): Promise<{ readonly run: string; readonly config: string }> {
  const document = (name: string): object => ({
    version: 1,
    name: 'large-rollback',
    rollback: {},
    pipeline: {
      state: { type: 'file', config: { path: shop.path('state') } },
      source: {
        type: 'sqlite',
        config: {
          database_url: 'sqlite::memory:',
          query: `with recursive c(i) as (select 1 union all select i + 1 from c limit ${RECORDS}) select i as id, '${name}' || i as name from c`,
        },
      },
      sink: {
        type: 'sqlite',
        config: {
          database_url: shop.path('rolled-back.db'),
          table_name: 't',
          column_mapping: 'auto_map',
          write_mode: 'upsert',
          key: ['id'],
        },
      },
    },
  });
  const [before, config] = ['old', 'new'].map((name) => JSON.stringify(document(name)));
  const first = await program.endedAtLast(await program.submit(before ?? ''));
  const run = await program.submit(config ?? '');
  const second = await program.endedAtLast(run);
  expect([first.status, second.status], String(second.error)).toEqual(['completed', 'completed']);
  return { run, config: config ?? '' };
}

test('the rollback of a large run blocks no other request', { timeout: 150_000 }, async () => {
  const { run, config } = await runOverOthers();
  const rollback = program.call('POST', `/v1/runs/${run}/rollback`, {
    config,
    config_format: 'json',
  });
  await expectAnswers(rollback);
  const answer = await rollback;
  expect(answer.status, answer.text).toBe(200);
  expect(answer.json()).toMatchObject({ applied: true, restored: RECORDS, conflicts: 0 });
});

/** As if runs of an hour ago had written this many files. */
function fillLedger(count: number): void {
  const folder = shop.path('outputs');
  mkdirSync(folder);
  const written = new Date(Date.now() - 3_600_000);
  using db = new DatabaseSync(historyFile(), { timeout: 10_000 });
  const insert = db.prepare(
    `INSERT INTO svc_serve_outputs (id, path, dataset_uri, dataset_id, kind, pipeline, row_id, run_id, pre_existing, replaced, first_written_at, last_written_at)
     VALUES (?, ?, ?, 'many', 'jsonl', 'many', 'r', 'none', 0, 0, ?, ?)`,
  );
  db.exec('BEGIN IMMEDIATE');
  for (let index = 0; index < count; index += 1) {
    const path = join(folder, `${index}.jsonl`);
    writeFileSync(path, '{}\n');
    utimesSync(path, written, written);
    const at = written.toISOString();
    insert.run(String(index).padStart(16, '0'), path, `file://${path}`, at, at);
  }
  db.exec('COMMIT');
}

test('a cleanup of thousands of files blocks no other request', { timeout: 150_000 }, async () => {
  fillLedger(FILES);
  const cleanup = program.call('POST', '/v1/local-outputs/cleanup', { dataset_id: 'many' });
  await expectAnswers(cleanup);
  const answer = await cleanup;
  expect(answer.status, answer.text.slice(0, 500)).toBe(200);
  expect(answer.json()).toMatchObject({ deleted: FILES, skipped_count: 0 });
  expect(readdirSync(shop.path('outputs'))).toEqual([]);
});

describe('a history that another process has locked', () => {
  const readiness = async (): Promise<unknown> => {
    const answer = await program.call('GET', '/readyz');
    return [answer.status, (answer.json() as { history_ok: boolean }).history_ok];
  };

  test(
    'is reported by /readyz, blocks no answer and loses no run',
    { timeout: 60_000 },
    async () => {
      const api = await silentApi();
      const before = await program.submit(csvToJsonl(shop.path('in.csv'), shop.path('a.jsonl')));
      await program.ended(before);
      const running = await program.submit(api.document(shop.path('b.jsonl')));
      await api.asked();
      const lock = await holdLock(historyFile());

      // Checked now, also when no write has failed yet.
      expect(await readiness()).toEqual([503, false]);
      api.answer();
      const config = JSON.stringify(csvToJsonl(shop.path('in.csv'), shop.path('c.jsonl')));
      const refused = post(program.url, '/v1/runs', { config });
      await expectAnswers(refused);
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
    },
  );
});
