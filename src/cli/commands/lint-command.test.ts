import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-lint-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function lint(...words: string[]): Promise<Done> {
  return runCommand(['lint', 'd.yaml', ...words], testWiring(parts), { cwd });
}

function write(url: string): void {
  writeFileSync(
    path.join(cwd, 'd.yaml'),
    `version: 1
name: shop
pipeline:
  source: { type: csv, config: { path: in.csv } }
  contract: { version: '1', fields: [{ name: id, type: string }] }
  dlq: { sink: { type: jsonl, config: { path: dead.jsonl } } }
  sink:
    type: postgres
    config: { connection_url: '${url}', table_name: t, column_mapping: auto_map, write_mode: upsert, key: [id] }
`,
  );
}

it('tells the place, why and what to do, and hides the secret that it found', async () => {
  write('postgres://me:hunter2@db.example/shop');
  const { code, out, err } = await lint();
  expect([code, err]).toEqual([0, '1 warning, 0 pieces of advice\n']);
  expect(out).toMatch(/^d\.yaml:9:\d+ {2}warning {2}pipeline\.sink\.config\.connection_url {2}/);
  expect(out).toContain('[secret-in-the-open]\n    why: ');
  expect(out).toContain('\n    fix: ');
  expect(out).not.toContain('hunter2');
});

it('fails with --strict, unless the rule is left out', async () => {
  write('postgres://me:hunter2@db.example/shop');
  expect((await lint('--strict')).code).toBe(1);
  const allowed = await lint('--strict', '--allow', 'secret-in-the-open');
  expect([allowed.code, allowed.err]).toEqual([0, 'nothing to improve\n']);
  const unknown = await lint('--allow', 'no-such-rule');
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('no-contract')]);
});

it('is one JSON document', async () => {
  write('postgres://me:hunter2@db.example/shop');
  const { out } = await lint('--output', 'json');
  expect(out).not.toContain('hunter2');
  expect(JSON.parse(out)).toEqual({
    config: 'd.yaml',
    findings: [
      {
        severity: 'warning',
        code: 'secret-in-the-open',
        path: 'pipeline.sink.config.connection_url',
        line: 9,
        column: expect.any(Number),
        message: 'a secret stands here as it is',
        why: expect.stringContaining('version control'),
        fix: expect.stringContaining('${env:NAME}'),
      },
    ],
  });
});

it('refuses what is not valid, as validate does', async () => {
  write('${env:NO_SUCH_VARIABLE}');
  const { code, out, err } = await lint();
  expect([code, out, err]).toEqual([1, '', expect.stringContaining('[missing_variable]')]);
});
