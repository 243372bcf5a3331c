/** Templates that come from folders and repositories, and go back to them. */
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gitHost, type GitHost } from '../support/git-host.ts';
import { workshop, type Program } from './serve-program.ts';

const TOKEN = 'a-token-for-the-repository';
const shop = workshop();
let host: GitHost;
let program: Program;

const document = (name: string, mark: string): string => `version: 1
name: ${name}
pipeline:
  source: { type: csv, config: { path: in.csv } }
  transforms: [{ type: set, config: { values: { mark: ${mark} } } }]
  sink: { type: jsonl, config: { path: out.jsonl } }
`;

beforeAll(async () => {
  for (const name of ['git', 'files']) mkdirSync(shop.path(name));
  host = await gitHost(shop.path('git'), TOKEN);
  host.commit({
    'templates/orders.yaml': document('orders', 'one'),
    'templates/orders.svc.yaml': 'description: All orders\nlaunch: true\ntags: [canary]\n',
    'templates/draft.yaml': document('draft', 'one'),
    'README.md': 'no template',
  });
  writeFileSync(shop.path('files/local.yaml'), document('local', 'one'));
  writeFileSync(shop.path('files/broken.yaml'), 'a: [');
  const origins = [
    {
      name: 'team',
      source: {
        type: 'git',
        config: { url: host.url, path: 'templates', token_env: 'GIT_TOKEN' },
      },
      prefix: 'team/',
      launch: 'follow',
      prune: 'deprecate',
    },
    {
      name: 'disk',
      source: { type: 'file', config: { path: 'files' } },
      prefix: 'disk/',
      launch: 'always',
    },
  ];
  writeFileSync(shop.path('origins.json'), JSON.stringify({ version: 1, origins }));
  program = await shop.start({
    args: ['--data-dir', shop.path('data'), '--templates-sync', 'origins.json'],
    variables: { GIT_TOKEN: TOKEN },
  });
}, 60_000);
afterAll(async () => {
  host.close();
  await shop.dispose();
});

interface Report {
  readonly origin: string;
  readonly plan: { action: string; id?: string; reason?: string }[];
  readonly outcome?: Record<string, unknown>;
}

async function sync(body: object): Promise<{ reports: Report[]; origin_errors: object[] }> {
  const answer = await program.call('POST', '/v1/templates/sync', body);
  expect(answer.status, answer.text).toBe(200);
  return answer.json() as never;
}

const actionsOf = ({ plan }: Report): string[] => plan.map(({ action, id }) => `${action} ${id}`);
const template = async (id: string, version = 1): Promise<Record<string, unknown>> =>
  (
    await program.call('GET', `/v1/templates/${encodeURIComponent(id)}?version=${version}`)
  ).json() as never;

test('the start pulls all origins: launched as each says, with what stands beside a file', async () => {
  const all = await sync({ dry_run: true });
  expect(all.origin_errors).toEqual([]);
  const [team, disk] = all.reports as [Report, Report];
  expect(actionsOf(team)).toEqual(['unchanged team/draft', 'unchanged team/orders']);
  expect(actionsOf(disk)).toEqual(['unchanged disk/local', 'skipped undefined']);
  expect(await template('team/orders')).toMatchObject({
    status: 'launched',
    description: 'All orders',
    tags: { canary: 1 },
    created_by: 'sync:team',
    body: document('orders', 'one'),
  });
  expect(await template('team/draft')).toMatchObject({ status: 'draft' });
  expect(await template('disk/local')).toMatchObject({ status: 'launched' });
  const listed = await program.call('GET', '/v1/templates');
  expect(listed.json()).toMatchObject({
    sync: {
      origins: [
        { name: 'team', kind: 'git', prefix: 'team/', launch: 'follow', prune: 'deprecate' },
        { name: 'disk', kind: 'file', prefix: 'disk/', launch: 'always', prune: 'keep' },
      ],
    },
  });
});

test('changes become versions, layout is no change, what is gone is deprecated and comes back', async () => {
  host.commit({
    'templates/orders.yaml': document('orders', 'two'),
    'templates/draft.yaml': null,
  });
  const plan = await sync({ origin: 'team', dry_run: true });
  expect(actionsOf(plan.reports[0] as Report)).toEqual([
    'register team/orders',
    'deprecate team/draft',
  ]);
  expect(await template('team/orders')).toMatchObject({ newest: 1 });
  const done = await sync({ origin: 'team' });
  expect(done.reports[0]?.outcome).toMatchObject({
    registered: [{ id: 'team/orders', version: 2, launched: true }],
    deprecated: ['team/draft'],
  });
  expect(await template('team/draft')).toMatchObject({ status: 'deprecated' });
  host.commit({
    'templates/orders.yaml': `# a comment\n${document('orders', 'two')}`,
    'templates/draft.yaml': document('draft', 'one'),
  });
  const again = await sync({ origin: 'team' });
  expect(again.reports[0]?.outcome).toMatchObject({
    registered: [],
    revived: ['team/draft'],
    unchanged: 2,
  });
});

