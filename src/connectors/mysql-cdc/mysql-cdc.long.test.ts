import { createConnection as openConnection } from 'mysql2';
import { createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  DATABASE,
  LoggedTable,
  SERVER_ID,
  TABLE,
} from '../../../test/conformance/fixtures/logged-table.ts';
import { sourceContext, testEnv, type TestEnv } from '../../../test/fakes/env.ts';
import { tcpProxy } from '../../../test/fakes/tcp-proxy.ts';
import { mariadbOrReason } from '../../../test/servers/mariadb.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { openLog, readLog } from '../../../test/support/read-log.ts';
import { RECORDS_LANE, type Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { lockedPosition } from './anchor.ts';
import type { MysqlCdcConfig } from './config.ts';
import { mysqlCdcSource } from './index.ts';

const { reason } = mariadbOrReason({ isOwn: true });

let server: LoggedTable;
beforeAll(async () => {
  if (reason === undefined) server = await LoggedTable.start();
});
afterAll(() => server?.[Symbol.asyncDispose]());

const run = (sql: string): Promise<unknown> => server.client.query(sql);
const ids = (records: readonly JsonObject[]) =>
  records.map(({ before, after }) => ((after ?? before) as JsonObject)['id']);
const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);
const SMALL = 'id int PRIMARY KEY, name text';
const shapes = (pages: readonly Page[]) =>
  pages.filter(({ count }) => count > 0).map((page) => [page.count, page.bookmark !== undefined]);

async function restored<T>(name: string, value: string, work: () => Promise<T>): Promise<T> {
  const [[row]] = (await server.client.query(`SELECT @@GLOBAL.${name} AS old`)) as unknown as [
    [{ old: string }],
  ];
  await run(`SET GLOBAL ${name} = ${value}`);
  try {
    return await work();
  } finally {
    await run(`SET GLOBAL ${name} = '${row.old}'`);
  }
}

interface Thread {
  readonly Id: number;
  readonly Command: string;
  readonly State: string;
}

async function threads(): Promise<readonly Thread[]> {
  const [rows] = await server.client.query('SHOW PROCESSLIST');
  return rows as Thread[];
}

async function readers(): Promise<readonly Thread[]> {
  return (await threads()).filter(({ Command: command }) => command === 'Binlog Dump');
}

/** Of the newest; the server finds out late that an earlier one has left. */
async function readerState(since = 0): Promise<string | undefined> {
  return (await readers()).findLast(({ Id: id }) => id > since)?.State;
}

async function newestThread(): Promise<number> {
  return Math.max(...(await threads()).map(({ Id: id }) => id));
}

/** Resolves when somebody reads the log who did not before. */
async function isRead(since: number): Promise<void> {
  await eventually(async () => {
    if ((await readerState(since)) === undefined) throw new Error('nobody reads yet');
  });
}

/** Resolves when the server has waited for its reader for several looks. */
async function isHeldUp(): Promise<void> {
  let looks = 0;
  await eventually(async () => {
    const state = (await readerState()) ?? 'nobody reads';
    looks = state === 'Writing to net' ? looks + 1 : 0;
    if (looks < 20) throw new Error(state);
  });
}

