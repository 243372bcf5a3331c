import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startHttpServer, type HttpServer } from '../../../test/fakes/http-server.ts';
import { issuesOf, runSource, type Run, type RunOptions } from '../../../test/fakes/run-source.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { graphqlSource } from './index.ts';

const at = (day: number): string => `2026-01-0${day}T00:00:00Z`;
const rows = [1, 2, 3, 4].map((day): JsonObject => ({ id: day, meta: { at: at(day) } }));
let server: HttpServer;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
});

const incremental = (more: JsonObject = {}): JsonObject => ({
  endpoint: `${server.url}/graphql`,
  query: 'query Q($first: Int, $after: String, $since: String) { list { id meta { at } } }',
  records_path: '$.data.list',
  replication_method: { type: 'Incremental' },
  replication_key: 'meta.at',
  state_key: 'list',
  ...more,
});
const run = (config: JsonObject = {}, options: RunOptions = {}): Promise<Run> =>
  runSource(graphqlSource, incremental(config), options);
const answers = (list: readonly JsonValue[]) => ({ json: { data: { list: [...list] } } });
const variables = (): JsonObject[] =>
  server.requests.map(({ json }) => (json() as { variables: JsonObject }).variables);
const standingAt = (value: JsonValue, records: number): object => ({
  value,
  seen: Array.from({ length: records }, () => expect.any(String) as string),
});
const warnings = ({ env }: Run): string[] =>
  env.lines.filter(({ level }) => level === 'WARN').map(({ line }) => line);

it('keeps what came after the bookmark and stores the largest key on the last page', async () => {
  server.respond([answers(rows)]);
  const first = await run();
  expect(first.records).toEqual(rows);
  expect(first.bookmarks).toEqual([standingAt(at(4), 1)]);
  const late = { id: 5, meta: { at: at(4) } };
  server.respond([answers([...rows, late])]);
  const second = await run({}, { bookmark: first.bookmark as JsonValue });
  expect(second.records).toEqual([late]);
  expect(second.bookmarks).toEqual([standingAt(at(4), 2)]);
  server.respond([answers(rows)]);
  expect((await run({}, { bookmark: at(4) })).pages).toEqual([]);
});

it.each(['meta.at', '/meta/at'])('finds its key at %s', async (key) => {
  server.respond([answers(rows)]);
  const { records } = await run({ replication_key: key }, { bookmark: at(2) });
  expect(records).toEqual(rows.slice(2));
});

it('takes a name with a dot as it is where a record has it', async () => {
  server.respond([answers([{ 'meta.at': at(1) }, { 'meta.at': at(3) }])]);
  expect((await run({}, { bookmark: at(2) })).records).toEqual([{ 'meta.at': at(3) }]);
});

it('holds the bookmark back until the last page, and has none when the reading is cut', async () => {
  const pages = () => {
    const from = 2 * (server.requests.length - 1);
    const pageInfo = { hasNextPage: from < 2, endCursor: `c${from}` };
    return { json: { data: { list: { nodes: rows.slice(from, from + 2), pageInfo } } } };
  };
  const paged = { pagination: {}, records_path: '$.data.list.nodes', batch_size: 2 };
  server.respond(pages);
  const whole = await run(paged);
  expect(whole.pages.map(({ bookmark }) => bookmark)).toEqual([undefined, standingAt(at(4), 1)]);
  server.requests.length = 0;
  expect((await run({ ...paged, max_pages: 1 })).bookmarks).toEqual([]);
  server.requests.length = 0;
  const limited = await run(paged, { limit: 3 });
  expect([limited.records, limited.bookmarks]).toEqual([rows.slice(0, 3), []]);
});

