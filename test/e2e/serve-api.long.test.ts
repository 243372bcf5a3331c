/**
 * Who may call the real program, what it refuses and how it says so, and what it tells about
 * itself.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { headgate } from './headgate.ts';
import { csvToJsonl } from './serve-documents.ts';
import { workshop, type Body, type Program } from './serve-program.ts';

const shop = workshop();
const quick = (output: string, more: Body = {}) =>
  csvToJsonl(shop.path('in.csv'), shop.path(output), more);
const text = (document: Body) => JSON.stringify(document);
let program: Program;

beforeAll(async () => {
  writeFileSync(shop.path('in.csv'), 'id\n1\n2\n');
  program = await shop.start({ args: ['--history', 'memory'] });
});
afterAll(() => shop.dispose());

describe('a start is refused, in a sentence,', () => {
  test.each([
    ['without a way to authenticate', [], 'no way to authenticate was chosen'],
    [
      'with two of them',
      ['--no-auth', '--auth-token', 'abcd'],
      '--no-auth and --auth-token exclude each other',
    ],
    ['with an empty token', ['--auth-token', ''], '--auth-token'],
    [
      'with one token for two roles',
      ['--read-token', 'abcd', '--write-token', 'abcd'],
      '--write-token is the same token as --read-token',
    ],
    [
      'with an address that is none',
      ['--no-auth', '--listen', 'nonsense'],
      '--listen "nonsense" is not an address',
    ],
    ['with no grace', ['--no-auth', '--shutdown-grace-secs', '0'], '--shutdown-grace-secs must be'],
    ['with no lease', ['--no-auth', '--lease-ttl-secs', '0'], '--lease-ttl-secs must be'],
    [
      'with a history of an unknown kind',
      ['--no-auth', '--history', 'mysql://x'],
      '--history must be',
    ],
    [
      'as a cluster whose servers see nothing of each other',
      ['--no-auth', '--cluster', '--history', 'memory'],
      '--cluster needs a history in PostgreSQL',
    ],
    ['with an option nobody knows', ['--no-auth', '--bogus'], 'no option `--bogus`'],
  ])('%s', async (_what, args, sentence) => {
    const { code, stderr } = await headgate(['serve', ...args], { cwd: shop.dir });
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain('    at ');
    expect(code).toBe(2);
  });

  test('with an auth config whose reference cannot be resolved', async () => {
    writeFileSync(
      shop.path('unset.yaml'),
      'principals:\n- { name: ann, token: "${env:NOBODY_SET_THIS}", role: admin }\n',
    );
    const { code, stderr } = await headgate(
      ['serve', '--auth-config', 'unset.yaml', '--history', 'memory'],
      { cwd: shop.dir },
    );
    expect(stderr).toContain('NOBODY_SET_THIS');
    expect(stderr).toContain('unset.yaml:2:');
    expect(code).not.toBe(0);
  });
});

test('a start on a port that is taken ends, and says so', async () => {
  const args = ['serve', '--no-auth', '--history', 'memory', '--listen', new URL(program.url).host];
  const { code, stderr } = await headgate(args, { cwd: shop.dir });
  expect(stderr).toContain(
    'the port is in use  [cannot_listen]\nhint: choose another address with --listen\n',
  );
  expect(code).toBe(1);
});

test('the start says where the server is and what to try', () => {
  expect(program.output()).toMatch(
    /^Headgate listens on http:\/\/127\.0\.0\.1:\d+\nhistory: memory\ntry: +curl -s http/m,
  );
});

test('principals of a file get what their roles allow, and every refusal is in the audit log', async () => {
  writeFileSync(
    shop.path('auth.yaml'),
    'principals:\n- { name: vera, token: "${env:VERA}", role: viewer }\n- { name: otto, token: otto-token, role: operator }\n' +
      '- { name: ada, token: ada-token, role: admin }\n',
  );
  const guarded = await shop.start({
    args: ['--history', 'memory', '--auth-config', shop.path('auth.yaml')],
    variables: { VERA: 'vera-token' },
  });
  const as = (token: string, method: string, path: string, body?: unknown) =>
    guarded.call(method, path, body, token === '' ? {} : { authorization: `Bearer ${token}` });
  const submission = { config: text(quick('auth.jsonl')) };
  expect((await as('', 'GET', '/healthz')).status).toBe(200);
  expect((await as('', 'GET', '/v1/runs')).json()).toMatchObject({
    error: { code: 'unauthorized' },
  });
  expect((await as('${env:VERA}', 'GET', '/v1/runs')).status).toBe(401);
  expect((await as('vera-token', 'GET', '/v1/runs')).status).toBe(200);
  expect((await as('vera-token', 'POST', '/v1/runs', 'not even JSON')).json()).toMatchObject({
    error: { code: 'forbidden' },
  });
  expect((await as('otto-token', 'POST', '/v1/runs', submission)).status).toBe(202);
  expect((await as('otto-token', 'GET', '/v1/audit')).status).toBe(403);
  expect((await as('vera-token', 'GET', '/v1/whoami')).json()).toMatchObject({
    principal: 'vera',
    role: 'viewer',
  });
  const { entries } = (await as('ada-token', 'GET', '/v1/audit')).json() as { entries: Body[] };
  expect(
    entries.map(
      ({ principal, action, result }) => `${String(principal)} ${String(action)} ${String(result)}`,
    ),
  ).toEqual(['otto audit.list denied', 'otto run.submit ok', 'vera run.submit denied']);
  expect(entries[1]).toMatchObject({
    run_id: expect.any(String),
    config_fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
});

describe('a submission is refused', () => {
  const good = () => text(quick('refused.jsonl'));
  test.each<[string, () => unknown, number, string]>([
    ['without a body', () => '', 400, 'a JSON body is required'],
    ['that is no JSON', () => '{', 400, 'not valid JSON'],
    ['that is a list', () => [], 400, 'expected a mapping'],
    ['without a document', () => ({}), 400, '`config` is required'],
    [
      'with a key nobody knows',
      () => ({ config: good(), colour: 'red' }),
      400,
      'unknown key `colour`',
    ],
    [
      'in a format nobody knows',
      () => ({ config: good(), config_format: 'toml' }),
      400,
      'config_format',
    ],
    ['whose document is no YAML', () => ({ config: 'a: [' }), 400, 'not valid YAML'],
    [
      'whose document is YAML where JSON was said',
      () => ({ config: 'version: 1', config_format: 'json' }),
      400,
      'not valid JSON',
    ],
    [
      'with a schedule',
      () => ({ config: text(quick('x', { schedule: { cron: '* * * * *' } })) }),
      400,
      'schedule',
    ],
    [
      'that needs a variable nobody set',
      () => ({ config: text(quick('${env:NOBODY_SET_THIS}')) }),
      400,
      'NOBODY_SET_THIS',
    ],
    [
      'that extends a file',
      () => ({ config: text(quick('x', { extends: '/etc/passwd' })) }),
      422,
      'composition is for files only',
    ],
    [
      'that includes a file',
      () => ({ config: 'version: 1\npipeline: !include /etc/passwd' }),
      422,
      'composition is for files only',
    ],
    [
      'of another version',
      () => ({ config: text({ ...quick('x'), version: 2 }) }),
      422,
      'version 2',
    ],
    [
      'with a source nobody has',
      () => ({ config: good().replace('"csv"', '"cvs"') }),
      422,
      'did you mean `csv`?',
    ],
    [
      'with a concurrency of 0',
      () => ({ config: good(), concurrency: 0 }),
      422,
      'concurrency is a count',
    ],
    ['with a clock that is no time', () => ({ config: good(), clock: 'yesterday' }), 422, 'clock'],
    ['with a label that is no text', () => ({ config: good(), labels: { a: 1 } }), 400, 'labels.a'],
    [
      'that calls back by ftp',
      () => ({ config: good(), callback: { url: 'ftp://x/' } }),
      422,
      'scheme',
    ],
    [
      'that calls back the metadata service',
      () => ({ config: good(), callback: { url: 'http://169.254.169.254/' } }),
      422,
      'link-local',
    ],
    [
      'that calls back while running',
      () => ({ config: good(), callback: { url: 'http://127.0.0.1:9/', on: ['running'] } }),
      422,
      'callback.on',
    ],
    [
      'that calls back with a field of its own',
      () => ({
        config: good(),
        callback: { url: 'http://127.0.0.1:9/', extra_fields: { run_id: 1 } },
      }),
      422,
      'run_id',
    ],
    ['of a billion aliases', () => ({ config: bomb() }), 400, 'aliases expand'],
    [
      'nested a hundred thousand levels deep',
      () => ({ config: '['.repeat(100_000) }),
      400,
      'nested deeper',
    ],
    ['larger than the limit', () => ({ config: 'x'.repeat(1_048_577) }), 413, 'larger than'],
  ])('%s', async (_what, body, status, words) => {
    const answer = await program.call('POST', '/v1/runs', body());
    expect(answer.json()).toMatchObject({
      error: { code: expect.any(String), message: expect.stringContaining(words) },
    });
    expect(answer.status).toBe(status);
  });

  test('that is not declared as JSON', async () => {
    const answer = await program.call('POST', '/v1/runs', '{}', { 'content-type': 'text/plain' });
    expect(answer.json()).toMatchObject({ error: { code: 'unsupported_media_type' } });
  });

  test('without leaving a run behind', async () => {
    expect((await program.list()).runs).toEqual([]);
  });
});

function bomb(): string {
  const lines = ['a: &a [x,x,x,x,x,x,x,x,x]'];
  for (const [index, name] of 'bcdefghij'.split('').entries())
    lines.push(`${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[index]}`).join()}]`);
  return lines.join('\n');
}

test('paths and methods that do not exist are said not to', async () => {
  expect((await program.call('GET', '/v1/nothing')).json()).toMatchObject({
    error: { code: 'not_found' },
  });
  const wrong = await program.call('PUT', '/v1/runs');
  expect(wrong.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
  expect(wrong.headers.get('allow')).toContain('POST');
});

test('memory keeps no log to read later, and says so by an empty one', async () => {
  const id = await program.submit(quick('memory.jsonl'));
  await program.ended(id);
  const stored = await program.call('GET', `/v1/runs/${id}/logs?format=jsonl`);
  expect([stored.status, stored.text]).toEqual([200, '']);
});

describe('a callback', () => {
  const received: Body[] = [];
  const statuses: number[] = [];
  const receiver = createServer((request, response) => {
    void json(request).then((body) => {
      received.push({ ...(body as Body), header: request.headers['x-key'] });
      response.writeHead(statuses.shift() ?? 204).end();
    });
  }).listen(0, '127.0.0.1');
  const url = () =>
    `http://user:password@127.0.0.1:${(receiver.address() as AddressInfo).port}/done`;

  beforeAll(async () => {
    if (!receiver.listening) await once(receiver, 'listening');
  });
  afterAll(() => void receiver.close());

  test('tells once how the run ended, and the record hides its secrets', async () => {
    const callback = {
      url: url(),
      headers: { 'X-Key': 'key-1' },
      extra_fields: { ticket: 7 },
      on: ['completed'],
    };
    const id = await program.submit(quick('told.jsonl'), { callback, name: 'told' });
    const run = await program.ended(id);
    await expect.poll(() => received).toHaveLength(1);
    expect(received.splice(0)).toEqual([
      expect.objectContaining({
        event: 'run.completed',
        run_id: id,
        status: 'completed',
        name: 'told',
        records_written: 2,
        error: null,
        ticket: 7,
        header: 'key-1',
      }),
    ]);
    expect(JSON.stringify(run.callback)).not.toMatch(/password|key-1/);
  });

  test('is repeated until it is taken, and not made for an end nobody asked about', async () => {
    statuses.push(500, 503);
    const failing = csvToJsonl(shop.path('none.csv'), shop.path('x.jsonl'));
    await program.ended(
      await program.submit(failing, { callback: { url: url(), on: ['completed'] } }),
    );
    const id = await program.submit(failing, { callback: { url: url() } });
    await expect.poll(() => received.length, { timeout: 10_000 }).toBe(3);
    for (const body of received.splice(0))
      expect(body).toMatchObject({
        event: 'run.failed',
        run_id: id,
        attempt: 0,
        error: expect.any(String),
      });
  });
});

test('the catalogue keeps its promises: every name has a schema', async () => {
  const catalog = (await program.call('GET', '/v1/schemas')).json() as Record<
    string,
    { name: string }[]
  >;
  for (const [kind, list] of [
    ['source', 'sources'],
    ['sink', 'sinks'],
    ['transform', 'transforms'],
    ['block', 'blocks'],
  ] as const) {
    const names = (catalog[list] ?? []).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(3);
    for (const name of names)
      expect(
        (await program.call('GET', `/v1/schemas/${kind}/${name}`)).status,
        `${kind} ${name}`,
      ).toBe(200);
  }
  expect((await program.call('GET', '/v1/schemas/source/nothing')).status).toBe(404);
});

test('the description of the API answers only what it describes', async () => {
  const api = (await program.call('GET', '/openapi.json')).json() as {
    paths: Record<string, Record<string, { responses: object }>>;
  };
  for (const [path, operations] of Object.entries(api.paths))
    for (const [method, { responses }] of Object.entries(operations)) {
      const { status } = await program.call(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'x'));
      expect(Object.keys(responses), `${method} ${path}`).toContain(String(status));
      expect(status, `${method} ${path}`).not.toBe(405);
    }
});

test('what happened is counted by route template, not by address', async () => {
  const { text: metrics, headers } = await program.call('GET', '/metrics');
  expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(metrics).toMatch(/^svc_serve_runs_total\{status="completed",reason="ok"\} \d+$/m);
  expect(metrics).toMatch(
    /^svc_serve_requests_total\{method="GET",path="\/v1\/runs\/\{id\}",status="200"\} \d+$/m,
  );
  expect(metrics).toMatch(/^svc_sink_records_total\{[^}]*pipeline="told"[^}]*\} 2$/m);
  expect(metrics).toMatch(/^svc_serve_history_degraded 0$/m);
  expect(metrics).toMatch(/^svc_build_info\{version="\d[^"]*"\} 1$/m);
  expect(metrics).toMatch(/^svc_up 1$/m);
  expect(metrics).not.toMatch(/run_id=/);
});

test('the preflight reports over HTTP as it does before a run', async () => {
  const fine = await program.call('POST', '/v1/doctor', { config: text(quick('probe.jsonl')) });
  expect(fine.json()).toMatchObject({
    invocations: [
      { id: 'row-0', probes: [{ role: 'source', connector: 'csv', status: 'pass' }, {}] },
    ],
  });
  const ill = await program.call('POST', '/v1/doctor', {
    config: text(csvToJsonl(shop.path('none.csv'), shop.path('x.jsonl'))),
  });
  expect(ill.status).toBe(422);
  expect(ill.json()).toMatchObject({
    error: { details: { invocations: [{ probes: [{ status: 'fail' }, {}] }] } },
  });
});
