import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testEnv } from '../../../../test/fakes/env.ts';
import { gitHost, type GitHost } from '../../../../test/support/git-host.ts';
import { gitOrigin } from './git-origin.ts';
import type { Origin } from './origin.ts';
import type { GitSettings, OriginSettings } from './origins-file.ts';

const TOKEN = 'token-of-the-host';
const folder = mkdtempSync(join(tmpdir(), 'headgate-git-'));
let host: GitHost;
beforeAll(async () => {
  mkdirSync(join(folder, 'host'));
  host = await gitHost(join(folder, 'host'), TOKEN);
  symlinkSync('/', join(folder, 'host', 'work', 'outside'));
  execFileSync('git', ['add', 'outside'], { cwd: join(folder, 'host', 'work') });
  host.commit({ 'templates/orders.yaml': 'name: orders\n' });
});
afterAll(() => {
  host.close();
  rmSync(folder, { recursive: true });
});

let clones = 0;
function originOf(git: Partial<GitSettings>, fetch = globalThis.fetch): Origin {
  const variables = { GIT_TOKEN: TOKEN, OLD_TOKEN: 'of-last-year' };
  return gitOrigin({
    env: { ...testEnv(), variables, fetch },
    settings: { name: 'team' } as OriginSettings,
    git: { url: host.url, token_env: 'GIT_TOKEN', ...git },
    folder: join(folder, `clone-${++clones}`),
  });
}

async function pull(git: Partial<GitSettings>, fetch?: typeof globalThis.fetch): Promise<string[]> {
  const found = await originOf(git, fetch).pull(AbortSignal.timeout(20_000));
  return found.map(({ name }) => name);
}

test('the files of a folder of the branch', async () => {
  expect(await pull({ path: 'templates' })).toEqual(['orders.yaml']);
});

test('what the repository has already is published without another commit', async () => {
  const origin = originOf({ path: 'templates' });
  const about = { message: 'orders', author: 'ann', signal: AbortSignal.timeout(20_000) };
  const publish = (content: string) => origin.publish([{ name: 'orders.yaml', content }], about);
  const first = await publish('name: orders\nversion: 1\n');
  expect(await publish('name: orders\nversion: 1\n')).toBe(first);
  expect(host.log()).toEqual(['orders', 'change templates/orders.yaml']);
});

test('what a server that was killed had not published yet is not read as if it were there', async () => {
  for (const isAdded of [false, true]) {
    const origin = originOf({ path: 'templates' });
    const names = async (): Promise<string[]> =>
      (await origin.pull(AbortSignal.timeout(20_000))).map(({ name }) => name);
    const before = await names();
    const cwd = join(folder, `clone-${clones}`);
    writeFileSync(join(cwd, 'templates', 'half.yaml'), 'name: half\n');
    writeFileSync(join(cwd, 'templates', 'orders.yaml'), 'name: changed\n');
    if (isAdded) execFileSync('git', ['add', 'templates'], { cwd });
    const [orders] = await origin.pull(AbortSignal.timeout(20_000));
    expect(orders).toMatchObject({ name: 'orders.yaml' });
    expect(JSON.stringify(orders)).not.toContain('changed');
    expect(await names()).toEqual(before);
  }
});

test('nothing is written where a link leads out of the repository', async () => {
  symlinkSync(folder, join(folder, 'host', 'work', 'elsewhere'));
  execFileSync('git', ['add', 'elsewhere'], { cwd: join(folder, 'host', 'work') });
  host.commit({ 'templates/refunds.yaml': 'name: refunds\n' });
  const about = { message: 'refunds', author: 'ann', signal: AbortSignal.timeout(20_000) };
  const files = [{ name: 'refunds.yaml', content: 'name: refunds\n' }];
  for (const path of ['elsewhere', 'elsewhere/new'])
    await expect(originOf({ path }).publish(files, about)).rejects.toThrow(
      `\`${path}/refunds.yaml\` leads out of the repository`,
    );
  expect(existsSync(join(folder, 'refunds.yaml')) || existsSync(join(folder, 'new'))).toBe(false);
});

test.each([
  ['a branch that is gone', { branch: 'gone' }, 'the repository has no branch `gone`'],
  ['a folder that is gone', { path: 'gone' }, 'the repository has no folder `gone`'],
  ['a link to another place', { path: 'outside' }, '`outside` leads out of the repository'],
  ['a wrong token', { token_env: 'OLD_TOKEN' }, 'the repository refuses the token of OLD_TOKEN'],
  ['no token', { token_env: undefined }, 'the repository wants a login'],
  ['an unknown host', { url: 'http://nowhere.invalid/x.git' }, 'cannot be reached: getaddrinfo'],
] as const)('%s is told in plain words', async (_case, git, says) => {
  await expect(pull(git)).rejects.toThrow(says);
});

test.each([
  ['no repository', new Response('', { status: 404 }), 'there is no repository at http://'],
  ['a failure', new Response('', { status: 500 }), 'answers with status 500'],
  ['a page', new Response('<html>'), 'does not answer as a git repository does'],
  ['a flood', new Response('x', { headers: { 'content-length': '3e8' } }), 'more than 256 MB'],
])('a host that answers with %s is told in plain words', async (_case, answer, says) => {
  await expect(pull({}, () => Promise.resolve(answer))).rejects.toThrow(says);
});
