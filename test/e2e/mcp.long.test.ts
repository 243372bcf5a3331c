/** Agents, with the client of the protocol's own library, over HTTP and over stdio. */
import { writeFileSync, existsSync, readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workshop, type Program } from './serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';

const LAUNCHER = await launcherPath();
const TOKENS = { viewer: 'token-of-a-viewer', operator: 'token-of-operators', admin: 'admins-own' };
const shop = workshop();
let program: Program;
let closed: Program;

beforeAll(async () => {
  writeFileSync(shop.path('in.csv'), 'id,mail\n1,ann@example.com\n2,bob@example.com\n');
  const tokens = Object.entries({ read: 'viewer', write: 'operator', admin: 'admin' } as const);
  const auth = tokens.flatMap(([flag, role]) => [`--${flag}-token`, TOKENS[role]]);
  program = await shop.start({
    args: ['--data-dir', shop.path('data'), '--mcp', '--mcp-allow-mutations', ...auth],
    variables: { API_KEY: 'never-to-be-seen' },
  });
  closed = await shop.start({ args: ['--data-dir', shop.path('closed'), '--mcp', ...auth] });
});
afterAll(() => shop.dispose());

const document = (to: string, more = ''): string => `version: 1
name: people
pipeline:
  source: { type: csv, config: { path: '${shop.path('in.csv')}' } }
  transforms: [{ type: redact, config: { fields: [mail] } }]
  sink: { type: jsonl, config: { path: '${shop.path(to)}' } }
${more}`;

async function connected<T>(transport: Transport, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ name: 'tests', version: '1' });
  await client.connect(transport);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

function over(role: keyof typeof TOKENS, server = program): Transport {
  const headers = { authorization: `Bearer ${TOKENS[role]}` };
  return new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
    requestInit: { headers },
  });
}

const stdio = (...words: string[]): Transport =>
  new StdioClientTransport({
    command: process.execPath,
    args: [LAUNCHER, 'mcp', '--template-store', `sqlite:${shop.path('own.db')}`, ...words],
    cwd: shop.dir,
    stderr: 'ignore',
  });

interface Said {
  readonly isError: boolean;
  readonly text: string;
  json(): Record<string, unknown>;
}

async function call(client: Client, name: string, args: object = {}): Promise<Said> {
  const result = await client.callTool({ name, arguments: { ...args } });
  const [{ text }] = result.content as [{ text: string }];
  return {
    isError: result.isError === true,
    text,
    json: () => JSON.parse(text) as Record<string, unknown>,
  };
}

const namesOf = async (client: Client): Promise<string[]> =>
  (await client.listTools()).tools.map(({ name }) => name);

const READ = ['list_connectors', 'get_connector_schema', 'scaffold_config'];
const LOOK = [...READ, 'validate_config', 'preview'];
const OF_TEMPLATES = ['list_templates', 'get_template'];

describe('who sees which tools', () => {
  test.each([
    ['viewer', [...READ, ...OF_TEMPLATES]],
    ['operator', [...LOOK, 'run_pipeline', ...OF_TEMPLATES, 'run_template']],
  ] as const)('a %s', async (role, names) => {
    expect(await connected(over(role), namesOf)).toEqual(names);
  });

  test('an admin sees all, and none that changes something without the flag', async () => {
    const all = await connected(over('admin'), namesOf);
    expect(all).toHaveLength(13);
    expect(await connected(over('admin', closed), namesOf)).toEqual([...LOOK, ...OF_TEMPLATES]);
    const refused = await connected(over('admin', closed), (client) =>
      call(client, 'run_pipeline', { config: document('never.jsonl') }),
    );
    expect(refused.isError).toBe(true);
    expect(existsSync(shop.path('never.jsonl'))).toBe(false);
  });

  test('a viewer cannot call what it does not see', async () => {
    const said = await connected(over('viewer'), (client) =>
      call(client, 'run_pipeline', { config: document('never.jsonl') }),
    );
    expect(said.isError).toBe(true);
    expect(existsSync(shop.path('never.jsonl'))).toBe(false);
  });
});

