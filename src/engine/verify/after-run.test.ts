import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { parts } from '../../parts.ts';
import { countedMetrics, run } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { planOfTree, verifyTree } from '../../../test/fakes/verify.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-verify-'));
const database = join(folder, 'data.db');
writeFileSync(join(folder, 'in.csv'), 'id,name,amount\n1,ann,1.50\n2,bob,2\n3,cid,\n');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function document(
  verify: JsonObject,
  sink: JsonObject = {},
  pipeline: JsonObject = {},
): JsonObject {
  const written = {
    database_url: `sqlite:${database}?mode=rwc`,
    table_name: 'out',
    column_mapping: 'auto_map',
    write_mode: 'upsert',
    key: ['id'],
  };
  return {
    verify,
    pipeline: {
      source: { type: 'csv', config: { path: join(folder, 'in.csv') } },
      sink: { type: 'sqlite', config: { ...written, ...sink } },
      ...pipeline,
    },
  };
}

function damage(sql: string): void {
  const db = new DatabaseSync(database);
  db.exec(sql);
  db.close();
}

function asked(sql: string): unknown[] {
  const db = new DatabaseSync(database);
  const rows = db.prepare(sql).all();
  db.close();
  return rows.map((row) => ({ ...row }));
}

describe('after a run (spec 2.13)', { timeout: 60_000 }, () => {
  it('a destination that holds what was written lets it pass, whatever types it gives the values', async () => {
    const metrics = countedMetrics();
    const outcome = await run(planOfTree(document({})), { parts, env: testEnv({ metrics }) });
    expect(outcome.error).toBeNull();
    expect(metrics.of('svc_verify_runs_total')).toEqual({ '{test,row-0,equal}': 1 });
  });

  it('a row too many fails it, and is a warning where the document says so', async () => {
    damage("INSERT INTO out (id, name) VALUES (9, 'extra')");
    const metrics = countedMetrics();
    const failed = await run(planOfTree(document({})), { parts, env: testEnv({ metrics }) });
    expect(failed.error).toMatchObject({ code: 'verify_different', kind: 'Sink' });
    expect(failed.error?.message).toContain('differ in 1 key (1 too many); the first is {"id":9}');
    expect(failed.records_written).toBe(3);
    expect(metrics.of('svc_verify_differences_total')).toEqual({ '{test,row-0,extra_in_dest}': 1 });
    expect(
      (await run(planOfTree(document({ fail_on_difference: false })), { parts })).error,
    ).toBeNull();
    expect((await run(planOfTree(document({ after_run: false })), { parts })).error).toBeNull();
    expect((await run(planOfTree(document({})), { parts, dryRun: true })).error).toBeNull();
  });

  it('what a repair puts right is no difference any more', async () => {
    expect((await run(planOfTree(document({ repair: true })), { parts })).error).toMatchObject({
      code: 'verify_different',
    });
    expect(
      (await run(planOfTree(document({ repair: true, allow_delete: true })), { parts })).error,
    ).toBeNull();
    expect((await verifyTree(document({}))).differences).toEqual([]);
  });
});

it(
  'what waits in the dead-letter queue is held back, no difference, and left alone by a repair',
  { timeout: 60_000 },
  async () => {
    writeFileSync(join(folder, 'checked.jsonl'), '{"id":1,"name":"a"}\n{"id":2,"name":null}\n');
    const checks = {
      source: { type: 'jsonl', config: { path: join(folder, 'checked.jsonl') } },
      quality: { record: [{ type: 'not_null', field: 'name', on_failure: 'quarantine' }] },
      dlq: { sink: { type: 'jsonl', config: { path: join(folder, 'dead.jsonl') } } },
    };
    const checked = document({ repair: true }, { table_name: 'checked' }, checks);
    const letters = (): number =>
      readFileSync(join(folder, 'dead.jsonl'), 'utf8').trim().split('\n').length;
    const outcome = await run(planOfTree(checked), { parts });
    expect(outcome.error).toBeNull();
    expect([outcome.invocations[0]?.balance.dead_lettered, letters()]).toEqual([1, 1]);
    await verifyTree(checked, { repair: true });
    expect(letters()).toBe(1);
  },
);

it('what a transform puts aside is held back, too', { timeout: 60_000 }, async () => {
  writeFileSync(join(folder, 'cast.jsonl'), '{"id":1,"n":"1"}\n{"id":2,"n":"two"}\n');
  const cast = document(
    {},
    { table_name: 'casted' },
    {
      source: { type: 'jsonl', config: { path: join(folder, 'cast.jsonl') } },
      transforms: [{ type: 'cast', config: { fields: { n: 'int' }, on_error: 'dlq' } }],
      dlq: { sink: { type: 'jsonl', config: { path: join(folder, 'dead-cast.jsonl') } } },
    },
  );
  expect((await run(planOfTree(cast), { parts })).error).toBeNull();
  expect(await verifyTree(cast)).toMatchObject({ differences: [], held_back: 1 });
});

