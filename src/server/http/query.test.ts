import { expect, test } from 'vitest';
import { jsonSchemaOf } from '../../kit/json-schema.ts';
import { startFixture } from '../../../test/support/server.ts';
import { clamped } from './query.ts';

async function queryOf(search: string) {
  const { ask, script } = await startFixture();
  const answer = await ask('GET', `/v1/runs?${search}`);
  expect(answer.status, answer.body).toBe(200);
  return script.queries[0];
}

async function refusalOf(search: string, path = '/v1/runs') {
  const { ask } = await startFixture();
  const answer = await ask('GET', `${path}?${search}`);
  expect(answer.status, answer.body).toBe(400);
  const { error } = answer.json() as { error: { code: string; message: string } };
  expect(error.code).toBe('bad_config');
  return error.message;
}

test('an empty query asks for the first fifty of all', async () => {
  expect(await queryOf('')).toEqual({ limit: 50 });
});

test.each([
  ['0', 1],
  ['-5', 1],
  ['1', 1],
  ['500', 500],
  ['501', 500],
  ['99999999999999999999999', 500],
])('a limit of %s counts as %i', async (written, limit) => {
  expect((await queryOf(`limit=${written}`))?.limit).toBe(limit);
});

test('a number that counts as the nearest bound is described without bounds', () => {
  const { type, minimum, maximum } = jsonSchemaOf(clamped({ min: 1, max: 500 }));
  expect({ type, minimum, maximum }).toEqual({ type: ['integer', 'string'] });
});

test.each(['abc', '1.5', '1e3', '', '0x10', '%20'])('a limit of %j is refused', async (written) => {
  expect(await refusalOf(`limit=${written}`)).toMatch(/^limit: expected a whole number/);
});

test.each([
  ['failed', ['failed']],
  ['failed,completed', ['failed', 'completed']],
  ['%20failed%20,%20completed%20,', ['failed', 'completed']],
  [',,', undefined],
  ['', undefined],
])('the statuses %j are read as a list', async (written, status) => {
  expect((await queryOf(`status=${written}`))?.status).toEqual(status);
});

test('an unknown status is named, with the ones there are', async () => {
  expect(await refusalOf('status=completed,faild')).toBe(
    'status: "faild" is not one of queued, running, completed, failed, cancelled',
  );
  expect(await refusalOf('status=FAILED')).toContain('"FAILED"');
});

test.each([
  ['2026-08-01T12:00:00Z', '2026-08-01T12:00:00.000Z'],
  ['2026-08-01t12:00:00.5z', '2026-08-01T12:00:00.500Z'],
  ['2026-08-01T12:00:00+05:30', '2026-08-01T06:30:00.000Z'],
  ['2026-08-01T12:00:00%2B05:30', '2026-08-01T06:30:00.000Z'],
  ['2026-08-01T12:00:00%2005:30', '2026-08-01T06:30:00.000Z'],
  ['2026-08-01T12:00:00-01:00', '2026-08-01T13:00:00.000Z'],
  ['2024-02-29T00:00:00.123456789Z', '2024-02-29T00:00:00.123Z'],
])('the time %s is read', async (written, instant) => {
  const query = await queryOf(`since=${written}&until=${written}`);
  expect(query?.since?.toISOString()).toBe(instant);
  expect(query?.until?.toISOString()).toBe(instant);
});

test.each([
  'yesterday',
  '2026-08-01',
  '2026-08-01T12:00:00',
  '2026-02-30T00:00:00Z',
  '2026-08-01T25:00:00Z',
  '1785585600',
  '',
  '2026-08-01T12:00:00+99:99',
])('the time %j is refused', async (written) => {
  expect(await refusalOf(`since=${written}`)).toContain('is not an RFC 3339 time');
});

test('name and cursor are passed on as they are', async () => {
  expect(await queryOf('name=a%2Cb&cursor=run-9')).toEqual({
    name: 'a,b',
    cursor: 'run-9',
    limit: 50,
  });
});

test.each([
  ['status=failed&status=completed', 'status: the parameter is given more than once'],
  ['name=%00', 'name: holds a NUL character'],
  ['staus=failed', 'staus: unknown key `staus` — did you mean `status`?'],
  ['__proto__=x', '["__proto__"]: unknown key `__proto__`'],
  ['constructor=x', 'constructor: unknown key `constructor`'],
])('%s is refused', async (search, message) => {
  expect(await refusalOf(search)).toContain(message.replace('["__proto__"]', '__proto__'));
});

test('the audit log has the same kinds of parameters', async () => {
  const { ask, auditQueries } = await startFixture();
  await ask('GET', '/v1/audit');
  await ask(
    'GET',
    '/v1/audit?principal=ann&action=run.submit&since=2026-08-01T12:00:00+02:00&limit=5000',
  );
  expect(auditQueries).toEqual([
    { limit: 100 },
    {
      principal: 'ann',
      action: 'run.submit',
      since: new Date('2026-08-01T10:00:00Z'),
      limit: 1000,
    },
  ]);
  expect(await refusalOf('until=now', '/v1/audit')).toContain('RFC 3339');
});

test('routes without parameters take any query', async () => {
  const { ask } = await startFixture();
  expect((await ask('GET', '/healthz?probe=1', { as: null })).status).toBe(200);
});
