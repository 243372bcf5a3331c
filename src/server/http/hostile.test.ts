import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ROUTES } from '../routes/index.ts';
import { startFixture, type Fixture } from '../../../test/support/server.ts';

const RUNS = 300;

/** Whatever was sent: an answer below 500, and an envelope where it is an error. */
function expectHandled(
  answer: Awaited<ReturnType<Fixture['ask']>>,
  logged: readonly string[],
): void {
  expect(answer.status).toBeLessThan(500);
  if (answer.status >= 400) {
    const body = answer.json() as { error: { code: string; message: string } };
    expect(Object.keys(body)).toEqual(['error']);
    expect(body.error.code).toMatch(/^[a-z_]+$/);
    expect(body.error.message.length).toBeGreaterThan(0);
  }
  expect(logged).toEqual([]);
}

const field = fc.constantFrom(
  'config',
  'name',
  'labels',
  'callback',
  'clock',
  'concurrency',
  'timeout_secs',
  '__proto__',
  'constructor',
  'x',
);

test('any JSON value as a submission is taken or refused', async () => {
  const { ask, logged } = await startFixture();
  const body = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(field, fc.oneof(fc.jsonValue(), fc.string())),
  );
  await fc.assert(
    fc.asyncProperty(body, async (value) =>
      expectHandled(await ask('POST', '/v1/runs', { body: JSON.stringify(value) }), logged),
    ),
    { numRuns: RUNS },
  );
});

test('any bytes as a body are taken or refused', async () => {
  const { ask, logged } = await startFixture();
  const path = fc.constantFrom('/v1/runs', '/v1/doctor', '/v1/runs/run-1/cancel');
  await fc.assert(
    fc.asyncProperty(path, fc.uint8Array({ maxLength: 200 }), async (url, bytes) =>
      expectHandled(await ask('POST', url, { body: bytes }), logged),
    ),
    { numRuns: RUNS },
  );
});

test('any path and query under any method are answered', async () => {
  const { ask, logged } = await startFixture();
  const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS');
  const segment = fc.oneof(
    fc.constantFrom(
      'v1',
      'runs',
      'logs',
      'cancel',
      'schemas',
      'source',
      'audit',
      '%00',
      '..',
      '%zz',
      '__proto__',
    ),
    fc.webSegment(),
  );
  const query = fc.oneof(
    fc.webQueryParameters(),
    fc.constantFrom(
      'limit=%',
      'since=%ff',
      'status=%00',
      '=',
      '&&',
      'format=jsonl&format=text',
      '__proto__=1',
    ),
  );
  await fc.assert(
    fc.asyncProperty(
      method,
      fc.array(segment, { maxLength: 5 }),
      query,
      async (verb, segments, search) => {
        const answer = await ask(verb, `/${segments.join('/')}?${search}`);
        if (verb === 'HEAD') expect(answer.status).toBeLessThan(500);
        else expectHandled(answer, logged);
      },
    ),
    { numRuns: RUNS },
  );
});

test('any parameter of a route that has some is taken or refused', async () => {
  const { ask, logged } = await startFixture();
  const paths = ROUTES.filter((route) => route.query !== undefined).map((route) =>
    route.path.replace('{id}', 'run-1'),
  );
  const name = fc.constantFrom(
    'status',
    'name',
    'since',
    'until',
    'limit',
    'cursor',
    'format',
    'after',
    'principal',
    'action',
    'x',
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.array(fc.tuple(name, fc.string()), { maxLength: 4 }),
      async (path, pairs) =>
        expectHandled(await ask('GET', `${path}?${new URLSearchParams(pairs).toString()}`), logged),
    ),
    { numRuns: RUNS },
  );
});

test('any authorization header is a credential or a 401', async () => {
  const { ask } = await startFixture();
  await fc.assert(
    fc.asyncProperty(fc.stringMatching(/^[\x20-\x7e]{0,60}$/), async (authorization) => {
      expect(
        (await ask('GET', '/v1/whoami', { as: null, headers: { authorization } })).status,
      ).toBe(401);
    }),
    { numRuns: RUNS },
  );
});
