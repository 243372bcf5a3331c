import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BUCKET, sharedDatabricks } from '../../../test/conformance/fixtures/shared-databricks.ts';
import { sinkContext } from '../../../test/fakes/env.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { stillClock } from '../../../test/fakes/clock.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import type { Sink, WriteResult } from '../../kit/sink.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { databricksSink, databricksSource } from './index.ts';

const databricks = sharedDatabricks();
beforeAll(databricks.start);
afterAll(databricks.stop);
beforeEach(() => {
  const server = databricks.server();
  server.fault = () => undefined;
  server.begun.length = 0;
  server.store.fail(() => undefined);
});
let made = 0;
const freshTable = (): string => `u${(made += 1)}`;

async function opened(config: JsonObject, context: JsonObject = {}): Promise<Sink> {
  const checked = check(databricksSink.config, { ...databricks.connection(), ...config });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const env = testEnv({ clock: stillClock('2026-02-01T00:00:00Z') });
  return databricksSink.open(checked.value, sinkContext({ env, ...context }));
}

async function write(
  config: JsonObject,
  pages: readonly (readonly JsonObject[])[],
  schema?: RecordSchema,
): Promise<WriteResult[]> {
  const sink = await opened(config);
  try {
    const results: WriteResult[] = [];
    for (const records of pages)
      results.push(await sink.write(Page.ofRecords([...records], { schema }), { partial: false }));
    await sink.flush();
    await sink.finish('success');
    return results;
  } finally {
    await sink.close();
  }
}

async function rowsOf(table: string): Promise<unknown[]> {
  const config = { ...databricks.connection(), sql: `SELECT * FROM ${table}` };
  return (await runSource(databricksSource, config)).records;
}

const statements = (): string[] =>
  databricks
    .server()
    .begun.map(({ statement }) => statement)
    .filter((one) => !one.startsWith('SELECT'));

const posts = (fault: () => ReturnType<ReturnType<typeof databricks.server>['fault']>): void => {
  databricks.server().fault = ({ method, path, body }) =>
    method === 'POST' && path.endsWith('/statements') && body.includes('INSERT INTO')
      ? fault()
      : undefined;
};

describe('a config', () => {
  const problems = (config: JsonObject): string[] => {
    const at = { workspace_url: 'https://x', warehouse_id: 'w', auth: { type: 'pat', token: 't' } };
    const checked = check(databricksSink.config, { ...at, table: 't', ...config });
    return checked.ok ? [] : checked.issues.map(({ path, message }) => `${path} ${message}`);
  };

  it.each([
    [
      { load_method: 'copy_into' },
      'load_method `copy_into` loads objects, and `staging` does not say where they are',
    ],
    [
      {
        load_method: 'copy_into',
        write_mode: 'upsert',
        key: ['id'],
        staging: { location: 's3://b' },
      },
      'load_method COPY INTO only adds rows, and `write_mode` is `upsert`',
    ],
    [
      { staging: { location: '/tmp/x' } },
      'staging.location the warehouse loads from no such place',
    ],
    [
      { staging: { location: '/Volumes/a/b' } },
      'staging.location the warehouse loads from no such place',
    ],
    [
      { staging: { location: 'az://c/d' } },
      'staging.location the warehouse loads from no such place',
    ],
    [
      { staging: { location: '/Volumes/a/b/c', storage_options: { aws_region: 'x' } } },
      'staging.storage_options.aws_region a volume is written with the login of the workspace',
    ],
    [
      { staging: { location: 's3://b', copy_options: { 'a b': 1 } } },
      'staging.copy_options["a b"] `a b` is no name of an option',
    ],
    [{ table: 'a.b.c.d' }, 'table this is no name of a table'],
    [{ write_mode: 'upsert' }, 'key `write_mode: upsert` needs `key`'],
    [
      { max_statement_bytes: 17_000_000 },
      'max_statement_bytes must be at most 16777216, got 17000000',
    ],
  ])('%j is refused', (more, problem) => {
    expect(problems(more)).toContain(problem);
  });

  it.each([
    's3://lake/in',
    'gs://lake',
    'abfss://c@acct.dfs.core.windows.net/in',
    '/Volumes/main/s/v/in',
  ])('may stage in %s', (location) => {
    expect(problems({ staging: { location } })).toEqual([]);
  });

  it('names its data set by the whole name of the table', () => {
    const config = { ...databricks.connection(), table: 'Other.`T.x`' };
    const checked = check(databricksSink.config, config);
    if (!checked.ok) throw new Error('cannot happen');
    expect(databricksSink.datasetUri(checked.value)).toMatch(
      /^databricks:\/\/127\.0\.0\.1:\d+\/warehouses\/\w+\?table=lake\.other\.t\.x$/,
    );
  });
});

