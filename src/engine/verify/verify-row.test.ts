import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../lib/text/json.ts';
import { naively, sequence, told, verifyTree } from '../../../test/fakes/verify.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-verify-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let databases = 0;

interface Tables {
  readonly document: JsonObject;
  readonly db: DatabaseSync;
}

/** Two tables `src` and `dst` without constraints, so that anything can be planted. */
function tables(
  columns: string,
  rows: { source: readonly JsonObject[]; destination: readonly JsonObject[] },
  verify: JsonObject,
): Tables {
  const path = join(folder, `${(databases += 1)}.db`);
  const db = new DatabaseSync(path);
  db.exec(`CREATE TABLE src (${columns}); CREATE TABLE dst (${columns}); BEGIN`);
  for (const [table, records] of [
    ['src', rows.source],
    ['dst', rows.destination],
  ] as const) {
    for (const record of records) {
      const names = Object.keys(record);
      db.prepare(
        `INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => '?').join()})`,
      ).run(...names.map((name) => record[name] as string | number | null));
    }
  }
  db.exec('COMMIT');
  return { db, document: documentFor(path, verify) };
}

function documentFor(path: string, verify: JsonObject, rest: JsonObject = {}): JsonObject {
  return {
    verify,
    pipeline: {
      source: {
        type: 'sqlite',
        config: { database_url: `sqlite:${path}`, query: 'SELECT * FROM src' },
      },
      sink: {
        type: 'sqlite',
        config: { database_url: `sqlite:${path}`, table_name: 'dst', column_mapping: 'auto_map' },
      },
      ...rest,
    },
  };
}

const NAMES = ['ann', 'bob', 'cid', 'dan', null];

/** A table and a copy in which anything may have gone wrong. */
function damaged(
  next: (below: number) => number,
  keyOf: (n: number) => JsonObject,
): { source: JsonObject[]; destination: JsonObject[] } {
  const source: JsonObject[] = [];
  const destination: JsonObject[] = [];
  const rows = next(300);
  const rarely = 1 + next(40);
  for (let n = 0; n < rows; n += 1) {
    const record = { ...keyOf(n), name: NAMES[next(5)] ?? null, n: next(1000) };
    const fate = next(rarely * 6);
    if (fate !== 0) source.push(record);
    if (fate === 1) continue;
    destination.push(fate === 2 ? { ...record, name: 'changed' } : record);
    if (fate === 3) source.push(record);
    if (fate === 4) destination.push(record);
  }
  return { source, destination };
}

describe('a comparison finds exactly what differs', { timeout: 60_000 }, () => {
  const keys: [
    string,
    string,
    readonly string[],
    (next: (below: number) => number) => (n: number) => JsonObject,
  ][] = [
    [
      'an integer key',
      'id INTEGER, name TEXT, n INTEGER',
      ['id'],
      () => (n) => ({ id: n * 3 - 100 }),
    ],
    [
      'a key with gaps',
      'id INTEGER, name TEXT, n INTEGER',
      ['id'],
      () => (n) => ({ id: n < 20 ? n : n * 1_000_003 }),
    ],
    [
      'a text key',
      'id TEXT, name TEXT, n INTEGER',
      ['id'],
      () => (n) => ({ id: `k${n % 7}-${n}` }),
    ],
    [
      'a key of two fields',
      'a INTEGER, b TEXT, name TEXT, n INTEGER',
      ['a', 'b'],
      () => (n) => ({ a: n % 10, b: `b${n}` }),
    ],
    [
      'keys that are null',
      'id INTEGER, name TEXT, n INTEGER',
      ['id'],
      (next) => (n) => ({ id: next(20) === 0 ? null : n }),
    ],
  ];
  it.each(keys)('by %s', async (_name, columns, key, make) => {
    for (let seed = 1; seed <= 6; seed += 1) {
      const next = sequence(seed);
      const rows = damaged(next, make(next));
      const { document, db } = tables(columns, rows, {
        key: [...key],
        ranges: 1 + next(5),
        leaf_rows: 1 + next(20),
      });
      const report = await verifyTree(document);
      db.close();
      expect({ seed, found: told(report.differences) }).toEqual({
        seed,
        found: told(naively(rows.source, rows.destination, key)),
      });
      expect(report.truncated).toBe(false);
      expect(report.strategy).toBe(columns.startsWith('id INTEGER') ? 'range' : 'full');
    }
  });
});
