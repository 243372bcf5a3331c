import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from 'pg';
import { parse } from 'yaml';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';
import { parts } from '../../parts.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-import-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function cli(
  words: readonly string[],
  variables: Record<string, string> = {},
): Promise<Done> {
  return runCommand(words, testWiring(parts), { cwd, variables });
}

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(cwd, name)), { recursive: true });
  writeFileSync(path.join(cwd, name), text);
}

function read(name: string): string {
  return readFileSync(path.join(cwd, name), 'utf8');
}

const URLS = {
  SHOP: 'postgres://shop',
  WAREHOUSE: 'postgres://warehouse',
  SOURCE_URL: 'postgres://s',
  DESTINATION_URL: 'postgres://d',
};

/** The document is written and valid; gives it. */
async function imported(words: readonly string[], file: string): Promise<unknown> {
  const done = await cli(['import', ...words]);
  expect([done.code, done.err]).toEqual([0, expect.stringContaining(`wrote ${file}`)]);
  expect(await cli(['validate', file], URLS)).toEqual(expect.objectContaining({ code: 0 }));
  return parse(read(file));
}

const ENV_YAML = `connections:
  SHOP: { type: postgres, host: db.example, user: reader, password: hunter2-secret, port: 5433, database: shop }
  WAREHOUSE: { url: 'postgres://loader:hunter2-secret@wh/main' }
`;

describe('sling', () => {
  it('each stream is a row with its mode, key and cursor; what is equal stands once', async () => {
    write('env.yaml', ENV_YAML);
    write(
      'shop.yaml',
      `source: SHOP
target: WAREHOUSE
defaults: { mode: incremental, object: 'copy.{stream_schema}_{stream_table}', primary_key: [id] }
streams:
  public.orders: { update_key: updated_at, select: [id, total, updated_at], where: total > 0 }
  public.countries: { mode: full-refresh }
  public.events: { mode: snapshot, update_key: at }
  public.old: { disabled: true }
  sales.*: {}
  daily: { sql: 'SELECT 1 AS id', object: copy.daily, single: true }
hooks: { end: [] }
`,
    );
    const document = await imported(
      ['shop.yaml', '--connections', 'env.yaml'],
      'shop.headgate.yaml',
    );
    const row = (id: string, source: object, sink: object): object => {
      return { id, source: { config: source }, sink: { config: sink } };
    };
    const cursor = (column: string): object => {
      return {
        replication: { type: 'incremental', column, initial_value: '0001-01-01T00:00:00Z' },
      };
    };
    expect(document).toEqual({
      version: 1,
      name: 'shop',
      pipeline: {
        source: { type: 'postgres', config: { connection_url: '${env:SHOP}' } },
        sink: {
          type: 'postgres',
          config: {
            connection_url: '${env:WAREHOUSE}',
            schema: 'copy',
            column_mapping: 'auto_map',
          },
        },
        state: { type: 'file', config: { path: '.headgate/state' } },
      },
      matrix: [
        row(
          'orders',
          {
            query: 'SELECT "id", "total", "updated_at" FROM "public"."orders" WHERE total > 0',
            ...cursor('updated_at'),
          },
          { table_name: 'public_orders', write_mode: 'upsert', key: ['id'] },
        ),
        row(
          'countries',
          { query: 'SELECT * FROM "public"."countries"' },
          { table_name: 'public_countries', write_mode: 'overwrite' },
        ),
        row(
          'events',
          { query: 'SELECT * FROM "public"."events"' },
          { table_name: 'public_events', write_mode: 'append' },
        ),
        row(
          'daily',
          { query: 'SELECT 1 AS id' },
          { table_name: 'daily', write_mode: 'upsert', key: ['id'] },
        ),
      ],
    });
    const text = read('shop.headgate.yaml');
    expect(text).not.toContain('hunter2');
    for (const line of [
      '# SHOP: postgres://reader:PASSWORD@db.example:5433/shop',
      '# WAREHOUSE: postgres://loader:PASSWORD@wh/main',
      '# - public.old is disabled',
      '# - sales.* stands for many tables: `headgate discover` writes a row for each',
      '# - `single` of daily',
      '# - `hooks` of the replication',
      '# - orders: how far it has come is not known',
    ])
      expect(text).toContain(line);
  });

  it('files become a table, and the document runs as it is', async () => {
    write('in/orders.csv', 'id;total\n1;2.50\n2;3.00\n');
    write(
      'files.yaml',
      `source: LOCAL
target: DB
streams:
  in/orders.csv: { mode: incremental, primary_key: id, object: main.orders, source_options: { delimiter: ';' } }
`,
    );
    expect((await cli(['import', 'files.yaml'], { DB: 'sqlite:out.db' })).code).toBe(0);
    for (let time = 0; time < 2; time += 1)
      expect((await cli(['run', 'files.headgate.yaml', '--quiet'])).code).toBe(0);
    const db = new DatabaseSync(path.join(cwd, 'out.db'));
    expect(db.prepare('SELECT id, total FROM orders ORDER BY id').all()).toEqual([
      { id: 1, total: '2.50' },
      { id: 2, total: '3.00' },
    ]);
    db.close();
  });

  it('a connection that is not known is told, with the ways to name it', async () => {
    write('x.yaml', 'source: NOWHERE\ntarget: LOCAL\nstreams: { a.b: {} }\n');
    const { code, err } = await cli(['import', 'x.yaml']);
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/the source `NOWHERE`[^]*--connections/),
    ]);
    expect(existsSync(path.join(cwd, 'x.headgate.yaml'))).toBe(false);
    const oracle = await cli(['import', 'x.yaml'], { NOWHERE: 'oracle://db' });
    expect(oracle.err).toContain('no connector for the source `NOWHERE`, which is oracle');
  });
});

