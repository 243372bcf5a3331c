import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sharedDatabricks } from '../../../test/conformance/fixtures/shared-databricks.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { sourceContext } from '../../../test/fakes/env.ts';
import { SIGNATURE, TOKEN } from '../../../test/fakes/databricks/server.ts';
import { arrowStream } from '../../../test/fakes/databricks/arrow-stream.ts';
import type { Reply } from '../../../test/fakes/http-server.ts';
import { runSource, type Run, type RunOptions } from '../../../test/fakes/run-source.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { databricksSource } from './index.ts';
import { arrowList, resultColumns } from './read/types.ts';

const databricks = sharedDatabricks();
beforeAll(databricks.start);
afterAll(databricks.stop);
beforeEach(() => {
  const server = databricks.server();
  server.fault = () => undefined;
  server.heldMs = undefined;
  server.oldLinks = 0;
  server.inlineBytes = 25 * 1024 * 1024;
  server.begun.length = 0;
  server.cancelled.length = 0;
});

const read = (sql: string, more: JsonObject = {}, options: RunOptions = {}): Promise<Run> =>
  runSource(databricksSource, { ...databricks.connection(), sql, ...more }, options);

const ID = { name: 'id', type_text: 'BIGINT', type_name: 'LONG' };
const LIST = { name: 'id', type_text: 'ARRAY<INT>', type_name: 'ARRAY' };

describe('a config', () => {
  const at = {
    workspace_url: 'dbc-1.cloud.databricks.com',
    warehouse_id: 'w1',
    auth: { type: 'pat', token: 'a-token' },
    sql: 'SELECT 1',
  };
  const problems = (config: JsonObject): string[] => {
    const checked = check(databricksSource.config, { ...at, ...config });
    return checked.ok ? [] : checked.issues.map(({ path, message }) => `${path} ${message}`);
  };

  it.each([
    [{ sql: 'SELECT :a' }, 'sql the query uses :a, and `parameters` has no value of this name'],
    [{ sql: 'SELECT 1; DROP TABLE t' }, 'sql the query is more than one statement'],
    [{ sql: 'SELECT ${bookmark}' }, 'sql ${bookmark} needs `replication: {type: incremental, …}`'],
    [
      { sql: 'SELECT "x ${row.a}"' },
      'sql ${row.a} is inside a longer text, a quoted name or a comment, where no value can be bound',
    ],
    [
      {
        arrow_native: true,
        replication: { type: 'incremental', column: 'a', initial_value: 0 },
      },
      'arrow_native results in the format of Arrow are read whole, not from a bookmark on',
    ],
    [{ wait_timeout_secs: 3 }, 'wait_timeout_secs must be 0, or from 5 to 50'],
    [
      { sql: 'SELECT :svc_a', parameters: [{ name: 'svc_a', value: 1 }] },
      'sql the name of the parameter :svc_a starts with `svc_`, as our own do',
    ],
    [
      { sql: 'SELECT :a', parameters: [{ name: 'a' }, { name: 'a' }] },
      'parameters[1].name `a` has two values',
    ],
    [
      { workspace_url: 'https://x/?o=1' },
      'workspace_url this address is no address of a workspace',
    ],
    [{ auth: { ref: 'a', type: 'pat' } }, 'auth `ref` cannot be combined with `type`'],
  ])('%j is refused', (more, problem) => {
    expect(problems(more)).toContain(problem);
  });

  it.each([
    "SELECT c1:price, `c2`:a.b, x::int, ':no', t.d[0]:z FROM t -- :comment",
    'SELECT 1;',
    'SELECT {id}',
  ])('%s has no parameter without a value', (sql) => {
    expect(problems({ sql })).toEqual([]);
  });

  it('names its data set without the login', () => {
    const checked = check(databricksSource.config, at);
    if (!checked.ok) throw new Error('cannot happen');
    const uri = databricksSource.datasetUri(checked.value);
    expect(uri).toBe('databricks://dbc-1.cloud.databricks.com/warehouses/w1');
  });
});

