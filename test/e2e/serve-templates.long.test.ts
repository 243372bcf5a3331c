/** Templates from their registration to the records that their runs write. */
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workshop, type Answer, type Body, type Program } from './serve-program.ts';

const shop = workshop();
let server: Program;
beforeAll(async () => {
  mkdirSync(shop.path('in'), { recursive: true });
  writeFileSync(shop.path('in/orders.csv'), 'id,city\n1,Oslo\n');
  writeFileSync(shop.path('in/people.csv'), 'id,name\n7,Ann\n');
  server = await shop.start({ variables: { TARGET: 'outside' } });
});
afterAll(() => shop.dispose());

const call = (method: string, path: string, body?: Body): Promise<Answer> =>
  server.call(method, `/v1/templates${path}`, body);
async function json(method: string, path: string, body?: Body): Promise<Body> {
  const answer = await call(method, path, body);
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json() as Body;
}
async function refusal(method: string, path: string, body?: Body): Promise<string> {
  const answer = await call(method, path, body);
  return `${answer.status} ${answer.text}`;
}
const pipeline = (value: string): string => `version: 1
kind: pipeline
name: Daily orders
params:
  day: { required: true, description: The day to load. }
  limit: { type: int, default: 5 }
pipeline:
  source: { type: csv, config: { path: in/orders.csv } }
  transforms:
    - { type: set, config: { values: { day: '\${param.day}', version: ${value}, limit: '\${param.limit}', target: '\${env:TARGET}' } } }
  sink: { type: jsonl, config: { path: 'out-\${param.day}.jsonl' } }
`;
const register = (config: string, more: Body = {}): Promise<Body> =>
  json('POST', '', { config, ...more });
