import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  startHttpServer,
  type HttpServer,
  type SeenRequest,
} from '../../../../test/fakes/http-server.ts';
import { stillClock } from '../../../../test/fakes/clock.ts';
import type { RetryPolicy } from '../../../kit/context.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { run } from '../../../../test/fakes/rest-source.ts';

const rows = Array.from({ length: 7 }, (_, index): JsonObject => ({ id: index + 1 }));
let server: HttpServer;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
});

const base = (): JsonObject => ({
  base_url: server.url,
  path: 'items',
  records_path: '$.items[*]',
});
const slice = (from: number, size = 3): JsonObject[] => rows.slice(from, from + size);
const queries = (): string[] => server.requests.map(({ query }) => query.toString());

describe('pagination', () => {
  it('reads one page and no more when there is none', async () => {
    server.respond([{ json: { items: slice(0) } }]);
    expect((await run(base())).records).toEqual(slice(0));
    expect(server.requests).toHaveLength(1);
  });

  it('follows a cursor until it is absent, null or repeated', async () => {
    for (const last of [{}, { next: null }, { next: 'b' }]) {
      server.requests.length = 0;
      server.respond(({ query }) => {
        const after = query.get('after');
        if (after === null) return { json: { items: slice(0), next: 'a' } };
        if (after === 'a') return { json: { items: slice(3), next: 'b' } };
        return { json: { items: slice(6), ...last } };
      });
      const { records } = await run({
        ...base(),
        pagination: { type: 'Cursor', next_token_path: '$.next', param_name: 'after' },
      });
      expect(records).toEqual(rows);
      expect(queries()).toEqual(['', 'after=a', 'after=b']);
    }
  });

  it('ends where cursors go round in a circle', async () => {
    server.respond(({ query }) => ({
      json: { items: slice(0), next: query.get('after') === 'a' ? 'b' : 'a' },
    }));
    await run({
      ...base(),
      max_pages: 9,
      pagination: { type: 'Cursor', next_token_path: '$.next', param_name: 'after' },
    });
    expect(queries()).toEqual(['', 'after=a', 'after=b']);
  });

  it('puts a cursor into the JSON body, at a name or at a pointer', async () => {
    for (const [field, body] of [
      ['cursor', { size: 3, cursor: 'a' }],
      ['/page/after', { size: 3, page: { after: 'a' } }],
    ] as const) {
      server.requests.length = 0;
      server.respond((request) => {
        const first = JSON.stringify(request.json()) === '{"size":3}';
        return { json: first ? { items: slice(0), next: 'a' } : { items: slice(3, 4) } };
      });
      const pagination = {
        type: 'CursorInBody',
        next_token_path: '$.next',
        body_cursor_field: field,
      };
      expect(
        (await run({ ...base(), method: 'post', body: { size: 3 }, pagination })).records,
      ).toEqual(rows);
      expect(server.requests[1]?.json()).toEqual(body);
      expect(server.requests[1]?.method).toBe('POST');
    }
  });

  it('follows `Link` headers and stops at a link it has followed', async () => {
    server.respond(({ query }) => {
      const page = query.get('p') ?? '1';
      const next = page === '1' ? '2' : '1';
      return {
        json: { items: page === '1' ? slice(0) : slice(3) },
        headers: {
          link: [`<${server.url}/items?x=1>; rel="prev first"`, `<items?p=${next}>; rel=next`],
        },
      };
    });
    const { records } = await run({
      ...base(),
      query_params: { p: '1' },
      pagination: { type: 'LinkHeader' },
    });
    expect(records).toEqual(rows.slice(0, 6));
    expect(queries()).toEqual(['p=1', 'p=2']);
  });

  it('follows links in the body, which carry their own query', async () => {
    server.respond(({ query }) =>
      query.get('skip') === '3'
        ? { json: { items: slice(3, 4), next: '' } }
        : { json: { items: slice(0), next: '/items?skip=3' } },
    );
    const { records } = await run({
      ...base(),
      query_params: { lang: 'en' },
      pagination: { type: 'NextLinkInBody', next_link_path: '$.next' },
    });
    expect(records).toEqual(rows);
    expect(queries()).toEqual(['lang=en', 'skip=3']);
  });

  it('counts pages until one is empty', async () => {
    server.respond(({ query }) => ({
      json: { items: slice((Number(query.get('page')) - 1) * 3) },
    }));
    const pagination = { type: 'PageNumber', page_size: 3, page_size_param: 'per_page' };
    expect((await run({ ...base(), pagination })).records).toEqual(rows);
    expect(queries()).toEqual([
      'page=1&per_page=3',
      'page=2&per_page=3',
      'page=3&per_page=3',
      'page=4&per_page=3',
    ]);
  });

  it('does not hand on the same page twice when the API ignores the page number', async () => {
    server.respond([{ json: { items: slice(0) } }]);
    expect(
      (await run({ ...base(), pagination: { type: 'PageNumber', param_name: 'p', start_page: 0 } }))
        .records,
    ).toEqual(slice(0));
    expect(queries()).toEqual(['p=0', 'p=1']);
  });

  it('moves an offset until a page is short', async () => {
    server.respond(({ query }) => ({ json: { items: slice(Number(query.get('skip'))) } }));
    const pagination = { type: 'Offset', offset_param: 'skip', limit_param: 'top', limit: 3 };
    expect((await run({ ...base(), pagination })).records).toEqual(rows);
    expect(queries()).toEqual(['skip=0&top=3', 'skip=3&top=3', 'skip=6&top=3']);
  });

  it('stops at the total the API tells', async () => {
    server.respond(({ query }) => ({
      json: { items: slice(Number(query.get('offset'))), total: 6 },
    }));
    expect(
      (await run({ ...base(), pagination: { type: 'Offset', limit: 3, total_path: '$.total' } }))
        .records,
    ).toHaveLength(6);
    expect(server.requests).toHaveLength(2);
  });

  it('goes on to the total the API tells where it gives fewer records than it is asked for', async () => {
    const pagination = { type: 'Offset', limit: 100, total_path: '$.total' };
    const answer = (total: number) => (request: SeenRequest) => ({
      json: { items: slice(Number(request.query.get('offset'))), total },
    });
    server.respond(answer(7));
    expect((await run({ ...base(), pagination })).records).toEqual(rows);
    expect(server.requests).toHaveLength(3);
    server.respond(answer(9));
    const { records, env } = await run({ ...base(), pagination });
    expect(records).toEqual(rows);
    expect(env.lines.map(({ line }) => line).join()).toContain(
      'fewer records came than the service says there are',
    );
  });

  it('reads no page twice of an API that does not look at the offset', async () => {
    server.respond([{ json: { items: slice(0), total: 7 } }]);
    const pagination = { type: 'Offset', limit: 100, total_path: '$.total' };
    expect((await run({ ...base(), pagination })).records).toEqual(slice(0));
    expect(server.requests).toHaveLength(2);
  });

  it('fails where a page that the API has named holds an error in the place of records', async () => {
    const pagination = { type: 'Cursor', next_token_path: '$.next', param_name: 'c' };
    const failed = { json: { error: 'try again later' } };
    server.respond([{ json: { items: slice(0), next: 'a' } }, failed]);
    await expect(run({ ...base(), pagination })).rejects.toMatchObject({
      kind: 'data',
      message: `the answer of ${server.url}/items?c=a has no records, and \`error\` in it is: "try again later"`,
      hint: expect.stringContaining('retry_on_response') as string,
    });
    server.respond([{ json: { items: slice(0), next: 'a' } }, { json: { error: null } }]);
    expect((await run({ ...base(), pagination })).records).toEqual(slice(0));
    server.respond([{ json: { items: slice(0), next: 'a' } }, { status: 200 }]);
    expect(
      (await run({ ...base(), pagination })).env.lines.map(({ line }) => line).join(),
    ).toContain('a page that the service has named is empty');
    // Nobody has said that there is a first page.
    server.respond([failed]);
    const { records, env } = await run({ ...base(), pagination });
    expect(records).toEqual([]);
    expect(env.lines.map(({ line }) => line).join()).toContain(
      'an answer has no records, and tells of an error',
    );
  });

  it('moves an offset in the body, counting rows of its own', async () => {
    server.respond((request: SeenRequest) => {
      const { from } = request.json() as { from: number };
      const ids = slice(from).map(({ id }) => id ?? null);
      return { json: { ids, items: ids.map((id) => ({ id })) } };
    });
    const pagination = {
      type: 'OffsetInBody',
      offset_field: 'from',
      limit_field: 'size',
      limit: 3,
      rows_path: '$.ids',
    };
    expect((await run({ ...base(), method: 'POST', pagination })).records).toEqual(rows);
    expect(server.requests.map((request) => request.json())).toEqual([
      { from: 0, size: 3 },
      { from: 3, size: 3 },
      { from: 6, size: 3 },
    ]);
  });

  it('goes on after a field of the records, and stops when a page brings nothing new', async () => {
    server.respond(({ query }) => ({ json: { items: slice(Number(query.get('since_id') ?? 0)) } }));
    const pagination = { type: 'RecordFieldCursor', field: 'id', param: 'since_id' };
    expect((await run({ ...base(), pagination })).records).toEqual(rows);
    expect(queries()).toEqual(['', 'since_id=3', 'since_id=6', 'since_id=7']);
    server.requests.length = 0;
    expect((await run({ ...base(), pagination: { ...pagination, page_size: 3 } })).records).toEqual(
      rows,
    );
    expect(server.requests).toHaveLength(3);
  });

  it('repeats as the document says only where the source says nothing itself', async () => {
    server.respond([{ status: 503 }]);
    const retry = {
      maxAttempts: 2,
      backoff: 'fixed',
      baseMs: 10,
      maxMs: 10,
      jitter: false,
      on: ['http_5xx'],
    } as const;
    await expect(run(base(), { context: { retry } })).rejects.toMatchObject({ status: 503 });
    expect(server.requests).toHaveLength(2);
    server.requests.length = 0;
    await expect(run({ ...base(), max_retries: 4 }, { context: { retry } })).rejects.toMatchObject({
      status: 503,
    });
    expect(server.requests).toHaveLength(5);
  });

  it('waits and repeats as all keys of `resilience.retry` say', async () => {
    const retry = { maxAttempts: 4, backoff: 'exponential', baseMs: 20, jitter: false } as const;
    const asked = async (policy: object): Promise<readonly number[]> => {
      server.respond([{ status: 503 }]);
      const clock = stillClock();
      const context = { retry: { ...retry, ...policy } as RetryPolicy };
      await expect(run(base(), { clock, context })).rejects.toMatchObject({ status: 503 });
      return clock.waits;
    };
    expect(await asked({ maxMs: 30, on: ['http_5xx'] })).toEqual([20, 30, 30]);
    expect(await asked({ maxMs: 30, on: ['http_5xx'], backoff: 'fixed' })).toEqual([20, 20, 20]);
    expect(await asked({ maxMs: 30, on: ['timeout'] })).toEqual([]);
  });

  it('waits between pages', async () => {
    server.respond(({ query }) => ({ json: { items: slice(Number(query.get('offset'))) } }));
    expect(
      (await run({ ...base(), request_delay: 1.5, pagination: { type: 'Offset', limit: 3 } }))
        .waits,
    ).toEqual([1500, 1500]);
  });

  it('reads no more than max_pages', async () => {
    server.respond(({ query }) => ({ json: { items: slice(Number(query.get('offset'))) } }));
    expect(
      (await run({ ...base(), max_pages: 2, pagination: { type: 'Offset', limit: 3 } })).records,
    ).toHaveLength(6);
  });

  it('tolerates a status only on the first request', async () => {
    server.respond([{ status: 404 }]);
    const config = {
      ...base(),
      max_retries: 0,
      tolerated_http_errors: [404],
      pagination: { type: 'Offset', limit: 3 },
    };
    expect((await run(config)).records).toEqual([]);
    server.respond([{ json: { items: slice(0) } }, { status: 404, body: 'gone' }]);
    await expect(run(config)).rejects.toMatchObject({ kind: 'missing', status: 404 });
  });

  it('takes an empty body and 204 as an empty page', async () => {
    server.respond([{ status: 204 }]);
    expect((await run(base())).records).toEqual([]);
    server.respond([{ status: 200, body: '' }]);
    expect((await run(base())).records).toEqual([]);
  });
});
