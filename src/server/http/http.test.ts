import { expect, test } from 'vitest';
import { ConfigError, RefusedError } from '../../lib/errors.ts';
import { runRecord, startFixture } from '../../../test/support/server.ts';

function errorOf(answer: { json(): unknown }): {
  code: string;
  message: string;
  details?: unknown;
} {
  return (answer.json() as { error: { code: string; message: string; details?: unknown } }).error;
}

const document = { config: 'version: 1' };

test('a submission is answered with 202 and exactly the receipt', async () => {
  const { ask, script } = await startFixture();
  const answer = await ask('POST', '/v1/runs', {
    body: { ...document, name: 'orders', labels: { team: 'a' } },
  });
  expect(answer.status).toBe(202);
  expect(answer.json()).toEqual({
    run_id: 'run-2',
    status: 'queued',
    submitted_at: '2026-08-01T12:00:00.000Z',
  });
  expect(script.submitted).toEqual([
    { config: 'version: 1', config_format: 'yaml', name: 'orders', labels: { team: 'a' } },
  ]);
});

test.each([
  ['not JSON', '{"config":', 'syntax'],
  ['no body', undefined, 'missing_body'],
  ['a list', '[]', 'wrong_type'],
  ['null', 'null', 'wrong_type'],
  ['a number', '5', 'wrong_type'],
  ['a missing field', '{}', 'missing_key'],
  ['an unknown field', '{"config":"a","confg":"b"}', 'unknown_key'],
  ['a field of the wrong type', '{"config":5}', 'wrong_type'],
  ['a timeout of zero', '{"config":"a","timeout_secs":0}', 'out_of_range'],
  ['an integer beyond 64 bits', '{"config":"a","timeout_secs":99999999999999999999}', 'wrong_type'],
  ['a prototype key', '{"config":"a","labels":{"__proto__":"x"}}', 'bad_key'],
  ['an escaped prototype key', '{"config":"a","labels":{"\\u005f_proto__":"x"}}', 'bad_key'],
  ['a NUL in a value', '{"config":"a","name":"\\u0000"}', 'nul_character'],
  ['half of a character in a value', '{"config":"a","name":"\\ud800"}', 'half_character'],
  ['half of a character in a key', '{"config":"a","labels":{"\\udc00":"x"}}', 'bad_key'],
  [
    'bottomless nesting',
    `{"config":"a","labels":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
    'too_deep',
  ],
  ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), 'syntax'],
])('a submission that is %s is a 400 with the issue', async (_, body, code) => {
  const { ask, logged } = await startFixture();
  const answer = await ask('POST', '/v1/runs', {
    body,
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.status).toBe(400);
  expect(errorOf(answer).code).toBe('bad_config');
  expect(errorOf(answer).details).toMatchObject({
    issues: expect.arrayContaining([expect.objectContaining({ code })]),
  });
  expect(logged).toEqual([]);
});

test('the message tells every issue in our words', async () => {
  const { ask } = await startFixture();
  const answer = await ask('POST', '/v1/runs', { body: { confg: 'a' } });
  expect(errorOf(answer).message).toBe(
    'config: `config` is required; confg: unknown key `confg` — did you mean `config`?',
  );
});

test.each([
  ['text/plain', 415],
  ['application/x-www-form-urlencoded', 415],
  ['', 415],
  ['nonsense', 415],
  ['application/json; charset=utf-8', 202],
  ['Application/JSON', 202],
  ['application/merge-patch+json', 202],
])('a body declared as %j is answered with %i', async (type, status) => {
  const { ask } = await startFixture();
  const answer = await ask('POST', '/v1/runs', {
    body: document,
    headers: { 'content-type': type },
  });
  expect(answer.status).toBe(status);
  if (status === 415) expect(errorOf(answer).code).toBe('unsupported_media_type');
});

test('a compressed body is a 415', async () => {
  const { ask } = await startFixture();
  const answer = await ask('POST', '/v1/runs', {
    body: document,
    headers: { 'content-encoding': 'gzip' },
  });
  expect(answer.status).toBe(415);
});

test('a body of exactly the limit passes, one byte more is a 413', async () => {
  const { ask } = await startFixture({ bodyLimitBytes: 100 });
  const exact = JSON.stringify({ config: 'x'.repeat(100 - '{"config":""}'.length) });
  expect(exact).toHaveLength(100);
  expect((await ask('POST', '/v1/runs', { body: exact })).status).toBe(202);
  const over = await ask('POST', '/v1/runs', { body: `${exact} ` });
  expect(over.status).toBe(413);
  expect(errorOf(over).code).toBe('payload_too_large');
});

test('checks come in order: size, route, authentication, permission, body', async () => {
  const { ask } = await startFixture({ bodyLimitBytes: 100 });
  const big = 'x'.repeat(101);
  expect((await ask('POST', '/v1/runs', { as: null, body: big })).status).toBe(413);
  expect((await ask('POST', '/v1/nowhere', { as: null })).status).toBe(404);
  expect((await ask('POST', '/v1/runs', { as: null, body: 'garbage' })).status).toBe(401);
  expect((await ask('POST', '/v1/runs', { as: 'viewer', body: 'garbage' })).status).toBe(403);
  expect((await ask('POST', '/v1/runs', { as: 'operator', body: 'garbage' })).status).toBe(400);
});

test.each([
  [
    new ConfigError([{ code: 'syntax', path: '', message: 'bad', line: 3, column: 4 }], {
      stage: 'parse',
    }),
    400,
    'bad_config',
  ],
  [
    new ConfigError([{ code: 'unresolved', path: 'a', message: 'no' }], { stage: 'interpolate' }),
    400,
    'bad_config',
  ],
  [new ConfigError([{ code: 'unknown_key', path: 'a', message: 'no' }]), 422, 'unprocessable'],
  [new RefusedError('conflict', 'no'), 409, 'conflict'],
  [new RefusedError('queue_full', 'no'), 429, 'queue_full'],
  [new RefusedError('unavailable', 'no'), 503, 'unavailable'],
])('%s becomes %i %s', async (refusal, status, code) => {
  const { ask, script } = await startFixture();
  script.refuse = refusal;
  const answer = await ask('POST', '/v1/runs', { body: document });
  expect(answer.status).toBe(status);
  expect(errorOf(answer).code).toBe(code);
  expect(answer.headers['retry-after']).toBe(status === 429 ? '5' : undefined);
});

test('the issues of a refused document stand in the details with their places', async () => {
  const { ask, script } = await startFixture();
  script.refuse = new ConfigError([
    {
      code: 'unknown_key',
      path: 'pipeline.sorce',
      message: 'unknown key `sorce`',
      hint: 'did you mean `source`?',
      line: 2,
      column: 3,
    },
  ]);
  const { details, message } = errorOf(await ask('POST', '/v1/runs', { body: document }));
  expect(message).toBe(
    'pipeline.sorce (line 2, column 3): unknown key `sorce` — did you mean `source`?',
  );
  expect(details).toEqual({
    issues: [
      {
        code: 'unknown_key',
        path: 'pipeline.sorce',
        message: 'unknown key `sorce`',
        hint: 'did you mean `source`?',
        line: 2,
        column: 3,
      },
    ],
  });
});

test('a fault is a 500 that says nothing, and is logged once with its stack', async () => {
  const { ask, script, logged } = await startFixture();
  script.refuse = new TypeError('undefined is not a function');
  const answer = await ask('POST', '/v1/runs', { body: document });
  expect(answer.status).toBe(500);
  expect(answer.json()).toEqual({
    error: { code: 'internal', message: 'internal error; the server log has the details' },
  });
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('undefined is not a function');
  expect(logged[0]).toContain('http.test.ts');
});

test('secrets never leave in an error, neither in the message nor in the details', async () => {
  const { ask, script, redactor } = await startFixture();
  redactor.register('hunter22');
  script.refuse = new RefusedError('unprocessable', 'cannot log in with hunter22', {
    details: { invocations: [{ reason: 'hunter22' }] },
  });
  const answer = await ask('POST', '/v1/runs', { body: document });
  expect(answer.body).not.toContain('hunter22');
  expect(errorOf(answer).message).toBe('cannot log in with ***');
  expect(errorOf(answer).details).toEqual({ invocations: [{ reason: '***' }] });
});

test('a run is read, cancelled and deleted by its state', async () => {
  const { ask, script } = await startFixture();
  script.records.set('live', runRecord({ run_id: 'live', status: 'running' }));
  expect((await ask('GET', '/v1/runs/run-1')).json()).toEqual(runRecord());
  const cancelled = await ask('POST', '/v1/runs/live/cancel');
  expect([cancelled.status, cancelled.body]).toEqual([202, '']);
  const noop = await ask('POST', '/v1/runs/run-1/cancel');
  expect([noop.status, noop.body]).toEqual([200, '']);
  expect((await ask('DELETE', '/v1/runs/live')).status).toBe(409);
  const deleted = await ask('DELETE', '/v1/runs/run-1');
  expect([deleted.status, deleted.body]).toEqual([204, '']);
  expect((await ask('GET', '/v1/runs/run-1')).status).toBe(404);
});

test.each([
  ['an unknown id', '/v1/runs/absent'],
  ['an id with a NUL', '/v1/runs/a%00b'],
  ['an endless id', `/v1/runs/${'a'.repeat(5000)}`],
  ['a path in an id', '/v1/runs/..%2F..%2Fetc'],
  ['an empty id', '/v1/runs/'],
  ['an unknown resource', '/v1/nowhere'],
  ['an unknown path', '/nowhere'],
  ['the bare prefix', '/v1'],
])('%s is a 404 envelope', async (_, path) => {
  const { ask } = await startFixture();
  const answer = await ask('GET', path);
  expect(answer.status).toBe(404);
  expect(errorOf(answer).code).toBe('not_found');
  expect(errorOf(answer)).not.toHaveProperty('details');
});

test('a path that is no percent encoding is a 400 envelope', async () => {
  const { ask } = await startFixture();
  const answer = await ask('GET', '/v1/runs/%zz');
  expect(answer.status).toBe(400);
  expect(errorOf(answer).code).toBe('bad_config');
});

test.each([
  ['PUT', '/v1/runs', 'POST, GET, HEAD, OPTIONS'],
  ['PATCH', '/v1/runs/run-1', 'GET, DELETE, HEAD, OPTIONS'],
  ['GET', '/v1/runs/run-1/cancel', 'POST, OPTIONS'],
  ['POST', '/healthz', 'GET, HEAD, OPTIONS'],
  ['TRACE', '/v1/runs', 'POST, GET, HEAD, OPTIONS'],
])('%s %s is a 405 that names what is allowed', async (method, path, allow) => {
  const { ask } = await startFixture();
  const answer = await ask(method, path, { as: null });
  expect(answer.status).toBe(405);
  expect(errorOf(answer).code).toBe('method_not_allowed');
  expect(answer.headers['allow']).toBe(allow);
});

test('HEAD answers as GET does, without the body', async () => {
  const { ask } = await startFixture();
  const head = await ask('HEAD', '/v1/runs/run-1');
  const get = await ask('GET', '/v1/runs/run-1');
  expect(head.status).toBe(200);
  expect(head.headers['content-length']).toBe(get.headers['content-length']);
  expect((await ask('HEAD', '/v1/runs', { as: null })).status).toBe(401);
  expect((await ask('HEAD', '/v1/runs/run-1/logs')).status).toBe(200);
});

test('a request that is refused before its route is counted under it', async () => {
  const { ask, counted } = await startFixture({ bodyLimitBytes: 10 });
  await ask('POST', '/v1/runs', { body: 'x'.repeat(11) });
  await ask('POST', '/v1/nowhere', { body: 'x'.repeat(11) });
  const requests = counted.filter(({ name }) => name === 'svc_serve_requests_total');
  expect(requests.map(({ labels }) => labels)).toEqual([
    { method: 'POST', path: '/v1/runs', status: 413 },
    { method: 'POST', path: '<unmatched>', status: 413 },
  ]);
});

test('every answer is counted under its route template', async () => {
  const { ask, counted } = await startFixture();
  await ask('GET', '/v1/runs/run-1');
  await ask('GET', '/v1/runs/absent');
  await ask('PUT', '/v1/runs');
  await ask('GET', '/some/secret/path');
  const requests = counted
    .filter(({ name }) => name === 'svc_serve_requests_total')
    .map(({ labels }) => labels);
  expect(requests).toEqual([
    { method: 'GET', path: '/v1/runs/{id}', status: 200 },
    { method: 'GET', path: '/v1/runs/{id}', status: 404 },
    { method: 'PUT', path: '/v1/runs', status: 405 },
    { method: 'GET', path: '<unmatched>', status: 404 },
  ]);
  expect(counted.filter(({ name }) => name === 'svc_serve_request_duration_seconds')).toHaveLength(
    4,
  );
});
