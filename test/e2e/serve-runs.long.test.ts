/**
 * The life of a run, as a client of the real program sees it (spec 1, sections 2.1 to 2.6, 3.1 and
 * 4.1).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { csvToJsonl, silentApi } from './serve-documents.ts';
import { workshop, type Program } from './serve-program.ts';

const shop = workshop();
const api = await silentApi();
let program: Program;

beforeAll(async () => {
  writeFileSync(shop.path('in.csv'), 'id,name\n1,a\n2,b\n3,c\n');
  program = await shop.start({
    args: ['--max-concurrent-runs', '2', '--max-queued-runs', '2', '--log-max-lines-per-run', '20'],
  });
});
afterAll(async () => {
  await shop.dispose();
  api.close();
});

const quick = (output: string, more = {}) =>
  csvToJsonl(shop.path('in.csv'), shop.path(output), more);
const slow = () => api.document(shop.path('slow.jsonl'));
const post = (body: unknown) => program.call('POST', '/v1/runs', body);
const idOf = (answer: { json(): unknown }) => (answer.json() as { run_id: string }).run_id;

describe('a run', () => {
  test('moves the data and says so in its record', async () => {
    const answer = await post({
      config: JSON.stringify(quick('first.jsonl')),
      name: 'first',
      labels: { team: 'a' },
    });
    expect(answer.status).toBe(202);
    expect(Object.keys(answer.json() as object)).toEqual(['run_id', 'status', 'submitted_at']);
    expect(answer.json()).toMatchObject({
      status: 'queued',
      submitted_at: expect.stringMatching(/Z$/),
    });
    const run = await program.ended(idOf(answer));
    expect(run).toMatchObject({
      name: 'first',
      labels: { team: 'a' },
      status: 'completed',
      records_written: 3,
      error: null,
      idempotency_key: null,
      doctor_report: null,
      invocations: [
        {
          row_id: 'row-0',
          parent_record_key: null,
          records_written: 3,
          error: null,
          run_id: expect.any(String),
        },
      ],
    });
    expect(run.elapsed_secs).toBeGreaterThan(0);
    expect(readFileSync(shop.path('first.jsonl'), 'utf8')).toBe(
      '{"id":"1","name":"a"}\n{"id":"2","name":"b"}\n{"id":"3","name":"c"}\n',
    );
  });

  test('that fails names the row and the reason', async () => {
    const run = await program.ended(
      await program.submit(csvToJsonl(shop.path('none.csv'), shop.path('x.jsonl'))),
    );
    expect(run).toMatchObject({
      status: 'failed',
      records_written: 0,
      error: expect.stringContaining('none.csv: it does not exist'),
    });
    expect(run.invocations).toEqual([
      expect.objectContaining({
        row_id: 'row-0',
        error: expect.stringContaining('does not exist'),
      }),
    ]);
  });

  test('renders dates at the clock it was given', async () => {
    const id = await program.submit(quick('day-${now.date}.jsonl'), {
      clock: '2020-02-03T04:05:06+02:00',
    });
    expect((await program.ended(id)).status).toBe('completed');
    expect(readFileSync(shop.path('day-2020-02-03.jsonl'), 'utf8')).toContain('"name":"a"');
  });

  test('logs as much as its document says, where the server was not told', async () => {
    const logOf = async (level: string): Promise<string> => {
      const id = await program.submit(
        quick('logged.jsonl', { observability: { tracing: { level } } }),
      );
      await program.ended(id);
      return (await program.call('GET', `/v1/runs/${id}/logs`)).text;
    };
    expect(await logOf('info')).toContain('row completed');
    expect(await logOf('warn')).not.toContain('row completed');
  });

  test('accepts a concurrency that none of its connectors has', async () => {
    expect(
      (await program.ended(await program.submit(quick('c.jsonl'), { concurrency: 3 }))).status,
    ).toBe('completed');
  });

  test('keeps the report of the preflight it passed', async () => {
    const run = await program.ended(await program.submit(quick('d.jsonl'), { doctor_first: true }));
    expect(run.doctor_report).toMatchObject({
      invocations: [{ id: 'row-0', probes: [{ role: 'source', status: 'pass' }, {}] }],
    });
  });

  test('whose preflight fails is refused with the report, and does not exist', async () => {
    const name = 'never-probed';
    const answer = await post({
      config: JSON.stringify(csvToJsonl(shop.path('none.csv'), shop.path('x.jsonl'))),
      doctor_first: true,
      name,
    });
    expect(answer.status).toBe(422);
    expect(answer.json()).toMatchObject({
      error: { code: 'unprocessable', details: { invocations: [{ id: 'row-0' }] } },
    });
    expect((await program.list(`?name=${name}`)).runs).toEqual([]);
  });

  test('that ended cannot be cancelled, and can be deleted', async () => {
    const id = await program.submit(quick('e.jsonl'));
    await program.ended(id);
    expect((await program.call('POST', `/v1/runs/${id}/cancel`)).status).toBe(200);
    expect((await program.get(id)).status).toBe('completed');
    expect((await program.call('DELETE', `/v1/runs/${id}`)).status).toBe(204);
    expect((await program.call('GET', `/v1/runs/${id}`)).json()).toMatchObject({
      error: { code: 'not_found' },
    });
    expect((await program.call('DELETE', `/v1/runs/${id}`)).status).toBe(404);
  });
});

describe('a run that waits for an answer that never comes', () => {
  test('is failed when its time is over', async () => {
    const run = await program.ended(await program.submit(slow(), { timeout_secs: 1 }));
    expect(run).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('timeout_secs of 1'),
    });
  });

  test('has all the time of a timeout longer than timers can count', async () => {
    const id = await program.submit(quick('long.jsonl'), { timeout_secs: 9_000_000_000 });
    expect((await program.ended(id)).error).toBeNull();
  });

  test('can be cancelled, followed, but not deleted; a full queue refuses and recovers', async () => {
    const [first, second] = [await program.submit(slow()), await program.submit(slow())];
    await Promise.all([first, second].map((id) => program.until(id, 'running')));
    const [third, fourth] = [
      await program.submit(quick('third.jsonl')),
      await program.submit(quick('fourth.jsonl')),
    ];
    const full = await post({ config: JSON.stringify(quick('fifth.jsonl')) });
    expect(full.status).toBe(429);
    expect(full.json()).toMatchObject({ error: { code: 'queue_full' } });
    expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await program.call('GET', '/readyz')).json()).toMatchObject({
      status: 'not_ready',
      queue_ok: false,
    });

    expect((await program.call('POST', `/v1/runs/${third}/cancel`)).status).toBe(202);
    expect(await program.until(third, 'cancelled')).toMatchObject({
      started_at: null,
      error: null,
    });
    expect((await program.get(first)).status).toBe('running');
    expect((await program.call('DELETE', `/v1/runs/${first}`)).json()).toMatchObject({
      error: { code: 'conflict' },
    });
    expect((await program.call('GET', '/readyz')).status).toBe(200);

    const live = fetch(`${program.url}/v1/runs/${first}/logs`).then((response) => response.text());
    expect((await program.call('POST', `/v1/runs/${first}/cancel`)).status).toBe(202);
    expect(await program.until(first, 'cancelled')).toMatchObject({ error: null });
    expect(await live).toMatch(
      /event: log\ndata: INFO .*pipeline run starting[\s\S]*event: end\ndata: done\n\n$/,
    );
    expect((await program.ended(fourth)).status).toBe('completed');
    await program.call('POST', `/v1/runs/${second}/cancel`);
    await program.until(second, 'cancelled');
  });
});

describe('the log of a run', () => {
  const log = (id: string, query = '') => program.call('GET', `/v1/runs/${id}/logs${query}`);

  test('is read as events, lines and text, and in parts', async () => {
    const id = await program.submit(quick('log.jsonl'));
    await program.ended(id);
    const events = await log(id);
    expect(events.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(events.text).toMatch(/^id: 0\nevent: log\ndata: INFO .*pipeline run starting/);
    expect(events.text.endsWith('event: end\ndata: done\n\n')).toBe(true);

    const stored = await log(id, '?format=jsonl');
    expect(stored.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
    const lines = stored.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { seq: number; line: string });
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, index) => index));
    expect(lines[0]).toEqual({
      seq: 0,
      ts: expect.stringMatching(/\.\d{3}Z$/),
      level: 'INFO',
      line: expect.stringContaining('starting'),
    });

    const text = await log(id, '?format=text&after=0&limit=1');
    expect(text.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(text.text).toBe(`${lines[1]?.line}\n`);
    expect((await log(id, '?format=jsonl&after=999')).text).toBe('');
  });

  test.each(['?format=xml', '?format=jsonl&after=x', '?format=jsonl&limit=x', '?from=3'])(
    'cannot be asked for with %s',
    async (query) => {
      const id = (await program.list('?limit=1')).runs[0]?.run_id ?? '';
      expect((await log(id, query)).json()).toMatchObject({ error: { code: 'bad_config' } });
    },
  );

  test('of a run nobody knows is not found', async () => {
    expect((await log('no-such-run')).status).toBe(404);
    expect((await log('no-such-run', '?format=jsonl')).status).toBe(404);
  });

  test('that is longer than what is kept says that it was cut', async () => {
    const rows = Array.from({ length: 20 }, (_, index) => ({
      id: `r${index}`,
      sink: { config: { path: shop.path(`cut-${index}.jsonl`) } },
    }));
    const id = await program.submit(quick('cut.jsonl', { matrix: rows }));
    expect((await program.ended(id)).error).toBeNull();
    const { text } = await log(id, '?format=jsonl');
    expect(text.trimEnd().split('\n')).toHaveLength(21);
    expect(text.endsWith('{"truncated":true}\n')).toBe(true);
  });
});

describe('an idempotency key', () => {
  const config = () => JSON.stringify(quick('key.jsonl'));

  test('makes ten simultaneous submissions one run', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => post({ config: config(), idempotency_key: 'race' })),
    );
    // The queue of this server is short: while the others are being looked at it may have no place
    // for one more.
    const taken = answers.filter(({ status }) => status !== 429);
    expect(new Set(taken.map(({ status }) => status))).toEqual(new Set([202]));
    const ids = new Set(taken.map(idOf));
    expect(ids.size).toBe(1);
    await program.ended([...ids][0] ?? '');
    const again = await post({ config: config(), idempotency_key: 'race' });
    expect(again.json()).toMatchObject({ run_id: [...ids][0], status: 'completed' });
  });

  test('belongs to one request: another document, concurrency or label is a conflict', async () => {
    const id = idOf(await post({ config: config(), idempotency_key: 'mine' }));
    for (const other of [
      { config: JSON.stringify(quick('other.jsonl')) },
      { concurrency: 2 },
      { labels: { a: 'b' } },
      { timeout_secs: 5 },
    ]) {
      const answer = await post({ config: config(), idempotency_key: 'mine', ...other });
      expect(answer.json()).toMatchObject({ error: { code: 'conflict' } });
    }
    await program.ended(id);
    await program.call('DELETE', `/v1/runs/${id}`);
    expect(idOf(await post({ config: config(), idempotency_key: 'mine' }))).not.toBe(id);
  });
});

describe('the list of runs', () => {
  test('is paged newest first, without gaps or repeats', async () => {
    await expect.poll(async () => (await program.list('?status=queued,running')).runs).toEqual([]);
    const all = (await program.list('?limit=500')).runs;
    const paged = [];
    let cursor: string | null = '';
    do {
      const page = await program.list(`?limit=4${cursor === '' ? '' : `&cursor=${cursor}`}`);
      paged.push(...page.runs.map((run) => run.run_id));
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(paged).toEqual(all.map((run) => run.run_id));
    const times = all.map((run) => run.submitted_at);
    expect(times).toEqual(times.toSorted().toReversed());
  });

  test('is filtered by status, name and time', async () => {
    expect(
      new Set((await program.list('?status=failed,cancelled,')).runs.map((run) => run.status)),
    ).toEqual(new Set(['failed', 'cancelled']));
    const [first] = (await program.list('?name=first')).runs;
    expect(first?.name).toBe('first');
    const submitted = first?.submitted_at ?? '';
    expect(
      (await program.list(`?name=first&since=${submitted}&until=${submitted}`)).runs,
    ).toHaveLength(1);
    // The offset's plus sign arrives as a space, as forms decode it.
    expect((await program.list('?since=2000-01-01T00:00:00+05:30&limit=1')).runs).toHaveLength(1);
    expect((await program.list('?until=2000-01-01T00:00:00Z')).runs).toEqual([]);
    expect((await program.list('?limit=0')).runs).toHaveLength(1);
  });

  test.each(['status=faild', 'since=yesterday', 'limit=many', 'sort=up'])(
    'cannot be asked for with %s',
    async (query) => {
      const answer = await program.call('GET', `/v1/runs?${query}`);
      expect(answer.status).toBe(400);
      expect(answer.json()).toMatchObject({
        error: { code: 'bad_config', message: expect.stringContaining(query.split('=')[0] ?? '') },
      });
    },
  );
});