describe.each([false, true])('values, `arrow_native: %j`,', (arrow_native) => {
  it('keep all digits, and their types come from the manifest', async () => {
    const { records, pages } = await read(
      `SELECT 9223372036854775807 AS i, CAST('12345678901234567890.123456789' AS DECIMAL(38,9)) AS d, CAST('NaN' AS DOUBLE) AS n,
       CAST('2024-05-06 07:08:09.123456' AS TIMESTAMP) AS t, CAST('2024-05-06 07:08:09.120' AS TIMESTAMP_NTZ) AS c, unhex('00FF') AS b,
       CAST(NULL AS TIMESTAMP) AS e, CAST('0.1' AS FLOAT) AS f, CAST('-0.05' AS DECIMAL(5,2)) AS m, CAST(-3 AS SMALLINT) AS s,
       CAST('-Infinity' AS FLOAT) AS z, CAST('0001-01-01' AS DATE) AS y, CAST('1899-12-31 23:59:59.999999' AS TIMESTAMP) AS o`,
      { arrow_native },
    );
    expect(records).toEqual([
      {
        i: 9223372036854775807n,
        d: '12345678901234567890.123456789',
        n: 'NaN',
        t: '2024-05-06T07:08:09.123456Z',
        c: '2024-05-06T07:08:09.12',
        b: 'AP8=',
        e: null,
        f: 0.1,
        m: '-0.05',
        s: -3,
        z: '-Infinity',
        y: '0001-01-01',
        o: '1899-12-31T23:59:59.999999Z',
      },
    ]);
    expect(pages[0]?.schema?.fields.map(({ type }) => type)).toEqual([
      { kind: 'int64' },
      { kind: 'decimal', precision: 38, scale: 9 },
      { kind: 'float64' },
      { kind: 'timestamp', unit: 'us', zone: 'UTC' },
      { kind: 'timestamp', unit: 'us' },
      { kind: 'binary' },
      { kind: 'timestamp', unit: 'us', zone: 'UTC' },
      { kind: 'float32' },
      { kind: 'decimal', precision: 5, scale: 2 },
      { kind: 'int16' },
      { kind: 'float32' },
      { kind: 'date' },
      { kind: 'timestamp', unit: 'us', zone: 'UTC' },
    ]);
  });
});

describe('a result in Arrow', () => {
  const arrow = { arrow_native: true };
  const linkFault = (reply: Reply): void => {
    databricks.server().fault = ({ path }) => (path.startsWith('/results/') ? reply : undefined);
  };

  it('comes by links, also without `external_links`', async () => {
    const { records } = await read('SELECT i AS id FROM range(20) AS r(i)', arrow);
    expect(records).toEqual(Array.from({ length: 20 }, (_, id) => ({ id })));
    const [, last] = databricks.server().begun;
    expect(last).toMatchObject({ format: 'ARROW_STREAM', disposition: 'EXTERNAL_LINKS' });
  });

  it('of a statement that is no query has the types that it comes with', async () => {
    const { records } = await read('SHOW DATABASES', arrow);
    expect(records).toContainEqual({ database_name: 'lake' });
    expect(databricks.server().begun).toHaveLength(1);
  });

  it('has the values of lists and objects, and texts of types that it has not', async () => {
    const { records } = await read(`SELECT [1, NULL] AS l, parse_json('{"a": null}') AS v`, arrow);
    expect(records).toEqual([{ l: [1, null], v: { a: null } }]);
    const column = (name: string, text: string) => ({ name, type: text, text });
    expect(
      arrowList(
        resultColumns([column('i', 'INTERVAL'), column('s', 'STRUCT'), column('t', 'STRING')]),
      ),
    ).toBe(
      "CAST(svc_source.`i` AS STRING) AS `i`, to_json(svc_source.`s`, map('ignoreNullFields', 'false')) AS `s`, svc_source.`t`",
    );
  });

  it.each([
    [
      'is cut off',
      arrowStream([ID], [[1n], [2n]]).subarray(0, -40),
      /chunk 0 .* is no stream of Arrow/,
    ],
    ['is empty', new Uint8Array(), /the result has 3 rows, and 0 of them came/],
    ['lacks rows', arrowStream([ID], [[1n]]), /the result has 3 rows, and 1 of them came/],
    [
      'has other columns',
      arrowStream([ID, ID], [[1n, 2n]]),
      /2 columns of Arrow where it told of 1/,
    ],
    ['has a type that is not known', arrowStream([LIST], [[1]]), /`id` \(BIGINT\) comes as List/],
  ])('that %s fails', async (_, body, message) => {
    linkFault({ body });
    await expect(read('SELECT i AS id FROM range(3) AS r(i)', arrow)).rejects.toThrow(message);
  });
});

