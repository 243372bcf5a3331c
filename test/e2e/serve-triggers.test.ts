/** Webhooks on a whole server: what fires, what does not, and a file that is read again. */
import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { csvToJsonl } from './serve-documents.ts';
import { workshop, type Answer, type Body, type Program } from './serve-program.ts';
import { eventually } from '../support/eventually.ts';

const shop = workshop();
const SECRET = 'the-secret-of-the-sender';
const TOKENS = {
  viewer: 'token-of-viewer',
  operator: 'token-of-operator',
  admin: 'token-of-admin',
};
let program: Program;

/** Writes what `set` makes of the tokens into a file of its own. */
const documentWith = (values: Body, out = 'out.jsonl'): Body => {
  const document = csvToJsonl(shop.path('in.csv'), shop.path(out));
  const transforms = [{ type: 'set', config: { values } }];
  return { ...document, pipeline: { ...(document['pipeline'] as Body), transforms } };
};
const written = (out = 'out.jsonl'): unknown =>
  JSON.parse(readFileSync(shop.path(out), 'utf8').trim().split('\n').at(-1) ?? '');

const hook = (name: string, more: Body = {}): Body => ({
  name,
  type: 'webhook',
  config: 'plain.json',
  ...more,
});
const HOOKS: readonly Body[] = [
  hook('plain', {
    run: { labels: { team: 'a', 'svc.trigger.method': 'mine' }, timeout_secs: 60, priority: 'low' },
  }),
  hook('both', { methods: ['POST', 'PUT'], run: { name: 'run-of-{name}' } }),
  hook('deduped', { dedupe_header: 'X-Delivery' }),
  hook('debounced', { debounce_secs: 3600 }),
  hook('signed', {
    signature: { style: 'github', secret: '${env:SENDER_SECRET}', instead_of_token: true },
  }),
  hook('off', { enabled: false }),
  hook('tokens', {
    config: documentWith(
      {
        body: '${trigger.body}',
        header: '${trigger.header.X-Day}-${trigger.header.none}',
        query: '${trigger.query.q}',
        about: '${trigger.name} ${trigger.type} ${trigger.method}',
      },
      'tokens.jsonl',
    ),
  }),
  {
    name: 'templated',
    type: 'webhook',
    template: { id: 'orders', params: { day: '${trigger.query.day}' } },
  },
];
const writeTriggers = (...triggers: readonly Body[]): void =>
  writeFileSync(shop.path('triggers.json'), JSON.stringify({ version: 1, triggers }));

const bearer = (role: keyof typeof TOKENS) => ({ authorization: `Bearer ${TOKENS[role]}` });
const fire = (
  name: string,
  more: { body?: unknown; headers?: Record<string, string>; method?: string } = {},
) =>
  program.call(more.method ?? 'POST', `/v1/triggers/${name}`, more.body, {
    ...bearer('operator'),
    ...more.headers,
  });
const ask = (path: string): Promise<Answer> =>
  program.call('GET', path, undefined, bearer('admin'));
const runOf = (answer: Answer): string => {
  expect(answer.status, answer.text).toBe(202);
  return (answer.json() as { run_id: string }).run_id;
};
const ended = async (runId: string): Promise<Body> => {
  await eventually(async () =>
    expect((await ask(`/v1/runs/${runId}`)).text).toMatch(/"(completed|failed)"/),
  );
  return (await ask(`/v1/runs/${runId}`)).json() as Body;
};
const series = async (start: string): Promise<string[]> =>
  (await ask('/metrics')).text.split('\n').filter((line) => line.startsWith(start));

beforeAll(async () => {
  writeFileSync(shop.path('in.csv'), 'id\n1\n');
  writeFileSync(shop.path('plain.json'), JSON.stringify(documentWith({ version: 'one' })));
  writeTriggers(...HOOKS);
  program = await shop.start({
    args: ['--triggers', 'triggers.json'],
    variables: {
      SENDER_SECRET: SECRET,
      HEADGATE_SERVE_READ_TOKEN: TOKENS.viewer,
      HEADGATE_SERVE_WRITE_TOKEN: TOKENS.operator,
      HEADGATE_SERVE_ADMIN_TOKEN: TOKENS.admin,
    },
  });
}, 60_000);
afterAll(() => shop.dispose());

