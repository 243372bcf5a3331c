import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startHttpServer, type HttpServer } from '../../../../test/fakes/http-server.ts';
import { MOST_SEEN } from '../../../kit/stored-bookmark.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { stillClock } from '../../../../test/fakes/clock.ts';
import { run } from '../../../../test/fakes/rest-source.ts';

let server: HttpServer;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
});

const standingAt = (value: JsonValue, records: number): object => ({
  value,
  seen: Array.from({ length: records }, () => expect.any(String) as string),
});
const at = (day: number): string => `2026-01-0${day}T00:00:00Z`;
const rows = [1, 2, 3, 4].map((day) => ({ id: day, at: at(day) }));
const incremental = (): JsonObject => ({
  base_url: server.url,
  replication_method: 'incremental',
  replication_key: 'at',
  state_key: 'rows',
});
const queries = (): string[] =>
  server.requests.map(({ query }) => decodeURIComponent(query.toString()));

describe('incremental reading', () => {
  it('keeps what came after the bookmark and stores the largest key on the last page', async () => {
    server.respond([{ json: rows }]);
    const first = await run(incremental());
    expect(first.records).toEqual(rows);
    expect(first.bookmarks).toEqual([standingAt(at(4), 1)]);
    const second = await run(incremental(), { bookmark: at(2) });
    expect(second.records).toEqual(rows.slice(2));
    expect(second.bookmark).toEqual(first.bookmark);
  });

  it('keeps what comes later with the last value, and leaves out what was read with it', async () => {
    const twin = { id: 4, at: at(4) };
    server.respond([{ json: [...rows, twin] }]);
    const first = await run(incremental());
    expect(first.bookmark).toEqual(standingAt(at(4), 2));
    const late = { id: 5, at: at(4) };
    server.respond([{ json: [late, ...rows, twin, twin] }]);
    const second = await run(incremental(), { bookmark: first.bookmark as JsonValue });
    expect(second.records).toEqual([late, twin]);
    expect(second.bookmark).toEqual(standingAt(at(4), 4));
    const third = await run(incremental(), { bookmark: second.bookmark as JsonValue });
    expect([third.records, third.bookmarks]).toEqual([[], []]);
  });

  it('stores the value alone when more records share it than a bookmark holds', async () => {
    const many = Array.from({ length: MOST_SEEN + 1 }, (_, id) => ({ id, at: at(4) }));
    server.respond([{ json: many }]);
    const { bookmark, env } = await run(incremental());
    expect(bookmark).toBe(at(4));
    expect(env.lines.filter(({ level }) => level === 'WARN')).toHaveLength(1);
    expect((await run(incremental(), { bookmark: at(4) })).records).toEqual([]);
  });

  it('keeps no position without `state_key`, and says so', async () => {
    server.respond([{ json: rows }]);
    const { bookmarks, records, env } = await run({ ...incremental(), state_key: null });
    expect([records, bookmarks]).toEqual([rows, []]);
    expect(env.lines.map(({ line }) => line)).toEqual([
      expect.stringContaining('`state_key` is not set') as string,
    ]);
  });

  it('stores nothing when nothing came', async () => {
    server.respond([{ json: rows }]);
    expect((await run(incremental(), { bookmark: at(4) })).pages).toEqual([]);
  });

  it('starts with start_replication_value, and drops records without the key', async () => {
    server.respond([{ json: [...rows, { id: 9 }] }]);
    expect((await run({ ...incremental(), start_replication_value: at(3) })).records).toEqual(
      rows.slice(2),
    );
  });

  it('compares 64-bit integers digit by digit', async () => {
    server.respond([{ body: '[{"n": 9007199254740993}, {"n": 9007199254740992}]' }]);
    const { records, bookmark } = await run(
      { ...incremental(), replication_key: 'n' },
      { bookmark: 9007199254740992n },
    );
    expect(records).toEqual([{ n: 9007199254740993n }]);
    expect(bookmark).toEqual(standingAt(9007199254740993n, 1));
  });

  it('keeps records whose key is of another kind, and says so once', async () => {
    server.respond([{ json: [{ at: 5 }, { at: 6 }, { at: at(4) }] }]);
    const { records, env } = await run(incremental(), { bookmark: at(3) });
    expect(records).toEqual([{ at: 5 }, { at: 6 }, { at: at(4) }]);
    expect(env.lines.filter(({ level }) => level === 'WARN')).toHaveLength(1);
  });

  it('holds the bookmark back until the last page', async () => {
    server.respond(({ query }) => ({
      json: rows.slice(Number(query.get('offset')), Number(query.get('offset')) + 2),
    }));
    const { pages } = await run({ ...incremental(), pagination: { type: 'Offset', limit: 2 } });
    expect(pages.map((page) => page.bookmark)).toEqual([undefined, standingAt(at(4), 1)]);
  });

  it('stores no bookmark when max_pages or the limit cut the run', async () => {
    server.respond(({ query }) => ({
      json: rows.slice(Number(query.get('offset')), Number(query.get('offset')) + 2),
    }));
    const config = { ...incremental(), pagination: { type: 'Offset', limit: 2 } };
    expect((await run({ ...config, max_pages: 1 })).bookmarks).toEqual([]);
    expect((await run(config, { limit: 3 })).bookmarks).toEqual([]);
    expect((await run(config, { limit: 3 })).records).toEqual(rows.slice(0, 3));
  });

  it('sends the bookmark where and how it is wanted', async () => {
    server.respond([{ json: rows }]);
    const bind = (replication_bind: JsonObject, more: JsonObject = {}): Promise<unknown> =>
      run({ ...incremental(), start_replication_value: at(3), replication_bind, ...more });
    await bind({ name: 'since', format: 'iso8601' });
    await bind({ name: 'since', format: 'epoch_ms', template: 'gt:${bookmark}' });
    await bind({ name: 'X-Since', into: 'header', format: 'date' });
    await bind({ name: '/filter/since', into: 'body', format: 'epoch_s' }, { method: 'POST' });
    await bind({ name: 'since', into: 'path', format: 'date' }, { path: '/items/{since}' });
    expect(queries().slice(0, 2)).toEqual([`since=${at(3)}`, `since=gt:${Date.parse(at(3))}`]);
    expect(server.requests[2]?.headers['x-since']).toBe('2026-01-03');
    expect(server.requests[3]?.json()).toEqual({ filter: { since: Date.parse(at(3)) / 1000 } });
    expect(server.requests[4]?.path).toBe('/items/2026-01-03');
  });

  it('leaves the bind out of a first run without a start', async () => {
    server.respond([{ json: rows }]);
    await run({ ...incremental(), replication_bind: { name: 'since' } });
    expect(queries()).toEqual(['']);
  });

  it('takes the next position from the answer, and then leaves the filtering to the API', async () => {
    server.respond([{ json: { items: rows, until: 'tok-2' } }]);
    const config = {
      ...incremental(),
      records_path: '$.items',
      replication_bind: { name: 'since', advance_from: '$.until' },
    };
    const { bookmark, records } = await run(config, { bookmark: 'tok-1' });
    expect(bookmark).toBe('tok-2');
    expect(records).toEqual(rows);
    expect(queries()).toEqual(['since=tok-1']);
  });

  it('names a stored position that cannot be written as a time', async () => {
    await expect(
      run(
        { ...incremental(), replication_bind: { name: 's', format: 'date' } },
        { bookmark: 'abc' },
      ),
    ).rejects.toThrow(/abc is not a time/);
  });
});