it('sends the bookmark as a variable, in its form and type', async () => {
  server.respond([answers(rows)]);
  const bind = (replication_bind: JsonObject): Promise<Run> =>
    run({ replication_bind, variables: { shop: 7 } }, { bookmark: at(3) });
  await bind({ variable: 'since', format: 'iso8601' });
  await bind({ variable: 'since', format: 'epoch_s' });
  await bind({ variable: 'since', format: 'epoch_s', value_type: 'string' });
  await bind({
    variable: 'since',
    template: '${bookmark}',
    format: 'epoch_ms',
    value_type: 'number',
  });
  await bind({ variable: 'since', template: 'updated:>${bookmark}', format: 'date' });
  await bind({ variable: '/filter/at/gte' });
  const seconds = Date.parse(at(3)) / 1000;
  expect(variables()).toEqual(
    [
      { since: at(3) },
      { since: seconds },
      { since: String(seconds) },
      { since: seconds * 1000 },
      { since: 'updated:>2026-01-03' },
      { filter: { at: { gte: at(3) } } },
    ].map((bound) => ({ shop: 7, ...bound })),
  );
});

it('sends the start of the first run, and nothing without one', async () => {
  server.respond([answers(rows)]);
  const replication_bind = { variable: 'since' };
  await run({ replication_bind });
  const { records } = await run({ replication_bind, start_replication_value: at(3) });
  expect(variables()).toEqual([{}, { since: at(3) }]);
  expect(records).toEqual(rows.slice(2));
});

it('names a bookmark that cannot be written as wanted', async () => {
  server.respond([answers(rows)]);
  const bind = (replication_bind: JsonObject): Promise<Run> =>
    run({ replication_bind }, { bookmark: 'abc' });
  await expect(bind({ variable: 'since', format: 'date' })).rejects.toThrow(/abc.*`date`/);
  await expect(bind({ variable: 'since', value_type: 'number' })).rejects.toThrow(/abc.*`number`/);
});

it.each([
  ['keep', [{ id: 9 }, ...rows.slice(2)]],
  ['drop', rows.slice(2)],
  [null, rows.slice(2)],
])('does with records without the key what `on_missing_key: %s` says', async (wanted, expected) => {
  server.respond([answers([{ id: 9 }, ...rows])]);
  const { records } = await run({ on_missing_key: wanted }, { bookmark: at(2) });
  expect(records).toEqual(expected);
});

it('drops or refuses a record without the key in a first run too, when told to', async () => {
  server.respond([answers([...rows, { id: 9 }])]);
  expect((await run()).records).toHaveLength(5);
  expect((await run({ on_missing_key: 'drop' })).records).toEqual(rows);
  await expect(run({ on_missing_key: 'fail' })).rejects.toThrow(/no value at `replication_key`/);
});

it('keeps no position without `state_key`, and says so', async () => {
  server.respond([answers(rows)]);
  const result = await run({ state_key: null });
  expect([result.records, result.bookmarks]).toEqual([rows, []]);
  expect(warnings(result)).toEqual([expect.stringContaining('`state_key` is not set')]);
  const capabilities = (config: JsonObject) =>
    graphqlSource.capabilities(graphqlSource.config.parse(incremental(config))).bookmarks;
  expect([capabilities({}), capabilities({ state_key: null })]).toEqual([true, false]);
});

it('repeats what `retry_on_response` tells', async () => {
  const busy = { json: { errors: [{ extensions: { code: 'THROTTLED' } }] } };
  server.respond([busy, answers(rows)]);
  const path = '$.errors[*].extensions.code';
  const rule = { body_path: path, values: ['THROTTLED'], match_success: true, backoff_secs: 7 };
  const { records, waits } = await run({ retry_on_response: [rule] });
  expect(records).toEqual(rows);
  expect(waits).toEqual([7000]);
});

it('does not load without a key, nor with fields that would do nothing', () => {
  const issues = (config: JsonObject) =>
    issuesOf(graphqlSource, incremental(config)).map(({ path, code }) => `${code} ${path}`);
  expect(issues({})).toEqual([]);
  expect(issues({ replication_method: 'incremental' })).toEqual([]);
  expect(issues({ replication_key: null })).toEqual(['missing_key replication_key']);
  const full = { replication_method: 'full_table' };
  expect(issues({ ...full, replication_bind: { variable: 'x' }, on_missing_key: 'fail' })).toEqual([
    'invalid_value replication_bind',
    'invalid_value on_missing_key',
  ]);
  expect(issues({ replication_bind: { variable: 'x', template: 'since' } })).toEqual([
    'invalid_value replication_bind.template',
  ]);
});
