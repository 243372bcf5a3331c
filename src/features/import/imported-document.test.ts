import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { importDlt } from './dlt.ts';
import { textOf } from './foreign-values.ts';
import { importedDocument } from './imported-document.ts';
import type { ImportedMove } from './imported-move.ts';
import { importMeltano } from './meltano.ts';
import { importSling } from './sling.ts';

interface Written {
  readonly text: string;
  readonly source: JsonObject;
  readonly sink: JsonObject;
  /** Configs of the rows, whole. */
  readonly rows: readonly { readonly source: JsonObject; readonly sink: JsonObject }[];
}

function written(moves: readonly ImportedMove[]): Written {
  const [move] = moves;
  if (move === undefined) throw new Error('nothing was imported');
  const text = importedDocument(move, 'Imported.');
  const { pipeline, matrix = [{}] } = parse(text) as {
    pipeline: Record<'source' | 'sink', { type: string; config: JsonObject }>;
    matrix?: readonly Partial<Record<'source' | 'sink', { config: JsonObject }>>[];
  };
  const { source, sink } = pipeline;
  return {
    text,
    source: { type: source.type, ...source.config },
    sink: { type: sink.type, ...sink.config },
    rows: matrix.map((row) => ({
      source: { ...source.config, ...row.source?.config },
      sink: { ...sink.config, ...row.sink?.config },
    })),
  };
}

function sling(
  streams: JsonObject,
  { source = 'postgres://s/shop', target = 'postgres://t/copy' }: Record<string, JsonValue> = {},
): Written {
  const document = { source: 'S', target: 'T', streams };
  const connections = { S: source, T: target };
  return written(importSling({ name: 'x', document, connections, variables: {} }));
}

const ORDERS = { mode: 'incremental', primary_key: 'id', object: 'copy.orders' };

describe('tables of sling', () => {
  test('the schema of a table stands in its own field where a sink has one, and quotes keep their dots', () => {
    expect(sling({ 'a.b': ORDERS }).sink).toMatchObject({ schema: 'copy', table_name: 'orders' });
    const quoted = sling({ '"my.shop"."or""ders"': { object: '"my.copy".orders' } });
    expect(quoted.sink).toMatchObject({ schema: 'my.copy', table_name: 'orders' });
    expect(quoted.source['query']).toBe('SELECT * FROM "my.shop"."or""ders"');
    const bare = sling({ 'a.b': { object: 'orders' } }).sink;
    expect(bare).not.toHaveProperty('schema');
  });

  test.each([
    ['mysql://t/shop', 'the connection decides the database'],
    ['sqlite:a.db', '`sqlite` has no schemas here'],
    ['duckdb://a.duckdb', '`duckdb` has no schemas here'],
    ['mongodb://t/shop', 'the connection decides the database'],
  ])('%s has no field for it: the last part, which is told', (target, why) => {
    const { sink, text } = sling({ 'a.b': ORDERS }, { target });
    expect(sink['table_name'] ?? sink['collection']).toBe('orders');
    expect(sink).not.toHaveProperty('schema');
    expect(text).toContain(`# - b goes to \`orders\`, not to \`copy.orders\`: ${why}`);
  });

  test('the only schema of a file and the database of the address are left out silently', () => {
    const main = { ...ORDERS, object: 'main.orders' };
    for (const target of ['sqlite:a.db', 'duckdb:a.duckdb'])
      expect(sling({ 'a.b': main }, { target }).text).not.toContain('goes to');
    const shop = { ...ORDERS, object: 'shop.orders' };
    for (const target of ['mysql://t/shop', 'mongodb://t/shop'])
      expect(sling({ 'a.b': shop }, { target }).text).not.toContain('goes to');
  });

  test('tables of one name in two schemas stay two tables', () => {
    const streams = { 'a.orders': { object: 'a.orders' }, 'b.orders': { object: 'b.orders' } };
    const names = sling(streams, { target: 'sqlite:a.db' }).rows.map(
      ({ sink }) => sink['table_name'],
    );
    expect(names).toEqual(['a_orders', 'b_orders']);
  });

  test('a file of Parquet that grows is a folder, and a file with a key is told', () => {
    const streams = (mode: string): JsonObject => {
      return {
        'a.b': { mode, primary_key: 'id', update_key: 'at', object: 'file://out/b.parquet' },
      };
    };
    const grows = sling(streams('incremental'), { target: 'local://' });
    expect(grows.sink).toEqual({
      type: 'parquet',
      destination: { type: 'local_path', path: 'out/b' },
    });
    expect(grows.text).toContain('files have no key');
    expect(sling(streams('full-refresh'), { target: 'local://' }).sink).toMatchObject({
      destination: { path: 'out/b.parquet' },
    });
  });
});