describe('windows', () => {
  const windowed = (window: JsonObject = {}): JsonObject => ({
    ...incremental(),
    start_replication_value: at(1),
    window: { step: '1d', lower: { name: 'from' }, upper: { name: 'to' }, ...window },
  });
  const clock = () => stillClock('2026-01-03T12:00:00Z');

  it('reads half-open slices up to now and stores the end of each', async () => {
    server.respond(({ query }) => ({
      json: rows.filter(
        (row) => row.at >= (query.get('from') ?? '') && row.at < (query.get('to') ?? ''),
      ),
    }));
    const { records, bookmarks } = await run(windowed(), { clock: clock() });
    expect(queries()).toEqual([
      `from=${at(1)}&to=${at(2)}`,
      `from=${at(2)}&to=${at(3)}`,
      `from=${at(3)}&to=2026-01-03T12:00:00Z`,
    ]);
    expect(records).toEqual(rows.slice(0, 3));
    expect(bookmarks).toEqual([at(2), at(3), '2026-01-03T12:00:00Z']);
  });

  it('goes on from the bookmark, looks back once, and shortens an inclusive end', async () => {
    server.respond([{ json: [] }]);
    const { bookmarks } = await run(windowed({ lookback: '6h', granularity: '1s', step: '30d' }), {
      clock: clock(),
      bookmark: at(3),
    });
    expect(queries()).toEqual(['from=2026-01-02T18:00:00Z&to=2026-01-03T11:59:59Z']);
    expect(bookmarks).toEqual(['2026-01-03T12:00:00Z']);
  });

  it('looks back in the first run too', async () => {
    server.respond([{ json: [] }]);
    const { bookmarks } = await run(windowed({ lookback: '6h', step: '30d' }), { clock: clock() });
    expect(queries()).toEqual(['from=2025-12-31T18:00:00Z&to=2026-01-03T12:00:00Z']);
    expect(bookmarks).toEqual(['2026-01-03T12:00:00Z']);
  });

  it('stops after max_windows and leaves the rest to the next run', async () => {
    server.respond([{ json: [] }]);
    const { bookmarks } = await run(windowed({ max_windows: 1 }), { clock: clock() });
    expect(bookmarks).toEqual([at(2)]);
  });
});

