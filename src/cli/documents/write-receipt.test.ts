import { hash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-receipt-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const at = (name: string): string => path.join(cwd, name);

function run(line: string, variables: Readonly<Record<string, string>> = {}): Promise<Done> {
  return runCommand(['run', ...line.split(' ')], testWiring(parts), { cwd, variables });
}

const DOCUMENT = `version: 1
name: people
pipeline:
  source: { type: csv, config: { path: in.csv } }
  transforms: [{ type: filter, config: { path: $.id, op: ne, value: '2' } }]
  sink: { type: jsonl, config: { path: '\${env:OUT}' } }
`;

it('writes a page with the balance, the plan, the checksums and the versions', async () => {
  writeFileSync(at('in.csv'), 'id,name\n1,Ann\n2,Bea\n3,Cid\n');
  writeFileSync(at('headgate.yaml'), DOCUMENT);
  const { code, err } = await run('headgate.yaml --receipt receipt.html', { OUT: 'out.jsonl' });
  expect([code, err]).toEqual([0, expect.stringContaining('receipt: receipt.html')]);
  const page = readFileSync(at('receipt.html'), 'utf8');
  expect(page).toContain('The balance closes');
  expect(page).toMatch(/data-term="filtered">[^]*?<\/span>1<\/dd>/);
  expect(page).toMatch(/<strong>csv<\/strong>[^]*<li>filter<\/li>[^]*<strong>jsonl<\/strong>/);
  expect(page).toContain(hash('sha256', readFileSync(at('out.jsonl'))));
  expect(page).toContain(`sha256:${hash('sha256', DOCUMENT)}`);
  expect(page).toContain('Made by Headgate 1.2.3 (headgate run) on Node.js v');
});

it('writes it also for a run that fails, with the place of the error', async () => {
  writeFileSync(at('headgate.yaml'), DOCUMENT);
  const { code } = await run('headgate.yaml --receipt receipt.html', { OUT: 'out.jsonl' });
  expect(code).toBe(1);
  const page = readFileSync(at('receipt.html'), 'utf8');
  expect(page).toMatch(/Why it failed[^]*in\.csv[^]*pipeline\.source, line 4/);
});

it('says that nothing was written by a dry run', async () => {
  writeFileSync(at('in.csv'), 'id,name\n1,Ann\n');
  writeFileSync(at('headgate.yaml'), DOCUMENT);
  await run('headgate.yaml --dry-run --receipt receipt.html', { OUT: 'out.jsonl' });
  expect(readFileSync(at('receipt.html'), 'utf8')).toContain('A dry run: nothing was written');
});

it('refuses a place where it cannot be written before anything is moved', async () => {
  writeFileSync(at('in.csv'), 'id,name\n1,Ann\n');
  writeFileSync(at('headgate.yaml'), DOCUMENT);
  const { code, err } = await run('headgate.yaml --receipt absent/receipt.html', {
    OUT: 'out.jsonl',
  });
  expect([code, err]).toEqual([2, expect.stringContaining('the folder absent: it does not exist')]);
  expect(existsSync(at('out.jsonl'))).toBe(false);
});
