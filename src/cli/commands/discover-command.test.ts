import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

const DOCUMENT = `version: 1
name: shop
# Everything of the shop.
pipeline:
  source: { type: sqlite, config: { database_url: '\${env:SHOP}' } } # read only
  sink: { type: jsonl, config: { path: out/x.jsonl } }
`;
const TABLES = ['customers', 'order items', 'order_items'];

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-discover-'));
  const shop = new DatabaseSync(path.join(cwd, 'shop.db'));
  for (const [index, name] of TABLES.entries())
    shop.exec(
      `CREATE TABLE "${name}" (id INTEGER, label TEXT); INSERT INTO "${name}" VALUES (${index}, 'x')`,
    );
  shop.close();
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function headgate(args: readonly string[], text = DOCUMENT): Promise<Done> {
  writeFileSync(path.join(cwd, 'shop.yaml'), text);
  return runCommand([...args], testWiring(parts), {
    cwd,
    variables: { SHOP: `sqlite:${path.join(cwd, 'shop.db')}` },
  });
}

it('lists what is there, and what its names choose of it', async () => {
  const all = await headgate(['discover', 'shop.yaml']);
  expect([all.code, all.out.split('\n').map((line) => line.split(/ {2,}/).slice(0, 2))]).toEqual([
    0,
    [['name', 'kind'], ...TABLES.map((name) => [name, 'table']), ['']],
  ]);
  expect(all.err).toContain('3 data sets found');
  const names = async (...patterns: string[]) =>
    (
      JSON.parse((await headgate(['discover', 'shop.yaml', '--json', ...patterns])).out) as {
        name: string;
      }[]
    ).map(({ name }) => name);
  expect(await names('--include', 'order*')).toEqual(['order items', 'order_items']);
  expect(await names('--include', 'order*', '--exclude', '*_*')).toEqual(['order items']);
  // A dot stands for itself.
  expect(await names('--include', 'order.items')).toEqual([]);
});

it('writes a document that moves each of them, which runs as it is', async () => {
  const { code, err } = await headgate(['discover', 'shop.yaml', '-o', 'all/all.yaml']);
  expect([code, err]).toEqual([0, expect.stringContaining('with 3 rows')]);
  const written = readFileSync(path.join(cwd, 'all/all.yaml'), 'utf8');
  expect(written).toContain('# Everything of the shop.');
  expect(written).toContain("'${env:SHOP}'");
  expect((await headgate(['run', 'all/all.yaml'])).code).toBe(0);
  const moved = ['customers', 'order_items', 'order_items_2'].map((id) =>
    readFileSync(path.join(cwd, `out/${id}.jsonl`), 'utf8'),
  );
  expect(moved).toEqual([0, 1, 2].map((id) => `{"id":${id},"label":"x"}\n`));
});

it('replaces a file only when told so, and writes nothing where nothing was found', async () => {
  writeFileSync(path.join(cwd, 'kept.yaml'), 'mine');
  const kept = await headgate(['discover', 'shop.yaml', '-o', 'kept.yaml']);
  expect([kept.code, kept.err]).not.toEqual([0, expect.anything()]);
  expect(kept.err).toContain('--force');
  expect(readFileSync(path.join(cwd, 'kept.yaml'), 'utf8')).toBe('mine');
  expect((await headgate(['discover', 'shop.yaml', '-o', 'kept.yaml', '--force'])).code).toBe(0);
  const none = await headgate(['discover', 'shop.yaml', '--include', 'x', '-o', 'none.yaml']);
  expect(none.code).not.toBe(0);
  expect(existsSync(path.join(cwd, 'none.yaml'))).toBe(false);
});

it('takes a preset by its name, and each table of a sink has the name of its data set', async () => {
  const presets = `version: 1
pipeline:
  sources:
    shop: { type: sqlite, config: { database_url: '\${env:SHOP}' } }
    other: { type: csv, config: { path: a.csv } }
  sink: { type: sqlite, config: { database_url: 'sqlite:to.db?mode=rwc', table_name: x, column_mapping: auto_map } }
`;
  const open = await headgate(['discover', 'shop.yaml'], presets);
  expect([open.code, open.err]).toEqual([expect.any(Number), expect.stringContaining('--source')]);
  const args = ['discover', 'shop.yaml', '--source', 'shop', '--include', 'cust*', '-o', 'a.yaml'];
  expect((await headgate(args, presets)).code).toBe(0);
  expect((await headgate(['run', 'a.yaml'])).code).toBe(0);
  const to = new DatabaseSync(path.join(cwd, 'to.db'));
  expect(to.prepare('SELECT id FROM customers').all()).toEqual([{ id: 0 }]);
  to.close();
  const unknown = await headgate(['discover', 'shop.yaml', '--source', 'shp'], presets);
  expect(unknown.err).toContain('did you mean `shop`?');
});

it('says which sources list their data sets, and where a setting of the connection is missing', async () => {
  const source = (text: string) =>
    headgate(['discover', 'shop.yaml'], `version: 1\npipeline:\n  source: ${text}\n`);
  const csv = await source('{ type: csv, config: { path: a.csv } }');
  expect(csv.err).toContain('the source `csv` lists no data sets');
  expect(csv.err).toContain('sqlite');
  const missing = await source('{ type: sqlite, config: {} }');
  expect(missing.err).toContain('shop.yaml:3:');
  expect(missing.err).toContain('`database_url` is required');
  const unknown = await source('{ type: sqlit, config: {} }');
  expect(unknown.err).toContain('did you mean `sqlite`?');
});
