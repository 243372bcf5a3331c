import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parts } from '../../parts.ts';
import { runCli } from '../framework/run-cli.ts';
import { testWiring, testWorld } from '../../../test/support/cli.ts';

let cwd: string;
let commands = 0;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-catalog-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const write = (name: string, text: string): void => writeFileSync(path.join(cwd, name), text);

function document(more: object = { catalog: { url: 'sqlite:catalog.db' } }): void {
  const source = { type: 'csv', config: { path: 'in.csv' } };
  const transforms = [{ type: 'rename_field', config: { fields: { id: 'key' } } }];
  const sink = { type: 'jsonl', config: { path: 'out-${now.date}.jsonl' } };
  write(
    'orders.json',
    JSON.stringify({ version: 1, name: 'orders', ...more, pipeline: { source, transforms, sink } }),
  );
}

async function headgate(
  ...args: readonly string[]
): Promise<{ code: number; out: string; err: string }> {
  const world = testWorld({ cwd });
  // Each command is later than the one before.
  world.advance((commands += 1) * 1000);
  const code = await runCli(args, testWiring(parts), world);
  return { code, out: world.out(), err: world.err() };
}

const CONFIG = ['--config', 'orders.json'];

/** Two runs, of which the second has a column more. */
async function moved(): Promise<void> {
  document();
  write('in.csv', 'id\n1\n2\n');
  await headgate('run', 'orders.json', '--clock', '2026-01-01');
  write('in.csv', 'id,note\n3,\n');
  await headgate('run', 'orders.json', '--clock', '2026-01-02');
}

async function idOf(kind: string): Promise<string> {
  const { out } = await headgate('catalog', 'datasets', '--kind', kind, '--json', ...CONFIG);
  const { datasets } = JSON.parse(out) as { datasets: { id: string }[] };
  expect(datasets).toHaveLength(1);
  return datasets[0]?.id ?? '';
}

describe('a catalog', () => {
  test('lists what runs read and wrote', async () => {
    await moved();
    const { code, out } = await headgate('catalog', 'datasets', ...CONFIG);
    expect(code).toBe(0);
    expect(out.split('\n').slice(1, -1)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/ source +1 +2 .*in\.csv$/),
        expect.stringMatching(/ sink +1 +2 .*out-\$\{now\.date\}\.jsonl$/),
      ]),
    );
    expect((await headgate('catalog', 'datasets', '--q', 'nothing', ...CONFIG)).err).toContain(
      'nothing is recorded yet',
    );
  });

  test('is not made by looking into it', async () => {
    document();
    for (const command of ['datasets', 'lineage'])
      expect((await headgate('catalog', command, ...CONFIG)).err).toContain(
        'nothing is recorded yet',
      );
    expect((await headgate('catalog', 'show', 'a', ...CONFIG)).err).toContain(
      'there is no data set `a`',
    );
    expect(readdirSync(cwd)).toEqual(['orders.json']);
  });

  test('shows a data set: its columns, how they changed, volumes and neighbours', async () => {
    await moved();
    const id = await idOf('jsonl');
    const { code, out } = await headgate('catalog', 'show', id.slice(0, 8), ...CONFIG);
    expect(code).toBe(0);
    const shown = out.split('\n').map((line) => line.trim().replaceAll(/ {2,}/g, ' | '));
    expect(shown).toEqual([
      expect.stringContaining('out-${now.date}.jsonl'),
      `id | ${id}`,
      'kind | jsonl, as sink',
      'runs | 2, 3 records in all, 1 the last time',
      expect.stringMatching(/^seen \| .*, by orders$/),
      'column | types',
      'key | string',
      'note | string',
      expect.stringMatching(/^schema 1 \| .* \| first seen$/),
      expect.stringMatching(/^schema 2 \| .* \| \+note string$/),
      'run ended | records',
      expect.stringMatching(/ \| 1$/),
      expect.stringMatching(/ \| 2$/),
      expect.stringMatching(/^from .*in\.csv \| \(orders, row-0\)$/),
      '',
    ]);
  });

  test('tells from where records went where, and when', async () => {
    await moved();
    const lineage = await headgate('catalog', 'lineage', ...CONFIG);
    expect(lineage.out).toMatch(
      /in\.csv → .*out-\$\{now\.date\}\.jsonl {2}orders, row-0, .*\n {4}id → key\n {4}note → note\n/,
    );
    const { out } = await headgate('history', '--limit', '1', ...CONFIG);
    expect(out.split('\n')).toHaveLength(3);
    expect((await headgate('history', 'orders.json', '--limit', '1')).out).toBe(out);
    const twice = await headgate('history', 'orders.json', ...CONFIG);
    expect(twice).toMatchObject({ code: 2, err: expect.stringContaining('named twice') as string });
  });

  test('is asked for what it does not know', async () => {
    await moved();
    const unknown = await headgate('catalog', 'show', 'zzzz', ...CONFIG);
    expect([unknown.code, unknown.err]).toEqual([
      1,
      expect.stringContaining('there is no data set `zzzz`'),
    ]);
    document({});
    const none = await headgate('catalog', 'datasets', ...CONFIG);
    expect([none.code, none.err]).toEqual([
      1,
      expect.stringContaining('the document has no `catalog`'),
    ]);
  });
});
