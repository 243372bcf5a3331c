import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ConfigError } from '../../lib/errors.ts';
import { stillClock, type StillClock } from '../../../test/fakes/clock.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { FAKE_PARTS } from '../../../test/fakes/parts.ts';
import { Registry } from '../../kit/parts.ts';
import { defineSecretManager } from '../../kit/secrets.ts';
import { createPrepare } from './prepare.ts';
import type { PlanSummary } from '../../wire/plan-summary.ts';
import { inProcessJobs } from '../../../test/support/jobs.ts';
import type { BaseDocument, Prepare, PrepareInput } from './prepared.ts';

interface World {
  readonly prepare: Prepare;
  readonly variables: Record<string, string>;
  readonly secrets: Record<string, string>;
  readonly clock: StillClock;
  /** What the redactor of the last preparation makes of a text, and that of the server. */
  readonly redacted: (text: string) => readonly [string, string];
  base: BaseDocument | undefined;
}

const folder = mkdtempSync(join(tmpdir(), 'headgate-prepared-'));
afterAll(() => rmSync(folder, { recursive: true }));

function world(): World {
  const [variables, secrets]: Record<string, string>[] = [{}, {}];
  const clock = stillClock();
  const env = testEnv({ variables, clock, cwd: folder });
  const vault = defineSecretManager({
    type: 'vault',
    form: '<name>',
    parse: (name) => ({ name }),
    description: 'secrets of this test',
    settings: [],
    open: () =>
      Promise.resolve({
        read: (name) => Promise.resolve(secrets?.[name] ?? ''),
        close: () => Promise.resolve(),
      }),
  });
  const parts = { ...FAKE_PARTS, secrets: new Registry([vault]) };
  const jobs = inProcessJobs({ env, parts });
  const made: World = {
    variables: variables ?? {},
    secrets: secrets ?? {},
    clock,
    base: undefined,
    redacted: (text) => [jobs.redactor.text(text), env.redactor.text(text)],
    prepare: createPrepare({ env, jobs, base: () => made.base }),
  };
  return made;
}

function document(path: string, more = ''): string {
  return `version: 1
${more}
pipeline:
  source: { type: lines, config: { path: '${path}' } }
  sink: { type: lines, config: { path: out } }
`;
}

const submission = (path: string, more?: string) => ({
  config: document(path, more),
  config_format: 'yaml' as const,
});

/** As it is kept: a document is, from its second time on. */
async function kept(prepare: Prepare, given: PrepareInput): Promise<PlanSummary> {
  await prepare(given);
  return prepare(given);
}

/** Differs with everything that the document says once it is resolved. */
async function printOf(prepare: Prepare, path: string, more?: string): Promise<string> {
  return (await prepare(submission(path, more))).fingerprint;
}

test('a text that comes again is prepared no more', async () => {
  const { prepare } = world();
  const once = await prepare(submission('in'));
  const twice = await prepare(submission('in'));
  expect(twice).not.toBe(once);
  expect(await prepare(submission('in'))).toBe(twice);
});

test('another text, another name or another format is another document', async () => {
  const { prepare } = world();
  const first = await kept(prepare, submission('in'));
  expect(await prepare(submission('in '))).not.toBe(first);
  expect((await prepare({ ...submission('in'), name: 'mine' })).name).toBe('mine');
  expect((await prepare(submission('in'))).name).toBe('serve');
  await expect(prepare({ ...submission('in'), config_format: 'json' })).rejects.toThrow();
});

test('parameters and selection belong to the text', async () => {
  const { prepare } = world();
  const params = (day: string): string => `params: { day: { default: ${day} } }`;
  const prints = new Set<string>();
  for (const _ of [1, 2, 3]) prints.add(await printOf(prepare, '${param.day}', params('monday')));
  expect(prints.size).toBe(1);
  expect(prints.add(await printOf(prepare, '${param.day}', params('friday'))).size).toBe(2);
  const selecting = (tag: string) =>
    printOf(prepare, 'in', `selection: { include_parents: ${tag} }`);
  expect(await selecting('all')).not.toEqual(await selecting('off'));
});

