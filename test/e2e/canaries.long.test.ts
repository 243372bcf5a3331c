/**
 * No secret leaves as text: documents full of canaries end in many ways, and everything that was
 * said is searched for them.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  startHttpServer,
  type HttpServer,
  type Reply,
  type SeenRequest,
} from '../fakes/http-server.ts';
import {
  AUTHORITY_FILE,
  startAws,
  startAzure,
  startAzureIdentity,
  startGcp,
  startVault,
  type FakeManager,
} from '../fakes/secret-managers.ts';
import { canary, searchFiles, sightings, type Sighting } from './canary-search.ts';
import { canaryDocuments, PLACES } from './canary-documents.ts';
import { headgate } from './headgate.ts';
import { workshop, type Answer } from './serve-program.ts';

const shop = workshop();
let api: HttpServer;
let managers: FakeManager[];
let variables: Readonly<Record<string, string>>;
let documents: ReturnType<typeof canaryDocuments>;

const ADMIN_TOKEN = 'CNRYAdmin7f3a';

/** What is there to be read, and what keeps a secret for the next process. */
const SECRET_FILES = new Set([
  '.env',
  'canary.txt',
  'persisted.json',
  'credentials.json',
  'documents',
  'out.jsonl',
]);

beforeAll(async () => {
  api = await startHttpServer(answer);
  const write = (name: string, text: string): string => {
    writeFileSync(shop.path(name), text);
    return shop.path(name);
  };
  managers = [
    await startVault({ 'kv/data/app': { key: canary('Vault') } }),
    await startAws({ app: JSON.stringify({ key: canary('Aws') }) }),
    await startGcp({ 'projects/p/secrets/s/versions/latest': canary('Gcp') }, { write }),
    await startAzure({ app: canary('Azure') }),
    await startAzureIdentity(),
  ];
  write('.env', `C_DOTENV='${canary('Dotenv')}'\n`);
  write('canary.txt', `${canary('File')}\n`);
  write('in.jsonl', '{"id":1,"name":"a"}\n{"id":2,"name":"b"}\n');
  variables = Object.assign(
    {
      C_ENV: canary('Env'),
      C_PLAIN: canary('Env').replaceAll(/[^A-Za-z0-9]/g, ''),
      C_SECRET: canary('Secret'),
      C_PARAM: canary('Param'),
      C_VARS: canary('Vars'),
      C_URLPASS: encodeURIComponent(canary('Pguser')),
      C_PGURL: `postgres://me:${encodeURIComponent(canary('Pguser'))}@127.0.0.1:1/db`,
      NODE_EXTRA_CA_CERTS: AUTHORITY_FILE,
    },
    ...managers.map((one) => one.variables),
  ) as typeof variables;
  documents = canaryDocuments(api.url);
  mkdirSync(shop.path('documents'));
  for (const [name, document] of Object.entries(documents))
    write(join('documents', `${name}.json`), JSON.stringify(document, null, 2));
});
afterAll(async () => {
  await shop.dispose();
  await api.close();
  for (const manager of managers) await manager[Symbol.asyncDispose]();
});

/** Repeats what it was sent, as servers do when they complain. */
function answer(request: SeenRequest): Reply {
  const { path, headers, query, body } = request;
  const echo = { sent: { headers, query: Object.fromEntries(query), body } };
  const status = /^\/refuse\/(\d+)$/.exec(path)?.[1];
  if (status !== undefined) return { status: Number(status), json: echo };
  if (path === '/token')
    return {
      json: {
        access_token: canary('Access').replaceAll(/[^!-~]/g, ''),
        refresh_token: canary('Rotated'),
        expires_in: 3600,
      },
    };
  if (path === '/redirect')
    return {
      status: 302,
      headers: {
        location: `http://127.0.0.1:1/?${query.toString()}&h=${encodeURIComponent(headers['authorization'] ?? '')}`,
      },
    };
  if (path === '/cut') return { body: JSON.stringify(echo), breaks: true };
  if (path === '/garbage')
    return {
      headers: { 'content-type': 'application/json' },
      body: `{"x": ${JSON.stringify(echo)}`,
    };
  return { json: [{ id: 1 }] };
}

