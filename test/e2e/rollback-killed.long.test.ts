/**
 * A rollback that is killed leaves the table as it was before it or after it; asking again, or
 * running again, comes to the same end.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { freshDatabase } from '../servers/postgres.ts';
import { headgate } from './headgate.ts';
import { launcherPath } from '../servers/bundle.ts';

const LAUNCHER = await launcherPath();
const KEPT = 500;
const ROWS = 2000;
const SIGNS = [0, 3, 4, 5, 7, Number.POSITIVE_INFINITY];

const folder = mkdtempSync(join(tmpdir(), 'headgate-rollback-killed-'));
const database = await freshDatabase();
const client = new Client({ connectionString: database.url });
await client.connect();
afterAll(async () => {
  await client.end();
  await database.drop();
  rmSync(folder, { recursive: true });
});

interface Target {
  readonly sink: string;
  /** Rows by their name: those of before the run, and those it wrote. */
  readonly counts: () => Promise<{ before: number; after: number }>;
  readonly journal: () => Promise<number>;
}

const COUNTS =
  "SELECT count(*) FILTER (WHERE name LIKE 'old%') AS before, count(*) FILTER (WHERE name LIKE 'new%') AS after FROM t";

function sqlite(): Target {
  const path = join(folder, 'target.db');
  const ask = (sql: string): Record<string, unknown> => {
    const db = new DatabaseSync(path, { timeout: 10_000 });
    const row = db.prepare(sql).get() ?? {};
    db.close();
    return row;
  };
  return {
    sink: `{ type: sqlite, config: { database_url: '${path}', table_name: t, column_mapping: auto_map, write_mode: upsert, key: [id] } }`,
    counts: async () => numbers(ask(COUNTS)),
    journal: async () => Number(ask('SELECT count(*) AS n FROM _svc_run_journal')['n']),
  };
}

function postgres(): Target {
  const ask = async (sql: string): Promise<Record<string, unknown>> =>
    (await client.query<Record<string, unknown>>(sql)).rows[0] ?? {};
  return {
    sink: `{ type: postgres, config: { connection_url: '${database.url}', table_name: t, column_mapping: auto_map, write_mode: upsert, key: [id] } }`,
    counts: async () => numbers(await ask(COUNTS)),
    journal: async () => Number((await ask('SELECT count(*) AS n FROM _svc_run_journal'))['n']),
  };
}

function numbers(row: Record<string, unknown>): { before: number; after: number } {
  return { before: Number(row['before']), after: Number(row['after']) };
}

function rowsNamed(word: string, count: number): string {
  return [
    'id,name',
    ...Array.from({ length: count }, (_, index) => `${index},${word}${index}`),
    '',
  ].join('\n');
}

describe.each([
  ['SQLite', sqlite],
  ['PostgreSQL', postgres],
])('in %s', (name, open) => {
  test(
    'a killed rollback is before or after, and never between',
    { timeout: 240_000 },
    async () => {
      const { sink, counts, journal } = open();
      const [document, state] = [join(folder, `${name}.yaml`), join(folder, `${name}-state`)];
      writeFileSync(
        document,
        `version: 1
name: ${name.toLowerCase()}
rollback: {}
pipeline:
  source: { type: csv, config: { path: in.csv } }
  sink: ${sink}
  state: { type: file, config: { path: '${state}' } }
`,
      );
      const program = (...args: string[]) => headgate([...args], { cwd: folder });
      const move = async (text: string): Promise<string> => {
        writeFileSync(join(folder, 'in.csv'), text);
        const { code, stdout, stderr } = await program('run', document, '--output', 'json');
        expect(code, stderr).toBe(0);
        return (
          (JSON.parse(stdout) as { rows: { invocation_id: string }[] }).rows[0]?.invocation_id ?? ''
        );
      };
      const undo = async (
        runId: string,
      ): Promise<{ code: number | null; stdout: string; stderr: string }> =>
        program('rollback', document, '--run', runId, '--json');
      await move(rowsNamed('old', KEPT));
      const ends: string[] = [];
      for (const [attempt, signs] of SIGNS.entries()) {
        const runId = await move(rowsNamed('new', ROWS));
        expect(await counts()).toEqual({ before: 0, after: ROWS });
        await killedAt(['rollback', document, '--run', runId], signs, state);
        const left = await counts();
        ends.push(left.after === ROWS ? 'before' : 'after');
        expect([
          { before: 0, after: ROWS },
          { before: KEPT, after: 0 },
        ]).toContainEqual(left);
        if (attempt % 2 === 1) {
          const next = await move(rowsNamed('new', ROWS));
          expect(await undo(next)).toMatchObject({ code: 0 });
          expect(await counts()).toEqual(left);
        }
        const again = await undo(runId);
        if (again.code === 0)
          expect(JSON.parse(again.stdout)).toMatchObject({
            applied: true,
            deleted: ROWS - KEPT,
            restored: KEPT,
          });
        else expect(again.stderr).toMatch(/there is no undoable run|was already undone/);
        expect(await counts()).toEqual({ before: KEPT, after: 0 });
      }
      expect(new Set(ends)).toEqual(new Set(['before', 'after']));
      // Nothing but the first run is kept, beside notes of runs whose rollback was killed at its
      // very end.
      expect(await journal()).toBeLessThanOrEqual(KEPT + SIGNS.length);
      expect(readdirSync(state).filter((file) => file.includes('__rollback__%3A%3A'))).toHaveLength(
        1,
      );
    },
  );
});

/**
 * Kills the program at the n-th change of the state store it lets be seen: before it, between the
 * steps of it, and never.
 */
async function killedAt(args: readonly string[], signs: number, state: string): Promise<void> {
  const child = spawn(process.execPath, [LAUNCHER, ...args], { cwd: folder, stdio: 'ignore' });
  const closed = once(child, 'close');
  let seen = 0;
  const watcher = watch(state, () => {
    if (seen === signs) child.kill('SIGKILL');
    seen += 1;
  });
  await closed;
  watcher.close();
}
