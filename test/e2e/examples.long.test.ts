/** Every document in `examples/` runs, or says in its first line that it is only validated. */
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headgate } from './headgate.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const documents = readdirSync(join(ROOT, 'examples')).filter((name) => /\.(yaml|json)$/.test(name));
const variables = {
  MASKING_KEY: 'a-key-for-tests',
  SHOP_CLIENT_ID: 'client',
  SHOP_CLIENT_SECRET: 'client-secret',
  SHOP_DATABASE_URL: 'postgres://shop@127.0.0.1:1/shop',
  WAREHOUSE_URL: 'postgres://warehouse@127.0.0.1:1/warehouse',
  HOOK_TOKEN: 'hook-token',
};

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-examples-'));
  for (const part of ['examples', 'data'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('examples', () => {
  it('are at least fifteen', () => {
    expect(documents.length).toBeGreaterThanOrEqual(15);
  });

  it.each(documents)('%s does what its first line says', async (name) => {
    const path = join('examples', name);
    const validateOnly = readFileSync(join(folder, path), 'utf8').startsWith('# validate only:');
    const validated = await headgate(['validate', path, '--json'], { cwd: folder, variables });
    expect(validated.stderr).toBe('');
    expect(JSON.parse(validated.stdout)).toMatchObject({ valid: true });
    if (validateOnly) return;
    for (let time = 0; time < 2; time += 1) {
      const run = await headgate(['run', path, '--output', 'json', '--log-level', 'error'], {
        cwd: folder,
        variables,
      });
      expect(run.stderr).toBe('');
      expect(run.code).toBe(0);
    }
  });
});
