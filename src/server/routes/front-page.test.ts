import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startFixture } from '../../../test/support/server.ts';
import { createAssets } from '../http/assets.ts';
import { defineRoute, json } from '../route.ts';
import { pickServices, type Services } from '../services.ts';

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

test('a program gets links at the root, a browser a page', async () => {
  const { ask } = await startFixture();
  const links = await ask('GET', '/', { as: null, headers: { accept: '*/*' } });
  expect(links.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    vary: 'accept',
  });
  const page = await ask('GET', '/', { as: null, headers: BROWSER });
  expect(page.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    vary: 'accept, accept-encoding',
  });
  expect(page.body).toContain('<title>Headgate</title>');
});

test('every file and route that the page links to is there', async () => {
  const { ask } = await startFixture();
  const { body } = await ask('GET', '/', { as: null, headers: BROWSER });
  const links = [...body.matchAll(/(?:href|src)="([^"]+)"/g)].map((match) => match[1] ?? '');
  expect(links.length).toBeGreaterThan(8);
  for (const link of new Set(links))
    expect([link, (await ask('GET', link)).status]).toEqual([link, 200]);
});

test('a file is sent once and then confirmed with 304 until it changes', async () => {
  const { ask } = await startFixture();
  const first = await ask('GET', '/assets/icon.svg', { as: null });
  expect(first.headers['content-type']).toBe('image/svg+xml');
  const etag = String(first.headers['etag']);
  for (const held of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await ask('GET', '/assets/icon.svg', {
      as: null,
      headers: { 'if-none-match': held },
    });
    expect([again.status, again.body, again.headers['etag']]).toEqual([304, '', etag]);
  }
  const stale = await ask('GET', '/assets/icon.svg', { headers: { 'if-none-match': '"other"' } });
  expect([stale.status, stale.body]).toEqual([200, first.body]);
});

test('HEAD has the headers of the file and no body', async () => {
  const { ask } = await startFixture();
  const { status, headers, body } = await ask('HEAD', '/assets/page.css', { as: null });
  expect([status, body]).toEqual([200, '']);
  expect(Number(headers['content-length'])).toBeGreaterThan(100);
});

test.each([
  '../services.ts',
  '..%2fservices.ts',
  '..%2F..%2F..%2Fpackage.json',
  '%2e%2e%2fservices.ts',
  '..\\services.ts',
  '/etc/passwd',
  '%2fetc%2fpasswd',
  'icon.svg%00.png',
  'icon.svg/',
  'constructor',
  '.',
])('no path leads out of the folder of files: %s', async (name) => {
  const { ask } = await startFixture();
  const answer = await ask('GET', `/assets/${name}`, { as: null });
  expect([400, 404]).toContain(answer.status);
  expect(answer.body).toContain('"error"');
});

test('a text is sent packed to those who take it, under a tag of its own', async () => {
  const { ask } = await startFixture();
  const get = (accepted: string, held = '') =>
    ask('GET', '/', {
      as: null,
      headers: { ...BROWSER, 'accept-encoding': accepted, 'if-none-match': held },
    });
  const packed = await get('br, gzip;q=0.8');
  expect(packed.headers).toMatchObject({
    'content-encoding': 'gzip',
    etag: expect.stringMatching(/-gz"$/),
  });
  for (const accepted of ['', 'br', 'gzip;q=0', 'gzip;q=0.000'])
    expect([accepted, (await get(accepted)).headers['content-encoding']]).toEqual([
      accepted,
      undefined,
    ]);
  const [plain, again] = [await get(''), await get('gzip', String(packed.headers['etag']))];
  expect(plain.headers['etag']).not.toBe(packed.headers['etag']);
  expect([again.status, again.headers['content-encoding']]).toEqual([304, undefined]);
});

test('the console takes the place of the page where it is built, and a sentence says so where it is not', async () => {
  const built = mkdtempSync(path.join(tmpdir(), 'console-'));
  const isNot = createAssets({ console: path.join(built, 'absent') });
  const note = await isNot.find('index.html');
  expect(new TextDecoder().decode(note?.bytes)).toContain('run <code>npm run build</code>');
  mkdirSync(path.join(built, 'assets'));
  writeFileSync(path.join(built, 'index.html'), 'the console');
  writeFileSync(path.join(built, 'assets/main-1a2b.js'), 'run()');
  const assets = createAssets({ console: built });
  expect(new TextDecoder().decode((await assets.find('index.html'))?.bytes)).toBe('the console');
  expect(await assets.find('main-1a2b.js')).toMatchObject({ isNamedByContent: true });
  expect(await assets.find('page.css')).toMatchObject({ isNamedByContent: false });
});

test('a page may load what lies beside it and nothing else, and makes no markup of texts', async () => {
  const { ask } = await startFixture();
  const { headers } = await ask('GET', '/', { as: null, headers: BROWSER });
  const policy = String(headers['content-security-policy']);
  for (const rule of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ])
    expect(policy.split('; ')).toContain(rule);
  expect(policy).not.toMatch(/unsafe|\*|data:|https?:/);
});

test('the entity tag follows the content, and other kinds of files are not served', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'assets-'));
  const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);
  write('page.css', 'a');
  write('notes.md', 'not for the web');
  const before = await createAssets({ own: folder }).find('page.css');
  write('page.css', 'b');
  const assets = createAssets({ own: folder });
  expect((await assets.find('page.css'))?.etag).not.toBe(before?.etag);
  expect(await assets.find('notes.md')).toBeUndefined();
});

test('a handler is given the services it declares and no others', async () => {
  const services = { version: '1', cwd: '/data' } as Services;
  expect(pickServices(services, ['cwd'])).toEqual({ cwd: '/data' });
  defineRoute({
    method: 'GET',
    path: '/version',
    permission: 'public',
    label: 'version',
    tag: 'operations',
    summary: 'The version',
    uses: ['version'],
    responses: { 200: { description: 'It.' } },
    // @ts-expect-error `cwd` is not declared
    handle: (_call, { version, cwd }) => json(200, { version, cwd: cwd as string }),
  });
});