describe.skipIf(reason !== undefined)(`a run ${reason ?? ''}`, () => {
  test('tells what was changed, by whom it was told, and in which transaction', async () => {
    const start = await server.renew(SMALL);
    await run('SET timestamp = 1700000000');
    await run(`INSERT INTO ${TABLE} VALUES (1, 'a')`);
    await server.transaction([`UPDATE ${TABLE} SET name = 'b'`, `DELETE FROM ${TABLE}`]);
    await run('SET timestamp = DEFAULT');
    const events = await server.rowEvents(start);
    const { records } = await readLog(server.url, { start, count: 3 });
    const shared = { schema: DATABASE, table: TABLE, ts_ms: 1_700_000_000_000 };
    expect(records).toEqual([
      { op: 'c', ...shared, lsn: events[0], txid: 0, before: null, after: { id: 1, name: 'a' } },
      {
        op: 'u',
        ...shared,
        lsn: events[1],
        txid: 1,
        before: { id: 1, name: 'a' },
        after: { id: 1, name: 'b' },
      },
      { op: 'd', ...shared, lsn: events[2], txid: 1, before: { id: 1, name: 'b' }, after: null },
    ]);
  });

  test('goes on where the last one stopped, across files of the log', async () => {
    const start = await server.renew(SMALL);
    await run(`INSERT INTO ${TABLE} VALUES (1, 'a')`);
    const first = await readLog(server.url, { start, count: 1 });
    await run('FLUSH BINARY LOGS');
    await run(`INSERT INTO ${TABLE} VALUES (2, 'b')`);
    await run('FLUSH BINARY LOGS');
    const second = await readLog(server.url, { bookmark: first.bookmark, count: 1 });
    expect(ids(second.records)).toEqual([2]);
    await run(`INSERT INTO ${TABLE} VALUES (3, 'c')`);
    expect(
      ids((await readLog(server.url, { bookmark: second.bookmark, count: 1 })).records),
    ).toEqual([3]);
  });

  test('without a bookmark begins at the end of the log, and remembers that at once', async () => {
    await server.renew(SMALL);
    await run(`INSERT INTO ${TABLE} VALUES (1, 'a')`);
    const since = await newestThread();
    const source = await openLog(server.url, {});
    const pages = source.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]();
    const at = await server.position();
    const pending = pages.next();
    // The position comes before whatever changes.
    await isRead(since);
    await run(`INSERT INTO ${TABLE} VALUES (9, 'z')`);
    const page = (await pending).value as Page;
    await source.close();
    expect([page.count, page.bookmark]).toEqual([0, at]);
    await run(`INSERT INTO ${TABLE} VALUES (2, 'b')`);
    const { records } = await readLog(server.url, { bookmark: page.bookmark, count: 2 });
    expect(ids(records)).toEqual([9, 2]);
  });

  test('begins with the first file, behind a transaction, or where it is told to', async () => {
    await server.renew(SMALL);
    await run('RESET MASTER');
    await run(`INSERT INTO ${TABLE} VALUES (1, 'a')`);
    const [[row]] = (await server.client.query('SELECT @@gtid_current_pos AS gtid')) as unknown as [
      [{ gtid: string }],
    ];
    await run(`INSERT INTO ${TABLE} VALUES (2, 'b')`);
    const read = async (position: JsonValue, count: number) =>
      ids((await readLog(server.url, { config: { start_position: position }, count })).records);
    expect(await read('earliest', 2)).toEqual([1, 2]);
    expect(await read({ type: 'gtid_set', value: row.gtid }, 1)).toEqual([2]);
    expect(await read({ type: 'file_pos', file: 'binlog.000001', pos: 4 }, 2)).toEqual([1, 2]);
  });

  test('behind transactions of several domains leaves each of them out, also when it goes on', async () => {
    await server.renew(SMALL);
    await run('RESET MASTER');
    const inDomain = (domain: number, id: number) =>
      run(
        `SET gtid_domain_id = ${domain}; INSERT INTO ${TABLE} VALUES (${id}, 'x'); SET gtid_domain_id = 0`,
      );
    for (const [domain, id] of [
      [1, 1],
      [1, 2],
      [2, 3],
      [1, 4],
      [2, 5],
      [2, 6],
    ] as const)
      await inDomain(domain, id);
    // Of the second domain two are left out, of which one lies behind the first change that is read.
    const config = { start_position: { type: 'gtid_set', value: '1-1-2,2-1-2' }, batch_size: 1 };
    const first = await readLog(server.url, { config, count: 1 });
    expect(ids(first.records)).toEqual([4]);
    const rest = await readLog(server.url, { config, bookmark: first.bookmark, count: 1 });
    expect(ids(rest.records)).toEqual([6]);
  });

  test('ends when nothing has come for a while, and gives a position without changes', async () => {
    const start = await server.renew(SMALL);
    await run('CREATE TABLE IF NOT EXISTS other (id int)');
    await run('INSERT INTO other VALUES (1)');
    const { records, bookmark } = await readLog(server.url, {
      start,
      config: { idle_timeout: 0.2 },
    });
    expect([records, bookmark]).toEqual([[], await server.position()]);
  });

  test('reads the tables that are named, or all but those that are left out', async () => {
    await run(
      'CREATE TABLE IF NOT EXISTS second (id int); CREATE TABLE IF NOT EXISTS third (id int)',
    );
    const start = await server.renew(SMALL);
    await run(`INSERT INTO second VALUES (1); INSERT INTO third VALUES (2); INSERT INTO ${TABLE} VALUES (3, 'x');
      CREATE OR REPLACE USER 'somebody'`);
    const read = async (config: JsonObject, count: number) =>
      (await readLog(server.url, { start, config, count })).records.map(({ table }) => table);
    const second = `${DATABASE}.second`;
    expect(await read({ include_tables: [second, `${DATABASE}.${TABLE}`] }, 2)).toEqual([
      'second',
      TABLE,
    ]);
    expect(await read({ include_tables: [], exclude_tables: [second] }, 2)).toEqual([
      'third',
      TABLE,
    ]);
    expect(await read({ include_tables: [second], exclude_tables: [second] }, 1)).toEqual([
      'second',
    ]);
  });

  test('does not read how far runs have come, unless it is asked to', async () => {
    const own = ['_svc_commit_token', 'svc_state'];
    for (const name of own) await run(`CREATE TABLE IF NOT EXISTS ${name} (id int)`);
    const start = await server.renew(SMALL);
    for (const name of own) await run(`INSERT INTO ${name} VALUES (1)`);
    await run(`INSERT INTO ${TABLE} VALUES (3, 'x')`);
    const read = async (include: string[], count: number) => {
      const config = { include_tables: include };
      return (await readLog(server.url, { start, config, count })).records.map(
        ({ table }) => table,
      );
    };
    expect(await read([], 1)).toEqual([TABLE]);
    expect(await read([`${DATABASE}.svc_state`], 1)).toEqual(['svc_state']);
  });

  test('leaves out what was there before, where nobody needs it', async () => {
    const start = await server.renew(SMALL);
    await run(`INSERT INTO ${TABLE} VALUES (1, 'a'); UPDATE ${TABLE} SET name = 'b'`);
    const { records } = await readLog(server.url, {
      start,
      count: 2,
      config: { include_columns: false },
    });
    expect(records.map(({ before }) => before)).toEqual([null, null]);
  });

  test('gives everything in one page at its end where batch_size is 0', async () => {
    const start = await server.renew(SMALL);
    for (const id of [1, 2, 3]) await run(`INSERT INTO ${TABLE} VALUES (${id}, 'x')`);
    const { pages } = await readLog(server.url, {
      start,
      config: { batch_size: 0, idle_timeout: 0.3 },
    });
    expect(pages.map((page) => page.count)).toEqual([3]);
  });
});

