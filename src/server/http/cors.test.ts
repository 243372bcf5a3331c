import { expect, test } from 'vitest';
import { startFixture } from '../../../test/support/server.ts';

const origin = 'https://console.example';
const preflight = {
  origin,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization, content-type',
};

test('without origins no answer grants anything, and OPTIONS is still answered without a token', async () => {
  const { ask } = await startFixture();
  const answer = await ask('OPTIONS', '/v1/runs', { as: null, headers: preflight });
  expect(answer.status).toBe(200);
  expect(answer.headers['allow']).toBe('POST, GET, HEAD, OPTIONS');
  expect(
    Object.keys(answer.headers).filter(
      (name) => name.startsWith('access-control') || name === 'vary',
    ),
  ).toEqual([]);
});

test('a preflight of a listed origin is granted without a token', async () => {
  const { ask } = await startFixture({ corsOrigins: [origin] });
  const { status, headers } = await ask('OPTIONS', '/v1/runs/run-1/cancel', {
    as: null,
    headers: preflight,
  });
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST, PUT, DELETE',
    'access-control-allow-headers': 'authorization, content-type, idempotency-key',
    vary: 'origin',
  });
  expect(headers).not.toHaveProperty('access-control-allow-credentials');
});

test('answers and errors to a listed origin carry the grant, streams too', async () => {
  const { ask } = await startFixture({ corsOrigins: [origin] });
  for (const [path, as] of [
    ['/v1/runs', 'admin'],
    ['/v1/runs', null],
    ['/v1/nowhere', 'admin'],
    ['/v1/runs/run-1/logs', 'admin'],
  ] as const) {
    expect(
      (await ask('GET', path, { as, headers: { origin } })).headers['access-control-allow-origin'],
    ).toBe(origin);
  }
});

test.each([
  'https://evil.example',
  'https://console.example.evil',
  'http://console.example',
  'null',
])('%s is granted nothing', async (other) => {
  const { ask } = await startFixture({ corsOrigins: [origin] });
  const answer = await ask('OPTIONS', '/v1/runs', {
    as: null,
    headers: { ...preflight, origin: other },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  expect(answer.headers).not.toHaveProperty('access-control-allow-methods');
});

test('an entry that is no origin is left out with a warning', async () => {
  const { ask, logged } = await startFixture({
    corsOrigins: ['*', 'console.example', `${origin}/path`, origin],
  });
  expect(logged).toHaveLength(3);
  expect(
    (await ask('GET', '/v1/runs', { headers: { origin } })).headers['access-control-allow-origin'],
  ).toBe(origin);
  expect((await ask('GET', '/v1/runs', { headers: { origin: '*' } })).headers).not.toHaveProperty(
    'access-control-allow-origin',
  );
});

test('OPTIONS of a path that is not there is a 404', async () => {
  const { ask } = await startFixture({ corsOrigins: [origin] });
  expect((await ask('OPTIONS', '/v1/nowhere', { as: null, headers: preflight })).status).toBe(404);
});
