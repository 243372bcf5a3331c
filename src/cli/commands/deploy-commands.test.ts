import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-deploy-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

function write(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(cwd, file)), { recursive: true });
  writeFileSync(path.join(cwd, file), text);
}
const document = (name: string | undefined, mark = 'one'): string =>
  `version: 1
${name === undefined ? '' : `name: ${name}\n`}pipeline:
  source: { type: csv, config: { path: in.csv } }
  transforms: [{ type: set, config: { values: { mark: ${mark} } } }]
  sink: { type: jsonl, config: { path: out.jsonl } }
`;

async function cli(line: string): Promise<Done> {
  const wiring = { ...testWiring(), parts: () => Promise.resolve(parts) };
  const done = await runCommand(line.split(' '), wiring, { cwd });
  return { ...done, out: done.out.trim() };
}
async function told(line: string): Promise<string> {
  const { code, out, err } = await cli(line);
  expect(code, err).toBe(0);
  return out;
}
async function listed(): Promise<string[]> {
  const { templates } = JSON.parse(await told('template list --json')) as {
    templates: { id: string; stable: number | null }[];
  };
  return templates.map(({ id, stable }) => `${id} ${stable}`).sort();
}

it('a document is pushed once for each change of it, and is what runs from then on', async () => {
  write('orders.yaml', document('Daily Orders'));
  expect(await told('push orders.yaml')).toBe('daily-orders version 1 is launched');
  expect(await told('push orders.yaml')).toBe('daily-orders version 1 has this document already');
  write('orders.yaml', document('Daily Orders', 'two'));
  expect(await told('push orders.yaml --draft')).toBe('daily-orders version 2 is registered');
  expect(await told('push orders.yaml --draft')).toContain('version 2 has this document already');
  expect(JSON.parse(await told('push orders.yaml --json'))).toEqual({
    id: 'daily-orders',
    version: 2,
    action: 'launch',
  });
  expect(await told('template show daily-orders')).toBe(document('Daily Orders', 'two').trim());
  // What ran before is a change like any other.
  write('orders.yaml', document('Daily Orders'));
  expect(await told('push orders.yaml')).toBe('daily-orders version 3 is launched');
  write('My file.yaml', document(undefined));
  write(
    'plain.json',
    JSON.stringify({
      version: 1,
      pipeline: {
        source: { type: 'csv', config: { path: 'a' } },
        sink: { type: 'jsonl', config: { path: 'b' } },
      },
    }),
  );
  expect(await told('push plain.json')).toBe('plain version 1 is launched');
});

it('what is no document is reported with its file and place, and nothing is stored', async () => {
  write('broken.yaml', 'version: 1\npipeline: [\n');
  write('unknown.yaml', document('unknown').replace('csv', 'cvs'));
  for (const [file, words] of [
    ['broken.yaml', 'broken.yaml:'],
    ['unknown.yaml', 'cvs'],
    ['missing.yaml', 'missing.yaml'],
  ]) {
    const { code, err } = await cli(`push ${file}`);
    expect(code).not.toBe(0);
    expect(err).toContain(words);
  }
  expect((await cli('push')).code).toBe(2);
  expect(await listed()).toEqual([]);
});

it('a folder is the truth: new and changed documents are launched, others stay, what is in no file is pruned when that is confirmed', async () => {
  write('all/orders.yaml', document('orders'));
  write('all/eu/people.yml', document('people'));
  write('all/readme.md', 'no document');
  const plan = await told('deploy all --dry-run');
  expect(plan).toBe(
    '+ people  version 1, from all/eu/people.yml\n+ orders  version 1, from all/orders.yaml',
  );
  expect(await listed()).toEqual([]);
  expect(await told('deploy all')).toBe(plan);
  write('all/orders.yaml', document('orders', 'two'));
  rmSync(path.join(cwd, 'all/eu'), { recursive: true });
  const { code, out, err } = await cli('deploy all');
  expect(code).toBe(0);
  expect(out).toBe(
    '~ orders  version 2 in place of 1, from all/orders.yaml (+1 -1 lines)\n- people  in no file',
  );
  expect(err).toContain('1 template in no file; --prune --yes deletes what no file has');
  expect(await listed()).toEqual(['orders 2', 'people 1']);

  write('all/orders.yaml', document('orders', 'three'));
  const refused = await cli('deploy all --prune');
  expect(refused.code).toBe(2);
  expect(refused.err).toContain('1 template would be deleted, with all versions: `people`');
  expect(await listed()).toEqual(['orders 2', 'people 1']);
  expect(JSON.parse(await told('deploy all --prune --yes --json'))).toEqual({
    dry_run: false,
    templates: [
      { id: 'orders', action: 'change', file: 'all/orders.yaml', version: 3, error: null },
      { id: 'people', action: 'delete', file: null, version: null, error: null },
    ],
  });
  expect(await listed()).toEqual(['orders 3']);
  expect(await told('deploy all --prune')).toBe('= orders  version 3');
});

it('every fault of every file is reported before anything is done', async () => {
  write('all/good.yaml', document('good'));
  write('all/again.yaml', document('good'));
  write('all/broken.yaml', 'version: 1\npipeline: [\n');
  write('all/---.yaml', document(undefined));
  const { code, err } = await cli('deploy all');
  expect(code).toBe(1);
  expect(err).toContain('`good` is the id of all/again.yaml, too');
  expect(err).toContain('broken.yaml');
  expect(err).toContain('has no `name` to make an id of');
  expect(await listed()).toEqual([]);
  expect((await cli('deploy nowhere')).err).toContain('the folder cannot be read');
  mkdirSync(path.join(cwd, 'empty'));
  expect((await cli('deploy empty')).err).toContain('there is no document in empty');
});

it('a document that the registry refuses does not hold up the others', async () => {
  write('all/a.yaml', document('a').replace('csv', 'cvs'));
  write('all/b.yaml', document('b'));
  const { code, out, err } = await cli('deploy all');
  expect(code).toBe(1);
  expect(out).toMatch(
    /^\+ a {2}version 1, from all\/a.yaml: .*cvs.*\n\+ b {2}version 1, from all\/b.yaml$/,
  );
  expect(err).toContain('1 template could not be deployed');
  expect(await listed()).toEqual(['b 1']);
});