const written = (name: string): unknown[] =>
  readFileSync(shop.path(name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
async function run(id: string, body: Body): Promise<Body> {
  const answer = await json('POST', `/${encodeURIComponent(id)}/runs`, body);
  expect((await server.ended(String(answer['run_id']))).error).toBeNull();
  return answer;
}

describe('a pipeline', () => {
  test('is a draft until it is launched; channels and versions choose what runs', async () => {
    const first = await register(pipeline('one'));
    expect(first).toMatchObject({
      id: 'daily-orders',
      version: 1,
      kind: 'pipeline',
      name: 'Daily orders',
      status: 'draft',
      stable: null,
      newest: 1,
      created_by: 'anonymous',
      params: {
        day: { type: 'string', required: true, secret: false, description: 'The day to load.' },
        limit: { type: 'int', required: false, secret: false, default: 5 },
      },
      state: { status: 'draft', versions: [1] },
    });
    const params = { day: 'monday' };
    expect(await refusal('POST', '/daily-orders/runs', { params })).toMatch(
      /^422 .*has no launched version/,
    );
    expect(await refusal('GET', '/daily-orders')).toMatch(/^422 /);
    expect(await json('GET', '/daily-orders?version=newest')).toMatchObject({
      version: 1,
      body: pipeline('one'),
      format: 'yaml',
      is_stable: false,
      launches: [],
    });
    const answer = await run('daily-orders', { params, version: 'newest' });
    expect(answer).toMatchObject({
      template_id: 'daily-orders',
      template_version: 1,
      params: { day: 'monday', limit: 5 },
    });
    expect(written('out-monday.jsonl')).toEqual([
      { id: '1', city: 'Oslo', day: 'monday', version: 'one', limit: 5, target: 'outside' },
    ]);
    expect((await server.get(String(answer['run_id']))).labels).toEqual({
      template: 'daily-orders',
      template_version: '1',
    });

    expect(await json('POST', '/daily-orders/launch')).toEqual({
      id: 'daily-orders',
      version: 1,
      already_launched: false,
      status: 'launched',
    });
    await register(pipeline('two'));
    expect((await run('daily-orders', { params }))['template_version']).toBe(1);
    expect(
      await json('POST', '/daily-orders/tags', { tag: 'pre_prod', version: 'newest' }),
    ).toEqual({ id: 'daily-orders', tag: 'pre-prod', version: 2 });
    const tagged = await run('daily-orders', {
      params: { day: 'tagged', limit: ' 7 ' },
      env: { TARGET: 'inside' },
      version: 'pre-prod',
      labels: { team: 'a' },
    });
    expect(tagged).toMatchObject({ template_version: 2, params: { limit: 7 } });
    expect(written('out-tagged.jsonl')).toMatchObject([
      { version: 'two', limit: 7, target: 'inside' },
    ]);
    expect(await refusal('POST', '/daily-orders/tags', { tag: 'stable' })).toMatch(
      /^422 .*derived/,
    );
    expect(await refusal('POST', '/daily-orders/runs', { params, version: 'prod' })).toMatch(
      /^422 .*`prod` .*is not set/,
    );
    expect(await json('POST', '/daily-orders/launch', { version: 2 })).toMatchObject({
      replaced: 1,
      status: 'launched',
    });
    expect(await json('POST', '/daily-orders/launch', { version: 2 })).toMatchObject({
      already_launched: true,
    });
    expect(await json('POST', '/daily-orders/rollback')).toMatchObject({ version: 1, replaced: 2 });
    expect((await run('daily-orders', { params }))['template_version']).toBe(1);
    expect(await json('GET', '/daily-orders')).toMatchObject({
      version: 1,
      is_stable: true,
      stable: 1,
      previous: 2,
      launches: [{ seq: 3, version: 1, launched_by: 'anonymous' }, { seq: 2 }, { seq: 1 }],
    });
  });

  test('says which value is missing or wrong, and takes only those it declares', async () => {
    const runs = (params: Body): Promise<string> =>
      refusal('POST', '/daily-orders/runs', { params });
    expect(await runs({})).toMatch(/^422 .*`day` is required/);
    expect(await runs({ day: 'x', limit: 1.5 })).toMatch(/^422 .*`limit` is of type `int`/);
    expect(await runs({ day: '${env:TARGET}' })).toMatch(/^422 .*`day` holds/);
    expect(await runs({ day: 'x', dya: 1 })).toMatch(/^422 .*`dya`/);
    expect(await runs({ day: null })).toMatch(/^422 /);
    expect(
      await refusal('POST', '/daily-orders/runs', { params: { day: 'x' }, sink: 'y' }),
    ).toMatch(/^422 .*sink: /);
    expect(
      await refusal('POST', '/daily-orders/runs', { params: { day: 'x' }, overlay: {} }),
    ).toMatch(/^422 .*overlay: /);
    expect(await refusal('POST', '/unknown/runs', { version: 1 })).toMatch(/^404 /);
    expect(await refusal('POST', '/daily-orders/runs', { version: 9 })).toMatch(/^404 /);
    expect(await refusal('POST', '/daily-orders/runs', { version: 'latest' })).toMatch(
      /^422 .*`stable`.*`newest`/,
    );
  });

  test('that is deprecated still runs, says so, and cannot be launched', async () => {
    await register(pipeline('three'), { id: 'old', launch: true });
    expect(await json('POST', '/old/deprecate', { reason: 'use daily-orders' })).toEqual({
      id: 'old',
      status: 'deprecated',
    });
    const params = { day: 'old' };
    expect((await run('old', { params }))['deprecated']).toBe('use daily-orders');
    expect(await refusal('POST', '/old/launch', { version: 1 })).toMatch(/^422 .*deprecated/);
    expect(await json('POST', '/old/deprecate', { undo: true })).toMatchObject({
      status: 'launched',
    });
    await register(pipeline('four'), { id: 'old' });
    expect(await json('POST', '/old/versions/2/deprecate', { reason: 'wrong' })).toEqual({
      id: 'old',
      version: 2,
      deprecated: true,
    });
    expect((await run('old', { params, version: 2 }))['deprecated']).toBe(
      'v2 is deprecated: wrong',
    );
    expect(await json('GET', '/old')).toMatchObject({ newest: 1, versions: [2, 1] });
    expect(await refusal('POST', '/old/launch', { version: 2 })).toMatch(/^422 /);
    expect(await refusal('POST', '/old/versions/7/deprecate', {})).toMatch(/^404 /);
    expect((await call('DELETE', '/old?version=2')).status).toBe(204);
    expect(await json('GET', '/old')).not.toHaveProperty('deprecated_versions');
    expect((await call('DELETE', '/old')).status).toBe(204);
    expect((await call('DELETE', '/old')).status).toBe(404);
  });

  test('that has a fault is not registered, and says where; no variable is needed', async () => {
    const answer = await refusal('POST', '', {
      config: pipeline('x').replace('type: jsonl', 'type: jsonll'),
    });
    expect(answer).toMatch(/^422 .*pipeline\.sink\.type.*line 11/);
    const open =
      'version: 1\nname: open\npipeline:\n  source: { type: csv, config: { path: "${env:NOT_SET}" } }\n  sink: { type: jsonl, config: { path: "${file:not-there}" } }\n';
    expect(await register(open)).toMatchObject({ id: 'open', version: 1 });
    expect(await refusal('POST', '/open/runs', { version: 1 })).toMatch(/NOT_SET/);
    expect(await refusal('POST', '', { config: open, id: 'Not an id' })).toMatch(
      /^422 .*is not an id/,
    );
    expect(await refusal('POST', '', { config: open, id: 'matrix' })).toMatch(/^422 .*reserved/);
    expect(await refusal('POST', '', { config: open.replace('name: open\n', '') })).toMatch(
      /^422 .*`name`/,
    );
  });

  test('registered at once by many keeps every version', async () => {
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, index) => register(pipeline(`v${index}`), { id: 'many' })),
    );
    expect(all.map((one) => Number(one['version'])).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_, index) => index + 1),
    );
    expect(await json('GET', '/many?version=12')).toMatchObject({
      versions: expect.objectContaining({ length: 12 }),
    });
  });
});

