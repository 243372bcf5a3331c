import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sinkContext, sourceContext } from '../../../test/fakes/env.ts';
import { readAll } from '../../../test/fakes/read-all.ts';
import { BUCKET, sharedRedshift } from '../../../test/conformance/fixtures/shared-redshift.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import type { WriteResult } from '../../kit/sink.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { redshiftSink, redshiftSource } from './index.ts';
import { literal } from './read/statement.ts';

const redshift = sharedRedshift();
beforeAll(redshift.start);
afterAll(redshift.stop);
let made = 0;

const ROLE = 'arn:aws:iam::123456789012:role/loader';

function problems(kind: typeof redshiftSink | typeof redshiftSource, config: JsonObject): string[] {
  const checked = check(kind.config as typeof redshiftSink.config, config);
  return checked.ok ? [] : checked.issues.map(({ path, message }) => `${path} ${message}`);
}

const endpoint = {
  host: 'h',
  database: 'd',
  user: 'u',
  credentials: { type: 'password', config: { password: 'secret' } },
};

function sinkConfig(config: JsonObject): JsonObject {
  const { connection, store } = redshift.server();
  const copy = { staging_bucket: BUCKET, iam_role: ROLE, endpoint_url: store.url };
  return { ...connection, ...(config['write_strategy'] === 'insert' ? {} : copy), ...config };
}