describe.each([
  ['over HTTP', () => over('admin'), 'http.jsonl'],
  ['over stdio', () => stdio('--allow-mutations'), 'stdio.jsonl'],
] as const)('%s', (_name, transport, to) => {
  test('an agent finds its way from nothing to a run', { timeout: 60_000 }, async () => {
    await connected(transport(), async (client) => {
      expect(await client.listResources()).toEqual({ resources: [] });
      const listed = (await call(client, 'list_connectors', { kind: 'sink' })).json();
      expect(listed['sinks']).toContainEqual(
        expect.objectContaining({ name: 'jsonl', tier: 'stable' }),
      );
      expect(listed).not.toHaveProperty('sources');
      const schema = await call(client, 'get_connector_schema', { kind: 'source', name: 'csv' });
      expect(schema.json()['schema']).toMatchObject({ title: 'csv' });
      const typo = await call(client, 'get_connector_schema', { kind: 'source', name: 'cvs' });
      expect(typo).toMatchObject({ isError: true });
      expect(typo.text).toContain('csv');
      expect(
        (await call(client, 'scaffold_config', { source: 'csv', sink: 'jsonl' })).text,
      ).toMatch(/^# .*\nversion: 1$/m);
      const config = document(to);
      expect((await call(client, 'validate_config', { config })).json()).toMatchObject({
        valid: true,
        mode: 'matrix',
        name: 'people',
        rows: [{ source: 'csv', sink: 'jsonl', transforms: ['redact'] }],
      });
      const wrong = await call(client, 'validate_config', { config: config.replace('csv', 'cvs') });
      expect(wrong.isError).toBe(true);
      expect(wrong.json()).toMatchObject({ valid: false, issues: [{ line: 4 }] });
      const preview = (await call(client, 'preview', { config, limit: 1 })).json();
      expect(preview).toMatchObject({ count: 1 });
      expect(JSON.stringify(preview)).not.toContain('ann@');
      const dry = (await call(client, 'run_pipeline', { config, dry_run: true })).json();
      expect(dry).toMatchObject({ invocations: 1, ok: 1, failed: 0 });
      expect(existsSync(shop.path(to))).toBe(false);
      const ran = await call(client, 'run_pipeline', { config });
      expect(ran.json()).toMatchObject({ ok: 1, failed: 0, records_written: 2 });
      expect(readFileSync(shop.path(to), 'utf8').split('\n')).toHaveLength(3);
      const missing = config.replace('in.csv', 'missing.csv');
      const failed = await call(client, 'run_pipeline', { config: missing });
      expect(failed.isError).toBe(true);
      expect(failed.json()).toMatchObject({ ok: 0, failed: 1, status: 'failed' });
    });
  });

  test('templates are registered, launched, run and taken back', { timeout: 60_000 }, async () => {
    await connected(transport(), async (client) => {
      const config = document(`\${param.to}-${to}`, 'params: { to: { required: true } }\n');
      const registered = await call(client, 'register_template', { config });
      expect(registered.json()).toMatchObject({ registered: { id: 'people', version: 1 } });
      expect((await call(client, 'launch_template', { id: 'people' })).json()).toMatchObject({
        version: 1,
        first_launch: true,
      });
      const ran = await call(client, 'run_template', { id: 'people', params: { to: 'x' } });
      expect(ran.json()).toMatchObject({ template_version: 1, records_written: 2 });
      expect(existsSync(shop.path(`x-${to}`))).toBe(true);
      const how = { id: 'people', params: { to: 'y' }, dry_run: true };
      expect((await call(client, 'run_template', how)).json()).toMatchObject({ ok: 1 });
      expect(existsSync(shop.path(`y-${to}`))).toBe(false);
      expect((await call(client, 'list_templates')).json()).toMatchObject({ count: 1 });
      const got = (await call(client, 'get_template', { id: 'people' })).json();
      expect(got).toMatchObject({ is_stable: true, template: { body: config } });
      expect((await call(client, 'rollback_template', { id: 'people' })).isError).toBe(true);
      expect(
        (await call(client, 'deprecate_template', { id: 'people', reason: 'old' })).json(),
      ).toMatchObject({ status: 'deprecated' });
    });
  });
});

test('what agents start on a server is a run like all others, and every message is audited', async () => {
  const said = await connected(over('operator'), (client) =>
    call(client, 'run_pipeline', { config: document('run.jsonl') }),
  );
  const id = String(said.json()['run_id']);
  const bearer = { authorization: `Bearer ${TOKENS.admin}` };
  const run = await program.call('GET', `/v1/runs/${id}`, undefined, bearer);
  expect(run.json()).toMatchObject({ status: 'completed', name: 'people' });
  const audit = await program.call('GET', '/v1/audit?action=mcp&limit=5', undefined, bearer);
  expect(audit.text).toContain('tools/call run_pipeline');
});

test('tools that only look resolve no secret, and no answer holds one', async () => {
  await connected(over('operator'), async (client) => {
    const config = document(
      'x.jsonl',
      "auth: { api: { type: static, config: { headers: { k: '${env:API_KEY}' } } } }\n",
    );
    const said = await call(client, 'validate_config', { config });
    expect(said.text).not.toContain('never-to-be-seen');
    const asked = config.replace('${env:API_KEY}', '${vault:secret/data/x#y}');
    const kept = await call(client, 'validate_config', { config: asked });
    expect(kept.text).not.toContain('connect');
  });
});

describe('messages', () => {
  const send = async (
    body: string,
    headers: Readonly<Record<string, string>> = { authorization: `Bearer ${TOKENS.viewer}` },
    server = program,
  ): Promise<{ status: number; body: Record<string, unknown> }> => {
    const url = `${server.url}/mcp`;
    const answer = await fetch(url, {
      method: 'POST',
      body,
      headers: { 'content-type': 'text/plain', ...headers },
    });
    const text = await answer.text();
    return {
      status: answer.status,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
  };
  const message = (method: string, params?: object, id: number | undefined = 1): string =>
    JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method, params });

  test('a greeting needs nothing but its name', async () => {
    const { status, body } = await send(message('initialize'));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: 1,
      result: {
        protocolVersion: '2024-11-05',
        capabilities: { tools: {}, resources: {} },
        serverInfo: { name: 'headgate' },
      },
    });
    expect((await send(message('ping'))).body).toMatchObject({ result: {} });
  });

  test.each([
    ['not json', null, -32700],
    ['[]', null, -32600],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', null, -32600],
    ['{"jsonrpc":"2.0","id":1}', null, -32600],
    ['{"id":1,"method":"ping"}', null, -32600],
    [message('nothing/there'), 1, -32601],
    [message('tools/call', {}), 1, -32602],
    [message('resources/read', { uri: 'x:y' }), 1, -32602],
  ])('%s', async (body, id, code) => {
    const answer = await send(body);
    expect(answer).toMatchObject({ status: 200, body: { jsonrpc: '2.0', id, error: { code } } });
  });

  test('an unknown tool and wrong arguments are results that say so', async () => {
    const said = async (params: object): Promise<unknown> => {
      const { body } = await send(message('tools/call', params));
      expect(body).toMatchObject({ result: { isError: true } });
      return (body as { result: { content: { text: string }[] } }).result.content[0]?.text;
    };
    const name = 'get_connector_schema';
    expect(await said({ name: 'get_conector_schema' })).toBe(
      `there is no tool \`get_conector_schema\` — did you mean \`${name}\`?`,
    );
    expect(await said({ name, arguments: { kind: 1, nam: 'csv' } })).toBe(
      `the arguments of \`${name}\` are wrong: kind: expected text, got 1; ` +
        'name: `name` is required; nam: unknown key `nam` — did you mean `name`?',
    );
  });

  test('arguments that are no object are a wrong message', async () => {
    const { body } = await send(message('tools/call', { name: 'preview', arguments: [] }));
    expect(body).toMatchObject({
      error: { code: -32602, message: 'the arguments of a tool are an object' },
    });
  });

  test('a notification has no answer', async () => {
    const notification = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect(await send(notification)).toEqual({ status: 202, body: {} });
  });

  test('needs a token, the flag, and a message', async () => {
    expect((await send(message('ping'), {})).status).toBe(401);
    const without = await shop.start({ args: ['--data-dir', shop.path('without')] });
    expect((await send(message('ping'), {}, without)).status).toBe(404);
    expect((await fetch(`${program.url}/mcp`)).status).toBe(405);
  });
});
