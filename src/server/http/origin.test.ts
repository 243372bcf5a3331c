/** What pages of other sites can have browsers do. */
import { expect, test } from 'vitest';
import { startFixture } from '../../../test/support/server.ts';

const LOCAL = { localOnly: { listenHost: '127.0.0.1' } };
const CANCEL = '/v1/runs/run-1/cancel';

test.each([
  'https://evil.example',
  'null',
  'http://localhost.evil.example',
  'http://10.0.0.7:8080',
])('without tokens a page of %s changes nothing', async (origin) => {
  const { ask } = await startFixture(LOCAL);
  const answer = await ask('POST', CANCEL, { headers: { origin } });
  expect([answer.status, answer.json()]).toMatchObject([
    403,
    { error: { code: 'forbidden', message: expect.stringContaining(origin) } },
  ]);
  expect((await ask('GET', '/v1/runs', { headers: { origin } })).status).toBe(200);
});

test.each([
  ['of this machine', 'http://127.0.0.1:8080'],
  ['of this machine by name', 'http://localhost:5173'],
  ['that --cors-origin names', 'https://console.example'],
])('without tokens a page %s can change things', async (_case, origin) => {
  const { ask } = await startFixture({ ...LOCAL, corsOrigins: ['https://console.example'] });
  expect((await ask('POST', CANCEL, { headers: { origin } })).status).not.toBe(403);
});

test('without tokens programs can, which name no origin; with tokens the token decides', async () => {
  const local = await startFixture(LOCAL);
  expect((await local.ask('POST', CANCEL)).status).not.toBe(403);
  const guarded = await startFixture();
  const headers = { origin: 'https://evil.example' };
  expect((await guarded.ask('POST', CANCEL, { headers })).status).not.toBe(403);
});