describe.skipIf(reason !== undefined)('changes of schemas', () => {
  test('are read with the columns of their time, and told', async () => {
    const start = await server.renew(SMALL);
    await run(`INSERT INTO ${TABLE} VALUES (1, 'a');
      ALTER TABLE ${TABLE} ADD COLUMN extra int DEFAULT 5 AFTER id; INSERT INTO ${TABLE} VALUES (2, 6, 'b');
      ALTER TABLE ${TABLE} DROP COLUMN name, CHANGE extra renamed varchar(5); INSERT INTO ${TABLE} VALUES (3, 'x')`);
    const env = testEnv();
    const { records } = await readLog(server.url, { start, count: 3, env });
    expect(records.map(({ after }) => after)).toEqual([
      { id: 1, name: 'a' },
      { id: 2, extra: 6, name: 'b' },
      { id: 3, renamed: 'x' },
    ]);
    expect(env.lines.filter(({ line }) => line.includes('a table was changed'))).toHaveLength(2);
  });

  test('are records where they are asked for, without those of users', async () => {
    const start = await server.renew(SMALL);
    await run(`INSERT INTO ${TABLE} VALUES (1, 'a'); ALTER TABLE ${TABLE} ADD COLUMN more int;
      CREATE OR REPLACE USER 'somebody' IDENTIFIED BY 'hidden'; CREATE OR REPLACE TABLE second (id int);
      TRUNCATE ${TABLE}; INSERT INTO ${TABLE} VALUES (2, 'b', 3)`);
    const { records } = await readLog(server.url, {
      start,
      count: 4,
      config: { emit_schema_changes: true },
    });
    expect(records.map(({ op, table, ddl = null }) => [op, table, ddl])).toEqual([
      ['c', TABLE, null],
      ['ddl', TABLE, `ALTER TABLE ${TABLE} ADD COLUMN more int`],
      ['ddl', TABLE, `TRUNCATE ${TABLE}`],
      ['c', TABLE, null],
    ]);
    expect(records.map(({ txid }) => txid)).toEqual([0, 1, 2, 3]);
  });

  test('of a table that is made with its rows belong to one transaction', async () => {
    await run('DROP TABLE IF EXISTS made');
    const start = await server.renew(SMALL);
    await run(`CREATE TABLE made AS SELECT 1 AS id UNION SELECT 2`);
    const { records } = await readLog(server.url, {
      start,
      count: 3,
      config: { include_tables: [`${DATABASE}.made`], emit_schema_changes: true },
    });
    expect(records.map(({ op, txid }) => [op, txid])).toEqual([
      ['ddl', 0],
      ['c', 0],
      ['c', 0],
    ]);
  });

  test('of a table that is gone now do not keep its rows from being read', async () => {
    await run('CREATE OR REPLACE TABLE gone (id int, yes tinyint(1))');
    const start = await server.renew(SMALL);
    await run('INSERT INTO gone VALUES (1, 1); DROP TABLE gone');
    const env = testEnv();
    const config = { include_tables: [`${DATABASE}.gone`] };
    const { records } = await readLog(server.url, { start, count: 1, config, env });
    expect(records[0]?.['after']).toEqual({ id: 1, yes: 1 });
    expect(env.lines.some(({ line }) => line.includes('does not describe a table'))).toBe(true);
  });
});