describe('Meltano', () => {
  const PROJECT = `plugins:
  extractors:
    - name: tap-postgres
      config: { host: db.example, port: 5432, user: reader, database: shop }
      select: ['public-orders.*', 'public-items.id', '!public-secrets.*']
      metadata:
        public-orders: { replication-method: INCREMENTAL, replication-key: updated_at, table-key-properties: [id] }
    - { name: tap-zendesk, config: {} }
  loaders:
    - { name: target-postgres, config: { sqlalchemy_url: $WAREHOUSE } }
jobs:
  - { name: shop, tasks: ['tap-postgres target-postgres'] }
  - { name: tickets, tasks: ['tap-zendesk target-postgres'] }
schedules:
  - { name: nightly, job: shop, interval: '@daily' }
`;

  it('each job is a document with its schedule, and goes on where the stored state is', async () => {
    write('meltano.yml', PROJECT);
    mkdirSync(path.join(cwd, '.meltano'));
    const db = new DatabaseSync(path.join(cwd, '.meltano/meltano.db'));
    db.exec(
      'CREATE TABLE state (state_id TEXT, updated_at TEXT, partial_state TEXT, completed_state TEXT)',
    );
    db.prepare('INSERT INTO state VALUES (?, ?, ?, ?)').run(
      'dev:tap-postgres-to-target-postgres',
      '',
      '{}',
      '{"singer_state":{"bookmarks":{"public-orders":{"replication_key":"updated_at","replication_key_value":"2026-02-03T04:05:06Z"}}}}',
    );
    db.close();
    const done = await cli(['import', '.']);
    expect(done.err).toContain('not imported: tickets: there is no counterpart of `tap-zendesk`');
    const document = parse(read('shop.headgate.yaml')) as {
      schedule: unknown;
      pipeline: { sink: unknown };
      matrix: unknown[];
    };
    expect(document.schedule).toEqual({ cron: '0 0 * * *' });
    expect(document.pipeline.sink).toMatchObject({ config: { schema: 'tap_postgres' } });
    expect(document.matrix).toEqual([
      {
        id: 'orders',
        source: {
          config: {
            query: 'SELECT * FROM "public"."orders"',
            replication: {
              type: 'incremental',
              column: 'updated_at',
              initial_value: '2026-02-03T04:05:06Z',
            },
          },
        },
        sink: { config: { table_name: 'orders', write_mode: 'upsert', key: ['id'] } },
      },
      {
        id: 'items',
        source: { config: { query: 'SELECT * FROM "public"."items"' } },
        sink: { config: { table_name: 'items', write_mode: 'overwrite' } },
      },
    ]);
    expect(read('shop.headgate.yaml')).toContain(
      'postgres://reader:${env:TAP_POSTGRES_PASSWORD}@db.example:5432/shop',
    );
    const variables = {
      TAP_POSTGRES_PASSWORD: 'p',
      TARGET_POSTGRES_SQLALCHEMY_URL: 'postgres://w',
    };
    expect((await cli(['validate', 'shop.headgate.yaml'], variables)).code).toBe(0);
  });
});

it('documents of one name get names of their own, and no file is replaced by another', async () => {
  write(
    'meltano.yml',
    `plugins:
  extractors: [{ name: tap-postgres, select: [a-b.*] }, { name: tap-mysql, select: [a-b.*] }]
  loaders: [{ name: target-jsonl }]
schedules:
  - { name: daily, extractor: tap-postgres, loader: target-jsonl }
  - { name: Daily, extractor: tap-mysql, loader: target-jsonl }
`,
  );
  expect((await cli(['import', '.'])).code).toBe(0);
  expect(parse(read('daily.headgate.yaml'))).toMatchObject({
    name: 'daily',
    pipeline: { source: { type: 'postgres' } },
  });
  expect(parse(read('Daily-2.headgate.yaml'))).toMatchObject({
    name: 'Daily-2',
    pipeline: { source: { type: 'mysql' } },
  });
});

