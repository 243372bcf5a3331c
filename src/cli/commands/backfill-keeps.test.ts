/** What a backfill leaves as it is: rows outside of its windows, and what other runs remember. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Registry, type Parts } from '../../kit/parts.ts';
import { parts } from '../../parts.ts';
import { fileState } from '../../state/file.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-backfill-keeps-'));
  sql(
    "CREATE TABLE orders (id INTEGER, day TEXT, n INTEGER); INSERT INTO orders VALUES (1, '2026-01-01', 1), (3, '2026-01-02', 1)",
  );
});
afterEach(() => rmSync(cwd, { recursive: true }));

function sql(text: string): void {
  const db = new DatabaseSync(path.join(cwd, 'shop.db'));
  db.exec(text);
  db.close();
}

function rows(text: string): unknown[] {
  const db = new DatabaseSync(path.join(cwd, 'shop.db'));
  const found = db.prepare(text).all();
  db.close();
  return found.map((row) => Object.values(row).join(' '));
}

interface Written {
  readonly scope?: object;
  readonly query?: string;
  readonly more?: object;
}

function document(
  { scope, query = "SELECT * FROM orders WHERE day = '${backfill.start_date}'", more }: Written,
  name = 'orders',
): void {
  const source = {
    type: 'sqlite',
    config: { database_url: 'shop.db', query },
    ...(scope === undefined ? {} : { complete_for: { scope, on_missing: 'delete' } }),
  };
  const config = {
    database_url: 'shop.db',
    table_name: 'kept',
    column_mapping: 'auto_map',
    write_mode: 'upsert',
    key: ['id'],
  };
  const pipeline = {
    source,
    sink: { type: 'sqlite', config },
    state: { type: 'file', config: { path: 'state' } },
  };
  writeFileSync(
    path.join(cwd, `${name}.json`),
    JSON.stringify({ version: 1, name: 'orders', pipeline, ...more }),
  );
}

const headgate = (...args: readonly string[]): Promise<Done> => headgateOf(parts, ...args);

async function headgateOf(build: Parts, ...args: readonly string[]): Promise<Done> {
  let ids = 0;
  const run = (calls += 1);
  const over = { ids: { next: () => `run-${run}-${(ids += 1)}` } };
  return runCommand(args, testWiring(build), { cwd, over });
}
let calls = 0;

const DAYS = ['--from', '2026-01-01', '--to', '2026-01-03', '--window', '1d'];

describe('records that no longer exist at the source', () => {
  const OLD =
    "CREATE TABLE kept (id INTEGER PRIMARY KEY, day TEXT, n INTEGER); INSERT INTO kept VALUES (2, '2026-01-01', 0), (9, '2025-12-31', 0)";

  test('are looked for where the scope names the window, and only there', async () => {
    sql(OLD);
    document({ scope: { day: '${backfill.start_date}' } });
    expect((await headgate('backfill', 'orders.json', ...DAYS)).code).toBe(0);
    expect(rows('SELECT id, day FROM kept ORDER BY id')).toEqual([
      '1 2026-01-01',
      '3 2026-01-02',
      '9 2025-12-31',
    ]);
  });

  test('could be all that other windows read, where the scope names none: the backfill is refused', async () => {
    sql(OLD);
    document({ scope: { n: 0 } });
    const { code, err } = await headgate('backfill', 'orders.json', ...DAYS);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('would remove what the other windows hold'),
    ]);
    document({ scope: { n: 0 }, more: { backfill: { window: '1d' } } });
    expect(
      (await headgate('validate', 'orders.json')).err +
        (await headgate('validate', 'orders.json')).out,
    ).toContain('clean_up_unsafe');
    expect(rows('SELECT count(*) FROM kept')).toEqual(['2']);
  });

  test('cannot be told by a range of bookmarks, which leaves out what is beyond it', async () => {
    sql(OLD);
    document({ scope: { n: 0 }, query: 'SELECT * FROM orders' });
    const { code, err } = await headgate(
      'backfill',
      'orders.json',
      '--to-bookmark',
      '1',
      '--bookmark-field',
      'id',
    );
    expect([code, err]).toEqual([1, expect.stringContaining('does not read all of')]);
    expect(rows('SELECT count(*) FROM kept')).toEqual(['2']);
  });
});

describe('runs that can be undone', () => {
  test('are not touched: a window marks its rows, keeps no journal of its own, and stands in the way of undoing what it changed', async () => {
    document({ query: 'SELECT * FROM orders', more: { rollback: {} } }, 'forward');
    expect((await headgate('run', 'forward.json')).code).toBe(0);
    const [kept] = (
      JSON.parse((await headgate('rollback', 'forward.json', '--list', '--json')).out) as {
        runs: { run_id: string }[];
      }
    ).runs;
    const journal = rows('SELECT count(*) FROM _svc_run_journal');
    sql('UPDATE orders SET n = 2');
    document({ more: { rollback: {} } });
    expect((await headgate('backfill', 'orders.json', ...DAYS)).code).toBe(0);
    expect(rows('SELECT count(*) FROM _svc_run_journal')).toEqual(journal);
    expect(rows('SELECT count(DISTINCT _svc_run_id) FROM kept WHERE n = 2')).toEqual(['2']);
    const undone = await headgate(
      'rollback',
      'forward.json',
      '--run',
      kept?.run_id ?? '',
      '--json',
    );
    expect([undone.code, JSON.parse(undone.out)]).toMatchObject([
      2,
      { applied: false, blocked: true, conflicts: 2, later_runs: [] },
    ]);
    expect(rows('SELECT id, n FROM kept ORDER BY id')).toEqual(['1 2', '3 2']);
  });
});

describe('what another backfill of the range remembers', () => {
  /** Another process takes the range over when its second window is read, and ends it. */
  async function goOnElsewhere(): Promise<void> {
    const env = { ...testEnv(), cwd };
    const store = await fileState.open({ path: 'state' }, { env } as never);
    const [{ key } = { key: '' }] = (await store.entries('orders')).filter((entry) =>
      entry.key.includes('__backfill__'),
    );
    const other = { token: 'other', ttlMs: 60_000, holder: { run_id: 'other', host: 'elsewhere' } };
    const { token } = await store.lease(key, other);
    await store.lease(key, { ...other, instead: token });
    const units = { '20260101T000000Z': 'done', '20260102T000000Z': 'done' };
    await store.put(key, { descriptor: 'of the other', units });
    await store.release(key, 'other');
    await store.close();
  }

  test('stays when this one was frozen until that one was done', async () => {
    document({});
    let reads = 0;
    const sources = parts.sources.all.map((definition) => ({
      ...definition,
      open: async (...given: Parameters<typeof definition.open>) => {
        if (definition.type === 'sqlite' && (reads += 1) === 2) await goOnElsewhere();
        return definition.open(...given);
      },
    }));
    const late = await headgateOf(
      { ...parts, sources: new Registry(sources) },
      'backfill',
      'orders.json',
      '--from',
      '2026-01-01',
      '--to',
      '2026-01-04',
      '--window',
      '1d',
    );
    expect(late.code).toBe(2);
    expect(late.err).toMatch(/20260102T000000Z.*failed.*was taken over by another run/);
    // The third one is not begun.
    expect(late.err).toMatch(/20260103T000000Z.*failed.*was taken over by another run/);
    expect(reads).toBe(2);
    const store = await fileState.open({ path: 'state' }, { env: { ...testEnv(), cwd } } as never);
    const kept = (await store.entries('orders')).filter(({ key }) => key.includes('__backfill__'));
    expect(await store.get(kept[0]?.key ?? '')).toEqual({
      descriptor: 'of the other',
      units: { '20260101T000000Z': 'done', '20260102T000000Z': 'done' },
    });
    await store.close();
  });
});
