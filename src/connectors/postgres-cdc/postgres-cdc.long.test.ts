import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  ordered,
  PUBLICATION,
  ReplicatedTable,
  SLOT,
} from '../../../test/conformance/fixtures/replicated-table.ts';
import { sourceContext, testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import { tcpProxy } from '../../../test/fakes/tcp-proxy.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import { fieldOf } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import type { Source } from '../../kit/source.ts';
import { schemaText } from '../../kit/type-text.ts';
import { fieldFault } from '../../kit/typed-values.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { postgresCdcSource } from './index.ts';

let server: ReplicatedTable;

beforeAll(async () => {
  server = await ReplicatedTable.start();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(() => server.renew());

const run = (sql: string): Promise<unknown> => server.client.query(sql);

type Reading = JsonObject;

/** A run that ends when nothing has come for half a second; what does come ends the others. */
function open(
  more: Reading = {},
  context: Parameters<typeof sourceContext>[0] = {},
): Promise<Source> {
  const checked = check(postgresCdcSource.config, {
    connection_url: server.url,
    slot_name: SLOT,
    publication_name: PUBLICATION,
    idle_timeout: 0.5,
    ...more,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return postgresCdcSource.open(checked.value, sourceContext(context));
}

interface ReadOptions {
  /** Changes that come, after which the run ends. */
  readonly count?: number;
  readonly bookmark?: JsonValue | undefined;
  readonly limit?: number;
  readonly env?: TestEnv;
  /** As the engine does once a page is stored. */
  readonly acknowledges?: boolean;
  readonly onPage?: (page: Page, source: Source) => Promise<void> | void;
}

async function read(
  more: Reading = {},
  { count, bookmark, limit, env = testEnv(), acknowledges = false, onPage }: ReadOptions = {},
) {
  const ends: JsonObject = count === undefined ? {} : { max_messages: count, idle_timeout: 60 };
  const source = await open({ ...ends, ...more }, { env });
  const pages: Page[] = [];
  const request = {
    lane: RECORDS_LANE,
    ...(bookmark === undefined ? {} : { bookmark }),
    ...(limit === undefined ? {} : { limit }),
  };
  try {
    for await (const page of source.pages(request)) {
      pages.push(page);
      await onPage?.(page, source);
      if (acknowledges && page.bookmark !== undefined) await source.acknowledge?.(page.bookmark);
    }
  } finally {
    await source.close();
  }
  return {
    pages,
    records: pages.flatMap((page) => page.records() as JsonObject[]),
    bookmark: pages.findLast((page) => page.bookmark !== undefined)?.bookmark,
  };
}

const images = (records: readonly JsonObject[]) =>
  records.map(({ op, before, after }) => [op, before, after]);
const ids = (records: readonly JsonObject[]) =>
  records.map(({ after }) => (after as JsonObject)['id']);

describe('values', () => {
  test('have the forms that the source postgres gives them', async () => {
    await run(`DROP TYPE IF EXISTS mood; CREATE TYPE mood AS ENUM ('sad', 'happy');
      DROP DOMAIN IF EXISTS counted; CREATE DOMAIN counted AS int CHECK (value > 0)`);
    await server.renew(`id int PRIMARY KEY, small smallint, big bigint, exact numeric, ratio float8, odd float8[],
      yes bool, at timestamptz, wall timestamp, day date, span interval, bytes bytea, doc jsonb, raw json,
      tags text[], grid int[], feel mood, feels mood[], many counted, u uuid, ip inet, beyond timestamptz, bom text`);
    await run(`INSERT INTO orders VALUES (1, 2, 9007199254740993, 1.50, 0.5, '{NaN,Infinity,-Infinity,1}',
      true, '2024-05-06 07:08:09.5+02', '2024-05-06 07:08:09', '2024-05-06', '1 day 2 hours', '\\x00ff', '{"a": 1.0, "b": null}', 'null',
      '{"a,b",NULL}', '{{1,2},{3,4}}', 'happy', '{sad,happy}', 3, 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '10.0.0.1', 'infinity', E'\\uFEFFx')`);
    const { records } = await read({}, { count: 1 });
    expect(records[0]?.['after']).toMatchObject({
      id: 1,
      small: 2,
      big: 9_007_199_254_740_993n,
      exact: '1.50',
      ratio: 0.5,
      odd: ['NaN', 'Infinity', '-Infinity', 1],
      yes: true,
      at: '2024-05-06T05:08:09.5Z',
      wall: '2024-05-06T07:08:09',
      day: '2024-05-06',
      span: 'P1DT2H',
      bytes: 'AP8=',
      doc: { a: 1, b: null },
      tags: ['a,b', null],
      grid: [
        [1, 2],
        [3, 4],
      ],
      feel: 'happy',
      feels: ['sad', 'happy'],
      many: 3,
      u: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
      ip: '10.0.0.1',
      beyond: 'infinity',
      bom: '\ufeffx',
    });
  });

  test('have types that are told of the rows, in pages of one table', async () => {
    await run(`DROP TYPE IF EXISTS mood; CREATE TYPE mood AS ENUM ('sad', 'happy');
      DROP DOMAIN IF EXISTS counted; CREATE DOMAIN counted AS numeric(9, 2)`);
    await server.renew(`id int PRIMARY KEY, price numeric(5,2), exact numeric, ratio float4, at timestamptz, day date,
      bytes bytea, doc jsonb, tags text[], feel mood, feels mood[], many counted, code char(3), u uuid`);
    await run(`INSERT INTO orders VALUES (1, 1.50, 2.5, 0.5, '2024-05-06 07:08:09.5+02', '2024-05-06',
      '\\x00ff', '{"a": 1}', '{a,NULL}', 'happy', '{sad,happy}', 3, 'ab', gen_random_uuid())`);
    const { pages, records } = await read({}, { count: 1 });
    const inside = fieldOf(pages[0]?.schema, 'after')?.inside ?? [];
    expect(schemaText({ fields: inside })).toBe(
      'id: int32, price: decimal(5, 2), exact: decimal, ratio: float32, at: timestamp(us, UTC), day: date, bytes: binary, doc: json, tags: list(utf8), feel: utf8, feels: list(utf8), many: decimal, code: utf8, u: uuid',
    );
    expect(inside.map(({ native }) => native?.name)).toContain('character(3)');
    const after = records[0]?.['after'] as JsonObject;
    expect(fieldFault(after, { fields: inside })).toBeUndefined();
  });

  test('that did not change and are stored elsewhere are named, or come from the old row', async () => {
    await server.renew('id int PRIMARY KEY, n int, long text');
    await run(`ALTER TABLE orders ALTER COLUMN long SET STORAGE EXTERNAL;
      INSERT INTO orders VALUES (1, 1, repeat('x', 10000))`);
    await run('UPDATE orders SET n = 2');
    await run('ALTER TABLE orders REPLICA IDENTITY FULL');
    await run('UPDATE orders SET n = 3');
    const long = 'x'.repeat(10_000);
    expect(images((await read({}, { count: 3 })).records)).toEqual([
      ['insert', null, { id: 1, n: 1, long }],
      ['update', null, { id: 1, n: 2, __unchanged_toast__: ['long'] }],
      ['update', { id: 1, n: 2, long }, { id: 1, n: 3, long }],
    ]);
  });

  test('of a key are there, also where they are stored elsewhere', async () => {
    await server.renew('name text, part int, n int, PRIMARY KEY (name, part)');
    await run(`ALTER TABLE orders ALTER name SET STORAGE EXTERNAL`);
    await run(
      `INSERT INTO orders SELECT string_agg(md5(i::text), ''), 1, 1 FROM generate_series(1, 80) AS i`,
    );
    await run(`UPDATE orders SET n = 2`);
    await run(`UPDATE orders SET part = 2`);
    const { records } = await read({}, { count: 3 });
    const [name] = records.map(({ after }) => (after as JsonObject)['name']);
    expect(records.map(({ after }) => after)).toEqual([
      { name, part: 1, n: 1 },
      { name, part: 1, n: 2 },
      { name, part: 2, n: 2 },
    ]);
  });

  test('of a key that has changed are told, and the whole row where it is logged', async () => {
    await server.renew('id int PRIMARY KEY, n text');
    await run(`INSERT INTO orders VALUES (1, 'a')`);
    await run('UPDATE orders SET id = 2');
    await run('ALTER TABLE orders REPLICA IDENTITY FULL');
    await run('DELETE FROM orders');
    expect(images((await read({}, { count: 3 })).records).slice(1)).toEqual([
      ['update', { id: 1 }, { id: 2, n: 'a' }],
      ['delete', { id: 2, n: 'a' }, null],
    ]);
  });

  test('of columns that were added come, and the change is logged', async () => {
    await server.renew('id int PRIMARY KEY');
    await run('INSERT INTO orders VALUES (1)');
    await run('ALTER TABLE orders ADD COLUMN added text DEFAULT $$new$$');
    await run('INSERT INTO orders VALUES (2)');
    const env = testEnv();
    const { records } = await read({}, { env, count: 2 });
    expect(records.map(({ after }) => after)).toEqual([{ id: 1 }, { id: 2, added: 'new' }]);
    const told = env.lines.filter(({ line }) => line.includes('a table was changed'));
    expect(told).toHaveLength(1);
    expect(told[0]?.line).toContain('public.orders');
  });
});

describe('a run', () => {
  test('goes on where the last one stopped', async () => {
    await run('INSERT INTO orders VALUES (1); INSERT INTO orders VALUES (2)');
    const first = await read({}, { count: 2 });
    expect(ids(first.records)).toEqual([1, 2]);
    await run('INSERT INTO orders VALUES (3)');
    const second = await read({}, { bookmark: first.bookmark, count: 1 });
    expect(ids(second.records)).toEqual([3]);
    expect((await read({}, { bookmark: second.bookmark })).records).toEqual([]);
  });

  test('confirms only what was stored, and not before the next report', async () => {
    const at = (): Promise<string> => server.slotPosition();
    await run('INSERT INTO orders VALUES (1)');
    const before = await at();
    const { bookmark } = await read({ status_update_interval: 0.05 }, { count: 1 });
    expect(await at()).toBe(before);
    await run('INSERT INTO orders VALUES (2)');
    const next = await read(
      { status_update_interval: 0.05 },
      { bookmark, acknowledges: true, count: 1 },
    );
    await expect.poll(async () => ordered(await at()) >= ordered(lsnIn(bookmark))).toBe(true);
    expect(ids(next.records)).toEqual([2]);
  });

  test('ends with the transaction in which max_messages is reached', async () => {
    await server.transaction([1, 2, 3].map((id) => `INSERT INTO orders VALUES (${id})`));
    await run('INSERT INTO orders VALUES (4)');
    const { records, bookmark } = await read({ max_messages: 2, idle_timeout: 3600 });
    expect(ids(records)).toEqual([1, 2, 3]);
    expect(ids((await read({}, { bookmark, count: 1 })).records)).toEqual([4]);
  });

  test('gives everything in one page at its end where batch_size is 0', async () => {
    for (const id of [1, 2, 3]) await run(`INSERT INTO orders VALUES (${id})`);
    const { pages } = await read({ batch_size: 0 }, { count: 3 });
    expect(pages.map((page) => page.count)).toEqual([3]);
  });

  test('begins at start_lsn where there is no bookmark', async () => {
    await run('INSERT INTO orders VALUES (1)');
    const { rows } = await server.client.query<{ lsn: string }>(
      'SELECT pg_current_wal_insert_lsn()::text AS lsn',
    );
    await run('INSERT INTO orders VALUES (2)');
    const { records } = await read({ start_lsn: rows[0]?.lsn ?? '' }, { count: 1 });
    expect(ids(records)).toEqual([2]);
  });

  test('moves its position over what other tables write', async () => {
    await run('CREATE TABLE IF NOT EXISTS other (id int)');
    await run('INSERT INTO orders VALUES (1)');
    const first = await read({}, { count: 1 });
    await run('INSERT INTO other SELECT generate_series(1, 1000)');
    const second = await read({ idle_timeout: 3 }, { bookmark: first.bookmark });
    expect(second.records).toEqual([]);
    expect(ordered(lsnIn(second.bookmark)) > ordered(lsnIn(first.bookmark))).toBe(true);
  });

  test('does not read how far runs have come, and so ends', async () => {
    await run(
      `DROP TABLE IF EXISTS _svc_commit_token, svc_state; CREATE TABLE _svc_commit_token (n int); CREATE TABLE svc_state (n int);
      ALTER PUBLICATION ${PUBLICATION} ADD TABLE _svc_commit_token, svc_state`,
    );
    await server.transaction([
      'INSERT INTO _svc_commit_token VALUES (1)',
      'INSERT INTO orders VALUES (1)',
      'TRUNCATE svc_state, orders',
    ]);
    const env = testEnv();
    // As a run does for each page, also for one without records.
    const onPage = async (): Promise<void> => {
      await run('INSERT INTO _svc_commit_token VALUES (1); INSERT INTO svc_state VALUES (1)');
    };
    const { records } = await read({ status_update_interval: 0.1 }, { env, onPage });
    expect(records.map(({ op, table }) => [op, table])).toEqual([
      ['insert', 'orders'],
      ['truncate', 'orders'],
    ]);
    expect(env.lines.filter(({ line }) => line.includes('are left out'))).toHaveLength(2);
  });

  test('tells of every table that one statement truncates', async () => {
    await run(
      `DROP TABLE IF EXISTS lines; CREATE TABLE lines (id int); ALTER PUBLICATION ${PUBLICATION} ADD TABLE lines`,
    );
    await run('TRUNCATE orders, lines');
    const { records } = await read({}, { count: 2 });
    expect(records.map(({ op, table }) => [op, table])).toEqual([
      ['truncate', 'orders'],
      ['truncate', 'lines'],
    ]);
  });
});

const lsnIn = (bookmark: JsonValue | undefined): string =>
  (bookmark as { last_lsn: string }).last_lsn;

describe('a large transaction', () => {
  beforeEach(async () => {
    await run('INSERT INTO orders VALUES (0)');
    await run('INSERT INTO orders SELECT generate_series(1, 25)');
    await run('INSERT INTO orders VALUES (26)');
  });

  test('comes in several pages, and only the last has a bookmark', async () => {
    const { pages, records } = await read({ batch_size: 10 }, { count: 27 });
    expect(ids(records)).toEqual(Array.from({ length: 27 }, (_, id) => id));
    expect(pages.map((page) => [page.count, page.bookmark !== undefined])).toEqual([
      [1, true],
      [10, false],
      [10, false],
      [6, true],
    ]);
  });

  test('is refused before any of it is given, where it is longer than it may be', async () => {
    const found: Page[] = [];
    const reading = read(
      { batch_size: 10, max_staged_records: 20 },
      { onPage: (page) => void found.push(page), count: 27 },
    );
    await expect(reading).rejects.toMatchObject({ kind: 'refused', code: 'connector_refused' });
    expect(ids(found.flatMap((page) => page.records() as JsonObject[]))).not.toContain(1);
    const { pages } = await read({ batch_size: 10, max_staged_records: 25 }, { count: 27 });
    expect(pages.map((page) => [page.count, page.bookmark !== undefined])).toEqual([
      [1, true],
      [10, false],
      [10, false],
      [6, true],
    ]);
  });

  test('is left open by a limit, and comes again', async () => {
    const { records, bookmark } = await read({ batch_size: 10 }, { limit: 5, count: 27 });
    expect(ids(records)).toEqual([0, 1, 2, 3, 4]);
    expect(ids((await read({}, { bookmark, count: 26 })).records)[0]).toBe(1);
  });
});

describe('the wire', () => {
  test('is encrypted where it has to be, or not used', async () => {
    await expect(read({ tls: { mode: 'require' } })).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('SSL') as string,
    });
    await expect(
      read({ tls: { mode: 'verify_full', ca_path: '/nowhere/ca.pem' } }),
    ).rejects.toMatchObject({
      kind: 'missing',
      message: expect.stringContaining('ca_path') as string,
    });
  });

  test('may break inside a transaction: the rest comes once', async () => {
    const { hostname, port } = new URL(server.url);
    const proxy = await tcpProxy({ host: hostname, port: Number(port) });
    const url = new URL(server.url);
    url.port = String(proxy.port);
    await run('INSERT INTO orders VALUES (0)');
    // More than fits into all buffers on the way, so that something is always left to be cut off.
    await run(`INSERT INTO orders SELECT i, repeat('x', 20000) FROM generate_series(1, 3000) AS i`);
    await run('INSERT INTO orders VALUES (3001)');
    let cuts = 0;
    const env = testEnv();
    const { records, pages } = await read(
      { connection_url: url.href, batch_size: 500 },
      {
        count: 3002,
        env,
        onPage() {
          if (cuts >= 2) return;
          cuts += 1;
          proxy.cut();
          proxy.heal();
        },
      },
    );
    await proxy.close();
    expect(cuts).toBe(2);
    expect(env.lines.filter(({ line }) => line.includes('reading again')).length).toBeGreaterThan(
      0,
    );
    expect(ids(records)).toEqual(Array.from({ length: 3002 }, (_, id) => id));
    expect(pages.at(-1)?.bookmark).toBeDefined();
  });
});

/** Resolves when the server has waited for its reader at one place for several looks. */
async function serverIsHeldUp(): Promise<void> {
  let [place, looks] = ['', 0];
  await eventually(async () => {
    const { rows } = await server.client.query<{ place: string }>(
      `SELECT sent_lsn::text AS place FROM pg_stat_replication JOIN pg_stat_activity USING (pid)
       WHERE wait_event = 'WalSenderWriteData'`,
    );
    const now = rows[0]?.place ?? '';
    looks = now !== '' && now === place ? looks + 1 : 0;
    place = now;
    if (looks < 10) throw new Error('the server does not wait');
  });
}

describe('memory', () => {
  test('is bounded where pages are taken slowly: the rest stays with the server', async () => {
    const rows = 60;
    for (let id = 0; id < rows; id += 1)
      await run(`INSERT INTO orders VALUES (${id}, repeat('x', 1000000))`);
    const source = await open(
      { batch_size: 1, max_messages: rows, idle_timeout: 60 },
      { pageBytes: 65_536 },
    );
    const found: Page[] = [];
    try {
      for await (const page of source.pages({ lane: RECORDS_LANE })) {
        if (found.length === 0) await serverIsHeldUp();
        found.push(page);
      }
    } finally {
      await source.close();
    }
    expect(found.reduce((sum, page) => sum + page.count, 0)).toBe(rows);
  });
});

describe('a slot', () => {
  test('is made when it is missing, and read from then on', async () => {
    await run('INSERT INTO orders VALUES (1)');
    const first = await read({ slot_name: 'made_by_a_run' });
    expect(first.records).toEqual([]);
    await run('INSERT INTO orders VALUES (2)');
    expect(
      ids((await read({ slot_name: 'made_by_a_run' }, { ...first, count: 1 })).records),
    ).toEqual([2]);
  });

  test('that is gone is not made again behind a bookmark', async () => {
    await run('INSERT INTO orders VALUES (1)');
    const { bookmark } = await read({}, { count: 1 });
    await server.dropSlots();
    await expect(read({}, { bookmark })).rejects.toMatchObject({
      kind: 'missing',
      message: expect.stringContaining('is gone') as string,
    });
  });

  test('that somebody else has read leaves a gap that is told', async () => {
    const { bookmark } = await read();
    await run('INSERT INTO orders VALUES (1)');
    await run(`SELECT pg_replication_slot_advance('${SLOT}', pg_current_wal_lsn())`);
    await run('INSERT INTO orders VALUES (2)');
    const before = bookmark ?? { last_lsn: '0/1' };
    await expect(read({}, { bookmark: before })).rejects.toMatchObject({
      kind: 'missing',
      message: expect.stringContaining('can no longer be read') as string,
    });
  });

  test('that is in use is waited for, and refused after the last try', async () => {
    const holder = await open({ idle_timeout: 3600 });
    const pages = holder.pages({ lane: RECORDS_LANE });
    const first = pages[Symbol.asyncIterator]().next();
    await server.isRead(SLOT);
    await expect(read({ slot_acquire_retries: 0 })).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(/in use by another reader \(process \d+/) as string,
    });
    const waiting = read({ slot_acquire_retries: 50 }, { count: 1 });
    await run('INSERT INTO orders VALUES (1)');
    await first;
    await holder.close();
    expect(ids((await waiting).records)).toEqual([1]);
  });

  test('that is temporary ends with its run and gives no bookmarks', async () => {
    const source = { slot_name: 'for_a_moment', slot_type: 'temporary', idle_timeout: 3600 };
    const reader = await open(source);
    const next = reader.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]().next();
    await server.isRead('for_a_moment');
    await run('INSERT INTO orders VALUES (1)');
    const { value } = (await next) as { value: Page };
    expect(value.bookmark).toBeUndefined();
    expect(value.count).toBe(1);
    await reader.close();
    await eventually(async () => {
      const { rows } = await server.client.query(
        `SELECT FROM pg_replication_slots WHERE slot_name = 'for_a_moment'`,
      );
      if (rows.length > 0) throw new Error('still there');
    });
  });
});

describe('the doctor', () => {
  const probe = async (more: JsonObject) => {
    const checked = check(postgresCdcSource.config, {
      connection_url: server.url,
      slot_name: SLOT,
      publication_name: PUBLICATION,
      ...more,
    });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const found = (await postgresCdcSource.probe?.(checked.value, sourceContext())) ?? [];
    return found.map(
      ({ name, status, reason = '', hint = '' }) => `${name} ${status}: ${reason} (${hint})`,
    );
  };

  test('finds everything in order', async () => {
    expect(await probe({})).toEqual(['auth pass:  ()', 'publication pass:  ()', 'slot pass:  ()']);
  });

  test('says that a slot will be made, or has to be', async () => {
    expect((await probe({ slot_name: 'none' }))[2]).toMatch(/^slot skip: .*the first run makes it/);
    expect((await probe({ slot_name: 'none', create_slot_if_missing: false }))[2]).toMatch(
      /^slot fail: there is no slot .*pg_create_logical_replication_slot/,
    );
  });

  test('says that a publication is missing, or is empty', async () => {
    expect((await probe({ publication_name: 'none' }))[1]).toMatch(
      /^publication fail: there is no publication `none`.*CREATE PUBLICATION "none"/,
    );
    await run(`ALTER PUBLICATION ${PUBLICATION} DROP TABLE orders`);
    expect((await probe({}))[1]).toMatch(/^publication fail: no table belongs.*ADD TABLE/);
  });

  test('says what a publication leaves out, and so does a run', async () => {
    await run(`DROP PUBLICATION ${PUBLICATION};
      ALTER TABLE orders ADD twice int GENERATED ALWAYS AS (id * 2) STORED;
      CREATE PUBLICATION ${PUBLICATION} FOR TABLE orders WHERE (id > 1) WITH (publish = 'insert, update')`);
    const found = 'no delete, no truncate; some rows of public.orders; columns of public.orders';
    expect((await probe({}))[1]).toContain(`publication skip: the publication`);
    expect((await probe({}))[1]).toContain(`leaves out ${found} (twice)`);
    const env = testEnv();
    await read({}, { env });
    expect(env.lines.map(({ line }) => line).join('\n')).toContain(found);
    await run(
      `DROP PUBLICATION ${PUBLICATION}; CREATE PUBLICATION ${PUBLICATION} FOR TABLE orders (id)`,
    );
    expect((await probe({}))[1]).toMatch(/leaves out columns of public.orders \(name, .*twice\)/);
  });

  test('says that a user may not replicate', async () => {
    await run(`DROP ROLE IF EXISTS plain; CREATE ROLE plain LOGIN PASSWORD 'plain'`);
    const url = new URL(server.url);
    url.username = 'plain';
    url.password = 'plain';
    expect((await probe({ connection_url: url.href })).join()).toMatch(
      /^auth fail: the user may not replicate.*REPLICATION/,
    );
  });
});

describe('the config', () => {
  const issues = (more: JsonObject) => {
    const base = { connection_url: 'postgres://h/d', slot_name: 's', publication_name: 'p' };
    const checked = check(postgresCdcSource.config, { ...base, ...more });
    return checked.ok ? [] : checked.issues.map(({ path }) => path);
  };

  test.each<[JsonObject, string[]]>([
    [{}, []],
    [{ slot_name: 'Upper' }, ['slot_name']],
    [{ proto_version: 2 }, ['proto_version']],
    [{ idle_timeout: 0 }, ['idle_timeout']],
    [{ idle_timeout: 5, status_update_interval: 5 }, ['status_update_interval']],
    [{ idle_timeout: 5 }, []],
    [{ start_lsn: 'zero' }, ['start_lsn']],
    [{ tls: { mode: 'require', ca_path: 'ca.pem' } }, ['tls.ca_path']],
    [{ tls: { mode: 'verify_ca', ca_path: 'ca.pem' } }, []],
    [{ tls: 'require' }, []],
    [{ start_lsn: null, max_messages: null, max_staged_records: null }, []],
    [{ slots: 's' }, ['slots']],
  ])('%j is judged', (more, paths) => {
    expect(issues(more)).toEqual(paths);
  });

  test('takes the short names of slot and publication', () => {
    const { value } = check(postgresCdcSource.config, {
      connection_url: 'postgres://h/d',
      slot: 's',
      publication: 'p',
    }) as { value: JsonObject };
    expect(value).toMatchObject({ slot_name: 's', publication_name: 'p' });
  });
});