test('one origin that fails does not keep the others', async () => {
  rmSync(shop.path('files'), { recursive: true });
  const { reports, origin_errors: errors } = await sync({});
  expect(reports.map(({ origin }) => origin)).toEqual(['team']);
  expect(errors).toMatchObject([{ origin: 'disk' }]);
  mkdirSync(shop.path('files'));
  writeFileSync(shop.path('files/local.yaml'), document('local', 'one'));
  const { reports: kept } = await sync({ origin: 'disk' });
  expect(actionsOf(kept[0] as Report)).toEqual(['unchanged disk/local']);
});

test('one origin that does not answer does not keep the others', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const origins = [
    {
      name: 'silent',
      source: { type: 'git', config: { url: `http://127.0.0.1:${port}/x.git` } },
      prefix: 'silent/',
    },
    { name: 'disk', source: { type: 'file', config: { path: 'files' } }, prefix: 'disk/' },
  ];
  writeFileSync(shop.path('silent.json'), JSON.stringify({ version: 1, origins }));
  const other = await shop.start({
    args: ['--data-dir', shop.path('other'), '--templates-sync', 'silent.json'],
  });
  const answer = await other.call('POST', '/v1/templates/sync', { origin: 'disk' });
  expect(answer.json()).toMatchObject({ reports: [{ origin: 'disk' }], origin_errors: [] });
  silent.closeAllConnections();
  silent.close();
});

test('a version is written back to where it came from', async () => {
  const body = document('orders', 'edited');
  const config = { id: 'team/orders', config: body, launch: true };
  expect((await program.call('POST', '/v1/templates', config)).status).toBe(201);
  const publish = (id: string, origin: string) =>
    program.call('POST', `/v1/templates/${encodeURIComponent(id)}/publish`, { origin });
  // Somebody else pushes in between.
  host.commit({ 'other.txt': 'x' });
  const published = await publish('team/orders', 'team');
  expect(published.status, published.text).toBe(200);
  expect(published.json()).toMatchObject({
    id: 'team/orders',
    version: 3,
    origin: 'team',
    name: 'orders.yaml',
    location: expect.stringContaining('templates/orders.yaml') as string,
  });
  expect(host.show('templates/orders.yaml')).toBe(body);
  expect(host.log()[0]).toBe('team/orders version 3');
  expect(actionsOf((await sync({ origin: 'team' })).reports[0] as Report)).toContain(
    'unchanged team/orders',
  );
  expect((await publish('disk/local', 'disk')).status).toBe(200);
  expect(readFileSync(shop.path('files/local.yaml'), 'utf8')).toBe(document('local', 'one'));
  expect((await publish('disk/local', 'team')).status).toBe(422);
  expect((await publish('team/nothing', 'team')).status).toBe(404);
  expect((await publish('team/orders', 'nowhere')).status).toBe(422);
});

test('no answer and no log holds the token; what happened is audited and measured', async () => {
  expect(program.output()).not.toContain(TOKEN);
  const audit = (await program.call('GET', '/v1/audit?limit=200')).text;
  for (const action of ['template.sync', 'template.publish', 'sync:team'])
    expect(audit).toContain(action);
  expect(audit).not.toContain(TOKEN);
  const { text } = await program.call('GET', '/metrics');
  expect(text).toMatch(/svc_serve_template_sync_runs_total\{.*origin="team".*outcome="ok"/);
  expect(text).toMatch(/svc_serve_template_sync_runs_total\{.*origin="disk".*outcome="partial"/);
});

test('a server without origins says so, and one with bad ones does not start', async () => {
  const plain = await shop.start({ args: ['--data-dir', shop.path('plain')] });
  const answer = await plain.call('POST', '/v1/templates/sync');
  expect(answer.status).toBe(422);
  expect(answer.text).toContain('--templates-sync');
  const source = { type: 'file', config: { path: '.' } };
  const origins = [
    { name: 'a', source, prefix: 'a/' },
    { name: 'b', source, prefix: 'a/b' },
  ];
  writeFileSync(shop.path('bad.json'), JSON.stringify({ version: 1, origins }));
  await expect(
    shop.start({ args: ['--data-dir', shop.path('bad'), '--templates-sync', 'bad.json'] }),
  ).rejects.toThrow(/origins\[1\]\.prefix.*overlaps/);
});