describe.skipIf(reason !== undefined)('a large transaction', () => {
  let start: { file: string; pos: number };
  beforeAll(async () => {
    start = await server.renew(SMALL);
    await run(`INSERT INTO ${TABLE} VALUES (0, '')`);
    await run(`INSERT INTO ${TABLE} SELECT seq, '' FROM seq_1_to_25`);
    await run(`INSERT INTO ${TABLE} VALUES (26, '')`);
  });

  test('comes in several pages, and only the last has a bookmark', async () => {
    const { pages, records } = await readLog(server.url, {
      start,
      count: 27,
      config: { batch_size: 10 },
    });
    expect(ids(records)).toEqual(upTo(27));
    expect(shapes(pages)).toEqual([
      [1, true],
      [10, false],
      [10, false],
      [6, true],
    ]);
  });

  test('is refused before any of it is given, where it is longer than it may be', async () => {
    const found: Page[] = [];
    const config = { batch_size: 10, max_staged_records: 20 };
    const reading = readLog(server.url, { start, config, onPage: (page) => void found.push(page) });
    await expect(reading).rejects.toMatchObject({ kind: 'refused', code: 'connector_refused' });
    expect(ids(found.flatMap((page) => page.records() as JsonObject[]))).not.toContain(1);
  });

  test('is left open by a limit, and comes again', async () => {
    const config = { batch_size: 10 };
    const { records, bookmark } = await readLog(server.url, { start, config, limit: 5 });
    expect(ids(records).slice(0, 5)).toEqual([0, 1, 2, 3, 4]);
    expect(ids((await readLog(server.url, { bookmark, count: 26 })).records)[0]).toBe(1);
  });
});