describe('values', () => {
  const schema: RecordSchema = {
    fields: [
      { name: 'd', type: { kind: 'decimal', precision: 38, scale: 9 }, nullable: true },
      { name: 'b', type: { kind: 'binary' }, nullable: true },
      { name: 't', type: { kind: 'timestamp', unit: 'us', zone: 'UTC' }, nullable: true },
      { name: 'c', type: { kind: 'timestamp', unit: 'us' }, nullable: true },
      { name: 'j', type: { kind: 'json' }, nullable: true },
      { name: 'day', type: { kind: 'date' }, nullable: true },
      { name: 's', type: { kind: 'utf8' }, nullable: true },
      { name: 'i', type: { kind: 'int64' }, nullable: true },
    ],
  };

  it('are read back as they were written', async () => {
    const table = freshTable();
    const record = {
      d: '12345678901234567890.123456789',
      b: 'AP8=',
      t: '1969-12-31T23:59:59.000001Z',
      c: '2024-05-06T07:08:09.000001',
      j: { a: [1, "it's", null] },
      day: '0044-03-15',
      s: "a'b\\c\n${x} \\' \\u0041 \u{1F642}",
      i: -9223372036854775808n,
    };
    const nothing = Object.fromEntries(Object.keys(record).map((name) => [name, null]));
    await write({ table }, [[record, nothing]], schema);
    expect(await rowsOf(table)).toEqual([record, nothing]);
  });

  it('of a clock without a zone are those of UTC', async () => {
    const table = freshTable();
    await write({ table }, [[{ t: '2024-05-06T07:08:09' }, { t: '2024-05-06' }]], {
      fields: [{ name: 't', type: { kind: 'timestamp', unit: 'us', zone: 'UTC' }, nullable: true }],
    });
    expect(await rowsOf(table)).toEqual([
      { t: '2024-05-06T07:08:09Z' },
      { t: '2024-05-06T00:00:00Z' },
    ]);
  });

  it('that a column cannot hold fail the page, and what it rounds is counted', async () => {
    const table = freshTable();
    const { connection } = databricks.server().engine;
    await connection.run(`CREATE TABLE lake.sales.${table} (n DECIMAL(10,2), i BIGINT)`);
    const [result] = await write({ table }, [[{ n: '1.105' }, { n: '2.00' }]]);
    expect(result?.roundedFields).toEqual(new Map([['n', 1]]));
    await expect(write({ table, on_rounding: 'error' }, [[{ n: '1.105' }]])).rejects.toMatchObject({
      kind: 'data',
    });
    await expect(write({ table }, [[{ i: 'abc' }]])).rejects.toMatchObject({ kind: 'data' });
    await expect(write({ table }, [[{ i: true }]])).rejects.toMatchObject({ kind: 'data' });
    expect(await rowsOf(table)).toHaveLength(2);
  });
});

describe('a table', () => {
  it('is made with the key of an upsert, and with unusual names', async () => {
    const table = freshTable();
    await write({ table, write_mode: 'upsert', key: ['id'] }, [[{ id: 1, 'a b': 'x' }]]);
    expect(statements()[0]).toBe(
      `CREATE TABLE IF NOT EXISTS \`lake\`.\`sales\`.\`${table}\` (\`id\` BIGINT NOT NULL, \`a b\` STRING, PRIMARY KEY (\`id\`)) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')`,
    );
  });

  it('of another schema is found by its name', async () => {
    const { connection } = databricks.server().engine;
    await connection.run('CREATE SCHEMA lake.other');
    await write({ table: 'lake.other.t' }, [[{ a: 1 }]]);
    expect(await rowsOf('lake.other.t')).toEqual([{ a: 1 }]);
  });

  it('is not widened to what a Delta table cannot become', async () => {
    const table = freshTable();
    await write({ table }, [[{ a: true }]]);
    const sink = await opened({ table });
    const widen = [{ name: 'a', type: 'number' }] as const;
    await expect(sink.schema?.evolve?.({ add: [], widen, relaxNull: [] })).rejects.toMatchObject({
      kind: 'refused',
    });
    await sink.close();
  });
});

