import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startHttpServer, type HttpServer } from '../../../test/fakes/http-server.ts';
import { issuesOf, runSource, type Run, type RunOptions } from '../../../test/fakes/run-source.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { graphqlSource } from './index.ts';

const QUERY = 'query Q($first: Int, $after: String, $shop: ID) { list { id } }';
const rows = Array.from({ length: 7 }, (_, index): JsonObject => ({ id: index + 1 }));
let server: HttpServer;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
});

function run(config: JsonObject = {}, options: RunOptions = {}): Promise<Run> {
  const base = {
    endpoint: `${server.url}/graphql`,
    query: QUERY,
    records_path: '$.data.list.nodes',
  };
  return runSource(graphqlSource, { ...base, ...config }, options);
}

const sent = () =>
  server.requests.map(({ json }) => json() as { query: string; variables: JsonObject });
const variables = () => sent().map((body) => body.variables);
const page = (from: number, info?: JsonObject) => ({
  json: { data: { list: { nodes: rows.slice(from, from + 3), pageInfo: info } } },
});
const warnings = ({ env }: Run) =>
  env.lines.filter(({ level }) => level === 'WARN').map(({ line }) => line);

describe('the request', () => {
  it('is a POST of the query and its variables, with the login', async () => {
    server.respond([page(0)]);
    const { records } = await run(
      {
        variables: { shop: 's1', big: 12345678901234567890n } as never,
      },
      {
        context: {
          credentials: {
            resolve: () => ({
              get: () => Promise.resolve({ headers: { 'X-Key': 'k1' }, query: {} }),
              invalidate: () => {},
            }),
          },
        },
      },
    );
    expect(records).toEqual(rows.slice(0, 3));
    expect(server.requests).toMatchObject([{ method: 'POST', headers: { 'x-key': 'k1' } }]);
    expect(server.requests[0]?.body).toContain('"big":12345678901234567890');
    expect(sent()).toMatchObject([{ query: QUERY, variables: { shop: 's1' } }]);
  });

  it('carries a login of the address, also one with a plain `%`', async () => {
    server.respond([page(0)]);
    await run({ endpoint: server.url.replace('//', '//u:50%off@') });
    expect(server.requests[0]?.headers['authorization']).toBe(
      `Basic ${Buffer.from('u:50%off').toString('base64')}`,
    );
  });

  it('takes variables that the query declares from the parent record', async () => {
    server.respond([page(0)]);
    const parent = { shop: 's2', first: 9, other: true };
    await run({ variables: { first: 2 } }, { context: { parent } });
    expect(variables()).toEqual([{ first: 2, shop: 's2' }]);
  });
});

describe('records', () => {
  it('are `data` as a whole when there is no path', async () => {
    server.respond([page(0)]);
    const { records } = await runSource(graphqlSource, {
      endpoint: server.url,
      query: '{ list { id } }',
    });
    expect(records).toEqual([{ list: { nodes: rows.slice(0, 3) } }]);
  });

  it('keep the digits of their numbers', async () => {
    server.respond([
      {
        headers: { 'content-type': 'application/json' },
        body: '{"data":{"list":{"nodes":[{"id":90071992547409931,"p":1.10}]}}}',
      },
    ]);
    const [record] = (await run()).records as { id: unknown }[];
    expect(record?.id).toBe(90071992547409931n);
  });
});

