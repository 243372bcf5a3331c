import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  clientOf,
  makeTable,
  putAll,
  rowsIn,
} from '../../../test/conformance/fixtures/dynamodb.ts';
import { loginFields, SECRET } from '../../../test/conformance/fixtures/aws.ts';
import { startTables, type Tables } from '../../../test/fakes/aws/dynalite.ts';
import { Fault, faultReply, operationOf } from '../../../test/fakes/aws/protocol.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { sinkContext, sourceContext, testEnv } from '../../../test/fakes/env.ts';
import { startHttpServer, type HttpServer, type Reply } from '../../../test/fakes/http-server.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import { Page } from '../../kit/page.ts';
import type { Share } from '../../kit/share.ts';
import { check } from '../../kit/schema.ts';
import type { WriteResult } from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { dynamodbSink, dynamodbSource } from './index.ts';

let server: HttpServer;
let tables: Tables;
let table: string;

beforeAll(async () => {
  server = await startHttpServer();
  tables = await startTables();
});
afterAll(async () => {
  await server.close();
  await tables.close();
});
beforeEach(async () => {
  server.respond((request) => tables.forward(request));
  table = await makeTable(server.url, [['id', 'N']]);
  server.requests.length = 0;
});

const calls = (operation: string) =>
  server.requests.filter((request) => operationOf(request) === operation);

function parsed(definition: { readonly config: unknown }, config: JsonObject): never {
  const all = { table_name: table, endpoint_url: server.url, ...loginFields, ...config };
  const checked = check(definition.config as never, all);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value as never;
}

async function read(
  config: JsonObject = {},
  parent?: JsonValue,
  share?: Share,
): Promise<JsonObject[]> {
  const env = testEnv({ clock: stillClock() });
  const context = sourceContext({ env, ...(parent === undefined ? {} : { parent }), share });
  const source = await dynamodbSource.open(parsed(dynamodbSource, config), context);
  const pages = await readAll(source);
  return pages.flatMap((page) => page.records() as JsonObject[]);
}

async function write(
  records: readonly JsonObject[],
  config: JsonObject = {},
  partial = false,
): Promise<WriteResult> {
  const env = testEnv({ clock: stillClock() });
  const sink = await dynamodbSink.open(parsed(dynamodbSink, config), sinkContext({ env }));
  try {
    return await sink.write(Page.ofRecords([...records]), { partial });
  } finally {
    await sink.close();
  }
}

const rows = async () =>
  (await rowsIn(server.url, table)).sort((a, b) => Number(a['id']) - Number(b['id']));
const many = (count: number) => Array.from({ length: count }, (_, id) => ({ id, v: `v${id}` }));
const throttled = faultReply(new Fault('ProvisionedThroughputExceededException', 'slow down'));
const upsert = { write_mode: 'upsert', key: ['id'] };

/** Answers the first calls of an operation in place of the service. */
function failing(operation: string, ...replies: readonly Reply[]): void {
  const left = [...replies];
  server.respond((request) =>
    operationOf(request) === operation
      ? (left.shift() ?? tables.forward(request))
      : tables.forward(request),
  );
}

