import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadVariables } from './env-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'headgate-env-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const nothing = { envFile: undefined, noEnvFile: false };

it('loads .env when it is there, and variables that are already set win', () => {
  writeFileSync(path.join(folder, '.env'), `# comment\nexport A=1\nB='two words'\nC="x"\n`);
  expect(loadVariables(nothing, folder, { C: 'set' })).toEqual({
    A: '1',
    B: 'two words',
    C: 'set',
  });
});

it('is content without .env', () => {
  expect(loadVariables(nothing, folder, { A: '1' })).toEqual({ A: '1' });
});

it('does not load .env when told so', () => {
  writeFileSync(path.join(folder, '.env'), 'A=1\n');
  expect(loadVariables({ envFile: undefined, noEnvFile: true }, folder, {})).toEqual({});
});

it('loads the named file instead of .env', () => {
  writeFileSync(path.join(folder, '.env'), 'A=1\n');
  writeFileSync(path.join(folder, 'other.env'), 'B=2\n');
  expect(loadVariables({ envFile: 'other.env', noEnvFile: false }, folder, {})).toEqual({ B: '2' });
});

it('fails when the named file is missing', () => {
  expect(() => loadVariables({ envFile: 'gone.env', noEnvFile: false }, folder, {})).toThrow(
    'the env file gone.env cannot be read: it does not exist',
  );
});

it('refuses both flags together', () => {
  expect(() => loadVariables({ envFile: 'a', noEnvFile: true }, folder, {})).toThrow(
    'exclude each other',
  );
});
