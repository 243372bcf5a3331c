import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readOriginsFile } from './origins-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-origins-'));
afterAll(() => rmSync(folder, { recursive: true }));

function read(config: object): unknown {
  const origin = { name: 'team', source: { type: 'git', config }, prefix: 'team/' };
  const file = join(folder, 'origins.json');
  writeFileSync(file, JSON.stringify({ version: 1, origins: [origin] }));
  return readOriginsFile(file);
}
const url = 'https://git.example.com/team.git';

test.each([
  [{ url: 'https://ann:s3cret@git.example.com/team.git' }, 'url', 'the address holds a login'],
  [{ url: 'ssh://ann:s3cret@git.example.com/team.git' }, 'url', 'over https or http'],
  [{ url: 'git.example.com/team.git' }, 'url', 'over https or http'],
  [{ url, path: '../other' }, 'path', 'leads out of the repository'],
  [{ url, path: 'a/../../b' }, 'path', 'leads out of the repository'],
  [{ url, path: '/etc' }, 'path', 'leads out of the repository'],
])('a repository %j is refused, and no password is quoted', (config, field, says) => {
  expect(() => read(config)).toThrow(
    expect.objectContaining({
      issues: [
        expect.objectContaining({
          path: `origins[0].source.config.${field}`,
          message: expect.stringContaining(says) as string,
        }),
      ],
    }) as Error,
  );
  expect(() => read(config)).not.toThrow('s3cret');
});

test('a file that is not there is named, and the option that names it', () => {
  const file = join(folder, 'gone.yaml');
  expect(() => readOriginsFile(file)).toThrow(
    expect.objectContaining({
      message: `the file of origins ${file} cannot be read: it does not exist`,
      hint: 'check the path given to --templates-sync',
    }) as Error,
  );
});

test('a repository with a folder in it is taken', () => {
  expect(read({ url, path: 'templates/orders', token_env: 'GIT_TOKEN' })).toHaveLength(1);
});