describe('the source', () => {
  it('gives every type of a value as JSON', async () => {
    await clientOf(server.url).putItem({
      TableName: table,
      Item: {
        id: { N: '1' },
        s: { S: 'text' },
        long: { N: '1.2345678901234567890123456789012345678' },
        big: { N: '1152921504606846977' },
        b: { B: Buffer.from('bytes') },
        t: { BOOL: true },
        none: { NULL: true },
        m: { M: { l: { L: [{ N: '1' }, { S: 'a' }] } } },
        ss: { SS: ['a', 'b'] },
        ns: { NS: ['1'] },
        bs: { BS: [Buffer.from('x')] },
      },
    });
    expect(await read()).toEqual([
      {
        id: 1,
        s: 'text',
        long: '1.2345678901234567890123456789012345678',
        big: 1_152_921_504_606_846_977n,
        b: 'Ynl0ZXM=',
        t: true,
        none: null,
        m: { l: [1, 'a'] },
        ss: ['a', 'b'],
        ns: [1],
        bs: ['eA=='],
      },
    ]);
  });

  it('reads all segments, no more than so many at the same time', async () => {
    await putAll(server.url, table, many(60));
    let [open, most] = [0, 0];
    server.respond(async (request) => {
      if (operationOf(request) !== 'Scan') return tables.forward(request);
      open += 1;
      most = Math.max(most, open);
      const answer = await tables.forward(request);
      open -= 1;
      return answer;
    });
    const found = await read({ segments: 7, max_concurrency: 3, page_limit: 4 });
    expect(found.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(
      many(60).map(({ id }) => id),
    );
    const parts = calls('Scan').map((request) => (request.json() as JsonObject)['Segment']);
    expect(new Set(parts)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6]));
    expect(most).toBeLessThanOrEqual(3);
  });

  it('asks for the segments of its share alone', async () => {
    await putAll(server.url, table, many(20));
    await read({ segments: 7, max_concurrency: 2 }, undefined, { index: 1, count: 3 });
    const parts = calls('Scan').map((request) => (request.json() as JsonObject)['Segment']);
    expect(new Set(parts)).toEqual(new Set([1, 4]));
  });

  it('queries by key, with a filter, a projection and values of the parent record', async () => {
    table = await makeTable(server.url, [
      ['c', 'S'],
      ['n', 'N'],
    ]);
    const items = many(10).map(({ id }) => ({
      c: id % 2 === 0 ? 'a' : 'b',
      n: id,
      status: `s${id % 3}`,
      v: id,
    }));
    await putAll(server.url, table, items);
    const config = {
      mode: 'query',
      key_condition_expression: 'c = :c AND n >= :n',
      filter_expression: '#s <> :s',
      projection: ['n', '#s'],
      expression_attribute_names: { '#s': 'status' },
      expression_attribute_values: { ':c': '{customer}', ':n': 2, ':s': { S: 's0' } },
      scan_index_forward: false,
    };
    expect(await read(config, { customer: 'a' })).toEqual([
      { n: 8, status: 's2' },
      { n: 4, status: 's1' },
      { n: 2, status: 's2' },
    ]);
  });

  it('asks again after it was throttled, or its connection was cut', async () => {
    await putAll(server.url, table, many(3));
    failing(
      'Scan',
      throttled,
      { json: {}, breaks: true },
      faultReply(new Fault('InternalServerError', 'oops', 500)),
    );
    expect(await read()).toHaveLength(3);
    expect(calls('Scan')).toHaveLength(4);
  });

  it('gives up after its attempts', async () => {
    server.respond(() => throttled);
    await expect(read({ retry: { max_attempts: 2 } })).rejects.toMatchObject({
      kind: 'rate_limited',
    });
    expect(calls('Scan')).toHaveLength(2);
  });

  it('tells of expired credentials, and shows no secret', async () => {
    server.respond(() => faultReply(new Fault('ExpiredTokenException', `expired\n${SECRET}`)));
    const failure: unknown = await read().catch((error: unknown) => error);
    expect(failure).toMatchObject({ kind: 'auth', hint: expect.stringContaining('credentials') });
    expect(String(failure)).not.toContain(SECRET);
  });

  it('finds tables with the fields of their keys', async () => {
    const found = await dynamodbSource.discover?.(parsed(dynamodbSource, {}), sourceContext());
    expect(found).toContainEqual(
      expect.objectContaining({
        name: table,
        kind: 'table',
        schema: { type: 'object', properties: { id: { type: 'number' } }, required: ['id'] },
        config_patch: { table_name: table },
      }),
    );
  });
});

