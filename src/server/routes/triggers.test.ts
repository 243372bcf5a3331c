import { expect, test } from 'vitest';
import { startFixture, TOKENS } from '../../../test/support/server.ts';
import type { LoadedTrigger } from '../../features/triggers/load-triggers.ts';
import { check } from '../../kit/schema.ts';
import { RefusedError } from '../../lib/errors.ts';
import { webhook } from '../../triggers/webhook.ts';

function hook(name: string, fields: object = {}): LoadedTrigger {
  const config = check(webhook.fields(), fields);
  if (!config.ok) throw new Error('the fields are wrong');
  return {
    path: '',
    name,
    enabled: true,
    definition: webhook,
    config: config.value,
    target: { kind: 'document', document: 'a.yaml' },
    run: {},
    runs: { kind: 'tree', tree: { body: '${trigger.body}' } },
  };
}

const start = () =>
  startFixture({
    triggers: {
      triggers: [hook('open'), hook('both', { methods: ['POST', 'PUT'] })],
      warnings: [],
    },
    bodyLimitBytes: 100,
  });

test.each([
  ['without a type', {}, 'plain text', 'plain text'],
  ['of another type', { 'content-type': 'application/x-www-form-urlencoded' }, 'a=b', 'a=b'],
  ['that is empty', {}, '', ''],
  ['that is no JSON', { 'content-type': 'application/json' }, '{', '{'],
])('a body %s reaches the run as it is', async (_what, headers, payload, body) => {
  const { server, script } = await start();
  const answer = await server.inject({
    method: 'POST',
    url: '/v1/triggers/open',
    headers: { authorization: `Bearer ${TOKENS.operator}`, ...headers },
    payload,
  });
  expect([answer.status, answer.body]).toEqual([202, expect.stringContaining('run-2')]);
  expect(JSON.parse(script.submitted[0]?.config ?? '')).toEqual({ body });
});

test.each([
  ['POST', '/v1/triggers/open', 'x'.repeat(101), 413, 'payload_too_large'],
  ['PUT', '/v1/triggers/open', '', 400, 'bad_config'],
  ['POST', '/v1/triggers/none', '', 404, 'not_found'],
  ['POST', '/v1/triggers/%00', '', 404, 'not_found'],
  ['DELETE', '/v1/triggers/both', '', 405, 'method_not_allowed'],
])('%s %s with %j is refused with %i', async (method, url, body, status, code) => {
  const { ask } = await start();
  const answer = await ask(method, url, { body });
  expect([answer.status, answer.json()]).toMatchObject([status, { error: { code } }]);
});

test('a full queue is a 429, which says when to come again', async () => {
  const { ask, script, counted } = await start();
  script.refuse = new RefusedError('queue_full', 'the queue is full');
  const answer = await ask('PUT', '/v1/triggers/both');
  expect([answer.status, answer.headers['retry-after']]).toEqual([429, '5']);
  expect(counted).toContainEqual({
    name: 'svc_serve_trigger_runs_dropped_total',
    labels: { trigger: 'both', reason: 'queue_full' },
  });
});

test('a key that belongs to another request is no error', async () => {
  const { ask, script } = await start();
  script.refuse = new RefusedError('conflict', 'the key was used');
  const answer = await ask('POST', '/v1/triggers/open');
  expect([answer.status, answer.json()]).toEqual([200, { status: 'coalesced' }]);
});
