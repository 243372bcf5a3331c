/** Backfills over HTTP, as a client of the real program sees them (spec 1, section 4.4). */
import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BackfillReceipt } from '../../src/wire/backfill.ts';
import { freshDatabase } from '../servers/postgres.ts';
import { silentApi } from './serve-documents.ts';
import { workshop, type Answer, type Body, type Program } from './serve-program.ts';
import { eventually } from '../support/eventually.ts';

const shop = workshop();
const api = await silentApi();
let program: Program;

beforeAll(async () => {
  const database = new DatabaseSync(shop.path('shop.db'));
  database.exec(
    "create table orders (id integer, day text); insert into orders values (1, '2026-01-01'), (2, '2026-01-02'), (3, '2026-01-02')",
  );
  database.close();
  program = await shop.start({ args: ['--max-concurrent-runs', '2', '--max-queued-runs', '4'] });
});
afterAll(async () => {
  await shop.dispose();
  api.close();
});

/** The rows of a day into a file of the unit. */
function daily(
  more: Body = {},
  query = "select id from orders where day >= '${backfill.start_date}' and day < '${backfill.end_date}' order by id",
): string {
  const source = { type: 'sqlite', config: { database_url: shop.path('shop.db'), query } };
  const sink = { type: 'jsonl', config: { path: shop.path('${backfill.unit}-${now.date}.jsonl') } };
  return JSON.stringify({
    version: 1,
    name: 'orders',
    backfill: { window: '1d' },
    pipeline: { source, sink },
    ...more,
  });
}

/** Of one try of a test: what was submitted before under the same name is not submitted again. */
const ownName = (name: string): string => `${name}-${randomUUID().slice(0, 8)}`;

const twoDays = { from: '2026-01-01', to: '2026-01-03' };
const post = (body: Body): Promise<Answer> => program.call('POST', '/v1/backfill', body);
const receiptOf = (answer: Answer): BackfillReceipt => {
  expect(answer.status, answer.text).toBe(202);
  return answer.json() as BackfillReceipt;
};
const idsOf = ({ units }: BackfillReceipt): string[] => units.map(({ run_id: id }) => id ?? '');
const refusal = async (body: Body): Promise<[number, string]> => {
  const answer = await post(body);
  return [answer.status, (answer.json() as { error: { message: string } }).error.message];
};

