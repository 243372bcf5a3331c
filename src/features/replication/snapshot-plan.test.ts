import { expect, test } from 'vitest';
import { load, refusalOf } from '../../../test/fakes/documents.ts';
import { replicationOf } from '../../blocks/replication/index.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { planSnapshot, withAnchor } from './snapshot-plan.ts';

const CHANGES = {
  type: 'postgres-cdc',
  config: {
    connection_url: 'postgres://u@127.0.0.1:1/shop',
    slot_name: 'slot',
    publication_name: 'shop',
  },
};

function snapshotOf(pipeline: JsonObject, rows: JsonObject = { path: 'rows.jsonl' }) {
  const text = JSON.stringify({
    version: 1,
    name: 'shop',
    mirror: { snapshot: { source: { type: 'jsonl', config: rows } } },
    schedule: { cron: '0 3 * * *' },
    pipeline: {
      source: CHANGES,
      state: { type: 'file', config: { path: 'state' } },
      sink: {
        type: 'sqlite',
        config: {
          database_url: 'sqlite:out.db',
          table_name: 't',
          write_mode: 'upsert',
          key: ['id'],
          column_mapping: 'auto_map',
        },
      },
      ...pipeline,
    },
  });
  const document = load(text, { format: 'json' });
  const plan = planDocument(document, parts, { cpus: 1 });
  const [row] = plan.rows;
  const replication = replicationOf(plan);
  if (row === undefined || replication === undefined) throw new Error('nothing to replicate');
  return planSnapshot({ document, parts, cpus: 1, row, replication });
}

test('the snapshot is the same document with another source', () => {
  const plan = snapshotOf({ transforms: [{ type: 'drop', config: { fields: ['secret'] } }] });
  expect(plan.rows).toMatchObject([
    {
      id: 'row-0',
      source: { type: 'jsonl', path: 'mirror.snapshot.source' },
      transforms: [{ type: 'drop' }],
      sink: { type: 'sqlite' },
      state: { type: 'file' },
    },
  ]);
  expect(plan.blocks).not.toHaveProperty('schedule');
  expect(plan.blocks).not.toHaveProperty('mirror');
});

test('its rows join behind the transform that makes rows of changes', () => {
  const plan = snapshotOf({
    source: { ...CHANGES, transforms: [{ type: 'drop', config: { fields: ['secret'] } }] },
    transforms: [
      { type: 'filter', config: { path: 'table', op: 'eq', value: 'orders' } },
      { type: 'cdc_unwrap', config: { marker_field: 'how' } },
    ],
  });
  const transforms = plan.rows[0]?.transforms.map(({ type, config, path }) => [type, config, path]);
  expect(transforms).toEqual([
    ['set', { values: { how: 'u' } }, 'pipeline.transforms[1]'],
    ['drop', { fields: ['secret'] }, 'pipeline.source.transforms[0]'],
  ]);
});

test('a preset called `default` is the source, too', () => {
  const plan = snapshotOf({ source: null, sources: { default: CHANGES } });
  expect(plan.rows[0]?.source.type).toBe('jsonl');
});

test('each position has a key of its own, under which the snapshot goes on', () => {
  const plan = snapshotOf({});
  const keys = ['0/1', '0/2', '0/1'].map(
    (lsn) => withAnchor(plan, { last_lsn: lsn }).rows[0]?.stateKey,
  );
  expect(keys[0]).toMatch(/^shop::row-0::__snapshot__::[0-9a-f]{16}$/);
  expect(keys[1]).not.toBe(keys[0]);
  expect(keys[2]).toBe(keys[0]);
});

test('faults are told with their place in the block', () => {
  const refusal = refusalOf(() => snapshotOf({}, { pth: 'rows.jsonl' }));
  expect(refusal.issues.map(({ path }) => path)).toEqual([
    'mirror.snapshot.source.config.path',
    'mirror.snapshot.source.config.pth',
  ]);
});