async function write(
  config: JsonObject,
  pages: readonly (readonly JsonObject[])[],
  schema?: RecordSchema,
): Promise<WriteResult[]> {
  const checked = check(redshiftSink.config, sinkConfig(config));
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const sink = await redshiftSink.open(checked.value, sinkContext());
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

async function table(columns: string): Promise<string> {
  const name = `t${(made += 1)}`;
  if (columns !== '') await redshift.server().client.query(`CREATE TABLE ${name} (${columns})`);
  return name;
}

async function rowsOf(name: string): Promise<unknown[]> {
  const { client } = redshift.server();
  const { rows } = await client.query(`SELECT to_jsonb(t) AS row FROM ${name} AS t ORDER BY ctid`);
  return rows.map(({ row }: { row: unknown }) => row);
}

async function read(query: string, more: JsonObject = {}): Promise<unknown[]> {
  const config = { ...redshift.server().connection, query, ...more };
  const checked = check(redshiftSource.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await redshiftSource.open(checked.value, sourceContext());
  try {
    const pages = await readAll(source);
    return pages.flatMap((page) => page.records());
  } finally {
    await source.close();
  }
}

describe('a config', () => {
  it.each(['iam', 'redshift_data_api'])('names %s credentials and is refused', (type) => {
    const credentials = { type, config: { cluster_identifier: 'c' } };
    expect(problems(redshiftSource, { ...endpoint, credentials, query: 'SELECT 1' })).toEqual([
      `credentials.type \`${type}\` credentials are not available: only \`password\` works`,
    ]);
  });

  it('may hold the password beside the type', () => {
    const credentials = { type: 'password', password: 'secret' };
    const checked = check(redshiftSource.config, { ...endpoint, credentials, query: 'SELECT 1' });
    expect(checked).toMatchObject({
      ok: true,
      value: { credentials: endpoint.credentials, port: 5439, tls: true, batch_size: 1000 },
    });
  });

  it('loads by COPY unless told otherwise, for which it needs a bucket and a role', () => {
    expect(problems(redshiftSink, { ...endpoint, table_name: 't' })).toEqual([
      'staging_bucket `write_strategy: copy` needs `staging_bucket`',
      'iam_role `write_strategy: copy` needs `iam_role`',
    ]);
    expect(
      problems(redshiftSink, { ...endpoint, table_name: 't', write_strategy: 'insert' }),
    ).toEqual([]);
    const mixed = { write_strategy: 'insert', staging_bucket: 'lake', copy_format: 'csv' };
    expect(problems(redshiftSink, { ...endpoint, table_name: 't', ...mixed })).toEqual([
      'copy_format `copy_format` belongs to `write_strategy: copy`',
      'staging_bucket `staging_bucket` belongs to `write_strategy: copy`',
    ]);
  });

  it.each([
    ['SELECT 1; DROP TABLE t', 'the query is more than one statement'],
    ['SELECT $2', 'the query uses $2, and `params` has 1 values'],
    ["SELECT '${bookmark}'", '${bookmark} needs `replication: {type: incremental, …}`'],
  ])('with the query %s is refused', (query, message) => {
    expect(problems(redshiftSource, { ...endpoint, query, params: [1] })).toEqual([
      `query ${message}`,
    ]);
  });

  it.each(["SELECT ';' AS a, $1;", 'SELECT 1 -- one; two'])('may have the query %s', (query) => {
    expect(problems(redshiftSource, { ...endpoint, query, params: ['x'] })).toEqual([]);
  });

  it('names its data set without the login', () => {
    const source = check(redshiftSource.config, { ...endpoint, query: 'SELECT 1' });
    const insert = { ...endpoint, table_name: 't', schema: 's', write_strategy: 'insert' };
    const sink = check(redshiftSink.config, insert);
    if (!source.ok || !sink.ok) throw new Error('cannot happen');
    expect(redshiftSource.datasetUri(source.value)).toBe('redshift://h:5439/d?query=SELECT 1');
    expect(redshiftSink.datasetUri(sink.value)).toBe('redshift://h:5439/d?table=s.t');
  });
});

describe('a source', () => {
  it('binds values as literals that nothing inside them can end', async () => {
    const values = ["a'b", 'a\\', "\\'; SELECT 1 --", '', null, 5];
    const query = `SELECT ${values.map((_, at) => `$${at + 1}::text AS c${at}`).join(', ')}`;
    expect(await read(query, { params: values })).toEqual([
      { c0: "a'b", c1: 'a\\', c2: "\\'; SELECT 1 --", c3: '', c4: null, c5: '5' },
    ]);
  });

  it('spells a backslash by its number, because a server may read it as an escape', () => {
    expect(literal("a\\'b")).toBe("('a' || CHR(92) || '''b')");
  });

  it('reads on where it stood, and keeps all digits', async () => {
    const name = await table('id bigint, v numeric(38, 10), b varbyte, s super, f real');
    const { client } = redshift.server();
    await client.query(
      `INSERT INTO ${name} VALUES (9007199254740993, '1234567890123456789012345678.0123456789', '\\x6869', '{"n": 1.10, "big": 12345678901234567890}', 0.1)`,
    );
    const records = await read(`SELECT * FROM ${name}`);
    expect(stringifyJson(records as JsonValue[])).toContain(
      '"s":{"n":1.10,"big":12345678901234567890}',
    );
    expect(structuredClone(records)).toEqual([
      {
        id: 9_007_199_254_740_993n,
        v: '1234567890123456789012345678.0123456789',
        b: 'aGk=',
        s: { n: 1.1, big: 12_345_678_901_234_567_890n },
        f: 0.1,
      },
    ]);
    expect(
      await read(`SELECT id FROM ${name} WHERE id >= \${bookmark}`, {
        replication: { type: 'incremental', column: 'id', initial_value: '9007199254740994' },
      }),
    ).toEqual([]);
  });
});

const STRATEGIES = [
  ['COPY of JSON', {}],
  ['COPY of CSV', { copy_format: 'csv' }],
  ['INSERT', { write_strategy: 'insert' }],
] as const;

describe.each(STRATEGIES)('a sink that writes by %s', (_, strategy) => {
  it('stores every value as it is', async () => {
    const name = await table(
      'id bigint, t varchar(100), n numeric(20,4), f float8, b boolean, s super, y varbyte, at timestamptz',
    );
    const records = [
      {
        id: 9_007_199_254_740_993n,
        t: '@NULL@',
        n: '1234567890123456.0123',
        f: 0.1,
        b: false,
        s: { a: [1, 'x"y'] },
        y: 'aGk=',
        at: '2024-05-06T07:08:09.5Z',
      },
      { id: 2, t: 'a\\N,"b"\n', n: null, f: null, b: null, s: null, y: null, at: null },
      { id: 3, t: '', n: 1.5, f: -1e300, b: true, s: [], y: '', at: '2024-05-06T00:00:00+02:00' },
    ];
    const schema: RecordSchema = {
      fields: [{ name: 'y', type: { kind: 'binary' }, nullable: true }],
      others: true,
    };
    await write({ table_name: name, ...strategy }, [records], schema);
    expect(await read(`SELECT * FROM ${name} ORDER BY id DESC`)).toEqual([
      { ...records[0] },
      { ...records[2], n: '1.5000', at: '2024-05-05T22:00:00Z' },
      { ...records[1] },
    ]);
  });

  it('writes a page whole or not at all, also in several statements', async () => {
    const name = await table('id int CHECK (id < 5)');
    const records = [1, 2, 3, 4, 5].map((id) => ({ id }));
    const config = { table_name: name, batch_size: 2, ...strategy };
    await expect(write(config, [records])).rejects.toMatchObject({ kind: 'data' });
    expect(await rowsOf(name)).toEqual([]);
    await write(config, [records.slice(0, 4)]);
    expect(await rowsOf(name)).toEqual(records.slice(0, 4));
    expect(redshift.server().store.buckets.get(BUCKET)?.size).toBe(0);
  });

  it('gives what a record lacks the default, and tells what it rounded and left out', async () => {
    const name = await table("id int, d varchar(9) DEFAULT 'usual', n numeric(9,2)");
    const [result] = await write({ table_name: name, ...strategy }, [
      [{ id: 1, n: '1.005' }, { id: 2, d: 'own', other: 1 }, { nothing: true }],
    ]);
    expect(await rowsOf(name)).toEqual([
      { id: 1, d: 'usual', n: 1.01 },
      { id: 2, d: 'own', n: null },
    ]);
    expect(result).toMatchObject({ written: 2, skipped: 1 });
    expect(result?.roundedFields).toEqual(new Map([['n', 1]]));
    expect(result?.unknownFields).toEqual(
      new Map([
        ['other', 1],
        ['nothing', 1],
      ]),
    );
  });

  it('refuses a text that is too long, and never cuts it', async () => {
    const name = await table('t varchar(3)');
    await expect(write({ table_name: name, ...strategy }, [[{ t: 'abcd' }]])).rejects.toMatchObject(
      { kind: 'data' },
    );
  });

  it('finds columns in any case, and makes tables with the types of the fields', async () => {
    const name = await table('');
    const fields = [
      ['id', { kind: 'int64' }],
      ['price', { kind: 'decimal', precision: 12, scale: 2 }],
      ['wide', { kind: 'decimal', precision: 76, scale: 2 }],
      ['at', { kind: 'timestamp', unit: 'us', zone: 'UTC' }],
      ['doc', { kind: 'json' }],
      ['bytes', { kind: 'binary' }],
    ] as const;
    const schema: RecordSchema = {
      fields: fields.map(([field, type]) => ({ name: field, type, nullable: true })),
    };
    const config = { table_name: name, ...strategy };
    await write(
      config,
      [[{ id: 1, price: '1.50', wide: '1', at: null, doc: {}, bytes: 'aGk=' }]],
      schema,
    );
    await write(config, [[{ ID: 2, Price: '2.50' }]]);
    const { rows } = await redshift
      .server()
      .client.query(
        `SELECT attname || ' ' || format_type(atttypid, atttypmod) AS line FROM pg_attribute WHERE attrelid = '${name}'::regclass AND attnum > 0`,
      );
    expect(rows.map(({ line }: { line: string }) => line)).toEqual([
      'id bigint',
      'price numeric(12,2)',
      'wide character varying(65535)',
      'at timestamp with time zone',
      'doc super',
      'bytes varbyte',
    ]);
    expect(await rowsOf(name)).toMatchObject([
      { id: 1, price: 1.5 },
      { id: 2, price: 2.5 },
    ]);
  });
});

it('collects pages for one COPY, with the role and the region in the statement', async () => {
  const name = await table('id int');
  const { copies } = redshift.server();
  copies.length = 0;
  const config = { table_name: name, commit_rows: 3, region: 'eu-west-1', staging_prefix: 'in' };
  await write(config, [[{ id: 1 }], [{ id: 2 }], [{ id: 3 }], [{ id: 4 }]]);
  expect(copies.map(({ objects }) => objects)).toEqual([
    ['{"id":"1"}\n{"id":"2"}\n{"id":"3"}\n'],
    ['{"id":"4"}\n'],
  ]);
  expect(copies[0]?.statement).toMatch(
    new RegExp(
      String.raw`^COPY "public"\."${name}" \("id"\) FROM 's3://lake/in/svc-load-[^']+\.jsonl' IAM_ROLE '${ROLE}' REGION 'eu-west-1' FORMAT AS JSON 'auto' `,
    ),
  );
});

describe('a probe', () => {
  async function findings(config: JsonObject): Promise<unknown> {
    const checked = check(redshiftSink.config, sinkConfig(config));
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    return redshiftSink.probe?.(checked.value, sinkContext());
  }

  it('says that everything is there, the bucket too', async () => {
    expect(await findings({ table_name: await table('id int') })).toEqual([
      { name: 'auth', status: 'pass' },
      { name: 'schema', status: 'pass' },
      { name: 'staging-network', status: 'pass' },
      { name: 'staging-auth', status: 'pass' },
    ]);
  });

  it.each([
    [{ credentials: { type: 'password', config: { password: 'wrong' } } }, 'auth'],
    [{ schema: 'nowhere' }, 'schema'],
    [{ create_table: false }, 'schema'],
    [{ staging_bucket: 'nowhere' }, 'staging-auth'],
  ])('with %j fails at %s', async (more, name) => {
    expect(await findings({ table_name: 'nobody', ...more })).toContainEqual(
      expect.objectContaining({ name, status: 'fail', reason: expect.any(String) }),
    );
  });
});
