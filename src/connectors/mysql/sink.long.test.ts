import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sqlSinkSuite } from '../../../test/conformance/sql-sink.ts';
import { testContext, type TestContext } from '../../../test/fakes/env.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { freshMariadb, mariadbOrReason, type FreshMariadb } from '../../../test/servers/mariadb.ts';
import { check } from '../../kit/schema.ts';
import { backticked } from '../../lib/sql/mysql-address.ts';
import { sqlPieces } from '../_sql/sql-text.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { mysqlSink, mysqlSource } from './index.ts';

const { reason } = mariadbOrReason();
const NO_SERVER = { url: '' } as FreshMariadb;

const database = reason === undefined ? await freshMariadb() : NO_SERVER;
let tables = 0;
const table = (): string => `t${(tables += 1)}`;
const exec = async (sql: string): Promise<void> => void (await database.client.query(sql));

/** The client of the tests makes no objects with all names that columns may have. */
async function query(sql: string): Promise<JsonObject[]> {
  const checked = check(mysqlSource.config, {
    connection_url: database.url,
    query: inMysql(sql),
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const pages = await readAll(await mysqlSource.open(checked.value, testContext('/')), {});
  return pages.flatMap((page) => page.records() as JsonObject[]);
}

/** All to this database but that which asks. */
async function connections(): Promise<unknown[]> {
  const rows = await query(
    'SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()',
  );
  return rows.map(({ id }) => id);
}

/** The shared suite writes names and types as the standard does. */
function inMysql(sql: string): string {
  return sqlPieces(sql)
    .map(({ kind, text }) => {
      if (kind === 'identifier') return backticked(text.slice(1, -1).replaceAll('""', '"'));
      return kind === 'code' ? text.replaceAll(' AS text)', ' AS CHAR)') : text;
    })
    .join('');
}

function configOf(config: JsonObject) {
  const checked = check(mysqlSink.config, {
    connection_url: database.url,
    column_mapping: 'auto_map',
    ...config,
  });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

async function write(
  config: JsonObject,
  pages: readonly (readonly JsonValue[])[],
  { context = testContext('/'), schema }: { context?: TestContext; schema?: RecordSchema } = {},
): Promise<void> {
  const sink = await mysqlSink.open(configOf(config), context);
  try {
    for (const page of pages)
      await sink.write(Page.ofRecords(page, { schema }), { partial: false });
    await sink.flush();
    await sink.finish('success');
  } finally {
    await sink.close();
  }
}

describe.skipIf(reason !== undefined)(`the mysql sink ${reason ?? ''}`, () => {
  beforeAll(async () => {
    // The shared suite quotes names as the standard does.
    await exec("SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES'), time_zone = '+00:00'");
  });
  afterAll(() => database.drop());

  describe.each(['insert', 'load'])('by %s', (write_method) => {
    sqlSinkSuite({
      definition: mysqlSink,
      connection: { connection_url: database.url, write_method },
      table,
      exec,
      query,
    });

    test('a refused value is told with its record', async () => {
      const name = table();
      await exec(`CREATE TABLE ${name} (id INT PRIMARY KEY, n INT, name VARCHAR(3) NOT NULL)`);
      const good = { n: 1, name: 'abc' };
      const modes: JsonObject[] = [
        { write_method },
        { batch_size: 2 },
        { write_mode: 'upsert', key: ['id'] },
      ];
      for (const bad of [{ n: 'x' }, { name: 'abcd' }, { name: null }]) {
        const records = [
          { id: 1, ...good },
          { id: 2, ...good },
          { id: 3, ...good, ...bad },
        ];
        for (const mode of modes)
          await expect(write({ table_name: name, ...mode }, [records])).rejects.toMatchObject({
            hint: expect.any(String) as string,
            record: 2,
          });
      }
    });

    test('a page with a value that a column does not take is refused whole', async () => {
      const name = table();
      await exec(`CREATE TABLE ${name} (id INT, small TINYINT, word VARCHAR(3))`);
      const config = { table_name: name, write_method };
      for (const bad of [
        { id: 'x', small: 1, word: 'a' },
        { id: 1, small: 300, word: 'a' },
        { id: 1, small: 1, word: 'long' },
      ])
        expect(
          await failureOf(write(config, [[{ id: 1, small: 1, word: 'a' }, bad]])),
        ).toMatchObject({ kind: 'data' });
      expect(await query(`SELECT * FROM ${name}`)).toEqual([]);
    });

    test('a key that is there twice ends the run, and is no record that is left out', async () => {
      const name = table();
      await exec(`CREATE TABLE ${name} (id INT PRIMARY KEY)`);
      const failure = await failureOf(
        write({ table_name: name, write_method }, [[{ id: 1 }, { id: 2 }, { id: 1 }]]),
      );
      expect(failure.message).toMatch(/Duplicate entry/);
      expect(await query(`SELECT * FROM ${name}`)).toEqual([]);
    });

    test('texts, instants, bytes and bits arrive as they are', async () => {
      const name = table();
      await exec(`CREATE TABLE ${name} (a TEXT, b DATETIME(3), c BLOB, d BIT(8), e TINYINT(1))`);
      const schema: RecordSchema = {
        fields: [{ name: 'c', type: { kind: 'binary' }, nullable: true }],
        others: true,
      };
      const record = {
        a: "it's \\N \t\n\r\u0000\u001a 🐘",
        b: '2024-05-06T09:08:09.5+02:00',
        c: 'AP8KJw==',
        d: 200,
        e: true,
      };
      await write({ table_name: name, write_method }, [[record]], { schema });
      expect(
        await query(
          `SELECT a, CAST(b AS CHAR) AS b, HEX(c) AS c, CAST(d AS UNSIGNED) AS d, e FROM ${name}`,
        ),
      ).toEqual([{ a: record.a, b: '2024-05-06 07:08:09.500', c: '00FF0A27', d: 200, e: true }]);
    });
  });

  test('bytes that are no base64 end the run, in the middle of a stream too', async () => {
    const name = table();
    await exec(`CREATE TABLE ${name} (b BLOB)`);
    const schema: RecordSchema = {
      fields: [{ name: 'b', type: { kind: 'binary' }, nullable: true }],
    };
    const page = [...Array.from({ length: 300 }, () => ({ b: 'AP8=' })), { b: '?' }];
    const failure = await failureOf(write({ table_name: name }, [page], { schema }));
    expect(failure.message).toMatch(/`b` is not base64/);
    expect(await query(`SELECT * FROM ${name}`)).toEqual([]);
  });

  test('a server that takes no streams is sent statements, and the log tells it', async () => {
    const name = table();
    await exec(`SET GLOBAL local_infile = 0; CREATE TABLE ${name} (id INT)`);
    try {
      const context = testContext('/');
      await write({ table_name: name, write_method: 'load' }, [[{ id: 1 }]], { context });
      expect(await query(`SELECT * FROM ${name}`)).toEqual([{ id: 1 }]);
    } finally {
      await exec('SET GLOBAL local_infile = 1');
    }
  });

  test.each([['PRIMARY KEY (id, part)'], ['UNIQUE (word(2))'], ['KEY (id)']])(
    'an upsert is refused where the key is not that of an index: %s',
    async (index) => {
      const name = table();
      await exec(`CREATE TABLE ${name} (id INT, part INT, word VARCHAR(9), ${index})`);
      const failure = await failureOf(
        write({ table_name: name, write_mode: 'upsert', key: ['id'] }, [[{ id: 1 }]]),
      );
      expect(failure.message).toMatch(/no unique index on \(id\)/);
    },
  );

  test('an upsert never changes the row that another unique index finds', async () => {
    const name = table();
    await exec(
      `CREATE TABLE ${name} (id INT PRIMARY KEY, mail VARCHAR(9) UNIQUE, v INT); INSERT INTO ${name} VALUES (1, 'a', 1), (2, 'b', 2)`,
    );
    const config = { table_name: name, write_mode: 'upsert', key: ['id'] };
    const failure = await failureOf(write(config, [[{ id: 3, mail: 'a', v: 3 }]]));
    expect(failure.message).toMatch(/unique index .* that another row has/);
    await write(config, [[{ id: 2, mail: 'c', v: 4 }]]);
    expect(await query(`SELECT * FROM ${name} ORDER BY id`)).toEqual([
      { id: 1, mail: 'a', v: 1 },
      { id: 2, mail: 'c', v: 4 },
    ]);
  });

  test('a connection that the server closed while nothing was written is made again', async () => {
    const name = table();
    const config = configOf({ table_name: name, write_mode: 'append' });
    const others = await connections();
    const sink = await mysqlSink.open(config, testContext('/'));
    try {
      await sink.write(Page.ofRecords([{ id: 1 }]), { partial: false });
      const mine = (await connections()).filter((id) => !others.includes(id));
      expect(mine).toHaveLength(1);
      await exec(`KILL ${mine.join()}`);
      await sink.write(Page.ofRecords([{ id: 2 }]), { partial: false });
    } finally {
      await sink.close();
    }
    expect(await query(`SELECT id FROM ${name} ORDER BY id`)).toEqual([{ id: 1 }, { id: 2 }]);
  });

  test('a table with triggers is not overwritten', async () => {
    const name = table();
    await exec(
      `CREATE TABLE ${name} (id INT); INSERT INTO ${name} VALUES (7); CREATE TRIGGER tr_${name} BEFORE INSERT ON ${name} FOR EACH ROW SET @x = 1`,
    );
    const failure = await failureOf(
      write({ table_name: name, write_mode: 'overwrite' }, [[{ id: 1 }]]),
    );
    expect(failure.message).toMatch(/the trigger tr_\w+ would be lost/);
    expect(await query(`SELECT * FROM ${name}`)).toEqual([{ id: 7 }]);
  });

  test('text keys of a table that it makes are told apart letter by letter', async () => {
    const name = table();
    const config = { table_name: name, write_mode: 'upsert', key: ['k'] };
    await write(config, [[{ k: 'a' }, { k: 'A' }]]);
    expect(await query(`SELECT COUNT(*) AS n FROM ${name}`)).toEqual([{ n: 2 }]);
  });

  test('objects that are keys of a table that it makes find their rows again', async () => {
    const name = table();
    const config = { table_name: name, write_mode: 'upsert', key: ['_id'] };
    const row = (id: string, n: number): JsonObject => ({ _id: { $oid: id }, n });
    await write(config, [[row('5f43a1c2', 1), row('5f43A1c2', 2)]]);
    await write(config, [[row('5f43a1c2', 3)]]);
    expect(await query(`SELECT _id, n FROM ${name} ORDER BY n`)).toEqual([
      { _id: '{"$oid":"5f43A1c2"}', n: 2 },
      { _id: '{"$oid":"5f43a1c2"}', n: 3 },
    ]);
  });

  test('a probe tells which right is missing', async () => {
    const name = table();
    await exec(
      `CREATE TABLE ${name} (id INT PRIMARY KEY); CREATE USER IF NOT EXISTS 'low'@'%' IDENTIFIED BY 'pw'; GRANT SELECT ON ${name} TO 'low'@'%'`,
    );
    const url = new URL(database.url);
    url.username = 'low';
    url.password = 'pw';
    const config = configOf({ connection_url: url.href, table_name: name });
    expect(await mysqlSink.probe?.(config, testContext('/'))).toMatchObject([
      { name: 'auth', status: 'pass' },
      { name: 'schema', status: 'fail', reason: expect.stringMatching(/no right to INSERT/) },
    ]);
    await exec(`GRANT INSERT ON ${name} TO 'low'@'%'`);
    expect(await mysqlSink.probe?.(config, testContext('/'))).toMatchObject([
      { status: 'pass' },
      { status: 'pass' },
    ]);
    expect(await query(`SELECT * FROM ${name}`)).toEqual([]);
  });

  test('a probe takes a table whose columns have no default for one with the rights', async () => {
    const name = table();
    await exec(`CREATE TABLE ${name} (a INT, b INT NOT NULL, PRIMARY KEY (b, a))`);
    const config = configOf({ table_name: name, write_mode: 'upsert', key: ['a', 'b'] });
    expect(await mysqlSink.probe?.(config, testContext('/'))).toEqual([
      { name: 'auth', status: 'pass' },
      { name: 'schema', status: 'pass' },
    ]);
  });

  test('a probe tells that no unique index has the columns of the key', async () => {
    const name = table();
    await exec(`CREATE TABLE ${name} (a INT, b INT, PRIMARY KEY (b, a))`);
    const config = configOf({ table_name: name, write_mode: 'upsert', key: ['a'] });
    expect(await mysqlSink.probe?.(config, testContext('/'))).toMatchObject([
      { name: 'auth', status: 'pass' },
      {
        name: 'schema',
        status: 'fail',
        reason: `\`${name}\` has no unique index on (a), which an upsert needs`,
        hint: expect.stringMatching(/^it has one on \(b, a\); use that as `key`/),
      },
    ]);
  });
});