describe('a kept page cursor', () => {
  it('is the bookmark of every page and where the next run starts', async () => {
    server.respond(({ query }) => {
      const after = Number(query.get('after') ?? 0);
      return { json: { items: rows.slice(after, after + 2), next: after < 4 ? after + 2 : null } };
    });
    const config: JsonObject = {
      base_url: server.url,
      records_path: '$.items',
      persist_cursor: true,
      state_key: 'rows',
      pagination: { type: 'Cursor', next_token_path: '$.next', param_name: 'after' },
    };
    const first = await run({ ...config, max_pages: 1 });
    expect(first.bookmarks).toEqual([2]);
    const second = await run(config, { bookmark: 2 });
    expect(second.records).toEqual(rows.slice(2));
    expect(second.bookmark).toBe(4);
  });
});

describe('partitions', () => {
  const config = (): JsonObject => ({
    base_url: server.url,
    path: '/r/{region}/{user.id}',
    partitions: [{ region: 'n/1' }, { region: 's' }],
  });

  it('read one result for each entry, filled into the path so that it cannot leave its place', async () => {
    server.respond(({ path }) => ({ json: [{ path }] }));
    const { records } = await run(config(), { context: { parent: { user: { id: 7 } } } });
    expect(records).toEqual([{ path: '/r/n%2F1/7' }, { path: '/r/s/7' }]);
  });

  it('are read at the same time when asked to', async () => {
    let waiting: (() => void)[] = [];
    server.respond(async ({ path }) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        // Nobody is answered before both have asked.
        if (waiting.length === 2) for (const go of waiting) go();
      });
      return { json: [{ path }] };
    });
    const { records } = await run(
      { ...config(), partition_concurrency: 2 },
      { context: { parent: { user: { id: 7 } } } },
    );
    expect(records).toHaveLength(2);
    waiting = [];
  });

  it('end together: when one fails, nobody waits for the others', async () => {
    server.respond(({ path }) => (path === '/1' ? { status: 400, body: 'bad' } : { hangs: true }));
    const all = {
      base_url: server.url,
      path: '{a}',
      partitions: [{ a: 1 }, { a: 2 }],
      partition_concurrency: 2,
      timeout: 3600,
    };
    await expect(run(all)).rejects.toMatchObject({ kind: 'refused', status: 400 });
  });

  it('may be written as `requests`', async () => {
    server.respond([{ json: [1] }]);
    expect(
      (await run({ base_url: server.url, path: '{a}', requests: [{ a: 1 }, { a: 2 }, { a: 3 }] }))
        .records,
    ).toEqual([1, 1, 1]);
  });

  it('name a placeholder that has no value', async () => {
    await expect(run(config())).rejects.toThrow(/`\{user.id\}` in `path` has no value/);
  });
});