describe.skipIf(reason !== undefined)('what cannot be read is refused:', () => {
  const refused = async (sql: string, message: string): Promise<void> => {
    const start = await server.renew(SMALL);
    await run(sql);
    await expect(readLog(server.url, { start, count: 1 })).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining(message) as string,
      hint: expect.stringContaining('load the tables anew') as string,
    });
  };

  test('a change that a session logs as a statement', () =>
    refused(
      `SET binlog_format = STATEMENT; INSERT INTO ${TABLE} VALUES (1, 'secret'); SET binlog_format = ROW`,
      'logged as a statement',
    ));

  test('a row that a session does not log whole', () =>
    refused(
      `INSERT INTO ${TABLE} VALUES (1, 'a'); DELETE FROM ${TABLE}; SET binlog_row_image = MINIMAL; INSERT INTO ${TABLE} VALUES (2, 'a');
       UPDATE ${TABLE} SET name = 'c'; SET binlog_row_image = FULL`,
      'without all columns',
    ));

  test('a transaction that is prepared, and may never happen', async () => {
    const start = await server.renew(SMALL);
    await run(
      `XA START 'x'; INSERT INTO ${TABLE} VALUES (1, 'a'); XA END 'x'; XA PREPARE 'x'; XA ROLLBACK 'x'`,
    );
    await expect(readLog(server.url, { start, count: 1 })).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('XA transaction') as string,
    });
  });

  test('a log that does not name columns', async () => {
    const start = await restored('binlog_row_metadata', "'MINIMAL'", async () => {
      const at = await server.renew(SMALL);
      await run(`FLUSH TABLES; INSERT INTO ${TABLE} VALUES (1, 'a')`);
      return at;
    });
    await expect(readLog(server.url, { start, count: 1 })).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('does not name the columns') as string,
    });
  });

  test.each([
    ['binlog_format', "'STATEMENT'"],
    ['binlog_row_image', "'MINIMAL'"],
    ['binlog_row_metadata', "'NO_LOG'"],
  ])('a server with another %s', (name, value) =>
    restored(name, value, async () => {
      await expect(readLog(server.url, { count: 1 })).rejects.toMatchObject({
        kind: 'refused',
        message: expect.stringContaining(name) as string,
        hint: expect.stringContaining(`SET GLOBAL ${name}`) as string,
      });
      expect(await probed()).toContainEqual(['binlog-config', 'fail']);
    }),
  );

  test('a file that the server has removed, at a start and at an anchor', async () => {
    const start = await server.renew(SMALL);
    // A file that a reader has open stays, and the server notices by its next writes that one has left.
    const file = await eventually(async () => {
      await run('FLUSH BINARY LOGS');
      const { file: newest } = await server.position();
      await run(`PURGE BINARY LOGS TO '${newest}'`);
      const [files] = await server.client.query('SHOW BINARY LOGS');
      expect((files as { Log_name: string }[]).map((one) => one.Log_name)).toEqual([newest]);
      return newest;
    });
    const gone = {
      kind: 'missing',
      message: expect.stringContaining(`has removed the log file \`${start.file}\``) as string,
      hint: expect.stringContaining('replicate --restart') as string,
    };
    await expect(readLog(server.url, { bookmark: { ...start }, count: 1 })).rejects.toMatchObject(
      gone,
    );
    const context = sourceContext({ env: testEnv() });
    const bookmark: JsonValue = { ...start };
    await expect(
      mysqlCdcSource.anchors?.check(configured(), context, bookmark),
    ).rejects.toMatchObject(gone);
    await expect(
      readLog(server.url, { bookmark: { file, pos: 1_000_000_000 }, count: 1 }),
    ).rejects.toMatchObject({
      kind: 'missing',
      message: expect.stringContaining('another log') as string,
    });
    const gtid = { start_position: { type: 'gtid_set', value: '0-1-1' } };
    await expect(readLog(server.url, { config: gtid, count: 1 })).rejects.toMatchObject({
      kind: 'missing',
    });
  });
});

