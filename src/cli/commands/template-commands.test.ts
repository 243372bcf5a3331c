import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-template-commands-'));
  writeFileSync(path.join(cwd, 'in.csv'), 'id\n1\n2\n');
  writeFileSync(path.join(cwd, 'orders.yaml'), document('one'));
});
afterAll(() => rmSync(cwd, { recursive: true }));

const document = (mark: string): string => `version: 1
name: orders
params: { day: { required: true } }
pipeline:
  source: { type: csv, config: { path: in.csv } }
  transforms: [{ type: set, config: { values: { mark: ${mark}, day: '\${param.day}' } } }]
  sink: { type: jsonl, config: { path: out.jsonl } }
`;

async function cli(line: string): Promise<Done> {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain ?? '',
  );
  const wiring = { ...testWiring(), parts: () => Promise.resolve(parts) };
  return runCommand(words, wiring, { cwd, variables: {} });
}
async function told(line: string): Promise<string> {
  const { code, out, err } = await cli(line);
  expect(code, err).toBe(0);
  return out.trim();
}
async function refused(line: string): Promise<string> {
  const { code, err } = await cli(line);
  expect(code).not.toBe(0);
  return err;
}

it('a template goes from a file to a launched version and back', async () => {
  expect(await told('template register orders.yaml')).toBe(
    'orders version 1 is registered; status: draft',
  );
  expect(await refused('template run orders --param day=mo')).toContain('no launched version');
  expect(await told('template launch orders')).toBe('orders version 1 is launched');
  expect(await told('template launch orders')).toBe('orders version 1 was launched already');
  writeFileSync(path.join(cwd, 'orders.yaml'), document('two'));
  expect(await told("template register orders.yaml --tag canary --description 'All orders'")).toBe(
    'orders version 2 is registered; status: launched',
  );
  expect(await told('template show orders --version newest')).toBe(document('two').trim());
  expect(await told('template show orders')).toBe(document('one').trim());
  expect(await told('template launch orders --version canary')).toBe(
    'orders version 2 is launched in place of version 1',
  );
  expect(await told('template promote orders --tag prod --version previous')).toBe(
    'prod of orders is version 1',
  );
  expect(await told('template rollback orders')).toBe('orders version 1 is launched again');
  expect(await told('template list')).toMatch(
    /^template .*\norders +pipeline +launched +1 +2 +All orders$/,
  );
  expect(JSON.parse(await told('template list --json --kind deployment'))).toEqual({
    templates: [],
  });
  expect(JSON.parse(await told('template show orders --json'))).toMatchObject({
    version: 1,
    tags: { canary: 2, prod: 1 },
    created_by: 'cli',
  });
});

it('a template is run with its parameters, any version of it', async () => {
  const run = async (line: string): Promise<unknown> => {
    const { code, err } = await cli(`template run orders --param day=mo --quiet ${line}`);
    expect(code, err).toBe(0);
    return JSON.parse(readFileSync(path.join(cwd, 'out.jsonl'), 'utf8').split('\n')[0] ?? '');
  };
  expect(await run('')).toEqual({ id: '1', mark: 'one', day: 'mo' });
  expect(await run('--version canary')).toEqual({ id: '1', mark: 'two', day: 'mo' });
  expect(await refused('template run orders')).toContain('`day` is required');
  const dry = await cli('template run orders --param day=mo --dry-run --output json');
  expect(JSON.parse(dry.out)).toMatchObject({ status: 'completed' });
});

it('what is deprecated says so when it runs, and cannot be launched', async () => {
  expect(await told("template deprecate orders --reason 'use new-orders'")).toBe(
    'orders is deprecated',
  );
  const { code, err } = await cli('template run orders --param day=mo');
  expect([code, err]).toEqual([0, expect.stringContaining('warning: use new-orders')]);
  expect(await refused('template launch orders')).toContain('deprecated');
  expect(await told('template deprecate orders --undo')).toBe('orders is revived');
  expect(await told('template deprecate orders --version 2 --json')).toBe(
    JSON.stringify({ id: 'orders', version: 2, deprecated: true }, undefined, 2),
  );
  expect(await told('template deprecate orders --version 2 --undo')).toBe(
    'orders version 2 is revived',
  );
});

it('a pair of templates is run from the store', async () => {
  writeFileSync(
    path.join(cwd, 'source.yaml'),
    'kind: source-template\nname: things\ndescription: Things.\nsource: { type: csv, config: { path: in.csv } }\nstreams: [{ name: all }]\n',
  );
  writeFileSync(
    path.join(cwd, 'sink.yaml'),
    "kind: sink-template\nname: lines\ndescription: Lines.\nsink: { type: jsonl, config: {} }\nper_stream: { path: '${source}-${stream}.jsonl' }\n",
  );
  expect(await told('template register source.yaml --launch')).toContain('registered and launched');
  expect(await told('template register sink.yaml --launch')).toContain('registered and launched');
  expect(await refused('template run things')).toContain('sink: ');
  expect((await cli('template run things --sink lines --quiet')).code).toBe(0);
  expect(readFileSync(path.join(cwd, 'things-all.jsonl'), 'utf8')).toBe('{"id":"1"}\n{"id":"2"}\n');
});

it('files of templates are run in place of a document', async () => {
  const { code, err } = await cli('run --source source.yaml --sink sink.yaml --quiet');
  expect(code, err).toBe(0);
  writeFileSync(
    path.join(cwd, 'eu.yaml'),
    'kind: deployment\nname: eu\nstreams: { other: { sla: { min_rows_per_run: 1 } } }\n',
  );
  expect(await refused('run --source source.yaml')).toContain('belong together');
  const alone = await refused('validate source.yaml');
  expect(alone).toContain('1 problem');
  expect(alone).toMatch(/:1:1 +kind +this is a source-template.*--sink FILE/);
  expect(await refused('run --source sink.yaml --sink sink.yaml')).toContain(
    'expected a source-template, got a sink-template',
  );
  expect(await refused('run orders.yaml --source source.yaml --sink sink.yaml')).toContain(
    'give only one of the two',
  );
  expect(await refused('run --source source.yaml --sink sink.yaml --overlay eu.yaml')).toContain(
    'has no stream `other`',
  );
  expect(await refused('run --source source.yaml --sink none.yaml')).toContain('none.yaml');
});

it('what is wrong is said', async () => {
  expect(await refused('template register')).toContain('say which file to register');
  expect(await refused('template register none.yaml')).toContain('none.yaml');
  writeFileSync(path.join(cwd, 'latin.yaml'), Buffer.from(document('caf\u00e9'), 'latin1'));
  expect(await refused('template register latin.yaml')).toMatch(/latin\.yaml.*UTF-8/s);
  expect(await refused('template promote orders')).toContain('say which channel');
  expect(await refused('template promote orders --tag stable')).toContain('derived');
  expect(await refused('template show none')).toContain('there is no template `none`');
  writeFileSync(path.join(cwd, 'bad.yaml'), document('x').replace('type: csv', 'type: cvs'));
  expect(await refused('template register bad.yaml')).toContain('did you mean `csv`?');
  expect(await told('template delete orders --version 2')).toBe('2 of orders is deleted');
  expect(await told('template delete orders')).toBe('orders is deleted');
  expect(await refused('template delete orders')).toContain('there is no template');
});
