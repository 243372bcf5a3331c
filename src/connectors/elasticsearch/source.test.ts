import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { FakeSearch } from '../../../test/fakes/elasticsearch.ts';
import { startHttpServer, type HttpServer, type Reply } from '../../../test/fakes/http-server.ts';
import { issuesOf, runSource, type Run, type RunOptions } from '../../../test/fakes/run-source.ts';
import { createCredentials, CREDENTIALS } from '../../credentials/index.ts';
import { Registry } from '../../kit/parts.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { elasticsearchSource } from './index.ts';

const rows = Array.from({ length: 7 }, (_, id) => ({ id, v: `v${id}` }));
let server: HttpServer;
let search: FakeSearch;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());
beforeEach(() => {
  search = new FakeSearch();
  search.make('orders', rows);
  server.requests.length = 0;
  server.respond((request) => search.answer(request));
});

const read = (config: JsonObject = {}, options: RunOptions = {}): Promise<Run> =>
  runSource(elasticsearchSource, { base_url: server.url, index: 'orders', ...config }, options);
const paths = () => server.requests.map(({ method, path }) => `${method} ${path}`);

it('scrolls through an index, and gives the place back', async () => {
  const { records } = await read({ batch_size: 3 });
  expect(records).toEqual(rows);
  expect(paths()).toEqual([
    'POST /orders/_search',
    'POST /_search/scroll',
    'POST /_search/scroll',
    'POST /_search/scroll',
    'DELETE /_search/scroll',
  ]);
  expect(server.requests[0]?.query.get('scroll')).toBe('1m');
  expect(server.requests[0]?.json()).toMatchObject({ size: 3, query: { match_all: {} } });
});

it('gives the place back when a limit, `max_pages` or a failure ends the reading', async () => {
  expect((await read({ batch_size: 3 }, { limit: 4 })).records).toEqual(rows.slice(0, 4));
  const cut = await read({ batch_size: 3, max_pages: 1 });
  expect(cut.records).toEqual(rows.slice(0, 3));
  expect(cut.env.lines.map(({ line }) => line)).toEqual([expect.stringContaining('max_pages')]);
  server.respond((request): Reply =>
    request.method === 'POST' && request.path === '/_search/scroll'
      ? { status: 500 }
      : search.answer(request),
  );
  await expect(read({ batch_size: 3 })).rejects.toThrow(/500/);
  expect(search.scrolls.size).toBe(0);
});

it('does not ask again for a page whose answer was lost, which would be skipped', async () => {
  let scrolled = 0;
  server.respond((request): Reply => {
    if (request.method !== 'POST' || request.path !== '/_search/scroll')
      return search.answer(request);
    scrolled += 1;
    const answer = search.answer(request);
    return scrolled === 1 ? { ...answer, breaks: true } : answer;
  });
  await expect(read({ batch_size: 3 })).rejects.toMatchObject({ kind: 'connection' });
  expect(scrolled).toBe(1);
});

it('asks again where the server has no room, and where the first search fails', async () => {
  let asked = 0;
  server.respond((request): Reply => {
    asked += 1;
    return asked === 1 ? { status: 503 } : asked === 3 ? { status: 429 } : search.answer(request);
  });
  expect((await read({ batch_size: 3 })).records).toEqual(rows);
});

it('fails where parts of the index did not answer', async () => {
  const shards = { total: 2, failed: 1, failures: [{ reason: { reason: 'no such shard' } }] };
  server.respond([{ json: { _shards: shards, hits: { hits: [] } } }]);
  await expect(read()).rejects.toThrow(/1 of its shards: no such shard.*would be missing/);
  server.respond([{ json: { timed_out: true, hits: { hits: [] } } }]);
  await expect(read()).rejects.toThrow(/took too long/);
});

it('fails where parts of the index are nowhere, which some servers do not count as failed', async () => {
  const shards = { total: 5, successful: 4, skipped: 1, failed: 0 };
  server.respond([{ json: { _shards: shards, hits: { hits: [{ _source: {} }] } } }]);
  await expect(read()).rejects.toThrow(/1 of its shards.*would be missing/);
  expect(server.requests[0]?.query.get('allow_partial_search_results')).toBe('false');
});

it('fails where another cluster of the index was left out', async () => {
  const parts = { _shards: { total: 1, successful: 1, failed: 0 }, hits: { hits: [] } };
  for (const _clusters of [
    { total: 2, successful: 1, skipped: 1 },
    { total: 2, successful: 1, skipped: 0, partial: 1, failed: 0 },
  ]) {
    server.respond([{ json: { ...parts, _clusters } }]);
    await expect(read({ index: 'orders,far:orders' })).rejects.toThrow(
      /1 of its clusters.*would be missing/,
    );
  }
});

it('fails where an index keeps no documents, only what they are found by', async () => {
  server.respond([{ json: { hits: { hits: [{ _index: 'orders', _id: '1' }] } } }]);
  await expect(read()).rejects.toThrow(/`orders`.*`_source`/);
});

it('is one plain search with `batch_size: 0`, which must hold everything', async () => {
  const { pages } = await read({ batch_size: 0 });
  expect(pages).toHaveLength(1);
  expect(paths()).toEqual(['POST /orders/_search']);
  server.respond([{ json: { hits: { total: { value: 20_000 }, hits: [{ _source: {} }] } } }]);
  await expect(read({ batch_size: 0 })).rejects.toThrow(/20000 documents/);
});

it('takes values of the parent record into the index and the query', async () => {
  const parent = { year: 2026, id: 3 };
  search.make('orders-2026', rows);
  const config = { index: 'orders-{year}', query: { term: { id: '{id}' } } };
  expect((await read(config, { context: { parent } })).records).toEqual([rows[3]]);
});

it('reads all indexes of a pattern, and keeps digits', async () => {
  search.make('orders-2', [{ big: 12345678901234567890n }] as never);
  const { records } = await read({ index: 'orders*' });
  expect(records).toEqual([...rows, { big: 12345678901234567890n }]);
});

it('sends an API key as the server wants it', async () => {
  const env = testEnv();
  const { signal } = new AbortController();
  const credentials = createCredentials(new Registry(CREDENTIALS), {}, { env, signal });
  await read(
    { auth: { type: 'api_key', config: { key: 'aWQ6a2V5' } } },
    { context: { credentials } },
  );
  expect(server.requests[0]?.headers['authorization']).toBe('ApiKey aWQ6a2V5');
});

it('a query that is no mapping, and a time that is none, do not load', () => {
  const issues = (config: JsonObject) =>
    issuesOf(elasticsearchSource, { base_url: server.url, index: 'a', ...config }).map(
      ({ path }) => path,
    );
  expect(issues({ query: [1] })).toEqual(['query']);
  expect(issues({ scroll_timeout: 'soon' })).toEqual(['scroll_timeout']);
  expect(issues({ auth: { type: 'api_key', config: { header: 'a', value: 'b' } } })).not.toEqual(
    [],
  );
});