describe('statements', () => {
  it('are cut by records and by bytes', async () => {
    const table = freshTable();
    const records = Array.from({ length: 7 }, (_, id) => ({ id, v: 'x'.repeat(20_000) }));
    await write({ table, batch_size: 3 }, [records]);
    expect(statements().filter((one) => one.startsWith('INSERT'))).toHaveLength(3);
    databricks.server().begun.length = 0;
    await write({ table, batch_size: 0, max_statement_bytes: 65_536 }, [records]);
    const inserts = statements().filter((one) => one.startsWith('INSERT'));
    expect(inserts).toHaveLength(3);
    expect(Math.max(...inserts.map((one) => Buffer.byteLength(one)))).toBeLessThanOrEqual(65_536);
    expect(await rowsOf(table)).toHaveLength(14);
    const large = [{ id: 1, v: "'".repeat(40_000) }];
    await expect(write({ table, max_statement_bytes: 65_536 }, [large])).rejects.toThrow(
      'a record makes a statement of more than 65536 bytes',
    );
  });

  it('of an upsert keep the last record of keys that are equal in their column', async () => {
    const table = freshTable();
    const keyed = { table, write_mode: 'upsert', key: ['id'] };
    await write(keyed, [[{ id: 1, v: 'a' }]]);
    await write(keyed, [
      [
        { id: '1', v: 'b' },
        { id: '01', v: 'c' },
      ],
    ]);
    expect(await rowsOf(table)).toEqual([{ id: 1, v: 'c' }]);
  });

  it('that add records are repeated only where the server has not begun with them', async () => {
    const table = freshTable();
    let left = 2;
    posts(() => ((left -= 1) >= 0 ? { status: 503, json: {} } : undefined));
    await write({ table }, [[{ id: 1 }]]);
    expect(await rowsOf(table)).toEqual([{ id: 1 }]);
    posts(() => 'losesAnswer');
    await expect(write({ table }, [[{ id: 2 }]])).rejects.toMatchObject({ kind: 'connection' });
    posts(() => undefined);
    expect(await rowsOf(table)).toEqual([{ id: 1 }, { id: 2 }]);
  });

  it('of an upsert are repeated when their answer is lost', async () => {
    const table = freshTable();
    const keyed = { table, write_mode: 'upsert', key: ['id'] };
    let left = 1;
    databricks.server().fault = ({ body }) =>
      body.includes('MERGE INTO') && (left -= 1) >= 0 ? 'losesAnswer' : undefined;
    await write(keyed, [[{ id: 1 }]]);
    expect(await rowsOf(table)).toEqual([{ id: 1 }]);
    expect(statements().filter((one) => one.startsWith('MERGE'))).toHaveLength(2);
  });

  it('that the server ended for want of room are repeated, `max_retries` times', async () => {
    const table = freshTable();
    await write({ table }, [[{ id: 0 }]]);
    const status = {
      state: 'FAILED',
      error: { error_code: 'TEMPORARILY_UNAVAILABLE', message: 'later' },
    };
    let tries = 0;
    posts(() => {
      tries += 1;
      return { json: { statement_id: 'x', status } };
    });
    const failing = write({ table, max_retries: 2 }, [[{ id: 1 }]]);
    await expect(failing).rejects.toMatchObject({ kind: 'http_5xx' });
    expect(tries).toBe(3);
  });
});

describe('loads', () => {
  const objects = (): string[] => [
    ...(databricks.server().store.buckets.get(BUCKET)?.keys() ?? []),
  ];
  const staged = (more: JsonObject): JsonObject => {
    const by = databricks.byStore();
    return { ...by, staging: { ...(by['staging'] as JsonObject), ...more } };
  };

  it('begin with `copy_threshold_bytes`', async () => {
    const table = freshTable();
    const config = { ...staged({}), table, load_method: 'auto', copy_threshold_bytes: 100 };
    await write(config, [[{ id: 1, v: 'x' }], [{ id: 2, v: 'x'.repeat(100) }]]);
    const kinds = statements().map((one) => one.split(' ')[0]);
    expect(kinds).toEqual(['CREATE', 'INSERT', 'COPY']);
    expect(await rowsOf(table)).toHaveLength(2);
    expect(objects()).toEqual([]);
  });

  it.each([
    ['always', 0, 0],
    ['on_success', 0, 1],
    ['never', 1, 1],
  ])(
    'with the cleanup %s leave %d objects, and %d of one that failed',
    async (cleanup, good, bad) => {
      const store = databricks.server().store.buckets.get(BUCKET);
      const table = freshTable();
      await write({ ...staged({ cleanup }), table }, [[{ id: 1 }]]);
      expect(objects()).toHaveLength(good);
      store?.clear();
      await expect(write({ ...staged({ cleanup }), table }, [[{ id: 'x' }]])).rejects.toMatchObject(
        {
          kind: 'data',
        },
      );
      expect(objects()).toHaveLength(bad);
      store?.clear();
      expect(await rowsOf(table)).toEqual([{ id: 1 }]);
    },
  );

  it('of dead letters are others than those of the records in the same table', async () => {
    const table = freshTable();
    const config = { ...staged({}), table };
    for (const role of ['main', 'dlq'] as const) {
      const sink = await opened(config, { invocationId: 'one', role });
      await sink.write(Page.ofRecords([{ id: 1 }]), { partial: false });
      await sink.flush();
      await sink.close();
    }
    expect(await rowsOf(table)).toEqual([{ id: 1 }, { id: 1 }]);
  });

  it('whose answer was lost are repeated, and add nothing twice', async () => {
    const table = freshTable();
    let left = 1;
    databricks.server().fault = ({ body }) =>
      body.includes('COPY INTO') && (left -= 1) >= 0 ? 'losesAnswer' : undefined;
    await write({ ...staged({ copy_options: { mergeSchema: true } }), table }, [[{ id: 1 }]]);
    expect(await rowsOf(table)).toEqual([{ id: 1 }]);
    expect(statements().filter((one) => one.startsWith('COPY'))).toHaveLength(2);
    expect(statements().at(-1)).toMatch(/ COPY_OPTIONS \('mergeSchema' = 'true'\)$/);
  });

  it('by a volume remove their files with the login of the workspace', async () => {
    const table = freshTable();
    const location = '/Volumes/lake/sales/landing/a b';
    await expect(
      write({ table, load_method: 'copy_into', staging: { location: '/Volumes/lake/x/y' } }, [
        [{ id: 1 }],
      ]),
    ).rejects.toMatchObject({ kind: 'missing' });
    await write(
      { table, load_method: 'copy_into', staging: { location: location.replace(' ', '_') } },
      [[{ id: 1 }]],
    );
    expect(await rowsOf(table)).toEqual([{ id: 1 }]);
    expect(databricks.server().files.size).toBe(0);
  });
});