describe('a cursor', () => {
  it('is followed until the server says that there is no other page', async () => {
    server.respond([
      page(0, { hasNextPage: true, endCursor: 'a' }),
      page(3, { hasNextPage: true, endCursor: 'b' }),
      page(6, { hasNextPage: false, endCursor: 'c' }),
    ]);
    const result = await run({ pagination: {}, batch_size: 3 });
    expect(result.records).toEqual(rows);
    expect(variables()).toEqual([{ first: 3 }, { first: 3, after: 'a' }, { first: 3, after: 'b' }]);
    expect(warnings(result)).toEqual([]);
  });

  it.each<JsonObject>([{}, { endCursor: null }, { endCursor: '' }, { endCursor: 'a' }])(
    'ends with %j, whatever is promised, with a warning',
    async (last) => {
      server.respond([
        page(0, { hasNextPage: true, endCursor: 'a' }),
        page(3, { hasNextPage: true, ...last }),
      ]);
      const result = await run({ pagination: { type: 'cursor' } });
      expect(result.records).toEqual(rows.slice(0, 6));
      expect(server.requests).toHaveLength(2);
      expect(warnings(result)).toEqual([expect.stringContaining('without a new cursor')]);
    },
  );

  it('ends the reading when it was there before', async () => {
    server.respond((request) => {
      const { variables: given } = request.json() as { variables: JsonObject };
      return page(0, { hasNextPage: true, endCursor: given['after'] === 'a' ? 'b' : 'a' });
    });
    await run({ pagination: {}, max_pages: 9 });
    expect(variables().map(({ after }) => after)).toEqual([undefined, 'a', 'b']);
  });

  it('decides where the answer does not say whether there is another page, with one warning', async () => {
    server.respond([page(0, { endCursor: 'a' }), page(3, { endCursor: 'b' }), page(6, {})]);
    const result = await run({ pagination: {} });
    expect(result.records).toEqual(rows);
    expect(warnings(result)).toEqual([expect.stringContaining('its cursor decides')]);
  });

  it('has names and paths of its own, and no size when the server decides', async () => {
    server.respond([
      { json: { data: { list: { nodes: rows.slice(0, 3) } }, more: true, at: 7 } },
      { json: { data: { list: { nodes: rows.slice(3) } }, more: false } },
    ]);
    await run({
      batch_size: 0,
      pagination: { has_next_page_path: '$.more', cursor_path: '$.at', cursor_variable: 'seek' },
    });
    expect(variables()).toEqual([{}, { seek: 7 }]);
  });

  it('is left after `max_pages`, with a warning', async () => {
    server.respond(() => page(0, { hasNextPage: true, endCursor: `c${server.requests.length}` }));
    const result = await run({ pagination: {}, max_pages: 2 });
    expect(result.records).toHaveLength(6);
    expect(warnings(result)).toEqual([expect.stringContaining('max_pages')]);
  });
});

describe('an offset', () => {
  it('counts records until a short page', async () => {
    server.respond([page(0), page(3), page(6)]);
    const style = { type: 'Offset', offset_variable: 'skip', page_size: 3 };
    expect((await run({ pagination: style })).records).toEqual(rows);
    expect(variables()).toEqual([{ skip: 0 }, { skip: 3 }, { skip: 6 }]);
  });

  it('goes on to an empty page when short ones do not count, and may stand in the query', async () => {
    server.respond([page(0), page(6), page(9)]);
    await run({
      query: '{ list(skip: $skip, x: $skipped) { id } }',
      pagination: {
        type: 'offset',
        offset_variable: 'skip',
        page_size: 3,
        stop_when_short: false,
        substitute_in_query: true,
      },
    });
    expect(sent().map(({ query }) => query)).toEqual([
      '{ list(skip: 0, x: $skipped) { id } }',
      '{ list(skip: 3, x: $skipped) { id } }',
      '{ list(skip: 4, x: $skipped) { id } }',
    ]);
    expect(variables()).toEqual([{}, {}, {}]);
  });
});