describe('the sink', () => {
  const batches = () =>
    calls('BatchWriteItem').map((request) => {
      const { RequestItems: items } = request.json() as { RequestItems: Record<string, unknown[]> };
      return items[table]?.length;
    });

  it('writes 25 items with a request, and counts each', async () => {
    expect((await write(many(60))).written).toBe(60);
    expect(batches()).toEqual([25, 25, 10]);
    expect(await rows()).toEqual(many(60));
  });

  it('sends again what the table had no capacity for, and nothing else', async () => {
    let asked = 0;
    server.respond(async (request) => {
      if (operationOf(request) !== 'BatchWriteItem' || (asked += 1) > 2)
        return tables.forward(request);
      if (asked === 1) return throttled;
      const body = request.json() as { RequestItems: Record<string, unknown[]> };
      const all = body.RequestItems[table] ?? [];
      const text = JSON.stringify({ RequestItems: { [table]: all.slice(0, 2) } });
      await tables.forward({ ...request, body: text });
      return { json: { UnprocessedItems: { [table]: all.slice(2) } } };
    });
    expect((await write(many(5))).written).toBe(5);
    expect(batches()).toEqual([5, 5, 3]);
    expect(await rows()).toEqual(many(5));
  });

  it('sends again what came back with its number written in another way', async () => {
    let asked = 0;
    server.respond((request) => {
      if (operationOf(request) !== 'BatchWriteItem' || (asked += 1) > 1)
        return tables.forward(request);
      const put = { PutRequest: { Item: { id: { N: '1E+21' }, v: { S: 'a' } } } };
      return { json: { UnprocessedItems: { [table]: [put] } } };
    });
    await write([{ id: 1e21, v: 'a' }]);
    expect((await rows()).map(({ v }) => v)).toEqual(['a']);
  });

  it('looks at the condition for each record, also of those with one key', async () => {
    const config = {
      condition_expression: 'attribute_not_exists(id)',
      on_condition_failure: 'skip',
    };
    const page = [
      { id: 1, v: 'first' },
      { id: 2, v: 'other' },
      { id: 1, v: 'second' },
    ];
    for (const more of [{}, upsert]) {
      const { written, skipped } = await write(page, { ...config, ...more });
      expect([written, skipped]).toEqual(more === upsert ? [0, 3] : [2, 1]);
      expect((await rows()).map(({ v }) => v)).toEqual(['first', 'other']);
    }
  });

  it('writes a page again whose answer was lost', async () => {
    let cut = false;
    server.respond(async (request) => {
      const answer = await tables.forward(request);
      if (operationOf(request) !== 'BatchWriteItem' || cut) return answer;
      cut = true;
      return { ...answer, breaks: true };
    });
    await write(many(3), upsert);
    expect(await rows()).toEqual(many(3));
  });

  it('replaces and deletes items by their key, whole; the last record of a key counts', async () => {
    await write(
      [
        { id: 1, v: 'a', old: true },
        { id: 2, v: 'b' },
        { id: 3, v: 'c' },
      ] as JsonObject[],
      upsert,
    );
    const marked = { ...upsert, delete_marker: { field: 'op', values: ['d'] } };
    const page = [
      { id: 1, v: 'x', op: 'd' },
      { id: 1, v: 'new', op: 'u' },
      { id: 2, op: 'd' },
    ] as JsonObject[];
    expect((await write(page, marked)).written).toBe(3);
    expect(await rows()).toEqual([
      { id: 1, v: 'new' },
      { id: 3, v: 'c' },
    ]);
    await write([{ id: 3 }, { id: 9 }], { write_mode: 'delete', key: ['id'] });
    expect(await rows()).toEqual([{ id: 1, v: 'new' }]);
    await write([
      { id: 1, v: 'one' },
      { id: 1, v: 'two' },
    ]);
    expect(await rows()).toEqual([{ id: 1, v: 'two' }]);
  });

  it('rejects records without their key or that are too large, and those that the service refuses', async () => {
    const bad: JsonObject[] = [
      { id: 1 },
      { v: 'no key' },
      { id: 'text' },
      { id: 2, v: 'x'.repeat(410_000) },
      { id: 3, n: 10n ** 40n + 1n },
      { id: 4 },
    ];
    const { written, rejected } = await write(bad, {}, true);
    expect([written, rejected.map(({ index }) => index)]).toEqual([2, [1, 2, 3, 4]]);
    expect(await rows()).toEqual([{ id: 1 }, { id: 4 }]);
    await expect(write(bad)).rejects.toMatchObject({ record: 1 });
  });

  it('refuses a key that is not the one of the table', async () => {
    await expect(write([{ id: 1, v: 'a' }], { ...upsert, key: ['v'] })).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('is id'),
    });
  });

  it.each(['fail', 'skip'] as const)(
    'writes under a condition; where it does not hold: %s',
    async (what) => {
      await write([{ id: 1, v: 'old', version: 5 }]);
      const config = {
        ...upsert,
        condition_expression: 'attribute_not_exists(id) OR #v < :new',
        expression_attribute_names: { '#v': 'version' },
        expression_attribute_values: { ':new': 5 },
        on_condition_failure: what,
      };
      const page = [
        { id: 1, v: 'new', version: 4 },
        { id: 2, v: 'b', version: 1 },
      ];
      const { written, skipped = 0, rejected } = await write(page, config, true);
      expect([written, skipped, rejected.length]).toEqual(what === 'skip' ? [1, 1, 0] : [1, 0, 1]);
      expect((await rows()).map(({ v }) => v)).toEqual(['old', 'b']);
      if (what === 'fail')
        await expect(write(page, config)).rejects.toThrow(/condition does not hold/);
    },
  );

  it('keeps all digits of a number, and bytes of a key', async () => {
    table = await makeTable(server.url, [['k', 'B']]);
    await write([{ k: 'Ynl0ZXM=', n: 2n ** 62n + 1n }]);
    const { Items: items = [] } = await clientOf(server.url).scan({ TableName: table });
    expect(items[0]?.['n']).toEqual({ N: String(2n ** 62n + 1n) });
    expect(Buffer.from(items[0]?.['k']?.B ?? []).toString()).toBe('bytes');
  });
});

describe('a config', () => {
  const issues = (definition: { readonly config: unknown }, config: JsonObject) => {
    const checked = check(definition.config as never, { table_name: 'orders', ...config });
    return checked.ok ? [] : checked.issues.map(({ path }) => path);
  };

  it('says what a query and a condition need', () => {
    expect(issues(dynamodbSource, { mode: 'query' })).toEqual(['key_condition_expression']);
    expect(issues(dynamodbSource, { key_condition_expression: 'a = :a' })).toEqual([
      'key_condition_expression',
    ]);
    expect(issues(dynamodbSink, { expression_attribute_values: { ':a': 1 } })).toEqual([
      'expression_attribute_values',
    ]);
    expect(issues(dynamodbSink, { batch_size: 26 })).toEqual(['batch_size']);
    expect(issues(dynamodbSink, { write_mode: 'upsert' })).toEqual(['key']);
  });
});

it('the doctor looks at the key of the table', async () => {
  const probe = async (config: JsonObject) => {
    const context = sinkContext({ env: testEnv({ clock: stillClock() }) });
    const found = (await dynamodbSink.probe?.(parsed(dynamodbSink, config), context)) ?? [];
    return found.map(({ name, status }) => `${name} ${status}`);
  };
  expect(await probe(upsert)).toEqual(['schema pass']);
  expect(await probe({ ...upsert, key: ['v'] })).toEqual(['schema fail']);
  expect(await probe({ table_name: 'none' })).toEqual(['schema fail']);
});