test('a variable that the document reads is looked at every time, others are not', async () => {
  const { prepare, variables } = world();
  variables['FOLDER'] = 'blue';
  const first = await kept(prepare, submission('${env:FOLDER}'));
  variables['OTHER'] = 'no matter';
  expect(await prepare(submission('${env:FOLDER}'))).toBe(first);
  variables['FOLDER'] = 'green';
  expect(await printOf(prepare, '${env:FOLDER}')).not.toBe(first.fingerprint);
  delete variables['FOLDER'];
  await expect(prepare(submission('${env:FOLDER}'))).rejects.toThrow('FOLDER');
});

test('a file that the document reads is read every time', async () => {
  const { prepare } = world();
  writeFileSync(join(folder, 'folder.txt'), 'north');
  const north = await printOf(prepare, '${file:folder.txt}');
  expect(await printOf(prepare, '${file:folder.txt}')).toBe(north);
  writeFileSync(join(folder, 'folder.txt'), 'south');
  expect(await printOf(prepare, '${file:folder.txt}')).not.toBe(north);
});

test('a secret is asked for every time, and neither kept nor known to the server', async () => {
  const { prepare, secrets, redacted } = world();
  secrets['team/key'] = 'first-secret';
  const before = await kept(prepare, submission('${vault:team/key}'));
  expect(redacted('first-secret')).toEqual(['***', 'first-secret']);
  secrets['team/key'] = 'second-secret';
  expect(await printOf(prepare, '${vault:team/key}')).not.toBe(before.fingerprint);
  expect(redacted('first-secret second-secret')[0]).toBe('first-secret ***');
  const secret = 'params: { key: { default: written-down, secret: true } }';
  expect(await kept(prepare, submission('${param.key}', secret))).not.toBe(
    await prepare(submission('${param.key}', secret)),
  );
  expect(redacted('written-down')).toEqual(['***', 'written-down']);
});

test('what is wrong with a document is reported without its secrets', async () => {
  const { prepare, secrets } = world();
  secrets['team/key'] = 'a-secret-kind';
  const wrong = submission('in').config.replace('type: lines', "type: '${vault:team/key}'");
  const error: unknown = await prepare({ config: wrong, config_format: 'yaml' }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ConfigError);
  expect(JSON.stringify(error)).toContain('***');
  expect(JSON.stringify(error) + String(error)).not.toContain('a-secret-kind');
});

test('a new default document of the server changes what it lies beneath', async () => {
  const world1 = world();
  world1.base = { content: '{"name":"old"}', hash: 'old' };
  expect((await kept(world1.prepare, submission('in'))).name).toBe('old');
  world1.base = { content: '{"name":"new"}', hash: 'new' };
  expect((await world1.prepare(submission('in'))).name).toBe('new');
});

test('a faulty document is reported every time', async () => {
  const { prepare } = world();
  for (const _ of [1, 2, 3])
    await expect(prepare({ config: 'version: 1\n', config_format: 'yaml' })).rejects.toThrow();
});

test('what nobody submits again is let go: after a while, and when there is too much of it', async () => {
  const { prepare, clock } = world();
  const first = await kept(prepare, submission('in'));
  clock.advance(200_000);
  expect(await prepare(submission('in'))).toBe(first);
  clock.advance(300_001);
  const second = await kept(prepare, submission('in'));
  expect(second).not.toBe(first);
  for (let index = 0; index < 500; index += 1) await kept(prepare, submission(`in-${index}`));
  expect(await prepare(submission('in'))).not.toBe(second);
});

test('long texts share a budget, and one that would take much of it is not kept', async () => {
  const { prepare } = world();
  const filled = (name: string, length: number) => submission(name, `# ${'x'.repeat(length)}`);
  const huge = await kept(prepare, filled('in', 1_100_000));
  expect(await prepare(filled('in', 1_100_000))).not.toBe(huge);
  const first = await kept(prepare, filled('first', 1_000_000));
  expect(await prepare(filled('first', 1_000_000))).toBe(first);
  for (let index = 0; index < 8; index += 1) await kept(prepare, filled(`in-${index}`, 1_000_000));
  expect(await prepare(filled('first', 1_000_000))).not.toBe(first);
});
