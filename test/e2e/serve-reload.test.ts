/** A server that reads its default document and its principals again while it runs. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { csvToJsonl } from './serve-documents.ts';
import { workshop, type Answer, type Program } from './serve-program.ts';
import { eventually } from '../support/eventually.ts';

const shop = workshop();
afterAll(() => shop.dispose());

const principals = (...tokens: readonly string[]): string =>
  JSON.stringify({
    principals: tokens.map((token, index) => ({
      name: `p${index}`,
      role: index === 0 ? 'admin' : 'viewer',
      token,
    })),
  });
const setting = (value: string): string =>
  JSON.stringify({
    pipeline: { transforms: [{ type: 'set', config: { values: { base: value } } }] },
  });

test('the next run is merged over the new default document; a broken one changes nothing', async () => {
  writeFileSync(shop.path('in.csv'), 'id\n1\n');
  writeFileSync(shop.path('base.json'), setting('old'));
  writeFileSync(shop.path('auth.json'), principals('first-admin-token', 'first-viewer-token'));
  const server = await shop.start({
    args: [
      '--data-dir',
      shop.fresh('data'),
      '--default-config',
      'base.json',
      '--auth-config',
      'auth.json',
    ],
    variables: { LATER_TOKEN: 'a-token-in-a-variable' },
  });
  let admin = 'first-admin-token';
  const ask = (method: string, path: string, body?: unknown, token = admin): Promise<Answer> =>
    server.call(method, path, body, { authorization: `Bearer ${token}` });
  const written = async (): Promise<unknown> => {
    const out = shop.path('out.jsonl');
    const config = JSON.stringify(csvToJsonl(shop.path('in.csv'), out));
    const { run_id } = (await ask('POST', '/v1/runs', { config })).json() as { run_id: string };
    await eventually(async () =>
      expect((await ask('GET', `/v1/runs/${run_id}`)).text).toContain('"completed"'),
    );
    return JSON.parse(readFileSync(out, 'utf8'));
  };
  expect(await written()).toEqual({ id: '1', base: 'old' });
  expect((await ask('POST', '/v1/reload', undefined, 'first-viewer-token')).status).toBe(403);

  writeFileSync(shop.path('base.json'), setting('new'));
  expect(await written()).toEqual({ id: '1', base: 'old' });
  const reloaded = await ask('POST', '/v1/reload');
  expect([reloaded.status, reloaded.json()]).toMatchObject([
    200,
    { reloaded: true, path: shop.path('base.json'), auth: { reloaded: true } },
  ]);
  expect(await written()).toEqual({ id: '1', base: 'new' });

  writeFileSync(shop.path('base.json'), '{"pipeline": ');
  writeFileSync(shop.path('auth.json'), principals('second-admin-token'));
  const refused = await ask('POST', '/v1/reload');
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('base.json');
  expect(await written()).toEqual({ id: '1', base: 'new' });

  writeFileSync(shop.path('base.json'), '{"version": 1, "exection": {}}');
  writeFileSync(shop.path('auth.json'), principals('first-admin-token', 'first-viewer-token'));
  const misspelled = await ask('POST', '/v1/reload');
  expect([misspelled.status, misspelled.text]).toEqual([
    422,
    expect.stringContaining('unknown key `exection`'),
  ]);
  expect(await written()).toEqual({ id: '1', base: 'new' });

  writeFileSync(shop.path('base.json'), setting('newest'));
  writeFileSync(shop.path('auth.json'), principals('a-token-in-a-variable'));
  const open = await ask('POST', '/v1/reload');
  expect([open.status, open.text]).toEqual([422, expect.stringContaining('LATER_TOKEN')]);
  expect(open.text).not.toContain('a-token-in-a-variable');

  writeFileSync(shop.path('auth.json'), principals('second-admin-token'));
  server.process.kill('SIGHUP');
  await eventually(async () =>
    expect((await ask('GET', '/v1/whoami', undefined, 'second-admin-token')).status).toBe(200),
  );
  expect((await ask('GET', '/v1/whoami')).status).toBe(401);
  admin = 'second-admin-token';
  expect(await written()).toEqual({ id: '1', base: 'newest' });
  const audit = (await ask('GET', '/v1/audit?action=config.reload')).json() as {
    entries: { principal: string; result: string }[];
  };
  expect(audit.entries.map(({ principal, result }) => [principal, result])).toEqual([
    ['SIGHUP', 'ok'],
    ['p0', 'rejected'],
    ['p0', 'rejected'],
    ['p0', 'rejected'],
    ['p0', 'ok'],
    ['p1', 'denied'],
  ]);
  expect(server.output()).not.toContain('token-in-a-variable');
}, 60_000);

test('without a default document the answer says that there was nothing to read', async () => {
  const server: Program = await shop.start();
  const answer = await server.call('POST', '/v1/reload');
  expect([answer.status, answer.json()]).toMatchObject([200, { reloaded: false }]);
});
