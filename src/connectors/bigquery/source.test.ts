/** The source against a server that speaks the API and runs the statements. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { BigqueryFault } from '../../../test/fakes/bigquery/fault.ts';
import {
  issuesOf,
  named,
  parsed,
  quickContext,
  read,
} from '../../../test/fakes/bigquery/harness.ts';
import { FakeBigquery } from '../../../test/fakes/bigquery/server.ts';
import type { ConnectorError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { bigquerySource } from './index.ts';

let fake: FakeBigquery;
beforeAll(async () => {
  fake = await FakeBigquery.start();
  await fake.engine.addDataset('shop');
});
afterAll(() => fake.close());
afterEach(() => {
  fake.fault = () => undefined;
  fake.altered = (_asked, answer) => answer;
  fake.pending = 0;
  fake.asked.length = 0;
  fake.cancelled.length = 0;
});

const query = (sql: string, more: JsonObject = {}): JsonObject => ({
  ...fake.config(),
  query: sql,
  ...more,
});
const posted = () =>
  fake.asked.filter(({ method, path }) => method === 'POST' && path === 'queries');
const failure = (config: JsonObject, context = quickContext()): Promise<ConnectorError> =>
  read(config, context).then(
    () => Promise.reject(new Error('it succeeded')),
    (error: unknown) => error as ConnectorError,
  );

it('binds values with their types, and never puts them into the text', async () => {
  const context = quickContext({
    parent: { id: 7, tag: "o'clock" },
    records: new Map([['day', { at: '2026-01-02' }]]),
  });
  const sql =
    "SELECT ? AS a, ? AS b, ? AS c, ? AS d, {tag} AS e, '${day.at}' AS f, '''what? {no}''' AS g, {id} AS h -- why?";
  const rows = await read(query(sql, { params: [1, 2.5, true, null] }), context);
  expect(rows).toEqual([
    { a: 1, b: 2.5, c: true, d: null, e: "o'clock", f: '2026-01-02', g: 'what? {no}', h: 7 },
  ]);
  const types = posted()[0]?.body['queryParameters'] as { parameterType: { type: string } }[];
  expect(types.map(({ parameterType }) => parameterType.type)).toEqual([
    'INT64',
    'FLOAT64',
    'BOOL',
    'STRING',
    'STRING',
    'INT64',
  ]);
  expect(posted()[0]?.body['query']).not.toContain('clock');
});

it('reads the ends of each type', async () => {
  const rows = await read(
    query(
      `SELECT CAST('-9223372036854775808' AS INT64) AS small, CAST('NaN' AS FLOAT64) AS nan, CAST('-Infinity' AS FLOAT64) AS low, CAST('1960-01-01 00:00:00.000001+00' AS TIMESTAMP) AS old, PARSE_JSON('{"a":1.10}') AS doc, CAST('0-0 0 -0:0:1.25' AS INTERVAL) AS span, CAST(NULL AS INTERVAL) AS none, CAST('-0.000000001' AS NUMERIC) AS tiny`,
    ),
  );
  expect(rows).toEqual([
    {
      small: -9_223_372_036_854_775_808n,
      nan: 'NaN',
      low: '-Infinity',
      old: '1960-01-01T00:00:00.000001Z',
      doc: { a: 1.1 },
      span: 'PT-1.25S',
      none: null,
      tiny: '-0.000000001',
    },
  ]);
});

it('refuses what cannot be bound before anything is asked', () => {
  const config = { project_id: 'p', auth: { type: 'application_default' }, query: 'SELECT 1' };
  const issues = (more: JsonObject): string[] => issuesOf(bigquerySource, { ...config, ...more });
  expect(issues({ query: 'SELECT ?' })[0]).toContain('1 placeholders `?`, and `params` has 0');
  expect(issues({ use_legacy_sql: true, query: 'SELECT {a}' })[0]).toContain('no parameters');
  expect(issues({ query: "SELECT 'x ${day.at}'" })[0]).toContain('inside a longer text');
  expect(issues({ auth: { type: 'anonymous' } })[0]).toContain('nobody without a login');
  expect(issues({})).toEqual([]);
});

it('sends legacy SQL as it is', async () => {
  await failure(query('SELECT ? FROM [shop.t]', { use_legacy_sql: true }));
  expect(posted()[0]?.body).toMatchObject({ useLegacySql: true, query: 'SELECT ? FROM [shop.t]' });
});

it('asks for a job until it has ended, with its location', async () => {
  fake.pending = 3;
  expect(await read(query('SELECT 1 AS n'))).toEqual([{ n: 1 }]);
  const polls = fake.asked.filter(({ method }) => method === 'GET');
  expect(polls).toHaveLength(3);
  expect(polls[0]?.query.get('location')).toBe('US');
});

it('reads a result by parts', async () => {
  const sql = 'SELECT n FROM UNNEST(GENERATE_ARRAY(1, 10)) AS n ORDER BY n';
  const rows = await read(query(sql, { max_results_per_page: 4 }));
  expect(rows.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(fake.asked.filter(({ query: words }) => words.has('pageToken'))).toHaveLength(2);
});

it('does not take some parts of a result for the whole', async () => {
  const sql = 'SELECT n FROM UNNEST(GENERATE_ARRAY(1, 10)) AS n ORDER BY n';
  fake.altered = ({ query: words }, answer) => (words.has('pageToken') ? {} : answer);
  const error = await failure(query(sql, { max_results_per_page: 4 }));
  expect(error.message).toBe('the result has 10 rows, and 4 of them came');
});

it('cancels a job that takes longer than it may', async () => {
  const error = await failure(
    query('SELECT 1 /* never ends */', { poll_timeout: 1, statement_timeout: 1 }),
    { ...quickContext(), env: { ...quickContext().env, clock: realClock() } },
  );
  expect([error.kind, error.message]).toEqual(['refused', expect.stringContaining('within 1 s')]);
  expect(fake.cancelled).toHaveLength(1);
});