describe('values', () => {
  it('are bound with their types, and nothing in them ends a text', async () => {
    const value = "it's \\ :x ${y}";
    const { records } = await read(
      'SELECT :text AS a, :day AS d, :n AS n, :none AS z, {id} AS p',
      {
        parameters: [
          { name: 'text', value },
          { name: 'day', value: '2024-05-06', type: 'DATE' },
          { name: 'n', value: 7 },
          { name: 'none', value: null, type: 'INT' },
        ],
      },
      { context: { parent: { id: 'x' } } },
    );
    expect(records).toEqual([{ a: value, d: '2024-05-06', n: 7, z: null, p: 'x' }]);
    expect(databricks.server().begun.at(-1)?.parameters).toEqual([
      { name: 'text', type: 'STRING', value },
      { name: 'day', type: 'DATE', value: '2024-05-06' },
      { name: 'n', type: 'BIGINT', value: '7' },
      { name: 'none', type: 'INT' },
      { name: 'svc_value_1', type: 'STRING', value: 'x' },
    ]);
  });

  it('of a statement that is no SELECT are read as they come', async () => {
    const { records } = await read('DESCRIBE SELECT 1 AS a');
    expect(records).toHaveLength(1);
  });
});

describe('an incremental read', () => {
  it('goes on after the last value, and loses no row that shares it', async () => {
    const { connection } = databricks.server().engine;
    await connection.run(
      `CREATE TABLE lake.sales.marks AS SELECT i AS id, ('2024-05-06 07:08:09.000' || (i // 2 + 1))::TIMESTAMPTZ AS moment FROM range(1, 6) AS r(i)`,
    );
    const replication = {
      type: 'incremental',
      column: 'moment',
      initial_value: '2024-05-06T07:08:09Z',
    };
    const sql = 'SELECT * FROM marks WHERE moment >= ${bookmark}';
    const first = await read(sql, { replication, batch_size: 2 });
    expect(first.records.map((one) => (one as JsonObject)['id'])).toEqual([1, 2, 3, 4, 5]);
    await connection.run(`INSERT INTO lake.sales.marks VALUES (6, '2024-05-06 07:08:09.0003')`);
    const bookmark = first.bookmark;
    if (bookmark === undefined) throw new Error('no bookmark');
    const next = await read(sql, { replication }, { bookmark });
    expect(next.records.map((one) => (one as JsonObject)['id'])).toEqual([6]);
    expect(databricks.server().begun.at(-1)?.parameters).toEqual([
      { name: 'svc_bookmark', type: 'TIMESTAMP', value: '2024-05-06T07:08:09.0003Z' },
    ]);
  });

  it('by a column that the query does not give fails', async () => {
    const replication = { type: 'incremental', column: 'nobody', initial_value: 0 };
    await expect(read('SELECT 1 AS a', { replication })).rejects.toMatchObject({
      kind: 'missing',
      hint: 'it gives: a',
    });
  });
});