describe('what the server refuses', () => {
  it('fails with its messages, and without data it says so', async () => {
    const messages = ['a', 'b', 'c', 'd'].map((message) => ({ message }));
    server.respond([{ json: { errors: messages } }]);
    await expect(run()).rejects.toThrow(/refuses the query: a; b; c; and 1 more/);
    server.respond([{ json: { list: [] } }]);
    await expect(run()).rejects.toThrow(/answers without `data`/);
  });

  it('is told where a redirect would leave out the query', async () => {
    server.respond([{ status: 301, headers: { location: '/moved' } }]);
    await expect(run()).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('/moved, where it would arrive without its body') as string,
    });
    expect(server.requests).toHaveLength(1);
    server.respond(({ path }) =>
      path === '/moved' ? page(0) : { status: 308, headers: { location: '/moved' } },
    );
    expect((await run()).records).toHaveLength(3);
  });

  it('or what is no JSON at all is told with a hint to the address', async () => {
    server.respond([{ body: '<html>' }, { status: 404 }]);
    for (const text of [/not JSON/, /404/])
      await expect(run()).rejects.toMatchObject({
        message: expect.stringMatching(text) as string,
        hint: expect.stringContaining('check the address') as string,
      });
  });

  it('in the place of a page that the one before has named ends the run', async () => {
    const errors = [{ message: 'try again' }];
    const data = { list: null };
    server.respond([page(0, { hasNextPage: true, endCursor: 'a' }), { json: { data, errors } }]);
    await expect(run({ pagination: {} })).rejects.toMatchObject({
      kind: 'data',
      message: `${server.url}/graphql gives a page without records, or without its end: try again`,
    });
  });

  it('in the place of all records ends the run, on the first page too', async () => {
    const errors = [{ message: 'try again' }];
    const failed = { json: { data: { list: null }, errors } };
    server.respond([failed]);
    for (const records_path of ['$.data.list.nodes[*]', '$.data.list'])
      await expect(run({ records_path })).rejects.toThrow(/without records.*: try again/);
    const offset = { type: 'Offset', offset_variable: 'o', page_size: 3 };
    server.respond([page(0), failed]);
    await expect(run({ pagination: offset })).rejects.toThrow(/without records.*: try again/);
    server.respond([{ json: { data: { list: { nodes: [] } }, errors } }]);
    expect((await run()).records).toEqual([]);
  });

  it('in the place of what tells the end of the pages ends the run', async () => {
    const errors = [{ message: 'try again' }];
    const data = { list: { ...page(0).json.data.list, pageInfo: null } };
    server.respond([{ json: { data, errors } }]);
    await expect(run({ pagination: {} })).rejects.toThrow(/without its end: try again/);
  });

  it('in part is read, with one warning', async () => {
    const errors = [{ message: 'no stock' }];
    const info = { hasNextPage: true, endCursor: 'a' };
    server.respond([
      { json: { ...page(0, info).json, errors } },
      { json: { ...page(3, { hasNextPage: false }).json, errors } },
    ]);
    const result = await run({ pagination: {} });
    expect(result.records).toEqual(rows.slice(0, 6));
    expect(warnings(result)).toEqual([expect.stringContaining('some fields are null')]);
  });

  it('for a while is asked again, twice', async () => {
    server.respond([{ status: 503 }, { status: 502 }, page(0)]);
    const { records, waits } = await run();
    expect(records).toHaveLength(3);
    expect(waits).toHaveLength(2);
    server.respond([{ status: 503 }]);
    await expect(run()).rejects.toThrow(/503/);
    expect(server.requests).toHaveLength(6);
  });
});

it('types are those of `columns`', async () => {
  server.respond([page(0)]);
  const { pages } = await run({ columns: { id: 'float64' } });
  expect(pages[0]?.schema?.fields).toMatchObject([{ name: 'id', type: { kind: 'float64' } }]);
});

it('a config without a query, with an unknown style or a bad variable does not load', () => {
  const issues = (config: JsonObject) =>
    issuesOf(graphqlSource, { endpoint: 'https://x.test', query: '{ a }', ...config }).map(
      ({ path }) => path,
    );
  expect(issues({})).toEqual([]);
  expect(issuesOf(graphqlSource, { endpoint: 'ftp://x' }).map(({ path }) => path)).toEqual([
    'endpoint',
    'query',
  ]);
  expect(issues({ pagination: { type: 'Pages' } })).toEqual(['pagination.type']);
  for (const pagination of ['none', { type: 'None' }, null])
    expect(issues({ pagination })).toEqual([]);
  const sized = { pagination: {}, batch_size: 0, query: 'query Q($first : Int!) { a }' };
  expect(issues(sized)).toEqual(['batch_size']);
  for (const query of ['query Q($first: Int) { a }', 'query Q($first: Int! = 5) { a }'])
    expect(issues({ ...sized, query })).toEqual([]);
  expect(issues({ ...sized, variables: { first: 5 } })).toEqual([]);
  expect(issues({ pagination: { cursor_variable: '$after' } })).toEqual([
    'pagination.cursor_variable',
  ]);
});
