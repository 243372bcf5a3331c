/** Shards on real databases: together they are the whole result, whatever the column holds. */
import { DatabaseSync } from 'node:sqlite';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../../test/fakes/engine.ts';
import { freshDatabase } from '../../../test/servers/postgres.ts';
import { documentOfTree } from '../../document/load.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { parts } from '../../parts.ts';
import { planDocument } from '../../plan/plan-document.ts';
import { cutSpans } from './shards.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-shards-'));
const database = await freshDatabase();
const client = new Client({ connectionString: database.url });

beforeAll(() => client.connect());
afterAll(async () => {
  await client.end();
  await database.drop();
  rmSync(folder, { recursive: true });
});

it('divides many files among shards, each of which reads its own', async () => {
  const names = Array.from({ length: 23 }, (_, n) => `part-${n}.jsonl`);
  for (const name of names) writeFileSync(join(folder, name), `{"in":"${name}"}\n`);
  const plan = planDocument(
    documentOfTree({
      version: 1,
      name: 'shared',
      shard: { count: 4 },
      pipeline: {
        source: { type: 'file', config: { path: join(folder, 'part-*.jsonl') } },
        sink: { type: 'jsonl', config: { path: join(folder, 'shared.jsonl'), append: true } },
      },
    }),
    parts,
    { cpus: 2 },
  );
  const { invocations } = await run(plan, { parts });
  expect(invocations.map(({ row_id: id }) => id)).toEqual(
    [0, 1, 2, 3].map((n) => `row-0::shard::${n}`),
  );
  const read = invocations.map(({ balance }) => balance.written);
  expect(read.reduce((sum, one) => sum + one)).toBe(names.length);
  expect(Math.max(...read)).toBeLessThan(names.length);
  const lines = readFileSync(join(folder, 'shared.jsonl'), 'utf8').trim().split('\n');
  expect(lines.sort()).toEqual(names.map((name) => `{"in":"${name}"}`).sort());
});

function planOf(type: 'sqlite' | 'postgres', address: JsonObject, query: string, count: number) {
  return planDocument(
    documentOfTree({
      version: 1,
      name: 'sharded',
      shard: { count },
      pipeline: {
        source: { type, config: { ...address, query, shard: { key: 'n' } } },
        sink: { type: 'jsonl', config: { path: join(folder, 'out.jsonl'), append: true } },
      },
    }),
    parts,
    { cpus: 2 },
  );
}

const ADDRESS = {
  sqlite: { database_url: join(folder, 'in.db') },
  postgres: { connection_url: database.url },
} as const;

async function makeTable(
  type: 'sqlite' | 'postgres',
  values: readonly (bigint | null)[],
): Promise<void> {
  const statements = [
    'DROP TABLE IF EXISTS t',
    'CREATE TABLE t (n bigint)',
    ...values.map((value) => `INSERT INTO t VALUES (${value === null ? 'NULL' : value})`),
  ];
  if (type === 'postgres') await client.query(statements.join(';'));
  else {
    const db = new DatabaseSync(ADDRESS.sqlite.database_url);
    db.exec(statements.join(';'));
    db.close();
  }
}

const SHAPES: readonly (readonly [string, readonly (bigint | null)[], number])[] = [
  ['values with gaps', [1n, 2n, 3n, 50n, 99n, 100n], 4],
  ['values below zero, and none', [-7n, null, -1n, 0n, 5n, null], 3],
  ['fewer values than shards', [5n, 6n], 10],
  ['one value', [42n, 42n, null], 4],
  ['nothing but records without a value', [null, null], 4],
  ['no record at all', [], 4],
  ['the widest range there is', [-(2n ** 63n), 0n, 2n ** 63n - 1n], 5],
];

describe.each(['sqlite', 'postgres'] as const)('shards of %s', (type) => {
  it.each(SHAPES)('hold each record once: %s', async (_what, values, count) => {
    await makeTable(type, values);
    const outcome = await run(planOf(type, ADDRESS[type], 'SELECT n FROM t', count), { parts });
    expect(outcome.status).toBe('completed');
    expect(outcome.records_written).toBe(values.length);
    expect(outcome.invocations.length).toBeLessThanOrEqual(count);
    expect(outcome.invocations.map(({ row_id: id }) => id)).toEqual(
      outcome.invocations.map((_, index) => `row-0::shard::${index}`),
    );
  });

  it.each([
    'SELECT n FROM t; -- all of them',
    'SELECT n FROM t; /* all; */',
    'SELECT n FROM t /* all */; ; -- of them;',
    'SELECT n FROM t -- all',
  ])('read a query as it ends: %s', async (query) => {
    await makeTable(type, [1n, 2n, null]);
    const outcome = await run(planOf(type, ADDRESS[type], query, 2), { parts });
    expect(outcome).toMatchObject({ status: 'completed', records_written: 3 });
  });

  it('are refused where the column holds no integers', async () => {
    await makeTable(type, [1n]);
    const outcome = await run(planOf(type, ADDRESS[type], `SELECT 'a text' AS n FROM t`, 2), {
      parts,
    });
    expect(outcome.invocations[0]?.error).toMatchObject({
      code: 'shard_key',
      message: expect.stringContaining('not all of its values are integers'),
    });
  });
});

it('spans follow each other from the first, which has no beginning, to the last, which has no end', () => {
  const bound = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  fc.assert(
    fc.property(bound, bound, fc.integer({ min: 1, max: 1000 }), (one, other, count) => {
      const [low, high] = one < other ? [one, other] : [other, one];
      const spans = cutSpans(low, high, count).map(({ span }) => span);
      expect(spans.length).toBeLessThanOrEqual(count);
      expect(spans[0]?.from).toBeUndefined();
      expect(spans.at(-1)).toMatchObject({ nulls: true });
      expect(spans.at(-1)?.to).toBeUndefined();
      for (const [index, span] of spans.slice(1).entries()) {
        expect(span.from).toBe(spans[index]?.to);
        expect(spans[index]?.nulls).toBe(false);
        expect(span.from).toBeGreaterThan(low);
        expect(span.from).toBeLessThanOrEqual(high);
      }
    }),
  );
});
