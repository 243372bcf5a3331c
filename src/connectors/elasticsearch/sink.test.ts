import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FakeSearch } from '../../../test/fakes/elasticsearch.ts';
import { sinkContext, testEnv } from '../../../test/fakes/env.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { startHttpServer, type HttpServer, type Reply } from '../../../test/fakes/http-server.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Sink, WriteResult } from '../../kit/sink.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { elasticsearchSink } from './index.ts';

let server: HttpServer;
let search: FakeSearch;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());
beforeEach(() => {
  search = new FakeSearch();
  server.requests.length = 0;
  server.respond((request) => search.answer(request));
});

const env = () => testEnv({ clock: stillClock('2026-02-01T00:00:00Z') });

function parsed(config: JsonObject) {
  const checked = check(elasticsearchSink.config, { base_url: server.url, index: 'a', ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

function opened(config: JsonObject = {}, role: 'main' | 'dlq' = 'main'): Promise<Sink> {
  return elasticsearchSink.open(parsed(config), sinkContext({ env: env(), role }));
}

async function write(
  records: readonly JsonObject[],
  config: JsonObject = {},
  partial = false,
): Promise<WriteResult> {
  const sink = await opened(config);
  try {
    const result = await sink.write(Page.ofRecords([...records]), { partial });
    await sink.flush();
    await sink.finish('success');
    return result;
  } finally {
    await sink.close();
  }
}

const bulks = () =>
  server.requests.filter(({ path }) => path.endsWith('/_bulk')).map(({ body }) => body);
const ids = (index = 'a') => [...(search.indexes.get(index)?.documents.keys() ?? [])];
const upsert = { write_mode: 'upsert', key: ['id'] };

describe('the id of a document', () => {
  it('is made by the server, or taken from `id_field` where a record has it', async () => {
    await write([{ id: 7, v: 'x' }, { v: 'y' }], { id_field: 'id' });
    expect(ids()).toEqual(['7', expect.stringContaining('made')]);
    expect(server.requests[0]?.headers['content-type']).toBe('application/x-ndjson');
  });

  it('is the value of one key as text, and the list of several as JSON', async () => {
    await write([{ id: 'x y' }, { id: 12345678901234567890n }] as never, upsert);
    await write([{ a: 1, b: 'q' }], { ...upsert, key: ['a', 'b'] });
    expect(ids()).toEqual(['x y', '12345678901234567890', '[1,"q"]']);
  });

  it('that is too long is refused with its record, and nothing of the page is sent', async () => {
    await expect(write([{ id: 'a' }, { id: 'x'.repeat(513) }], upsert)).rejects.toThrow(
      /513 bytes/,
    );
    expect(bulks()).toEqual([]);
  });
});

describe('a page', () => {
  it('replaces and deletes documents by their key, whole, and a missing one is no failure', async () => {
    await write(
      [
        { id: 1, v: 'a', old: true },
        { id: 2, v: 'b' },
      ],
      upsert,
    );
    const marked = { ...upsert, delete_marker: { field: 'op', values: ['d'] } };
    const { written } = await write(
      [
        { id: 1, v: 'new', op: 'u' },
        { id: 2, op: 'd' },
        { id: 3, op: 'd' },
      ],
      marked,
    );
    expect(written).toBe(3);
    expect(search.rows('a')).toEqual([{ id: 1, v: 'new' }]);
  });

  it('rejects the records that the server refuses, and fails without a queue for them', async () => {
    await write([{ id: 1, n: 1 }], upsert);
    const bad = [
      { id: 2, n: 'no number' },
      { id: 3, n: 3 },
    ];
    const { written, rejected } = await write(bad, upsert, true);
    expect([written, rejected.map(({ index }) => index)]).toEqual([1, [0]]);
    expect(rejected[0]?.error.message).toMatch(/document_parsing_exception: failed to parse field/);
    await expect(write(bad, upsert)).rejects.toThrow(/a record cannot be written.*failed to parse/);
  });

  it('sends again what the server has no room for, and nothing else', async () => {
    let asked = 0;
    const busy = { index: { status: 429, error: { type: 'es_rejected_execution_exception' } } };
    server.respond((request): Reply => {
      const isBulk = request.path.endsWith('/_bulk');
      if (isBulk) asked += 1;
      return isBulk && asked === 1
        ? { json: { errors: true, items: [{ index: { status: 201 } }, busy] } }
        : search.answer(request);
    });
    await write([{ id: 1 }, { id: 2 }], upsert);
    expect(bulks().map((text) => text.split('\n').length - 1)).toEqual([4, 2]);
    expect(ids()).toEqual(['2']);
    server.respond(() => ({ json: { errors: true, items: [busy] } }));
    await expect(write([{ id: 1 }], upsert)).rejects.toMatchObject({ kind: 'rate_limited' });
  });

  it.each([
    ['is sent again after its answer was lost where all ids are known', { id_field: 'id' }, 2],
    ['fails after its answer was lost where the server made an id: twice is not once', {}, 1],
  ] as const)('%s', async (_title, config, sent) => {
    let asked = 0;
    server.respond((request): Reply => {
      const answer = search.answer(request);
      if (!request.path.endsWith('/_bulk')) return answer;
      asked += 1;
      return asked === 1 ? { ...answer, breaks: true } : answer;
    });
    const written = write([{ id: 1 }, { id: 2 }], config);
    if (sent === 2) await written;
    else await expect(written).rejects.toMatchObject({ kind: 'connection' });
    expect(bulks()).toHaveLength(sent);
    expect(ids()).toHaveLength(2);
  });

  it('is sent in parts of `batch_size`', async () => {
    const records = Array.from({ length: 5 }, (_, id) => ({ id }));
    await write(records, { batch_size: 2 });
    expect(bulks().map((text) => text.split('\n').length - 1)).toEqual([4, 4, 2]);
  });
});

it('documents are found by searches after a flush, also where the login may not refresh', async () => {
  await write([{ id: 1 }]);
  expect(search.indexes.get('a')?.seen.size).toBe(1);
  server.respond((request): Reply =>
    request.path.endsWith('/_refresh') ? { status: 403 } : search.answer(request),
  );
  expect((await write([{ id: 2 }])).written).toBe(1);
});

describe('an overwrite', () => {
  const replacing = { write_mode: 'overwrite', index: 'shop' };

  it('puts a new index behind the alias, with the mapping of the old one, which it drops', async () => {
    await write([{ id: 1 }], replacing);
    const [first = ''] = search.indexes.keys();
    expect(first).toMatch(/^shop-svc-ovw-/);
    Object.assign(search.indexes.get(first) ?? {}, {
      mappings: { properties: { id: { type: 'long' }, at: { type: 'date' } } },
    });
    search.make('shop-svc-ovw-left-by-a-killed-run', [{ id: 0 }]);
    search.make('shop-archive', [{ id: 0 }]);
    await write([{ id: 2 }, { id: 3 }], replacing);
    expect(search.rows('shop')).toEqual([{ id: 2 }, { id: 3 }]);
    const [made = ''] = [...search.indexes.keys()].filter((name) => name.includes('ovw'));
    expect([...search.indexes.keys()].sort()).toEqual(['shop-archive', made]);
    expect(search.indexes.get(made)?.mappings['properties']).toHaveProperty('at');
  });

  it('is kept when it ends just as another run looks for what others have collected', async () => {
    await write([{ id: 1 }], replacing);
    const one = await opened(replacing);
    await one.write(Page.ofRecords([{ id: 2 }]), { partial: false });
    const other = await opened(replacing);
    let ended: Promise<void> | undefined;
    server.respond(async (request) => {
      const reply = search.answer(request);
      if (!request.path.includes('svc-ovw-*') || ended !== undefined) return reply;
      ended = one.finish('success');
      await ended;
      return reply;
    });
    await other.write(Page.ofRecords([{ id: 3 }]), { partial: false });
    expect(search.rows('shop')).toEqual([{ id: 2 }]);
    await other.finish('failed');
    expect(search.rows('shop')).toEqual([{ id: 2 }]);
    for (const sink of [one, other]) await sink.close();
    expect([...search.indexes.keys()].filter((name) => name.endsWith('-ticket'))).toEqual([]);
  });

  it('shows nothing when another run has dropped its ticket, whatever was collected since', async () => {
    await write([{ id: 1 }], replacing);
    const one = await opened(replacing);
    await one.write(Page.ofRecords([{ id: 2 }]), { partial: false });
    const other = await opened(replacing);
    await other.write(Page.ofRecords([{ id: 3 }]), { partial: false });
    // The server makes an index that is not there.
    await one.write(Page.ofRecords([{ id: 4 }]), { partial: false });
    await expect(one.finish('success')).rejects.toThrow('another run has started to replace');
    await other.finish('success');
    expect(search.rows('shop')).toEqual([{ id: 3 }]);
    for (const sink of [one, other]) await sink.close();
  });

  it('refuses an index, which cannot be replaced at once', async () => {
    search.make('shop', [{ id: 1 }]);
    await expect(write([{ id: 2 }], replacing)).rejects.toThrow(/is an index, which cannot/);
    expect(search.rows('shop')).toEqual([{ id: 1 }]);
  });

  it('ends where another run has begun to replace the same', async () => {
    const sink = await opened(replacing);
    await sink.write(Page.ofRecords([{ id: 1 }]), { partial: false });
    await write([{ id: 2 }], replacing);
    await expect(sink.finish('success')).rejects.toThrow(/another run|404/);
    await sink.close();
    expect(search.rows('shop')).toEqual([{ id: 2 }]);
  });
});

it('documents that vanished at the source are removed, within the scope alone', async () => {
  const rows = [1, 2, 3, 4].map((id) => ({ id, region: id === 4 ? 'south' : 'far north' }));
  await write(rows, upsert);
  const sink = await opened(upsert);
  const keys = [[1], [3]];
  expect(await sink.sweep?.({ scope: { region: 'far north' }, keys })).toBe(1);
  expect(ids()).toEqual(['1', '3', '4']);
  expect(search.scrolls.size).toBe(0);
  server.respond((request) =>
    request.path.endsWith('/_search')
      ? { json: { timed_out: true, hits: { hits: [] } } }
      : search.answer(request),
  );
  await expect(sink.sweep?.({ scope: { region: 'far north' }, keys })).rejects.toThrow(/too long/);
  server.respond((request) => search.answer(request));
  await expect(sink.sweep?.({ scope: { regoin: 'x' }, keys })).rejects.toThrow(/no field `regoin`/);
  await sink.close();
});

it('fields are added to the mapping, and one that is there cannot be changed', async () => {
  await write([{ id: 1 }]);
  const { schema } = await opened();
  const add = [{ name: 'extra', type: 'string' as const }];
  await schema?.evolve?.({ add, widen: [], relaxNull: [] });
  await schema?.evolve?.({ add, widen: [], relaxNull: [] });
  expect(await schema?.current()).toEqual([
    { name: 'id', types: ['integer', 'array'], nullable: true },
    { name: 'extra', types: ['string', 'array'], nullable: true },
  ]);
  const widen = [{ name: 'id', type: 'number' as const }];
  await expect(schema?.evolve?.({ add: [], widen, relaxNull: [] })).rejects.toThrow(
    /cannot be changed/,
  );
  expect(await (await opened({ index: 'none' })).schema?.current()).toBeUndefined();
});

it('dead letters are added, whatever the mode', async () => {
  const sink = await opened({ index: 'dead', ...upsert }, 'dlq');
  await sink.write(Page.ofRecords([{ reason: 'x' }]), { partial: false });
  await sink.close();
  expect(search.rows('dead')).toEqual([{ reason: 'x' }]);
});

it('the doctor looks at the cluster and at the index, and writes nothing', async () => {
  const probe = async (config: JsonObject) => {
    const context = sinkContext({ env: env() });
    const found = (await elasticsearchSink.probe?.(parsed(config), context)) ?? [];
    return found.map(({ name, status }) => `${name} ${status}`);
  };
  search.make('a');
  expect(await probe({})).toEqual(['health pass', 'schema pass']);
  expect(await probe({ write_mode: 'overwrite' })).toEqual(['health pass', 'schema fail']);
  expect(await probe({ base_url: 'http://127.0.0.1:1' })).toEqual(['health fail']);
  expect(server.requests.every(({ method }) => method === 'GET')).toBe(true);
});

it('a config with `id_field` beside a key, or a name that no index has, does not load', () => {
  const issues = (config: JsonObject) => {
    const checked = check(elasticsearchSink.config, {
      base_url: server.url,
      index: 'a',
      ...config,
    });
    return checked.ok ? [] : checked.issues.map(({ path }) => path);
  };
  expect(issues({ ...upsert, id_field: 'id' })).toEqual(['id_field']);
  for (const index of ['Upper', '_own', 'a*', 'a,b', 'a b'])
    expect(issues({ index })).toEqual(['index']);
  expect(issues({ write_mode: 'delete' })).toEqual(['key']);
});