describe('commit tokens', () => {
  const page = (...ids: number[]): Page => Page.ofRecords(ids.map((id) => ({ id })));

  it('are committed with their page, in one transaction', async () => {
    const table = freshTable();
    const sink = await opened({ table });
    expect(await sink.tokens?.last('scope-a')).toBeUndefined();
    await sink.tokens?.write(page(1), 'scope-a', 'one');
    const failing = sink.tokens?.write(Page.ofRecords([{ id: 'x' }]), 'scope-a', 'two');
    await expect(failing).rejects.toMatchObject({ kind: 'data' });
    await sink.close();
    const other = await opened({ table });
    expect(await other.tokens?.last('scope-a')).toBe('one');
    await other.close();
    expect(await rowsOf(table)).toEqual([{ id: 1 }]);
  });

  it('of a statement that goes on after its run cannot commit a page beside those of the next run', async () => {
    const table = freshTable();
    const first = await opened({ table });
    await first.tokens?.last('scope-b');
    await first.tokens?.write(page(1), 'scope-b', 'one');
    const second = await opened({ table });
    expect(await second.tokens?.last('scope-b')).toBe('one');
    await second.tokens?.write(page(2), 'scope-b', 'two');
    await expect(first.tokens?.write(page(2), 'scope-b', 'two')).rejects.toMatchObject({
      kind: 'refused',
    });
    await Promise.all([first.close(), second.close()]);
    expect(await rowsOf(table)).toEqual([{ id: 1 }, { id: 2 }]);
  });

  it('are refused to an execution that another server took over', async () => {
    const table = freshTable();
    const first = await opened({ table }, { runId: 'run', claim: 1 });
    await first.tokens?.last('scope-c');
    const second = await opened({ table }, { runId: 'run', claim: 2 });
    await second.tokens?.last('scope-c');
    await expect(first.tokens?.write(page(1), 'scope-c', 'one')).rejects.toThrow('took over');
    await expect(first.tokens?.last('scope-c')).rejects.toThrow('took over');
    await second.tokens?.write(page(1), 'scope-c', 'one');
    await Promise.all([first.close(), second.close()]);
  });

  it('need a page that fits into one statement', async () => {
    const table = freshTable();
    const sink = await opened({ table, max_statement_bytes: 65_536 });
    await sink.tokens?.last('scope-d');
    const large = Page.ofRecords([1, 2, 3, 4].map((id) => ({ id, v: 'x'.repeat(30_000) })));
    await expect(sink.tokens?.write(large, 'scope-d', 'one')).rejects.toThrow(
      'a page and its watermark are one statement',
    );
    await sink.close();
  });
});

describe('the doctor', () => {
  it('looks at login, warehouse, table and staging', async () => {
    const probed = async (more: JsonObject): Promise<string[]> => {
      const config = { ...databricks.connection(), table: 'nobody', ...more };
      const checked = check(databricksSink.config, config);
      if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
      const found = (await databricksSink.probe?.(checked.value, sinkContext())) ?? [];
      return found.map(({ name, status }) => `${name} ${status}`);
    };
    const volume = (location: string) => ({ staging: { location } });
    expect(await probed(volume('/Volumes/lake/sales/landing'))).toEqual([
      'auth pass',
      'warehouse pass',
      'schema pass',
      'staging pass',
    ]);
    expect(await probed({ ...volume('/Volumes/a/b/c'), create_table: false })).toEqual([
      'auth pass',
      'warehouse pass',
      'schema fail',
      'staging fail',
    ]);
  });
});
