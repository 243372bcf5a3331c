import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runCommand, testWiring } from '../../../test/support/cli.ts';
import { partsWith } from '../../parts.ts';

const cwd = mkdtempSync(join(tmpdir(), 'headgate-new-connector-'));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

async function cli(line: string) {
  return runCommand(line.split(' '), { ...testWiring(), parts: partsWith }, { cwd });
}

interface Report {
  readonly conforms: boolean;
  readonly kept: number;
  readonly broken: number;
  readonly suites: readonly {
    readonly part: string;
    readonly suite: string;
    readonly missing?: string;
    readonly clauses: readonly { readonly name: string; readonly outcome: string }[];
  }[];
}

async function reportOf(target: string, more = ''): Promise<Report> {
  const { out, err } = await cli(`conformance ${target} --json${more}`);
  expect(out, err).not.toBe('');
  return JSON.parse(out) as Report;
}

const brokenIn = ({ suites }: Report): string[] =>
  suites.flatMap(({ clauses }) =>
    clauses.filter(({ outcome }) => outcome === 'broken').map(({ name }) => name),
  );

describe('a connector that `new connector` writes', () => {
  it('keeps the contract as it is', async () => {
    const made = await cli('new connector @acme/our-erp');
    expect(made.code, made.err).toBe(0);
    expect(readdirSync(join(cwd, 'our-erp')).sort()).toEqual([
      'README.md',
      'conformance-sink.js',
      'conformance-source.js',
      'conformance.js',
      'connector.test.js',
      'index.js',
      'package.json',
      'sink.js',
      'source.js',
    ]);
    const { code, out } = await cli('conformance ./our-erp');
    expect(out).toMatch(/^source: keeps (\d+) of \1 clauses/m);
    expect(out).toMatch(/^sink: keeps (\d+) of \1 clauses/m);
    expect(out).toMatch(/^@acme\/our-erp: \d{2} clauses kept, 0 broken$/m);
    expect(code).toBe(0);
  });

  it('is scored clause by clause where it is broken', async () => {
    await cli('new connector broken-one');
    const change = (file: string, from: string, to: string): void => {
      const path = join(cwd, 'broken-one', file);
      const text = readFileSync(path, 'utf8');
      expect(text).toContain(from);
      writeFileSync(path, text.replace(from, to));
    };
    change('source.js', 'lines >= after', 'lines > after');
    change('sink.js', 'written: page.count,', 'written: 1,');
    const report = await reportOf('./broken-one');
    expect(report.conforms).toBe(false);
    expect(brokenIn(report)).toEqual(expect.arrayContaining(['records', 'counts']));
    const { code, out } = await cli('conformance ./broken-one --clause counts');
    expect(code).toBe(1);
    expect(out).toContain('broken  counts: it counts what it wrote, page by page');
  });

  it('has only the part that was asked for', async () => {
    expect(await cli('new connector only-sink --sink')).toMatchObject({ code: 0 });
    expect(readdirSync(join(cwd, 'only-sink'))).not.toContain('source.js');
    const report = await reportOf('./only-sink', ' --clause flush');
    expect(report.suites.map(({ part }) => part)).toEqual(['sink']);
    expect(report).toMatchObject({ conforms: true, kept: 1 });
  });

  it('never replaces what is there, and has a name that a package can have', async () => {
    await cli('new connector twice');
    expect((await cli('new connector twice')).err).toContain('exists and is left alone');
    for (const name of ['../up', 'Big', '@acme', '7days'])
      expect((await cli(`new connector ${name}`)).err).toContain('cannot be the name');
  });
});

describe('`conformance`', () => {
  let made = 0;

  it('says which part it could not try', async () => {
    await cli('new connector untried --source');
    writeFileSync(join(cwd, 'untried/conformance.js'), '');
    const { code, out } = await cli('conformance ./untried');
    expect(out).toContain('source: not tried, there are no fixtures');
    expect(code).toBe(1);
  });

  it('fails where no part has the clause that was asked for', async () => {
    await cli('new connector only-source --source');
    const { code, out } = await cli('conformance ./only-source --clause upsert');
    expect(out).toContain('no part was tried');
    expect(code).toBe(1);
  });

  it.each([
    ['package.json', '{', 'cannot be read: '],
    ['package.json', '[]', 'is incomplete'],
    ['package.json', '{"name":5,"exports":"./index.js"}', 'is incomplete'],
    [
      'conformance.js',
      'export const sourceFixtures = {};',
      '`sourceFixtures` is no list of fixtures',
    ],
    [
      'conformance.js',
      'export const sourceFixtures = [1];',
      '`sourceFixtures` is no list of fixtures',
    ],
  ])('tells of %s with %s, and does not take it for its own fault', async (file, text, said) => {
    // A module is loaded once.
    const name = `unusable-${(made += 1)}`;
    await cli(`new connector ${name} --source`);
    writeFileSync(join(cwd, name, file), text);
    const { code, err } = await cli(`conformance ./${name}`);
    expect(err).toContain(said);
    expect(err).not.toContain('defect of Headgate');
    expect(code).toBe(1);
  });

  it('goes on where a fixture cannot start, and says why', async () => {
    await cli('new connector no-server');
    const path = join(cwd, 'no-server/conformance-source.js');
    const start = "start: () => { throw new Error('the server is down'); },";
    writeFileSync(
      path,
      `${readFileSync(path, 'utf8')}\nsourceFixtures[0] = { ...sourceFixtures[0], ${start} };\n`,
    );
    const { code, out } = await cli('conformance ./no-server --clause close');
    expect(out).toMatch(/^source.*: not tried, its fixture cannot start: the server is down$/m);
    expect(out).toMatch(/^sink: keeps 1 of 1 clauses/m);
    expect(code).toBe(1);
  });

  it('says what it cannot load', async () => {
    expect((await cli('conformance ./nowhere')).err).toContain('has no package.json');
    expect((await cli('conformance npm:nowhere')).err).toContain('npm install nowhere');
    await cli('new connector asked --sink');
    expect((await cli('conformance ./asked --clause flsh')).err).toContain('did you mean');
    expect((await cli('conformance npm:../up')).err).toContain('not the name of a package');
  });
});