describe('what a foreign document holds', () => {
  test('is no token, and no line of its own in a comment', () => {
    const { source, text } = sling({
      'a.b': {
        id: 'x\nversion: 2',
        sql: "SELECT '${env:HOME}' AS a",
        object: 'copy.${env:HOME}',
        disabled_: 1,
      },
      'c\nversion: 3': { disabled: true },
    });
    expect(source['query']).toBe("SELECT '$${env:HOME}' AS a");
    expect(text).toContain('table_name: $${env:HOME}');
    expect(text).toContain('# - c version: 3 is disabled');
    expect(text).not.toMatch(/^version: [23]/m);
    expect(text).not.toContain('# HOME');
  });

  test.each([
    ['postgres://u:p%40ss@db:5432/shop', 'postgres://u:PASSWORD@db:5432/shop'],
    ['postgres://u:p@ss@db/shop', 'postgres://u:PASSWORD@db/shop'],
    ['postgres://u:12/34@db/shop', 'postgres://USER:PASSWORD@HOST/DATABASE'],
    ['postgres://u:1#p@ss@db/shop', 'postgres://USER:PASSWORD@HOST/DATABASE'],
    ['postgres://u:1?p@ss@db/shop', 'postgres://USER:PASSWORD@HOST/DATABASE'],
    ['postgres://db/shop?user=u&password=p4ss', 'postgres://USER:PASSWORD@db/shop'],
    ['mongodb://u:p4ss@a:1,b:2/shop', 'mongodb://USER:PASSWORD@HOST/DATABASE'],
  ])('no part of the password of %s is written', (address, shape) => {
    const { text } = sling({ 'a.b': {} }, { source: address });
    expect(text).toContain(`# S: ${shape}\n`);
    expect(text).not.toMatch(/p4ss|p@ss|p%40ss|34@/);
  });

  test('options of a path are left out, and a database of MotherDuck is no file', () => {
    const source = 'duckdb://a.duckdb?motherduck_token=s3cret';
    const { source: config, text } = sling({ 'a.b': {} }, { source });
    expect(config['database']).toBe('a.duckdb');
    expect(text).not.toContain('s3cret');
    expect(() => sling({ 'a.b': {} }, { source: 'duckdb://md:x?motherduck_token=s3cret' })).toThrow(
      /no connector for the source `S`, which is MotherDuck/,
    );
  });

  test('fields that were left out are told, and so are options that are not known', () => {
    const { text } = sling({
      'a.b': { select: ['-ssn'], source_options: { limit: 3, delimiter: ';' } },
    });
    expect(text).toContain('# - `select: -ssn` of a.b, so these fields are moved as well');
    expect(text).toContain('# - `source_options.limit` of a.b');
  });
});