describe('a result', () => {
  const MANY = 'SELECT i FROM range(0, 30) AS r(i)';

  it('beyond the limit of an answer is refused, with what to do', async () => {
    databricks.server().inlineBytes = 10;
    await expect(read(MANY)).rejects.toMatchObject({
      hint: 'set `external_links: true`, or select less',
    });
    expect((await read(MANY, { external_links: true })).records).toHaveLength(30);
  });

  it('behind a link that has become too old is asked for again', async () => {
    databricks.server().oldLinks = 1;
    const { records, waits } = await read(MANY, { external_links: true });
    expect(records).toHaveLength(30);
    expect(waits).toHaveLength(1);
  });

  it('behind links shows no link in its errors', async () => {
    databricks.server().oldLinks = 99;
    const failure = read(MANY, { external_links: true });
    await expect(failure).rejects.toMatchObject({ kind: 'connection' });
    await expect(failure).rejects.not.toThrow(SIGNATURE);
  });

  it('behind a link for which there is no other one is not asked for many times over', async () => {
    const server = databricks.server();
    server.oldLinks = 99;
    let asked = 0;
    server.fault = ({ path }) => {
      if (!path.endsWith('/chunks/0')) return undefined;
      asked += 1;
      return { status: 500, json: {} };
    };
    await expect(read(MANY, { external_links: true })).rejects.toMatchObject({ status: 500 });
    expect(asked).toBe(6);
  });

  it('of which rows are missing is not taken for a whole one', async () => {
    const server = databricks.server();
    const real = await read(MANY);
    expect(real.records).toHaveLength(30);
    server.fault = ({ path }) =>
      path.endsWith('/chunks/2') ? { json: { chunk_index: 2, data_array: [['14']] } } : undefined;
    await expect(read(MANY)).rejects.toThrow('the result has 30 rows, and 15 of them came');
  });

  it.each([429, 503])('is asked for again after an answer with %d', async (status) => {
    let left = 2;
    databricks.server().fault = () => {
      left -= 1;
      return left >= 0 ? { status, headers: { 'retry-after': '3' }, json: {} } : undefined;
    };
    const { records, waits } = await read('SELECT 1 AS a');
    expect(records).toEqual([{ a: 1 }]);
    expect(waits).toEqual([3000, 3000]);
  });
});

describe('a statement', () => {
  const WAITS = "SELECT java_method('java.lang.Thread', 'sleep', 20000L) AS a";

  it('that takes too long is cancelled at the server', async () => {
    const more = { wait_timeout_secs: 0, statement_timeout_secs: 2 };
    await expect(read(WAITS, more)).rejects.toMatchObject({ kind: 'timeout' });
    expect(databricks.server().cancelled).toHaveLength(1);
  });

  it('is waited for no longer where the server is slow to say that it goes on', async () => {
    const clock = stillClock();
    const server = databricks.server();
    let polls = 0;
    server.fault = ({ method, path }) => {
      if (method !== 'GET' || path.includes('/result/')) return undefined;
      polls += 1;
      clock.advance(40_000);
      return { json: { statement_id: path.split('/').at(-1), status: { state: 'RUNNING' } } };
    };
    const more = { wait_timeout_secs: 0, statement_timeout_secs: 60 };
    await expect(read(WAITS, more, { clock })).rejects.toMatchObject({ kind: 'timeout' });
    expect(polls).toBe(2);
  });

  it.each([0, 50])(
    'of a run that is stopped is cancelled, also before its first answer (%d s)',
    async (wait) => {
      const server = databricks.server();
      server.heldMs = 300;
      const config = { ...databricks.connection(), sql: WAITS, wait_timeout_secs: wait };
      const checked = check(databricksSource.config, config);
      if (!checked.ok) throw new Error('cannot happen');
      const stop = new AbortController();
      const source = await databricksSource.open(
        checked.value,
        sourceContext({ signal: stop.signal }),
      );
      const reading = source.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]().next();
      reading.catch(() => {});
      await expect.poll(() => server.begun.length).toBe(2);
      stop.abort(new Error('stopped'));
      await expect(reading).rejects.toThrow('stopped');
      await source.close();
      expect(server.cancelled).toHaveLength(1);
    },
  );

  it('of an unknown warehouse is refused, without the token in a message', async () => {
    const failure = read('SELECT 1', { warehouse_id: 'nobody' });
    await expect(failure).rejects.toMatchObject({
      kind: 'missing',
      hint: 'check `workspace_url` and `warehouse_id`',
    });
    await expect(failure).rejects.not.toThrow(TOKEN);
  });
});

describe('the doctor', () => {
  const probed = async (more: JsonObject): Promise<string[]> => {
    const config = { ...databricks.connection(), sql: 'SELECT 1', ...more };
    const checked = check(databricksSource.config, config);
    if (!checked.ok) throw new Error('cannot happen');
    const found = (await databricksSource.probe?.(checked.value, sourceContext())) ?? [];
    return found.map(({ name, status }) => `${name} ${status}`);
  };

  it('looks at the login and the warehouse', async () => {
    expect(await probed({})).toEqual(['auth pass', 'warehouse pass']);
    expect(await probed({ warehouse_id: 'other' })).toEqual(['auth pass', 'warehouse fail']);
    expect(await probed({ auth: { type: 'token', token: 'x' } })).toEqual(['auth fail']);
  });
});