function expectNone(found: readonly Sighting[]): void {
  expect(found.slice(0, 12)).toEqual([]);
}

/** Does all of it, a few at a time. */
async function eachOf<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await act(item);
  };
  await Promise.all([worker(), worker(), worker()]);
}

describe('no canary is seen', () => {
  it('in what the commands say', { timeout: 240_000 }, async () => {
    const found: Sighting[] = [];
    const codes = new Set<number | null>();
    const command = async (args: readonly string[], name: string): Promise<void> => {
      const { code, stdout, stderr } = await headgate([...args, `documents/${name}.json`], {
        cwd: shop.dir,
        variables,
      });
      codes.add(code);
      found.push(...sightings(stdout + stderr, `${args.join(' ')} ${name}`, PLACES));
    };
    // The server gets all of them; here a token stands for its like.
    const names = Object.keys(documents).filter(
      (name) => !/^(api|path|type|value|fine|filter)-(?!Env|Azure)/.test(name),
    );
    await eachOf(names, (name) =>
      command(['run', '--log-level', 'trace', '--output', 'json'], name),
    );
    const others = [
      ['validate', '--json'],
      ['plan', '--resolve-secrets'],
      ['doctor', '--json'],
    ];
    const some = names.filter((name) => !/-(records|cut|garbage|redirect)$/.test(name));
    await eachOf([...some.entries()], async ([index, name]) => {
      const args = index % 2 === 0 ? others[(index / 2) % 3] : undefined;
      if (args !== undefined) await command(args, name);
    });
    expectNone(found);
    expect(codes.isSupersetOf(new Set([0, 1]))).toBe(true);
  });

  it('in what the server says, records and keeps', { timeout: 240_000 }, async () => {
    const program = await shop.start({
      args: [
        '--log-level',
        'debug',
        '--history',
        `sqlite:${shop.path('history.db')}`,
        '--auth-token',
        ADMIN_TOKEN,
      ],
      variables,
    });
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const found: Sighting[] = [];
    const look = (where: string, answered: Answer): Answer => {
      const told = [...answered.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
      found.push(...sightings(`${told}\n${answered.text}`, where, PLACES));
      return answered;
    };
    const call = async (method: string, path: string, body?: unknown): Promise<Answer> =>
      look(
        `${method} ${path} ${JSON.stringify(body)?.slice(0, 80) ?? ''}`,
        await program.call(method, path, body, headers),
      );
    const ids: string[] = [];
    await eachOf(Object.entries(documents), async ([name, document]) => {
      const config = JSON.stringify(document);
      const answered = await call('POST', '/v1/runs', {
        config,
        name,
        idempotency_key: name,
        callback: callbackOf(),
      });
      if (answered.status === 202) ids.push((answered.json() as { run_id: string }).run_id);
      if (name.length % 3 === 0) await call('POST', '/v1/doctor', { config });
    });
    for (const id of ids) {
      await expect
        .poll(
          async () => ((await call('GET', `/v1/runs/${id}`)).json() as { status: string }).status,
          { timeout: 60_000 },
        )
        .toBeOneOf(['completed', 'failed']);
      await call('GET', `/v1/runs/${id}/logs?format=json`);
      await call('GET', `/v1/runs/${id}/logs`);
    }
    for (const path of [
      '/',
      '/healthz',
      '/readyz',
      '/metrics',
      '/v1/runs',
      '/v1/audit',
      '/v1/schemas',
      '/v1/whoami',
    ])
      await call('GET', path);
    await program.stop();
    found.push(
      ...sightings(program.output(), 'output of serve', PLACES),
      ...searchFiles(shop.dir, PLACES, SECRET_FILES),
    );
    expectNone(found);
    expect(ids.length).toBeGreaterThan(40);
  });
});

/** Of a submission: its values are nobody's but the caller's. */
function callbackOf(): unknown {
  return {
    url: `${api.url.replace('://', `://me:${encodeURIComponent(canary('Url'))}@`)}/refuse/500`,
    headers: { 'x-key': canary('Header').replaceAll(/[^!-~]/g, '') },
  };
}
