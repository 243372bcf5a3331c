/** Values that a column does not hold exactly, in databases that are files. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { run } from '../../../test/fakes/engine.ts';
import { planOfTree } from '../../../test/fakes/verify.ts';
import { openDuckdb } from '../../lib/sql/duckdb.ts';
import type { JsonObject } from '../../lib/text/json.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-rounding-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;

type Case = readonly [column: string, type: string, json: string, outcome: Outcome];
type Outcome = 'exact' | 'rounded' | 'refused';

const SQLITE: readonly Case[] = [
  ['a', 'REAL', '9007199254740993', 'refused'],
  ['a2', 'REAL', '1152921504606846976', 'exact'],
  ['b', 'REAL', '0.1', 'exact'],
  ['c', 'INTEGER', '9007199254740993', 'exact'],
  ['d', 'INTEGER', '"9007199254740993"', 'exact'],
  ['e', 'NUMERIC', '0.1234567890123456789', 'rounded'],
  ['f', 'DECIMAL(9,2)', '"1.105"', 'exact'],
  ['g', 'INTEGER', '99999999999999999999', 'rounded'],
  ['h', 'TEXT', '0.1234567890123456789', 'exact'],
  ['i', 'BLOB', '99999999999999999999', 'exact'],
  ['j', 'VARCHAR(3)', '"12345678901234567890.5"', 'exact'],
];
const DUCKDB: readonly Case[] = [
  ['a', 'INTEGER', '2.5', 'refused'],
  ['b', 'DECIMAL(9,2)', '1.105', 'refused'],
  ['c', 'DECIMAL(9,2)', '1.10', 'exact'],
  ['d', 'DOUBLE', '9007199254740993', 'refused'],
  ['d2', 'DOUBLE', '1152921504606846976', 'exact'],
  ['e', 'DOUBLE', '0.1234567890123456789', 'rounded'],
  ['f', 'DOUBLE', '0.1', 'exact'],
  ['g', 'FLOAT', '0.1', 'exact'],
  ['h', 'FLOAT', '0.123456789', 'rounded'],
  ['i', 'DATE', '"2024-05-06T07:08:09"', 'rounded'],
  ['i2', 'DATE', '"0044-03-15 (BC)"', 'exact'],
  ['i3', 'DATE', '"0044-03-15 (BC) 07:08:09"', 'rounded'],
  ['j', 'TIMESTAMP_MS', '"2024-05-06T07:08:09.1239"', 'rounded'],
  ['k', 'TIMESTAMP', '"2024-05-06T07:08:09.123456"', 'exact'],
  ['l', 'VARCHAR', '0.1234567890123456789', 'exact'],
];

const SINKS = {
  sqlite: {
    cases: SQLITE,
    make: async (path: string, sql: string) => {
      const db = new DatabaseSync(path);
      db.exec(sql);
      db.close();
    },
    at: (path: string): JsonObject => ({ database_url: `sqlite:${path}` }),
  },
  duckdb: {
    cases: DUCKDB,
    make: async (path: string, sql: string) => {
      const { connection, close } = await openDuckdb(path);
      await connection.run(sql);
      close();
    },
    at: (path: string): JsonObject => ({ database: path }),
  },
} as const;

async function move(
  kind: keyof typeof SINKS,
  [column, type, json]: Case,
  sink: JsonObject = {},
): Promise<{ rounded: unknown; error: string | undefined }> {
  const path = join(folder, `${(made += 1)}.db`);
  const rows = join(folder, `${made}.jsonl`);
  await SINKS[kind].make(path, `CREATE TABLE t (${column} ${type})`);
  writeFileSync(rows, `{"${column}":${json}}\n{"${column}":${json}}`);
  const config = { ...SINKS[kind].at(path), table_name: 't', column_mapping: 'auto_map', ...sink };
  const source = { type: 'jsonl', config: { path: rows } };
  const outcome = await run(planOfTree({ pipeline: { source, sink: { type: kind, config } } }));
  const [only] = outcome.invocations;
  return { rounded: only?.rounded_fields, error: only?.error?.message };
}

const CASES = (['sqlite', 'duckdb'] as const).flatMap((kind) =>
  SINKS[kind].cases.map((one) => [kind, one[1], one[2], one[3], one] as const),
);

test.each(CASES)('%s: a column %s of %s is %s', async (kind, _type, _json, outcome, one) => {
  const { rounded, error } = await move(kind, one);
  const [column] = one;
  if (outcome === 'refused') expect(error).toContain('which would round');
  else expect(error).toBeUndefined();
  expect(rounded).toEqual(outcome === 'rounded' ? [{ field: column, records: 2 }] : undefined);
});

test.each(CASES)('%s: a column %s of %s does as told', async (kind, _type, _json, outcome, one) => {
  const told = await move(kind, one, { on_rounding: 'error' });
  if (outcome === 'exact') expect(told).toEqual({ rounded: undefined, error: undefined });
  else expect(told.error).toContain('which would round');
  const warned = await move(kind, one, { on_rounding: 'warn' });
  expect(warned.error).toBeUndefined();
  expect(warned.rounded).toEqual(outcome === 'exact' ? undefined : [{ field: one[0], records: 2 }]);
});