describe('dlt', () => {
  it('goes on in the table that dlt wrote, and reads everything where that is another one', async () => {
    const database = await freshDatabase();
    const { url } = database;
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      await client.query(`CREATE TABLE orders (id int, at date);
        INSERT INTO orders VALUES (1, '2026-01-01'), (2, '2026-01-02'), (3, '2026-01-03');
        CREATE SCHEMA copy; CREATE TABLE copy.orders AS SELECT * FROM orders WHERE id < 3;
        ALTER TABLE copy.orders ADD PRIMARY KEY (id)`);
      const state = (type: string): string =>
        JSON.stringify({
          pipeline_name: type,
          destination_type: type,
          dataset_name: 'copy',
          sources: {
            s: { resources: { orders: { incremental: { at: { last_value: '2026-01-02' } } } } },
          },
        });
      const columns = { id: { primary_key: true } };
      const table = { write_disposition: 'merge', resource: 'orders', columns };
      for (const type of ['postgres', 'duckdb']) {
        write(`${type}/state.json`, state(type));
        write(`${type}/schemas/s.schema.json`, JSON.stringify({ tables: { orders: table } }));
        const done = await cli(['import', type, '--from', 'postgres://db/shop']);
        expect(done.err).toContain(`wrote ${type}.headgate.yaml`);
        const variables = { SOURCE_URL: url, DESTINATION_URL: url };
        const run = await cli(['run', `${type}.headgate.yaml`], variables);
        expect([run.code, run.err + run.out]).toEqual([
          0,
          expect.stringContaining(`${type === 'duckdb' ? 3 : 2} records written`),
        ]);
      }
      const { rows } = await client.query('SELECT id FROM copy.orders ORDER BY id');
      expect(rows).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    } finally {
      await client.end();
      await database.drop();
    }
  });

  it('the tables that a pipeline loaded are rows, which go on behind the stored value', async () => {
    write(
      'shop/state.json',
      JSON.stringify({
        pipeline_name: 'shop',
        destination_type: 'dlt.destinations.postgres',
        dataset_name: 'shop_data',
        sources: {
          sql_database: {
            resources: {
              orders: { incremental: { updated_at: { last_value: '\uF0272026-02-03T04:05:06Z' } } },
            },
          },
        },
      }),
    );
    const columns = { id: { name: 'id', primary_key: true }, updated_at: { name: 'updated_at' } };
    write(
      'shop/schemas/sql_database.schema.json',
      JSON.stringify({
        tables: {
          _dlt_loads: {},
          orders: { write_disposition: 'merge', resource: 'orders', columns },
          orders__items: { parent: 'orders', columns: {} },
          countries: { write_disposition: 'replace', resource: 'countries', columns: {} },
        },
      }),
    );
    const asked = await cli(['import', 'shop']);
    expect([asked.code, asked.err]).toEqual([1, expect.stringContaining('--from')]);
    const document = await imported(['shop', '--from', 'postgres://db/shop'], 'shop.headgate.yaml');
    expect(document).toEqual(
      expect.objectContaining({
        matrix: [
          {
            id: 'orders',
            source: {
              config: {
                query: 'SELECT * FROM "orders"',
                replication: {
                  type: 'incremental',
                  column: 'updated_at',
                  initial_value: '2026-02-03T04:05:06Z',
                },
              },
            },
            sink: { config: { table_name: 'orders', write_mode: 'upsert', key: ['id'] } },
          },
          {
            id: 'countries',
            source: { config: { query: 'SELECT * FROM "countries"' } },
            sink: { config: { table_name: 'countries', write_mode: 'overwrite' } },
          },
        ],
      }),
    );
    expect(read('shop.headgate.yaml')).toContain('orders__items held lists of its parent');
  });
});

it('leaves files alone that exist, and says what it can import', async () => {
  write('a.yaml', 'source: LOCAL\ntarget: LOCAL\nstreams: { in.csv: { object: out.jsonl } }\n');
  write('a.headgate.yaml', 'mine');
  const kept = await cli(['import', 'a.yaml']);
  expect([kept.code, kept.err, read('a.headgate.yaml')]).toEqual([
    1,
    expect.stringContaining('--force'),
    'mine',
  ]);
  expect((await cli(['import', 'a.yaml', '--force'])).code).toBe(0);
  write('other.yaml', 'version: 1\n');
  const other = await cli(['import', 'other.yaml']);
  expect([other.code, other.err]).toEqual([1, expect.stringContaining('a replication of sling')]);
});

it('says what can be named where nothing is', async () => {
  const { code, err } = await cli(['import', 'gone']);
  expect([code, err]).toEqual([
    1,
    expect.stringContaining(`there is no file or folder ${cwd}/gone`),
  ]);
  expect(err).toContain('hint: check the path; name a replication of sling');
});
