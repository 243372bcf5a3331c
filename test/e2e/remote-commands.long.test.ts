/** The commands that speak with a server, against a real one. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HeadgateClient, HeadgateError } from '../../src/client/index.ts';
import { silentApi } from './serve-documents.ts';
import { workshop, type Program } from './serve-program.ts';
import { launcherPath } from '../servers/bundle.ts';

const LAUNCHER = await launcherPath();
const TOKEN = 'a-token-of-the-tests';
const shop = workshop();
let program: Program;

beforeAll(async () => {
  writeFileSync(shop.path('in.csv'), 'id\n1\n2\n3\n');
  writeFileSync(shop.path('orders.yaml'), document(shop.path('in.csv'), shop.path('out.jsonl')));
  program = await shop.start({
    args: ['--data-dir', shop.path('data'), '--auth-token', TOKEN],
  });
});
afterAll(() => shop.dispose());

const document = (from: string, to: string): string => `version: 1
name: orders
pipeline:
  source: { type: csv, config: { path: '${from}' } }
  sink: { type: jsonl, config: { path: '${to}' } }
`;

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function headgate(
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {
    HEADGATE_SERVER: program.url,
    HEADGATE_TOKEN: TOKEN,
  },
): Promise<Said> {
  const env = { PATH: process.env['PATH'], HOME: shop.dir, ...variables };
  return new Promise((done) => {
    execFile(process.execPath, [LAUNCHER, ...words], { cwd: shop.dir, env }, (error, out, err) =>
      done({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

test('a document is run on the server and watched from here', { timeout: 60_000 }, async () => {
  const settings = ['--label', 'team=a', '--priority', 'high'];
  const submitted = await headgate(['submit', 'orders.yaml', '--follow', ...settings]);
  expect(submitted.code, submitted.err).toBe(0);
  const id = submitted.out.trim();
  expect(submitted.err).toContain('completed');
  expect(submitted.err).toContain('3 records written');
  expect(readFileSync(shop.path('out.jsonl'), 'utf8').split('\n')).toHaveLength(4);

  const shown = await headgate(['runs', id, '--json']);
  expect(JSON.parse(shown.out)).toMatchObject({
    run_id: id,
    labels: { team: 'a' },
    priority: 'high',
  });
  const listed = await headgate(['runs', '--status', 'completed']);
  expect(listed.out).toMatch(new RegExp(`^run .*\\n${id} +orders +completed .* 3$`, 'm'));
  const stored = await headgate(['logs', id]);
  expect(stored.out).toContain('orders');
  expect((await headgate(['logs', id, '--follow'])).code).toBe(0);

  const again = await headgate(['rerun', id, '--json']);
  expect(JSON.parse(again.out)).toMatchObject({ rerun_of: id });
  expect(await headgate(['cancel', id])).toMatchObject({
    code: 0,
    out: `${id} had ended already\n`,
  });
});

test('a run that fails fails the command that waits for it', { timeout: 60_000 }, async () => {
  writeFileSync(shop.path('bad.yaml'), document(shop.path('missing.csv'), shop.path('o.jsonl')));
  const said = await headgate(['submit', 'bad.yaml', '--wait', '--json']);
  expect(said.code).toBe(1);
  expect(JSON.parse(said.out)).toMatchObject({ status: 'failed' });
});

test('a running run is cancelled', { timeout: 60_000 }, async () => {
  const api = await silentApi();
  writeFileSync(shop.path('slow.json'), JSON.stringify(api.document(shop.path('slow.jsonl'))));
  const id = (await headgate(['submit', 'slow.json'])).out.trim();
  await api.asked();
  expect((await headgate(['cancel', id])).out).toBe(`${id} was asked to stop\n`);
  const { code, err } = await headgate(['logs', id, '-f']);
  expect(code).toBe(1);
  expect(err).toContain('cancelled');
  api.close();
});

test('problems of a document are shown where they stand in the file', async () => {
  writeFileSync(
    shop.path('wrong.yaml'),
    'version: 1\npipeline:\n  source: { type: cvs, config: {} }\n  sink: { type: jsonl, config: { paht: x } }\n',
  );
  const { code, err } = await headgate(['submit', 'wrong.yaml']);
  expect(code).toBe(1);
  expect(err).toContain('wrong.yaml:3:');
  expect(err).toContain('wrong.yaml:4:');
  expect(err).not.toContain('    at ');
});

test('servers have names and tokens in a file of the user', async () => {
  const folder = shop.path('.config/headgate');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'servers.yaml');
  const write = (text: string): void => {
    writeFileSync(file, text);
    chmodSync(file, 0o600);
  };
  write(`default: test\nservers: { test: { url: '${program.url}', token: ${TOKEN} } }\n`);
  expect(await headgate(['runs'], {})).toMatchObject({ code: 0, err: '' });
  expect((await headgate(['runs', '--server', 'prod'], {})).err).toContain('names there: test');
  chmodSync(file, 0o644);
  expect(statSync(file).mode & 0o777).toBe(0o644);
  expect((await headgate(['runs'], {})).err).toContain('chmod 600');
  write(`default: test\nservers: { test: { url: '${program.url}', token_env: MINE } }\n`);
  expect((await headgate(['runs'], { MINE: TOKEN })).code).toBe(0);
  expect((await headgate(['runs'], {})).err).toContain('MINE');
  write(`servers: { test: { adress: 'x' } }\n`);
  expect(await headgate(['runs'], {})).toMatchObject({ code: 2 });
});

test('what is wrong with server and token is said', async () => {
  const refused = await headgate(['runs'], {
    HEADGATE_SERVER: program.url,
    HEADGATE_TOKEN: 'not-the-token',
  });
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('token');
  expect(refused.err).not.toContain('not-the-token');
  const nobody = await headgate(['runs', '--server', 'http://127.0.0.1:9']);
  expect(nobody.err).toContain('there is no server at http://127.0.0.1:9');
  expect((await headgate(['runs'], { HEADGATE_TOKEN: TOKEN })).code).toBe(2);
  expect((await headgate(['submit', 'nothing.yaml'])).err).toContain('nothing.yaml');
});

test('templates of the server are registered, launched, run and taken away', async () => {
  const file = shop.path('team.yaml');
  writeFileSync(
    file,
    document(shop.path('in.csv'), shop.path('${param.to}')).replace(
      'name: orders',
      'name: team-orders\nparams: { to: { required: true } }',
    ),
  );
  const say = async (...words: string[]): Promise<string> => {
    const { code, out, err } = await headgate(['template', ...words]);
    expect(code, err).toBe(0);
    return out.trim();
  };
  expect(await say('register', file, '--id', 'team/orders', '--tag', 'canary')).toBe(
    'team/orders version 1 is registered; status: draft',
  );
  expect(await say('launch', 'team/orders')).toBe('team/orders version 1 is launched');
  expect(await say('show', 'team/orders')).toBe(readFileSync(file, 'utf8').trim());
  expect(await say('list')).toMatch(/^team\/orders +pipeline +launched +1 +1/m);
  expect(await say('promote', 'team/orders', '--tag', 'prod')).toContain('version 1');
  const run = await headgate([
    'submit',
    '--template',
    'team/orders',
    '--param',
    'to=by-template.jsonl',
    '--wait',
    '--json',
  ]);
  expect(run.code, run.err).toBe(0);
  expect(readFileSync(shop.path('by-template.jsonl'), 'utf8')).toContain('"id":"3"');
  expect(await say('deprecate', 'team/orders', '--reason', 'old')).toContain('deprecated');
  expect(await say('delete', 'team/orders')).toContain('deleted');
  const gone = await headgate(['template', 'show', 'team/orders']);
  expect(gone.code).toBe(1);
  expect(gone.err).toContain('team/orders');
  expect((await headgate(['template', 'list', '--store', 'sqlite:x.db'])).code).toBe(2);
});

test('the client reaches every route by its type', async () => {
  const client = new HeadgateClient({ server: `${program.url}/`, token: TOKEN });
  const { data } = await client.routes.GET('/v1/whoami');
  expect(data).toMatchObject({ role: 'admin' });
  await expect(client.run('gone')).rejects.toMatchObject({ status: 404, code: 'not_found' });
  await expect(client.submit({ config: 'a: [' })).rejects.toBeInstanceOf(HeadgateError);
  const names: string[] = [];
  for await (const { name } of client.runs({ limit: 1, status: ['completed', 'failed'] }))
    names.push(name ?? '');
  expect(names.length).toBeGreaterThan(1);
  expect(() => new HeadgateClient({ server: 'nothing' })).toThrow('`nothing`');
});

test(
  'a folder is deployed to the server, and what it schedules runs there',
  { timeout: 60_000 },
  async () => {
    mkdirSync(shop.path('folder'));
    const text = document(shop.path('in.csv'), shop.path('deployed.jsonl'));
    const scheduled = text.replace(
      'name: orders',
      "name: deployed\nschedule: { cron: '0 0 1 1 *' }",
    );
    writeFileSync(shop.path('folder/deployed.yaml'), scheduled);
    const deployed = await headgate(['deploy', 'folder']);
    expect(deployed.code, deployed.err).toBe(0);
    expect(deployed.out).toContain('+ deployed  version 1, from folder/deployed.yaml');
    const again = await headgate(['push', 'folder/deployed.yaml']);
    expect(again.out).toBe('deployed version 1 has this document already\n');
    const list = await headgate(['schedules']);
    expect(list.out).toMatch(
      /^schedule +state .*\ntemplate:deployed +active +0 0 1 1 \* UTC +\d{4}-01-01T00:00:00.000Z *\n$/,
    );
    const paused = await headgate(['schedules', 'template:deployed', '--pause', '--json']);
    expect(JSON.parse(paused.out)).toMatchObject({ state: 'paused', next_run: null });
    const resumed = await headgate(['schedules', 'template:deployed', '--resume']);
    expect(resumed.out).toContain(' active ');
    const run = await headgate(['schedules', 'template:deployed', '--run']);
    expect(run.code, run.err).toBe(0);
    const shown = await headgate(['runs', run.out.trim(), '--json']);
    expect(JSON.parse(shown.out)).toMatchObject({ labels: { schedule: 'template:deployed' } });
    expect((await headgate(['schedules', '--pause'])).code).toBe(2);
    const nobody = await headgate(['schedules', 'nobody']);
    expect(nobody.err).toContain('there is no schedule `nobody`');
    const stranger = await headgate(['deploy', 'folder'], {
      HEADGATE_SERVER: program.url,
      HEADGATE_TOKEN: 'of-nobody',
    });
    expect(stranger.code).toBe(1);
    expect(stranger.err).toContain('token');
  },
);