describe('a request to a webhook', () => {
  test('starts a run, which says where it comes from', async () => {
    const answer = await fire('plain', { body: '{"any": 1}' });
    const run = await ended(runOf(answer));
    expect(answer.json()).toEqual({
      run_id: run['run_id'],
      status: 'queued',
      submitted_at: run['submitted_at'],
    });
    expect(run).toMatchObject({
      status: 'completed',
      name: 'plain',
      priority: 'low',
      labels: {
        'svc.trigger.name': 'plain',
        'svc.trigger.type': 'webhook',
        team: 'a',
        'svc.trigger.method': 'mine',
      },
    });
    expect(run['idempotency_key']).toMatch(/^[\da-f]{8}-/);
    expect(written()).toEqual({ id: '1', version: 'one' });
    const { entries } = (await ask('/v1/audit?limit=2')).json() as { entries: Body[] };
    expect(entries).toMatchObject([
      { action: 'trigger.fire', principal: 'write', run_id: run['run_id'], result: 'ok' },
      { action: 'run.submit', principal: 'trigger:plain', role: 'operator', run_id: run['run_id'] },
    ]);
  });

  test('may use the methods of its list, and no others', async () => {
    expect((await fire('plain', { method: 'PUT' })).status).toBe(400);
    const run = await ended(runOf(await fire('both', { method: 'PUT' })));
    expect(run).toMatchObject({ name: 'run-of-both', labels: { 'svc.trigger.method': 'PUT' } });
  });

  test('fills in its tokens, which stay data', async () => {
    const body = '{"a": "${env:SENDER_SECRET}\\n"}';
    const answer = await program.call('POST', '/v1/triggers/tokens?q=a%20%7D', body, {
      ...bearer('operator'),
      'x-day': 'mo',
      'content-type': 'text/plain',
    });
    expect(await ended(runOf(answer))).toMatchObject({ status: 'completed' });
    expect(written('tokens.jsonl')).toEqual({
      id: '1',
      body,
      header: 'mo-',
      query: 'a }',
      about: 'tokens webhook POST',
    });
  });

  test('with a known delivery gives the run of the first', async () => {
    const delivery = randomUUID();
    const headers = { 'x-delivery': delivery };
    const coalesced = async (): Promise<number> => {
      const [line] = await series('svc_serve_trigger_runs_coalesced_total{trigger="deduped"}');
      return Number(line?.split(' ').at(-1) ?? 0);
    };
    const before = await coalesced();
    const [first, second] = [
      await fire('deduped', { headers }),
      await fire('deduped', { headers }),
    ];
    expect(runOf(second)).toBe(runOf(first));
    const other = runOf(await fire('deduped', { headers: { 'x-delivery': randomUUID() } }));
    expect(other).not.toBe(runOf(first));
    await ended(other);
    expect(await ended(runOf(first))).toMatchObject({ idempotency_key: delivery });
    expect(await coalesced()).toBe(before + 1);
  });

  test('inside of a window has no run', async () => {
    const answers = await Promise.all([fire('debounced'), fire('debounced'), fire('debounced')]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 202]);
    expect(answers.find(({ status }) => status === 200)?.json()).toEqual({ status: 'coalesced' });
    expect(await series('svc_serve_triggers_fired_total{trigger="debounced"')).toEqual([
      'svc_serve_triggers_fired_total{trigger="debounced",type="webhook"} 1',
    ]);
    for (const answer of answers.filter(({ status }) => status === 202)) await ended(runOf(answer));
  });

  test('needs a token, or a signature where that suffices', async () => {
    const call = (name: string, headers: Record<string, string> = {}) =>
      program.call('POST', `/v1/triggers/${name}`, '{}', headers);
    const signature = createHmac('sha256', SECRET).update('{}').digest('hex');
    const signed = { 'x-hub-signature-256': `sha256=${signature}` };
    expect((await call('plain')).status).toBe(401);
    expect((await call('plain', bearer('viewer'))).status).toBe(403);
    expect((await call('signed')).status).toBe(401);
    expect((await call('signed', bearer('operator'))).status).toBe(401);
    expect((await call('signed', { ...signed, authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await call('signed', { ...signed, ...bearer('viewer') })).status).toBe(403);
    await ended(runOf(await call('signed', signed)));
    const { entries } = (await ask('/v1/audit?limit=1')).json() as { entries: Body[] };
    expect(entries).toMatchObject([{ action: 'run.submit', principal: 'trigger:signed' }]);
  });

  test.each(['off', 'none', 'plain/more'])('to %s is a 404', async (name) => {
    expect((await fire(name)).status).toBe(404);
  });

  test('may run a template, which must be there', async () => {
    const missing = await program.call(
      'POST',
      '/v1/triggers/templated?day=mo',
      '',
      bearer('operator'),
    );
    expect([missing.status, missing.text]).toEqual([422, expect.stringContaining('template')]);
    const document = {
      ...documentWith({ day: '${param.day}' }, 'day.jsonl'),
      params: { day: { type: 'string', required: true } },
    };
    const config = JSON.stringify({ ...document, name: 'orders' });
    const registered = await program.call(
      'POST',
      '/v1/templates',
      { id: 'orders', config, launch: true },
      bearer('admin'),
    );
    expect(registered.status, registered.text).toBe(201);
    const answer = await program.call(
      'POST',
      '/v1/triggers/templated?day=mo',
      '',
      bearer('operator'),
    );
    expect(await ended(runOf(answer))).toMatchObject({
      status: 'completed',
      name: 'templated',
      labels: { template: 'orders', 'svc.trigger.name': 'templated' },
    });
    expect(written('day.jsonl')).toEqual({ id: '1', day: 'mo' });
    const day = '${env:HOME}-$${x}$';
    const literal = await program.call(
      'POST',
      `/v1/triggers/templated?day=${encodeURIComponent(day)}`,
      '',
      bearer('operator'),
    );
    expect(await ended(runOf(literal))).toMatchObject({ status: 'completed' });
    expect(written('day.jsonl')).toEqual({ id: '1', day });
  });
});

test('triggers are listed with what they did, and are in the readiness', async () => {
  const { triggers } = (await ask('/v1/triggers')).json() as { triggers: Body[] };
  expect(triggers.map(({ name }) => name)).toEqual(
    HOOKS.map(({ name }) => String(name)).toSorted((a, b) => (a < b ? -1 : 1)),
  );
  expect(triggers.find(({ name }) => name === 'off')).toMatchObject({
    enabled: false,
    last_fire: null,
  });
  expect(triggers.find(({ name }) => name === 'plain')).toMatchObject({
    enabled: true,
    starts: 'POST /v1/triggers/plain',
    healthy: true,
    last_fire: expect.any(String),
    last_run_id: expect.any(String),
  });
  const ready = (await ask('/readyz')).json() as { status: string; triggers: Body[] };
  expect(ready.status).toBe('ready');
  expect(ready.triggers).toHaveLength(HOOKS.length - 1);
  expect(ready.triggers[0]).toEqual({
    name: 'both',
    type: 'webhook',
    healthy: true,
    consecutive_failures: 0,
    last_fire: expect.any(String),
    last_error: null,
  });
  expect(await series('svc_serve_triggers_active')).toEqual(['svc_serve_triggers_active 7']);
  expect(await series('svc_serve_trigger_last_fire_unix_seconds{trigger="plain"}')).toHaveLength(1);
});

test('a file that is read again takes the place of the one before, a broken one does not', async () => {
  // An earlier try of this test may have changed them.
  writeFileSync(shop.path('plain.json'), JSON.stringify(documentWith({ version: 'one' })));
  writeTriggers(...HOOKS);
  const reload = () => program.call('POST', '/v1/reload', undefined, bearer('admin'));
  expect((await reload()).status).toBe(200);
  const opening = await fire('debounced');
  if (opening.status === 202) await ended(runOf(opening));

  writeFileSync(shop.path('plain.json'), JSON.stringify(documentWith({ version: 'two' })));
  await ended(runOf(await fire('plain')));
  expect(written()).toEqual({ id: '1', version: 'one' });

  writeTriggers(hook('plain', { metods: [] }), hook('new', { config: 'none.json' }));
  const refused = await reload();
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('metods');
  expect(refused.text).toContain('none.json');
  await ended(runOf(await fire('both')));

  writeTriggers(hook('new'), hook('debounced', { debounce_secs: 3600 }));
  expect((await reload()).json()).toMatchObject({
    reloaded: false,
    triggers: { reloaded: true, path: shop.path('triggers.json') },
  });
  expect((await fire('plain')).status).toBe(404);
  const measured = await series('svc_serve_trigger');
  expect(measured.filter((line) => line.includes('trigger="plain"'))).toEqual([]);
  expect(measured.join('\n')).toContain('trigger="debounced"');
  await ended(runOf(await fire('new')));
  expect(written()).toEqual({ id: '1', version: 'two' });
  // Its window goes on.
  expect((await fire('debounced')).status).toBe(200);
  writeTriggers(hook('new', { methods: ['PUT'] }));
  expect((await reload()).status).toBe(200);
  expect((await fire('new')).status).toBe(400);
  await ended(runOf(await fire('new', { method: 'PUT' })));
  expect(program.output()).not.toContain(SECRET);
});

test('a server does not start with a file that has problems, and tells all of them', async () => {
  writeFileSync(
    shop.path('bad.json'),
    JSON.stringify({
      version: 1,
      triggers: [hook('a', { config: 'none.json' }), hook('b', { signature: { style: 'slack' } })],
    }),
  );
  const refused = await shop
    .start({ args: ['--triggers', 'bad.json', '--data-dir', 'other'] })
    .then(
      () => 'started',
      (error: Error) => error.message,
    );
  expect(refused).toContain('trigger `a`');
  expect(refused).toContain('triggers[1].signature.secret');
});

test('without a file there is no trigger', async () => {
  const plain = await shop.start({ args: ['--data-dir', 'plain'] });
  expect((await plain.call('POST', '/v1/triggers/any')).status).toBe(404);
  expect((await plain.call('GET', '/v1/triggers')).json()).toEqual({ triggers: [] });
  expect((await plain.call('GET', '/readyz')).json()).not.toHaveProperty('triggers');
});
