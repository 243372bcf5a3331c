/** A connector of ours as a package of its own, in the program as users start it. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launcherPath } from '../servers/bundle.ts';
import { packConnector } from '../support/pack-connector.ts';
import { headgate } from './headgate.ts';
import { workshop, type Body } from './serve-program.ts';

const NAME = '@acme/json-lines';
const shop = workshop();
const document = (type = `npm:${NAME}`): Body => ({
  version: 1,
  pipeline: {
    source: { type, config: { path: shop.path('in.jsonl') } },
    sink: { type, config: { path: shop.path('out.jsonl') } },
  },
});
const LINES = '{"id":1,"big":9007199254740993}\n{"id":2,"half":0.50}\n';

beforeAll(async () => {
  await packConnector(shop.dir, {
    name: NAME,
    folder: 'jsonl',
    source: 'jsonlSource',
    sink: 'jsonlSink',
  });
  writeFileSync(shop.path('in.jsonl'), LINES);
  // As it is installed beside a connector that somebody works on.
  const launcher = await launcherPath();
  mkdirSync(shop.path('node_modules/.bin'));
  symlinkSync(launcher, shop.path('node_modules/.bin/headgate'));
  symlinkSync(dirname(dirname(launcher)), shop.path('node_modules/headgate'));
});
afterAll(() => shop.dispose());

test('the command line moves records with it', async () => {
  writeFileSync(shop.path('d.json'), JSON.stringify(document()));
  const run = await headgate(['run', 'd.json', '--allow-connector', NAME], { cwd: shop.dir });
  expect(run.stderr).toContain('2 records written');
  expect(run.code).toBe(0);
  expect(readFileSync(shop.path('out.jsonl'), 'utf8')).toBe(LINES);
});

test('it keeps clauses of the contract, also when its process is killed', async () => {
  const clauses = ['records', 'lanes', 'flush', 'kill', 'continue-killed'];
  const args = clauses.flatMap((name) => ['--clause', name]);
  const score = await headgate(['conformance', `npm:${NAME}`, ...args], { cwd: shop.dir });
  expect(score.code, score.stdout + score.stderr).toBe(0);
  expect(score.stdout).toMatch(/^source \(flat objects\): keeps 2 of 2 clauses/m);
  expect(score.stdout).toMatch(/^sink \(\.jsonl\): keeps 4 of 4 clauses/m);
});

describe('a server', () => {
  test('uses it in its workers where it was allowed at the start, and no other one', async () => {
    const program = await shop.start({ args: ['--allow-connector', NAME] });
    const ended = await program.ended(await program.submit(document()));
    expect(ended).toMatchObject({ status: 'completed', records_written: 2 });
    const schema = await program.call(
      'GET',
      `/v1/schemas/source/${encodeURIComponent(`npm:${NAME}`)}`,
    );
    expect(schema.status).toBe(200);
    const refused = await program.call('POST', '/v1/runs', {
      config: JSON.stringify(document('npm:other')),
      config_format: 'json',
    });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('connector_not_allowed');
    expect(refused.text).toContain('--allow-connector other');
  });
});

describe('a connector that somebody works on', () => {
  test('has a test that passes, with the kit of the package', async () => {
    expect(await headgate(['new', 'connector', 'our-erp'], { cwd: shop.dir })).toMatchObject({
      code: 0,
    });
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--test'], {
      cwd: shop.path('our-erp'),
      env: { PATH: `${shop.path('node_modules/.bin')}:${dirname(process.execPath)}` },
      encoding: 'utf8',
    });
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/pass 2$/m);
  });

  test('is checked by the types of the kit', () => {
    const bin = resolve(import.meta.dirname, '../../node_modules');
    writeFileSync(shop.path('package.json'), '{"name": "typed", "type": "module"}');
    writeFileSync(shop.path('typed.ts'), TYPED);
    const flags =
      '--ignoreConfig --noEmit --strict --skipLibCheck --module nodenext --target esnext';
    const roots = ['--types', 'node', '--typeRoots', join(bin, '@types')];
    execFileSync(join(bin, '.bin/tsc'), [...flags.split(' '), ...roots, 'typed.ts'], {
      cwd: shop.dir,
      stdio: 'pipe',
    });
  });
});

const TYPED = `
import { ConnectorError, defineConnector, defineSource, Page, z, type SourceFixture } from 'headgate/kit';
const config = z.strictObject({ url: z.string() });
const source = defineSource<z.infer<typeof config>>({
  type: 'typed', description: 'Typed.', config, examples: [{ url: 'u' }],
  capabilities: () => ({ replay: 'none', bookmarks: false, encodings: [] }),
  datasetUri: ({ url }) => url,
  open: async ({ url }, { signal }) => ({
    async *pages({ limit }) {
      signal.throwIfAborted();
      if (url === '') throw new ConnectorError('missing', 'nothing there');
      yield Page.ofRecords([{ a: limit ?? 1 }], { bookmark: 1 });
    },
    close: async () => {},
  }),
});
export const connector = defineConnector({ kit: 1, source });
export const sourceFixtures: SourceFixture[] = [{ records: [], config: () => ({ url: 'x' }) }];
// @ts-expect-error -- there is no such kind
new ConnectorError('nonsense', 'x');
// @ts-expect-error -- records are JSON
Page.ofRecords([() => 1]);
`;