function realClock() {
  return {
    ...quickContext().env.clock,
    elapsedMs: () => performance.now(),
  };
}

it.each([
  ['backendError', 503],
  ['rateLimitExceeded', 403],
  ['internalError', 500],
])('repeats a request after %s', async (reason, status) => {
  let left = 2;
  fake.fault = () =>
    left-- > 0 ? { fault: new BigqueryFault(status, reason, 'later') } : undefined;
  expect(await read(query('SELECT 1 AS n'))).toEqual([{ n: 1 }]);
  expect(new Set(posted().map(({ body }) => body['requestId'])).size).toBe(1);
});

it('begins a job anew that failed for a reason that passes', async () => {
  let left = 1;
  fake.fault = () =>
    left-- > 0 ? { fault: new BigqueryFault(400, 'jobBackendError', 'later') } : undefined;
  expect(await read(query('SELECT 1 AS n'))).toEqual([{ n: 1 }]);
  expect(new Set(posted().map(({ body }) => body['requestId'])).size).toBe(2);
});

it('does not repeat what a quota refuses, nor a query with an error', async () => {
  fake.fault = () => ({ fault: new BigqueryFault(403, 'quotaExceeded', 'Quota exceeded') });
  const error = await failure(query('SELECT 1'));
  expect([error.kind, error.hint]).toEqual(['refused', expect.stringContaining('quota')]);
  expect(posted()).toHaveLength(1);
  fake.fault = () => undefined;
  expect((await failure(query('SELEC 1'))).kind).toBe('refused');
  expect(posted()).toHaveLength(2);
});

it('lists tables, not views, with the columns of the first hundred', async () => {
  for (let at = 100; at < 200; at += 1)
    await fake.engine.create(named(`t${at}`), 'id INT64 NOT NULL, v STRING, d NUMERIC');
  const [model] = fake.engine.tables.values();
  if (model === undefined) throw new Error('no table');
  for (let at = 200; at < 620; at += 1)
    fake.engine.tables.set(`shop.t${at}`, {
      ...model,
      name: `t${at}`,
      kind: at === 200 ? 'VIEW' : 'TABLE',
    });
  const context = quickContext();
  const found =
    (await bigquerySource.discover?.(parsed(bigquerySource, query('SELECT 1')), context)) ?? [];
  expect(found).toHaveLength(500);
  expect(found.some(({ name }) => name === 'shop.t200')).toBe(false);
  expect(found.filter(({ schema }) => schema !== undefined)).toHaveLength(100);
  expect(found[0]).toEqual({
    name: 'shop.t100',
    kind: 'table',
    estimated_rows: 0,
    schema: {
      type: 'object',
      properties: {
        id: { type: 'integer' },
        v: { type: ['string', 'null'] },
        d: { type: ['string', 'null'] },
      },
    },
    config_patch: {
      query: 'SELECT * FROM `the-project.shop.t100`',
      params: [],
      use_legacy_sql: false,
    },
  });
});

it('is asked in vain by an account without rights, and says so in its probe', async () => {
  fake.fault = () => ({
    fault: new BigqueryFault(403, 'accessDenied', 'Access Denied: no permission'),
  });
  const config = parsed(bigquerySource, query('SELECT 1'));
  expect(await bigquerySource.probe?.(config, quickContext())).toEqual([
    expect.objectContaining({
      name: 'query',
      status: 'fail',
      hint: expect.stringContaining('Job User'),
    }),
  ]);
  fake.fault = () => undefined;
  expect(await bigquerySource.probe?.(config, quickContext())).toEqual([
    { name: 'query', status: 'pass' },
  ]);
  expect(bigquerySource.datasetUri(config)).toBe('bigquery://the-project?query=SELECT 1');
});
