import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { uuidIds } from '../../lib/ids.ts';
import { parts } from '../../parts.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-backfill-'));
  const database = new DatabaseSync(path.join(cwd, 'shop.db'));
  database.exec(
    "create table orders (id integer, day text); insert into orders values (1, '2026-01-01'), (2, '2026-01-02'), (3, '2026-01-02')",
  );
  database.close();
});
afterEach(() => rmSync(cwd, { recursive: true }));

const QUERY = "select id from orders where day = '${backfill.start_date}' order by id";

function document(more: object = {}, query = QUERY): void {
  const source = { type: 'sqlite', config: { database_url: 'sqlite:shop.db', query } };
  const sink = { type: 'jsonl', config: { path: 'out/${backfill.unit}.jsonl' } };
  const sinks = { archive: { type: 'jsonl', config: { path: 'archive/${now.date}.jsonl' } } };
  const pipeline = { source, sink, sinks, state: { type: 'file', config: { path: 'state' } } };
  writeFileSync(
    path.join(cwd, 'orders.json'),
    JSON.stringify({ version: 1, name: 'orders', backfill: { window: '1d' }, pipeline, ...more }),
  );
}

function backfill(...more: readonly string[]): Promise<Done> {
  const over = { ids: uuidIds };
  return runCommand(['backfill', 'orders.json', ...more], testWiring(parts), { cwd, over });
}

const RANGE = ['--from', '2026-01-01', '--to', '2026-01-03'];
const written = (folder: string): string[] => readdirSync(path.join(cwd, folder)).sort();

describe('headgate backfill', () => {
  test('is refused while another one of the same range runs', async () => {
    document();
    const both = await Promise.all([
      backfill(...RANGE, '--resume'),
      backfill(...RANGE, '--resume'),
    ]);
    const [first, second] = both.sort((one, other) => one.code - other.code);
    expect(first?.err).toContain('2 of 2 windows done, 3 records written');
    expect(second?.code).toBe(1);
    expect(second?.err).toMatch(
      /error: this range is being backfilled by run `.+`.*: two at once would run the same units {2}\[state_held\]\nhint: wait until that run has ended/,
    );
    expect((await backfill(...RANGE, '--resume')).code).toBe(0);
  });

  test('runs each window, once', async () => {
    document();
    const first = await backfill(...RANGE);
    expect(first.err).toContain('2 of 2 windows done, 3 records written');
    expect([first.code, written('out')]).toEqual([
      0,
      ['20260101T000000Z.jsonl', '20260102T000000Z.jsonl'],
    ]);
    expect(readFileSync(path.join(cwd, 'out/20260102T000000Z.jsonl'), 'utf8')).toBe(
      '{"id":2}\n{"id":3}\n',
    );
    const second = await backfill(...RANGE);
    expect([second.code, second.err]).toEqual([
      1,
      expect.stringContaining('2 of 2 units are done, 0 failed'),
    ]);
    const third = await backfill(...RANGE, '--resume', '--json');
    expect(JSON.parse(third.out)).toMatchObject({
      planned: 2,
      done: 0,
      skipped: 2,
      failed: 0,
      pending: 0,
    });
  });

  test('serves its metrics where the document says', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    try {
      const listen = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
      document({ observability: { prometheus: { listen } } });
      const { code, err } = await backfill(...RANGE);
      expect([code, err]).toEqual([
        1,
        expect.stringContaining(`metrics cannot be served at ${listen}`),
      ]);
      expect((await backfill(...RANGE, '--dry-run')).code).toBe(0);
    } finally {
      taken.close();
    }
  });

  test('shows what a restart would run: everything', async () => {
    document();
    await backfill(...RANGE);
    const statuses = async (...more: string[]): Promise<string[]> => {
      const { out } = await backfill(...RANGE, '--dry-run', '--json', ...more);
      return (JSON.parse(out) as { units: { status: string }[] }).units.map(({ status }) => status);
    };
    expect(new Set(await statuses())).toEqual(new Set(['done']));
    expect(new Set(await statuses('--restart'))).toEqual(new Set(['pending']));
  });

  test('only says what there is to run when asked, and writes nothing', async () => {
    document();
    const { code, out } = await backfill(...RANGE, '--dry-run');
    expect([code, out.split('\n')[1]]).toEqual([
      0,
      expect.stringMatching(/^20260101T000000Z {2}.*pending$/),
    ]);
    expect(readdirSync(cwd)).not.toContain('out');
  });

  test('exits with the number of units that failed', async () => {
    document({}, 'select id from missing_${backfill.start_unix}');
    const { code, err } = await backfill(...RANGE);
    expect([code, err]).toEqual([2, expect.stringContaining('2 windows failed')]);
  });

  test('writes into another sink preset when asked', async () => {
    document();
    expect((await backfill(...RANGE, '--into', 'archive')).code).toBe(0);
    expect(written('archive')).toEqual(['2026-01-01.jsonl', '2026-01-02.jsonl']);
    expect((await backfill(...RANGE, '--into', 'archiv')).err).toContain('did you mean `archive`?');
  });

  test('needs a source that names its window, and a row to choose', async () => {
    document({ backfill: null }, 'select 1');
    expect(await backfill(...RANGE)).toMatchObject({
      code: 1,
      err: expect.stringContaining('names no window') as unknown,
    });
    const matrix = [
      { id: 'eu', sink: { config: { path: 'eu-${backfill.unit}.jsonl' } } },
      { id: 'us', sink: { config: { path: 'us-${backfill.unit}.jsonl' } } },
    ];
    document({ matrix });
    expect((await backfill(...RANGE)).err).toContain('`--row` can be: eu, us');
    expect((await backfill(...RANGE, '--row', 'us')).code).toBe(0);
    expect(written('.').filter((name) => name.endsWith('.jsonl'))).toEqual([
      'us-20260101T000000Z.jsonl',
      'us-20260102T000000Z.jsonl',
    ]);
  });
});
