/** A connector of ours as a package of its own, in the program as users start it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
