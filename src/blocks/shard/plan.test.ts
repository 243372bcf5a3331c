import assert from 'node:assert/strict';
import { describe, expect, test } from 'vitest';
import { issuesOf, load } from '../../../test/fakes/documents.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { explainState } from '../state/explain.ts';
import { explainShard } from './plan.ts';

const SOURCE: JsonObject = {
  type: 'postgres',
  config: { connection_url: 'postgres://h/d', query: 'SELECT * FROM t', shard: { key: 'id' } },
};
const SINK: JsonObject = { type: 'stdout' };

const planned = (rest: JsonObject, { source = SOURCE, sink = SINK } = {}) =>
  planDocument(
    load(JSON.stringify({ version: 1, pipeline: { source, sink }, ...rest }), { format: 'json' }),
    parts,
    { cpus: 2 },
  );

const withConfig = (more: JsonObject): JsonObject => ({
  ...SOURCE,
  config: { ...(SOURCE['config'] as JsonObject), ...more },
});

describe('shards', () => {
  test('are those of rows that run by themselves and name the column', () => {
    expect(planned({ shard: { count: 4 } }).rows[0]?.shard).toEqual({ count: 4, key: 'id' });
    expect(planned({ shard: { count: 1 } }).rows[0]?.shard).toBeUndefined();
    expect(planned({}).rows[0]?.shard).toBeUndefined();
    const matrix: JsonObject[] = [{ id: 'a' }, { id: 'b', source: { config: { shard: null } } }];
    expect(planned({ shard: { count: 2 }, matrix }).rows.map(({ shard }) => shard?.count)).toEqual([
      2,
      undefined,
    ]);
  });

  test.each<[string, JsonObject, JsonObject | undefined]>([
    ['s3', { bucket: 'b', prefix: 'in/' }, { count: 4, of: 'objects' }],
    ['parquet', { source: { type: 'glob', pattern: 'in/*.parquet' } }, { count: 4, of: 'files' }],
    [
      'parquet',
      { source: { type: 's3', bucket: 'b', prefix: 'in/' } },
      { count: 4, of: 'objects' },
    ],
    ['parquet', { source: { type: 's3', bucket: 'b', key: 'one.parquet' } }, undefined],
    ['file', { path: 'in/*.csv' }, { count: 4, of: 'files' }],
    ['dynamodb', { table_name: 'orders', segments: 8 }, { count: 4, of: 'segments' }],
    ['dynamodb', { table_name: 'orders', mode: null, segments: 8 }, { count: 4, of: 'segments' }],
    ['dynamodb', { table_name: 'orders' }, undefined],
    ['file', { path: 'in.csv' }, undefined],
    ['file', { path: 'https://example.com/all?of=*' }, undefined],
  ])('of %s %j are %j', (type, config, shard) => {
    const plan = planned({ shard: { count: 4 } }, { source: { type, config } });
    expect(plan.rows[0]?.shard).toEqual(shard);
    expect(plan.warnings.map(({ code }) => code)).toEqual(
      shard === undefined ? ['without_effect'] : [],
    );
  });

  const KAFKA: JsonObject = {
    type: 'kafka',
    config: { brokers: 'b', topics: ['t'], group_id: 'g', idle_timeout: 1 },
  };

  test('of partitions are members of the group, which remembers what was moved', () => {
    const [row] = planned({ shard: { count: 4 } }, { source: KAFKA }).rows;
    assert(row !== undefined);
    expect(row.shard).toEqual({ count: 4, of: 'partitions' });
    expect(row.guarantee).toBe('at-least-once');
    expect(explainShard(row)[0]?.short).toBe(
      'up to 4 members of its group, each with a share of the partitions',
    );
    expect(explainState(row)[0]?.words).toMatch(/goes on where this one stops/);
    const whole = planned({}, { source: KAFKA }).rows[0];
    assert(whole !== undefined);
    expect(explainState(whole)[0]?.words).toMatch(/starts from the beginning/);
  });

  test('of partitions deliver exactly once only where a key makes repeats harmless', () => {
    const sink = { type: 'kafka', config: { brokers: 'b', topic: 'copy' } };
    const state = { type: 'file', config: { path: 's' } };
    const exact = { delivery: 'exactly_once', pipeline: { source: KAFKA, sink, state } };
    expect(planned(exact).rows[0]?.guarantee).toMatch(/watermark/);
    expect(issuesOf(() => planned({ ...exact, shard: { count: 2 } }))).toEqual([
      'exactly_once_unreachable delivery',
    ]);
    const config = {
      connection_url: 'postgres://h/d',
      table_name: 't',
      column_mapping: 'auto_map',
      write_mode: 'upsert',
      key: ['offset'],
    };
    const keyed = { source: KAFKA, sink: { type: 'postgres', config } };
    expect(planned({ shard: { count: 2 } }, keyed).rows[0]?.guarantee).toMatch(/keyed upsert/);
  });

  test('of objects exclude positions', () => {
    const source = { type: 's3', config: { bucket: 'b', incremental: { by: 'name' } } };
    expect(issuesOf(() => planned({ shard: { count: 4 } }, { source }))).toEqual([
      'shard_impossible shard',
    ]);
  });

  test('that nobody has are reported', () => {
    const { warnings } = planned({ shard: { count: 4 } }, { source: withConfig({ shard: null }) });
    expect(warnings.map(({ code, path }) => `${code} ${path}`)).toEqual(['without_effect shard']);
  });

  test.each<[string, JsonObject, { source?: JsonObject; sink?: JsonObject }]>([
    [
      'positions',
      {},
      {
        source: withConfig({
          replication: { type: 'incremental', column: 'id', initial_value: 0 },
        }),
      },
    ],
    [
      'chunks',
      { partition: { kind: 'integer', from: 1, to: 9, chunk_size: 3, bounds: 'inclusive' } },
      {
        source: withConfig({
          query: 'SELECT * FROM t WHERE id BETWEEN ${partition.start} AND ${partition.end}',
        }),
      },
    ],
  ])('exclude %s', (_what, rest, parts_) => {
    expect(issuesOf(() => planned({ shard: { count: 4 }, ...rest }, parts_))).toEqual([
      'shard_impossible pipeline.source.config.shard',
    ]);
  });

  test('do not replace each other', () => {
    const sink = { type: 'jsonl', config: { path: 'out.jsonl' } };
    expect(issuesOf(() => planned({ shard: { count: 4 } }, { sink }))).toEqual([
      'output_clash pipeline.sink.config',
    ]);
    expect(
      planned(
        { shard: { count: 4 } },
        { sink: { ...sink, config: { ...sink.config, append: true } } },
      ).rows,
    ).toHaveLength(1);
  });

  test('are not waited for, not verified after a run, and not undone', () => {
    const matrix: JsonObject[] = [
      { id: 'a' },
      { id: 'b', depends_on: ['a'], source: { config: { shard: null } } },
    ];
    expect(issuesOf(() => planned({ shard: { count: 4 }, matrix }))).toEqual([
      'partition_referenced matrix[1].depends_on',
    ]);
    const table = {
      type: 'sqlite',
      config: {
        database_url: 'd.db',
        table_name: 't',
        column_mapping: 'auto_map',
        write_mode: 'upsert',
        key: ['id'],
      },
    };
    expect(
      issuesOf(() => planned({ shard: { count: 4 }, verify: {} }, { sink: table })),
    ).toHaveLength(1);
    expect(
      planned({ shard: { count: 4 }, verify: { after_run: false } }, { sink: table }).rows,
    ).toHaveLength(1);
  });

  test.each([[0], ['four'], [1.5]])('are at least one, and not %j', (count) => {
    expect(issuesOf(() => planned({ shard: { count } }))).toHaveLength(1);
  });
});