const SOURCE = `kind: source-template
name: billing
owner: acme
description: Exports.
params: { folder: { default: in }, mark: { required: true, secret: true } }
transforms: [{ type: set, config: { values: { mark: '\${param.mark}' } } }]
source: { type: csv, config: { path: '\${param.folder}/\${row.id}.csv' } }
streams:
  - { name: orders, write: [overwrite, append], source: { config: { path: '\${param.folder}/orders.csv' } } }
  - { name: people, source: { config: { path: in/people.csv } } }
`.replace("'${param.folder}/${row.id}.csv'", "'${param.folder}/none.csv'");
const SINK = `kind: sink-template
name: files
description: JSON lines.
params: { suffix: { default: x } }
sink: { type: jsonl, config: {} }
per_stream: { path: '\${owner}-\${source}-\${stream}-\${param.suffix}.jsonl' }
write_mode_aliases: { overwrite: append }
`;

describe('source and sink templates', () => {
  test('become one run, with labels, streams and an overlay', async () => {
    await register(SOURCE, { launch: true });
    await register(SINK, { launch: true });
    const overlay = `kind: deployment\nname: eu\ndescription: EU.\nexecution: { max_concurrent: 1 }\nstreams: { people: { sla: { min_rows_per_run: 1 } } }\n`;
    await register(overlay, { launch: true });
    const body = { sink: 'files', params: { mark: 'sesame-4711' }, overlay: 'eu' };
    const answer = await run('acme/billing', body);
    expect(answer).toMatchObject({
      template_id: 'acme/billing',
      template_version: 1,
      sink_template: 'files',
      sink_template_version: 1,
      overlay: 'eu',
      overlay_version: 1,
      overlay_contributes: ['execution', 'matrix.people.sla'],
      params: { folder: 'in', mark: '***', suffix: 'x' },
      streams: [
        {
          stream: 'orders',
          requested: ['overwrite', 'append'],
          chosen: 'append',
          satisfies: 'overwrite',
          key: [],
        },
        { stream: 'people', requested: ['append'], chosen: 'append', key: [] },
      ],
    });
    expect(written('acme-billing-orders-x.jsonl')).toEqual([
      { id: '1', city: 'Oslo', mark: 'sesame-4711' },
    ]);
    expect(written('acme-billing-people-x.jsonl')).toEqual([
      { id: '7', name: 'Ann', mark: 'sesame-4711' },
    ]);
    const record = await server.get(String(answer['run_id']));
    expect(record).toMatchObject({
      name: 'acme/billing',
      labels: {
        template: 'acme/billing',
        template_version: '1',
        sink_template: 'files',
        sink_template_version: '1',
        overlay: 'eu',
        overlay_version: '1',
      },
    });
    const inline = await run('acme/billing', {
      ...body,
      overlay: { execution: { max_concurrent: 1 } },
    });
    expect(inline).toMatchObject({ overlay: 'inline', overlay_contributes: ['execution'] });
    expect(inline).not.toHaveProperty('overlay_version');
  });

  test('secret values are in no answer, log or file of the server', async () => {
    const log = await server.call('GET', '/v1/runs');
    expect(log.text).not.toContain('sesame-4711');
    expect(server.output()).not.toContain('sesame-4711');
    for (const name of readdirSync(shop.path('.headgate')))
      expect(readFileSync(shop.path(`.headgate/${name}`)).includes('sesame-4711'), name).toBe(
        false,
      );
  });

  test('run only in pairs, and say what is missing', async () => {
    const path = '/acme%2Fbilling/runs';
    expect(await refusal('POST', path, {})).toMatch(/^422 .*sink: /);
    expect(await refusal('POST', path, { sink: 'eu' })).toMatch(/^422 .*sink: .*deployment/);
    expect(await refusal('POST', path, { sink: 'none' })).toMatch(/^404 /);
    expect(await refusal('POST', '/files/runs', {})).toMatch(/^422 .*`sink`/);
    expect(await refusal('POST', '/eu/runs', {})).toMatch(/^422 .*`overlay`/);
    const params = { mark: 'm' };
    expect(
      await refusal('POST', '', {
        config: 'kind: deployment\nname: us\ndescription: US.\nsla: { max_rows: 1 }\n',
      }),
    ).toMatch(/^422 .*max_rows/);
    expect(await refusal('POST', path, { sink: 'files', params, overlay: { source: {} } })).toMatch(
      /^422 .*source/,
    );
    expect(
      await refusal('POST', path, {
        sink: 'files',
        params,
        overlay: { streams: { nope: { sla: {} } } },
      }),
    ).toMatch(/^422 .*nope/);
    expect(await refusal('POST', '/acme/billing/runs', { sink: 'files' })).toMatch(/^404 /);
    expect(await refusal('POST', '', { config: SOURCE, id: 'other' })).toMatch(
      /^422 .*acme\/billing/,
    );
    expect(
      await refusal('POST', '', {
        config: SINK.replace('sink: {', 'sink: {').replace(
          'kind: sink-template',
          'kind: deployment',
        ),
      }),
    ).toMatch(/^422 /);
    expect(
      await refusal('POST', '', {
        config: SINK.replace('config: {}', 'config: { token: hunter22 }'),
      }),
    ).toMatch(/^422 .*token/);
    const other =
      'version: 1\nname: files\npipeline:\n  source: { type: csv, config: { path: a } }\n  sink: { type: jsonl, config: { path: b } }\n';
    expect(await refusal('POST', '', { config: other })).toMatch(
      /^422 .*is a sink-template and cannot become a pipeline/,
    );
    expect(await refusal('POST', '', { config: SINK, kind: 'x' })).toMatch(/^400 /);
  });

  test('are listed by kind, newest registration first, and paired in a matrix', async () => {
    const ids = async (query: string): Promise<unknown[]> =>
      ((await json('GET', query))['templates'] as Body[]).map((one) => one['id']);
    expect(await ids('?kind=source-template')).toEqual(['acme/billing']);
    expect(await ids('?kind=deployment')).toEqual(['eu']);
    expect((await ids('')).slice(0, 3)).toEqual(['eu', 'files', 'acme/billing']);
    expect((await call('GET', '?kind=other')).status).toBe(400);
    expect(await json('GET', '/matrix')).toMatchObject({
      version: 1,
      sources: [
        {
          id: 'acme/billing',
          owner: 'acme',
          stable: 1,
          source_type: 'csv',
          streams: [{ name: 'orders', write: ['overwrite', 'append'] }, { name: 'people' }],
        },
      ],
      sinks: [{ id: 'files', owner: null, sink_type: 'jsonl', write_modes: ['append'] }],
      matrix: [
        {
          source: 'acme/billing',
          sink: 'files',
          compatible: true,
          streams: [
            { stream: 'orders', write_mode: 'append', satisfies: 'overwrite' },
            { stream: 'people', write_mode: 'append' },
          ],
          command: 'headgate template run acme/billing --sink files --param mark="$MARK"',
        },
      ],
    });
  });

  test('what was registered survives the server; who did it stands in the audit log', async () => {
    expect(await server.stop()).toBe(0);
    expect(existsSync(shop.path('.headgate/history.db'))).toBe(true);
    server = await shop.start();
    expect(await json('GET', '/acme%2Fbilling')).toMatchObject({ stable: 1, body: SOURCE });
    const audit = await server.call('GET', '/v1/audit?limit=1000');
    const actions = (audit.json() as { entries: { action: string }[] }).entries.map(
      ({ action }) => action,
    );
    for (const action of [
      'register',
      'launch',
      'rollback',
      'promote',
      'deprecate',
      'undeprecate',
      'version_deprecate',
      'delete',
      'run',
    ])
      expect(actions).toContain(`template.${action}`);
    expect(actions).toContain('run.submit');
  });

  test('a version of a sink or an overlay that is not named is refused', async () => {
    const pair = { sink: 'files', params: { mark: 'm' }, version: 'newest' };
    const ofNothing = { ...pair, overlay_version: 1 };
    const refused = /^422 .*overlay_version/;
    expect(await refusal('POST', '/acme%2Fbilling/runs', ofNothing)).toMatch(refused);
    const ofInline = { ...ofNothing, overlay: { execution: { max_concurrent: 1 } } };
    expect(await refusal('POST', '/acme%2Fbilling/runs', ofInline)).toMatch(refused);
    await register(pipeline('alone'), { id: 'alone', launch: true });
    expect(await refusal('POST', '/alone/runs', { sink_version: 1 })).toMatch(
      /^422 .*sink_version/,
    );
    expect(await refusal('POST', '/alone/runs', { overlay_version: 'stable' })).toMatch(refused);
    const nothing = { sink_version: null, overlay_version: null };
    const ofItsOwn = { params: { day: 'alone' }, env: { TARGET: 'here' } };
    expect(await run('alone', { ...ofItsOwn, ...nothing })).toMatchObject({ template_version: 1 });
  });
});
