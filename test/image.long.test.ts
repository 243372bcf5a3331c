/** The image of `deploy/Dockerfile`: built, and run the way a cluster runs it. */
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildahOrReason, type Images } from './servers/buildah.ts';
import { freePort } from './servers/test-servers.ts';
import { eventually } from './support/eventually.ts';

const ROOT = resolve(import.meta.dirname, '..');
const MINUTES = 60_000;
const USER = 1000;
const DOCUMENT = `version: 1
pipeline:
  source: { type: csv, config: { path: in.csv } }
  sink: { type: jsonl, config: { path: out.jsonl } }
`;

const builder = buildahOrReason();

describe.skipIf(builder.reason !== undefined)(`the image [${builder.reason ?? ''}]`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-container-'));
  const [history, data] = [join(folder, 'history'), join(folder, 'data')];
  let images: Images | undefined;
  let image: ReturnType<Images['build']>;

  beforeAll(async () => {
    images = await builder.start?.();
    if (images === undefined) return;
    const deploy = join(ROOT, 'deploy');
    image = images.build({
      dockerfile: join(deploy, 'Dockerfile'),
      ignoreFile: join(deploy, 'Dockerfile.dockerignore'),
      context: ROOT,
    });
    for (const volume of [history, data]) {
      mkdirSync(volume);
      chownSync(volume, USER, USER);
    }
  }, 15 * MINUTES);
  afterAll(() => {
    images?.[Symbol.dispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  it('belongs to a user without rights, and keeps what must stay on volumes', () => {
    const { User, Volumes, Entrypoint, Cmd } = image.config;
    expect({ User, Volumes, Cmd, node: Entrypoint[0] }).toEqual({
      User: `${USER}:${USER}`,
      Volumes: { '/var/lib/headgate': {}, '/data': {} },
      Cmd: ['serve'],
      node: 'node',
    });
  });

  it(
    'serves with a root that cannot be written, tells its health, runs a document, and ends when told',
    async () => {
      const listen = `127.0.0.1:${await freePort()}`;
      const env = { HEADGATE_SERVE_LISTEN: listen, HEADGATE_SERVE_ADMIN_TOKEN: 'hush' };
      const url = `http://${listen}`;
      const volumes = { '/var/lib/headgate': history, '/data': data };
      const [, ...health] = image.config.Healthcheck.Test;
      using container = image.start({ env, volumes });
      const exit = once(container.process, 'exit');
      let output = '';
      for (const stream of [container.process.stdout, container.process.stderr])
        stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
      await eventually(() => expect(container.run(health), output).toMatchObject({ status: 0 }));
      expect(
        container.run(['sh', '-c', 'echo $(head -c 4 /proc/1/cmdline) $(id -u):$(id -g)']),
      ).toEqual({
        status: 0,
        output: `node ${USER}:${USER}\n`,
      });
      for (const path of ['/opt/headgate/x', '/etc/x', '/x'])
        expect(container.run(['sh', '-c', `: > ${path}`]).status, path).not.toBe(0);
      writeFileSync(join(data, 'in.csv'), 'id,name\n1,Ada\n2,Bo\n');
      const headers = { authorization: 'Bearer hush', 'content-type': 'application/json' };
      const body = JSON.stringify({ config: DOCUMENT, name: 'people' });
      const submitted = await fetch(`${url}/v1/runs`, { method: 'POST', headers, body });
      expect(submitted.status).toBe(202);
      const { run_id: id } = (await submitted.json()) as { readonly run_id: string };
      await eventually(async () => {
        const run: unknown = await (await fetch(`${url}/v1/runs/${id}`, { headers })).json();
        expect(run, JSON.stringify(run)).toMatchObject({ status: 'completed' });
      });
      expect(readFileSync(join(data, 'out.jsonl'), 'utf8')).toBe(
        '{"id":"1","name":"Ada"}\n{"id":"2","name":"Bo"}\n',
      );
      container.signal('SIGTERM');
      expect([await exit, output]).toEqual([[0, null], expect.not.stringContaining('hush')]);
      // Without a server nobody answers.
      using again = image.start({ env, volumes });
      const ended = once(again.process, 'exit');
      await eventually(() => expect(again.run(health).status).toBe(0));
      const kept = await fetch(`${url}/v1/runs/${id}`, { headers });
      expect(await kept.json()).toMatchObject({ status: 'completed' });
      again.signal('SIGTERM');
      await ended;
    },
    4 * MINUTES,
  );
});