describe('where reading goes on', () => {
  const state = (more: JsonObject = {}, value: JsonValue = '\uF0272026-02-03'): JsonObject => ({
    pipeline_name: 'shop',
    destination_type: 'dlt.destinations.postgres',
    dataset_name: 'ShopData',
    sources: { s: { resources: { orders: { incremental: { at: { last_value: value } } } } } },
    ...more,
  });
  const dlt = (given: JsonObject, more: JsonObject = {}, to?: string): Written => {
    const orders = { resource: 'orders', write_disposition: 'append', columns: {}, ...more };
    const schemas = [{ tables: { orders } }];
    return written(importDlt({ state: given, schemas, from: 'postgres://db/shop', to }));
  };
  const start = ({ source }: Written): unknown =>
    (source['replication'] as JsonObject)['initial_value'];

  test('dlt: in the schema of the dataset, with what comes twice when records are appended', () => {
    const document = dlt(state());
    expect(document.sink).toMatchObject({ schema: 'shop_data', table_name: 'orders' });
    expect(start(document)).toBe('2026-02-03');
    expect(document.text).toContain(
      'rows whose `at` is exactly `2026-02-03` are read once more and appended',
    );
    expect(document.text).toContain('ALTER COLUMN _dlt_id DROP NOT NULL');
    const merged = dlt(state(), {
      write_disposition: 'merge',
      columns: { id: { primary_key: true } },
    });
    expect(merged.text).not.toContain('read once more');
  });

  test('dlt: from the beginning where the table is another one than it wrote', () => {
    for (const [document, why] of [
      [dlt(state({ destination_type: 'duckdb' })), 'records go to another place than before'],
      [dlt(state(), {}, 'sqlite:a.db'), 'dlt wrote into another destination'],
    ] as const) {
      expect(start(document)).toBe('0001-01-01T00:00:00Z');
      expect(document.text).toContain('`at` = `2026-02-03`) is not used');
      expect(document.text).toContain(why);
    }
    expect(start(dlt(state({ destination_type: 'duckdb' }, 17)))).toBe(-2_147_483_648);
    expect(start(dlt(state({ destination_type: 'duckdb', dataset_name: 'main' })))).toBe(
      '2026-02-03',
    );
  });

  test('dlt: a source of MongoDB names its database', () => {
    const schemas = [{ tables: { orders: {} } }];
    const from = (address: string): Written =>
      written(importDlt({ state: state(), schemas, from: address, to: undefined }));
    expect(from('mongodb://u:p4ss@a/shop').source).toMatchObject({ database: 'shop' });
    const unnamed = from('mongodb://u:p4ss@a');
    expect(unnamed.source).toMatchObject({ database: '${env:SOURCE_URL_DATABASE}' });
    expect(unnamed.text).toContain('# SOURCE_URL_DATABASE: the name of the database');
  });

  test('a column of numbers in MySQL is not compared with a text', () => {
    const document = sling({ 'a.b': { ...ORDERS, update_key: 'n' } }, { source: 'mysql://s/shop' });
    expect(start(document)).toBe(Number.MIN_SAFE_INTEGER);
  });

  test('a source that is read whole and appended is told', () => {
    const streams = { b: { mode: 'incremental', update_key: 'at' } };
    expect(sling(streams, { source: 'sqlite:a.db' }).text).toContain('appended every time');
  });
});