function configured(more: JsonObject = {}): MysqlCdcConfig {
  const checked = check(mysqlCdcSource.config, {
    connection_url: server.url,
    server_id: SERVER_ID,
    ...more,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

async function probed(more: JsonObject = {}): Promise<(string | undefined)[][]> {
  const found = await mysqlCdcSource.probe?.(configured(more), sourceContext({ env: testEnv() }));
  return (found ?? []).map(({ name, status }) => [name, status]);
}

describe.skipIf(reason !== undefined)('rights', () => {
  const as = (user: string): string => {
    const url = new URL(server.url);
    url.username = user;
    url.password = 'pw';
    return url.href;
  };
  const granted = async (user: string, rights: string): Promise<string> => {
    await run(`CREATE OR REPLACE USER '${user}'@'%' IDENTIFIED BY 'pw'`);
    if (rights !== '') await run(`GRANT ${rights} ON *.* TO '${user}'@'%'`);
    return as(user);
  };

  test('that are missing are named, in a run and by the doctor', async () => {
    const blind = await granted('blind', '');
    await expect(readLog(blind, { count: 1 })).rejects.toMatchObject({
      kind: 'refused',
      hint: expect.stringContaining('REPLICATION CLIENT') as string,
    });
    const reader = await granted('reader', 'BINLOG MONITOR');
    await expect(readLog(reader, { count: 1 })).rejects.toMatchObject({
      kind: 'refused',
      hint: expect.stringContaining('REPLICATION SLAVE') as string,
    });
    expect(await probed({ connection_url: reader })).toEqual([
      ['connection', 'pass'],
      ['binlog-config', 'pass'],
      ['replication', 'fail'],
    ]);
  });

  test('to replicate are enough, without any right to the tables', async () => {
    const start = await server.renew('id int PRIMARY KEY, yes tinyint(1)');
    await run(`INSERT INTO ${TABLE} VALUES (1, 1)`);
    const url = await granted('replicator', 'REPLICATION SLAVE, BINLOG MONITOR');
    const { records } = await readLog(url, { start, count: 1 });
    expect(records[0]?.['after']).toEqual({ id: 1, yes: 1 });
    expect(await probed({ connection_url: url })).toEqual([
      ['connection', 'pass'],
      ['binlog-config', 'pass'],
      ['replication', 'pass'],
    ]);
    expect(await probed({ include_tables: [`${DATABASE}.nothing`] })).toContainEqual([
      'tables',
      'fail',
    ]);
  });
});

describe.skipIf(reason !== undefined)('a table that the config names', () => {
  const said = (env: TestEnv): string => env.lines.map(({ line }) => line).join('\n');

  test('and that is not there is told, and read when it is made', async () => {
    await run('DROP TABLE IF EXISTS made_later');
    const [start, env] = [await server.renew(SMALL), testEnv()];
    await run(
      `CREATE TABLE made_later (id int); INSERT INTO made_later VALUES (1); RENAME TABLE made_later TO away`,
    );
    const config = { include_tables: [`${DATABASE}.made_later`] };
    const { records } = await readLog(server.url, { start, count: 1, config, env });
    expect(ids(records)).toEqual([1]);
    expect(said(env)).toMatch(/there is no such table.*shop\.made_later/);
    await run('DROP TABLE away');
  });

  test('is told when its foreign key changes rows, which are not in the log', async () => {
    await server.renew(`${SMALL}, KEY (name(5))`);
    await run(`CREATE OR REPLACE TABLE child (id int PRIMARY KEY, parent int,
      FOREIGN KEY (parent) REFERENCES ${TABLE} (id) ON DELETE CASCADE)`);
    const [start, env] = [await server.position(), testEnv()];
    await run(
      `INSERT INTO ${TABLE} VALUES (1, 'a'); INSERT INTO child VALUES (10, 1); DELETE FROM ${TABLE}`,
    );
    const config = { include_tables: [`${DATABASE}.${TABLE}`, `${DATABASE}.child`] };
    const { records } = await readLog(server.url, { start, count: 3, config, env });
    expect(records.map(({ op, table }) => [op, table])).toEqual([
      ['c', TABLE],
      ['c', 'child'],
      ['d', TABLE],
    ]);
    expect(said(env)).toMatch(/by its foreign key .* are not in the log.*shop\.child/);
    expect(said(env)).not.toContain(`table=shop.${TABLE}`);
    await run('DROP TABLE child');
  });
});

describe.skipIf(reason !== undefined)('the wire', () => {
  test('is waited for until a large change has come, however short the end is', async () => {
    const start = await server.renew('id int PRIMARY KEY, doc longtext');
    await run('SET GLOBAL max_allowed_packet = 134217728');
    // Sessions keep the bound that they began with.
    const client = await createConnection({ uri: server.databaseUrl });
    await client.query(`INSERT INTO ${TABLE} VALUES (1, REPEAT('x', 40000000))`);
    await client.end();
    const { records } = await readLog(server.url, { start, config: { idle_timeout: 0.001 } });
    expect(ids(records)).toEqual([1]);
  });

  test('may break inside a transaction: the rest comes once', async () => {
    const { hostname, port } = new URL(server.url);
    const proxy = await tcpProxy({ host: hostname, port: Number(port) });
    const url = new URL(server.url);
    url.port = String(proxy.port);
    const start = await server.renew(SMALL);
    await run(`INSERT INTO ${TABLE} VALUES (0, '')`);
    // More than fits into all buffers on the way, so that something is always left to be cut off.
    await run(`INSERT INTO ${TABLE} SELECT seq, repeat('x', 20000) FROM seq_1_to_1000`);
    await run(`INSERT INTO ${TABLE} VALUES (1001, '')`);
    let cuts = 0;
    const env = testEnv();
    const { records, pages } = await readLog(url.href, {
      start,
      env,
      count: 1002,
      pageBytes: 500_000,
      onPage() {
        if (cuts >= 2) return;
        cuts += 1;
        proxy.cut();
        proxy.heal();
      },
    });
    await proxy.close();
    expect(cuts).toBe(2);
    expect(env.lines.some(({ line }) => line.includes('reading again'))).toBe(true);
    expect(ids(records)).toEqual(upTo(1002));
    expect(pages.at(-1)?.bookmark).toBeDefined();
  });

  test('ends for a reader whose number another one takes', async () => {
    const start = await server.renew(SMALL);
    const since = await newestThread();
    const first = readLog(server.url, { start, count: 1 });
    first.catch(() => {});
    await isRead(since);
    const second = readLog(server.url, { start, count: 1 });
    await expect(first).rejects.toMatchObject({
      kind: 'refused',
      hint: expect.stringContaining('server_id') as string,
    });
    await run(`INSERT INTO ${TABLE} VALUES (1, 'a')`);
    expect(ids((await second).records)).toEqual([1]);
  });

  test('is left for good: the server sends nothing to nobody', async () => {
    const start = await server.renew(SMALL);
    await run(`INSERT INTO ${TABLE} VALUES (1, 'a')`);
    expect(ids((await readLog(server.url, { start, count: 1 })).records)).toEqual([1]);
    await eventually(async () => {
      // It notices when it has something to send.
      await run(`UPDATE ${TABLE} SET name = uuid()`);
      expect(await readers()).toEqual([]);
    });
  });

  test('is not taken from a reader by the doctor', async () => {
    const start = await server.renew(SMALL);
    const since = await newestThread();
    const reading = readLog(server.url, { start, count: 1 });
    await isRead(since);
    expect(await probed()).toContainEqual(['replication', 'pass']);
    await run(`INSERT INTO ${TABLE} VALUES (1, 'a')`);
    expect(ids((await reading).records)).toEqual([1]);
  });

  test('is encrypted where it has to be, or not used', async () => {
    await expect(
      readLog(server.url, { count: 1, config: { tls: { mode: 'require' } } }),
    ).rejects.toMatchObject({ kind: 'refused' });
  });

  test('is left to the server where pages are taken slowly', async () => {
    const start = await server.renew('id int PRIMARY KEY, name longtext');
    const rows = 25;
    for (let id = 0; id < rows; id += 1)
      await run(`INSERT INTO ${TABLE} VALUES (${id}, repeat('x', 1000000))`);
    const source = await openLog(server.url, {
      start,
      config: { batch_size: 1 },
      pageBytes: 65_536,
    });
    let read = 0;
    for await (const page of source.pages({ lane: RECORDS_LANE })) {
      if (read === 0) await isHeldUp();
      read += page.count;
      if (read === rows) break;
    }
    await source.close();
    expect(read).toBe(rows);
  });
});

describe.skipIf(reason !== undefined)('an anchor', () => {
  test('is the end of the log, as queries see it', async () => {
    await server.renew(SMALL);
    const taken = await mysqlCdcSource.anchors?.take(
      configured(),
      sourceContext({ env: testEnv() }),
    );
    expect(taken).toEqual(await server.position());
  });

  test('is found under a lock, where the server does not say it', async () => {
    await server.renew(SMALL);
    const connection = openConnection(server.databaseUrl);
    expect(await lockedPosition(connection, { isMariadb: true })).toEqual(await server.position());
    connection.destroy();
    await run(`INSERT INTO ${TABLE} VALUES (1, 'not locked any more')`);
  });
});