describe('a run that a schedule made', { timeout: 60_000 }, () => {
  it('is held against what it read and wrote, in the zone of the schedule', async () => {
    writeFileSync(join(folder, 'in-2026-01-31.csv'), 'id,name\n1,a\n');
    writeFileSync(join(folder, 'in-2026-01-30.csv'), 'id,name\n2,b\n');
    damage(
      'CREATE TABLE "day_2026-01-30" (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO "day_2026-01-30" VALUES (3, \'c\')',
    );
    const dated = document({ repair: true, allow_delete: true }, { table_name: 'day_${now.date}' });
    const source = { type: 'csv', config: { path: join(folder, 'in-${now.date}.csv') } };
    const plan = planOfTree({
      ...dated,
      pipeline: { ...(dated['pipeline'] as JsonObject), source },
    });
    const outcome = await run(plan, {
      parts,
      clock: new Date('2026-01-30T20:00:00Z'),
      zone: 'Asia/Tokyo',
    });
    expect([outcome.error, outcome.records_written]).toEqual([null, 1]);
    expect(asked('SELECT * FROM "day_2026-01-30"')).toEqual([{ id: 3, name: 'c' }]);
    expect(asked('SELECT * FROM "day_2026-01-31"')).toEqual([{ id: '1', name: 'a' }]);
  });
});

describe('a comparison on request', { timeout: 60_000 }, () => {
  it('sees the records as the sink was given them', async () => {
    const masking = { rules: [{ match: { fields: ['name'] }, action: { type: 'redact' } }] };
    const masked = document(
      {},
      { table_name: 'masked' },
      { transforms: [{ type: 'drop', config: { fields: ['amount'] } }], masking },
    );
    expect((await run(planOfTree(masked), { parts })).error).toBeNull();
    expect((await verifyTree(masked)).differences).toEqual([]);
    expect((await verifyTree(document({}, { table_name: 'masked' }))).differences).toHaveLength(3);
  });

  it('takes the last record of a key where some of them are deletions', async () => {
    writeFileSync(join(folder, 'in.csv'), 'id,op\n1,u\n2,u\n1,d\n3,u\n3,u\n');
    const marked = document(
      {},
      { table_name: 'marked', delete_marker: { field: 'op', values: ['d'] } },
    );
    expect((await run(planOfTree(marked), { parts })).error).toBeNull();
    expect((await verifyTree(marked)).differences).toEqual([]);
  });

  it('finds every record missing where nothing was written yet, and a repair writes them', async () => {
    writeFileSync(join(folder, 'in.csv'), 'id,name\n1,a\n2,b\n3,c\n');
    const fresh = document({}, { table_name: 'never' });
    expect((await verifyTree(fresh)).differences.map(({ kind }) => kind)).toEqual(
      Array(3).fill('missing_in_dest'),
    );
    expect((await verifyTree(fresh, { repair: true })).repaired_upserts).toBe(3);
    expect((await verifyTree(fresh)).differences).toEqual([]);
  });
});

describe('a document that cannot be verified is refused when it is loaded', () => {
  const issuesOf = (tree: JsonObject): string[] => {
    try {
      planOfTree(tree);
      return [];
    } catch (error) {
      return error instanceof ConfigError
        ? error.issues.map(({ code, message }) => `${code}: ${message}`)
        : [String(error)];
    }
  };

  it.each<[string, JsonObject, string]>([
    [
      'rows that replace everything',
      document({ key: ['id'] }, { write_mode: 'overwrite', key: null }),
      'replaces its destination',
    ],
    ['no key', document({}, { write_mode: 'append', key: null }), 'no key'],
    [
      'a sink that cannot be read',
      document({ key: ['id'] }, {}, { sink: { type: 'stdout' } }),
      'cannot be read back from `stdout`',
    ],
    [
      'one destination of two rows',
      { ...document({}), matrix: [{ id: 'a' }, { id: 'b' }] },
      'write the same destination',
    ],
    [
      'one destination of two rows that name it in two ways',
      {
        ...document({}),
        matrix: [
          { id: 'a' },
          {
            id: 'b',
            sink: {
              config: {
                database_url: join(folder, 'x/../data.db').replace('data.db', './data.db'),
              },
            },
          },
        ],
      },
      'write the same destination',
    ],
    [
      'chunks',
      {
        ...document({}),
        partition: { kind: 'integer', from: 0, to: 10, chunk_size: 5, bounds: 'inclusive' },
      },
      'cut into chunks',
    ],
  ])('%s', (_name, tree, told) =>
    expect(issuesOf(tree).find((issue) => issue.startsWith('verify_impossible'))).toContain(told),
  );

  it('and so is a request', async () => {
    const { verify: _verify, ...plain } = document({}, { write_mode: 'append', key: null });
    await expect(verifyTree(plain)).rejects.toMatchObject({ code: 'bad_config' });
    await expect(verifyTree(document({}), { row: 'nobody' })).rejects.toMatchObject({
      code: 'bad_config',
    });
    const json = document(
      { key: ['id'] },
      { write_mode: 'append', key: null, column_mapping: 'json' },
    );
    expect(issuesOf(json)).toEqual([]);
  });
});