describe('a backfill', () => {
  test('is one run for each window, with a name, labels, clock and output of its own; posted again it is the same runs', async () => {
    const settings = { labels: { team: 'a' }, priority: 'low' };
    const receipt = receiptOf(await post({ config: daily(), ...twoDays, ...settings }));
    expect(receipt).toEqual({
      backfill: expect.stringMatching(/^[0-9a-f]{16}$/),
      descriptor: 'time|2026-01-01T00:00:00+00:00|2026-01-03T00:00:00+00:00|1d|orders',
      planned: 2,
      submitted: 2,
      units: [
        {
          unit: '20260101T000000Z',
          start: '2026-01-01T00:00:00+00:00',
          end: '2026-01-02T00:00:00+00:00',
          status: 'submitted',
          run_id: expect.any(String),
        },
        {
          unit: '20260102T000000Z',
          start: '2026-01-02T00:00:00+00:00',
          end: '2026-01-03T00:00:00+00:00',
          status: 'submitted',
          run_id: expect.any(String),
        },
      ],
    });
    const runs = await Promise.all(idsOf(receipt).map((id) => program.ended(id)));
    expect(
      runs.map(({ name, status, labels, idempotency_key: key, priority }) => ({
        name,
        status,
        labels,
        key,
        priority,
      })),
    ).toEqual(
      ['20260101T000000Z', '20260102T000000Z'].map((unit) => ({
        name: `orders-backfill-${unit}`,
        status: 'completed',
        labels: { team: 'a', backfill: receipt.backfill, backfill_unit: unit },
        priority: 'low',
        key: `backfill:${receipt.backfill}:${unit}`,
      })),
    );
    expect(readFileSync(shop.path('20260101T000000Z-2026-01-01.jsonl'), 'utf8')).toBe('{"id":1}\n');
    expect(readFileSync(shop.path('20260102T000000Z-2026-01-02.jsonl'), 'utf8')).toBe(
      '{"id":2}\n{"id":3}\n',
    );
    const again = receiptOf(await post({ config: daily(), ...twoDays, labels: { team: 'a' } }));
    expect(again).toEqual(receipt);
    const other = await post({
      config: daily({}, 'select 1 as id where ${backfill.start_unix} > 0'),
      ...twoDays,
      labels: { team: 'a' },
    });
    expect([other.status, other.text.includes('the window 20260101T000000Z')]).toEqual([409, true]);
    // A name of its own for each window would make series without end.
    const { text } = await program.call('GET', '/metrics');
    expect(text).toContain(
      'svc_sink_records_total{pipeline="orders",row="row-0",connector="jsonl"} 3',
    );
    expect(text).not.toContain('orders-backfill');
  });

  test('counts days by the zone, with the clock of each unit in it', async () => {
    const receipt = receiptOf(
      await post({ config: daily(), ...twoDays, timezone: 'Asia/Tokyo', name: 'tokyo' }),
    );
    expect(receipt.units.map(({ unit, start }) => `${unit} ${start}`)).toEqual([
      '20251231T150000Z 2026-01-01T00:00:00+09:00',
      '20260101T150000Z 2026-01-02T00:00:00+09:00',
    ]);
    await Promise.all(idsOf(receipt).map((id) => program.ended(id)));
    expect(readFileSync(shop.path('20251231T150000Z-2026-01-01.jsonl'), 'utf8')).toBe('{"id":1}\n');
  });

  test('delivers at least once, whatever its document asks for', async () => {
    // Exactly once could not be promised here, and is refused for a run.
    const config = daily({ delivery: 'exactly_once' });
    expect((await post({ config, ...twoDays })).status).toBe(400);
    const source = {
      type: 'sqlite',
      config: {
        database_url: shop.path('shop.db'),
        query: 'select id, ${backfill.start_unix} as at from orders',
      },
    };
    const sink = {
      type: 'sqlite',
      config: {
        database_url: shop.path('to.db'),
        table_name: 'orders',
        column_mapping: 'auto_map',
        write_mode: 'upsert',
        key: ['id'],
      },
    };
    const keyed = JSON.stringify({
      version: 1,
      name: 'keyed',
      delivery: 'exactly_once',
      pipeline: { source, sink },
    });
    const receipt = receiptOf(await post({ config: keyed, from: '2026-01-01', to: '2026-01-02' }));
    expect(receipt.descriptor.split('|')[3]).toBe('whole');
    expect((await program.ended(idsOf(receipt)[0] ?? '')).status).toBe('completed');
  });

  test('is in the audit log with its hash, beside the runs it submitted', async () => {
    const { entries } = (await program.call('GET', '/v1/audit?action=backfill.submit')).json() as {
      entries: Body[];
    };
    expect(entries.at(-1)).toMatchObject({
      principal: 'anonymous',
      result: 'ok',
      config_fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
  });
});

test('a window that was in another range before is read from its beginning again', async () => {
  const name = ownName('again');
  const database = await freshDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(
    "CREATE TABLE orders AS SELECT i AS id, date '2026-01-01' + i % 2 AS day FROM generate_series(1, 6) AS i",
  );
  const query =
    "SELECT * FROM orders WHERE day >= '${backfill.start_date}' AND day < '${backfill.end_date}'";
  const connection = { connection_url: database.url };
  const replication = { type: 'incremental', column: 'id', initial_value: 0 };
  const window = { column: 'day', from: '${backfill.start_date}', to: '${backfill.end_date}' };
  const config = {
    ...connection,
    table_name: 'copied',
    column_mapping: 'auto_map',
    write_mode: 'overwrite',
    scope: { window },
  };
  const pipeline = {
    source: { type: 'postgres', config: { ...connection, query, replication } },
    sink: { type: 'postgres', config },
    state: { type: 'file', config: { path: shop.path('state') } },
  };
  const fill = async (range: Body): Promise<number[]> => {
    const receipt = receiptOf(
      await post({
        config: JSON.stringify({ version: 1, name, pipeline }),
        window: '1d',
        ...range,
      }),
    );
    const runs = [];
    for (const id of idsOf(receipt)) runs.push(await program.ended(id));
    expect(runs.map(({ error }) => error)).toEqual(runs.map(() => null));
    return runs.map(({ records_written: written }) => written);
  };
  expect(await fill({ from: '2026-01-01', to: '2026-01-02' })).toEqual([3]);
  expect(await fill(twoDays)).toEqual([3, 3]);
  expect((await client.query('SELECT count(*)::int AS n FROM copied')).rows).toEqual([{ n: 6 }]);
  await client.end();
  await database.drop();
});

describe('a backfill is refused', () => {
  test('with a callback, before anything else', async () => {
    const [status, message] = await refusal({
      config: 'not: [a document',
      from: 'x',
      to: 'y',
      callback: { url: 'https://example.test' },
    });
    expect([status, message]).toEqual([422, expect.stringMatching(/callback.*per-window unit/)]);
  });

  test('when a source would read the same every time', async () => {
    const matrix = [{ id: 'all', source: { config: { query: 'select 1' } } }, { id: 'some' }];
    const { backfill: _, ...document } = JSON.parse(daily({ matrix })) as Body;
    const [status, message] = await refusal({ config: JSON.stringify(document), ...twoDays });
    expect([status, message]).toEqual([400, expect.stringMatching(/`all` names no window/)]);
  });

  test.each([
    ['an empty range', { to: '2026-01-01' }, 'nothing between'],
    ['a range that cannot be read', { from: 'yesterday' }, 'from: `yesterday`'],
    ['a window that cannot be read', { window: 'daily' }, 'window: `daily`'],
    ['a zone that is none', { timezone: 'Mars/Base' }, 'timezone: `Mars/Base`'],
    ['too many units', { window: '1s' }, 'more than 10000 units'],
    ['a document that cannot be used', { config: daily({ version: 2 }) }, 'version 2'],
    [
      'a token that no unit has',
      { config: daily({}, 'select ${backfill.begin}') },
      'has no `${backfill.begin}`',
    ],
    ['a text that is no document', { config: ': [' }, 'YAML'],
    ['a setting that it does not know', { doctor_first: true }, 'doctor_first'],
  ])('with %s', async (_what, change, expected) => {
    const [status, message] = await refusal({ config: daily(), ...twoDays, ...change });
    expect([status, message]).toEqual([400, expect.stringContaining(expected)]);
  });

  test('as a plain run, with word of where its windows are filled in', async () => {
    const answer = await program.call('POST', '/v1/runs', { config: daily() });
    expect([answer.status, answer.text.includes('POST /v1/backfill')]).toEqual([422, true]);
  });
});

test('what finds the queue full is submitted when the same request is posted again', async () => {
  const busy = [
    await program.submit(api.document(shop.path('a.jsonl'))),
    await program.submit(api.document(shop.path('b.jsonl'))),
  ];
  await Promise.all(busy.map((id) => program.until(id, 'running')));
  const config = daily({ name: ownName('full') });
  const request = { config, from: '2026-02-01', to: '2026-02-07' };
  const first = receiptOf(await post(request));
  expect([first.planned, first.submitted]).toEqual([6, 4]);
  expect(first.units.map(({ status }) => status).slice(3)).toEqual([
    'submitted',
    'not_submitted',
    'not_submitted',
  ]);
  expect(first.units.at(-1)).toMatchObject({
    error: expect.stringContaining('post the same request again'),
  });
  expect(first.units.at(-1)).not.toHaveProperty('run_id');
  await eventually(async () => {
    api.answer();
    for (const id of busy) expect((await program.get(id)).status).toBe('completed');
  });
  await Promise.all(
    idsOf(first)
      .slice(0, 4)
      .map((id) => program.ended(id)),
  );
  const second = receiptOf(await post(request));
  expect(second.submitted).toBe(6);
  expect(idsOf(second).slice(0, 4)).toEqual(idsOf(first).slice(0, 4));
  await Promise.all(idsOf(second).map((id) => program.ended(id)));
});