describe('Meltano', () => {
  interface Given {
    readonly target?: JsonObject;
    readonly tap?: JsonObject;
    readonly metadata?: JsonObject;
    readonly select?: readonly string[];
  }
  const INCREMENTAL = { 'replication-method': 'INCREMENTAL', 'replication-key': 'at' };
  const meltano = ({
    target = { name: 'target-postgres' },
    tap = {},
    select = ['public-orders.*'],
  }: Given): Written => {
    const metadata = { 'public-orders': INCREMENTAL };
    const extractors = [{ name: 'tap-postgres', select: [...select], metadata, ...tap }];
    const document = { plugins: { extractors, loaders: [target] } };
    const bookmark = { replication_key: 'at', replication_key_value: 17 };
    const states = {
      [`dev:tap-postgres-to-${textOf(target['name'])}`]: {
        singer_state: { bookmarks: { 'public-orders': bookmark } },
      },
    };
    return written(importMeltano({ document, states }).moves);
  };
  const start = ({ source, rows }: Written): unknown =>
    ((rows[0]?.source ?? source)['replication'] as JsonObject)['initial_value'];

  test.each([
    [{}, {}, 'tap_postgres'],
    [{ default_target_schema: 'copy' }, {}, 'copy'],
    [{ default_target_schema: '$MELTANO_EXTRACTOR__LOAD_SCHEMA' }, {}, 'tap_postgres'],
    [{ default_target_schema: '$SCHEMA' }, {}, '${env:SCHEMA}'],
    [{}, { namespace: 'shop' }, 'shop'],
    [{}, { load_schema: 'loaded' }, 'loaded'],
  ])('target-postgres with %j of a tap with %j writes into %s', (config, tap, schema) => {
    const document = meltano({ target: { name: 'target-postgres', config }, tap });
    expect(document.sink).toMatchObject({ schema, table_name: 'orders' });
    expect(start(document)).toBe(17);
  });

  test('an heir writes into the namespace of what it inherits from', () => {
    const extractors: JsonObject[] = [
      { name: 'tap-postgres' },
      { name: 'tap-base', inherit_from: 'tap-postgres', select: ['a-b.*'] },
      { name: 'tap-shop', inherit_from: 'tap-base', config: { database: 'shop' } },
    ];
    const loaders = [{ name: 'target-postgres' }];
    const schedules = [{ name: 'x', extractor: 'tap-shop', loader: 'target-postgres' }];
    const { moves } = importMeltano({
      document: { plugins: { extractors, loaders }, schedules },
      states: {},
    });
    expect(written(moves).sink).toMatchObject({ schema: 'tap_postgres', table_name: 'b' });
  });

  test.each([
    [{ name: 'target-duckdb', config: { path: 'a.duckdb' } }, 'records go to another place'],
    [{ name: 'target-mysql' }, 'it is not known which name `target-mysql` gave'],
    [{ name: 'target-mongodb' }, 'it is not known which name `target-mongodb` gave'],
  ])('the position is not used where it is not known what %j wrote', (target, why) => {
    const document = meltano({ target });
    expect(start(document)).toBe(-2_147_483_648);
    expect(document.text).toContain(why);
  });

  test('tables of one name in two schemas stay two, in tables and in files', () => {
    const select = ['public-orders.*', 'sales-orders.*'];
    const tables = meltano({ select });
    expect(tables.rows.map(({ sink }) => sink['table_name'])).toEqual([
      'public_orders',
      'sales_orders',
    ]);
    expect(tables.text).toContain('several streams have a table of this name');
    const files = meltano({ select, target: { name: 'target-jsonl' } });
    expect(files.rows.map(({ sink }) => sink['path'])).toEqual([
      'output/public-orders.jsonl',
      'output/sales-orders.jsonl',
    ]);
  });

  test('files have the format of the target and lie in its folder', () => {
    const csv = {
      name: 'target-csv',
      config: { destination_path: 'a/b/', delimiter: ';', quotechar: "'" },
    };
    const { sink, text } = meltano({ target: csv });
    expect(sink).toEqual({
      type: 'csv',
      path: 'a/b/public-orders.csv',
      delimiter: ';',
      append: true,
    });
    expect(text).toContain('# - `quotechar` of target-csv');
    expect(
      meltano({ target: { name: 'target-parquet', config: { output_path: '$OUT' } } }).sink,
    ).toEqual({
      type: 'parquet',
      destination: { type: 'local_path', path: '${env:OUT}/public-orders' },
    });
  });

  test('every variable of an address is listed, and each server has its port', () => {
    const { source, text } = meltano({
      tap: { config: { host: '$DB', user: 'a@b', dbname: 'shop' } },
    });
    expect(source['connection_url']).toBe(
      'postgres://a%40b:${env:TAP_POSTGRES_PASSWORD}@${env:DB}:5432/shop',
    );
    for (const line of [
      '# TAP_POSTGRES_PASSWORD: the password of tap-postgres, with special letters percent-encoded',
      '# DB: as the other tool reads it',
      '# TARGET_POSTGRES_USER: the user of target-postgres',
      '# TARGET_POSTGRES_DATABASE: the database of target-postgres',
    ])
      expect(text).toContain(line);
    expect(meltano({ target: { name: 'target-mongodb' } }).sink['connection_uri']).toContain(
      ':27017/',
    );
  });

  test('options of a path are left out, and MotherDuck has no counterpart', () => {
    const at = (path: string): JsonObject => ({ name: 'target-duckdb', config: { path } });
    expect(meltano({ target: at('a.duckdb?motherduck_token=s3cret') }).sink['database']).toBe(
      'a.duckdb',
    );
    expect(() => meltano({ target: at('md:shop?motherduck_token=s3cret') })).toThrow(
      'nothing was imported',
    );
  });
});
