import { expect, test } from 'vitest';
import { stillClock, type StillClock } from '../../../test/fakes/clock.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { FAKE_PARTS } from '../../../test/fakes/parts.ts';
import { defineSecretManager } from '../../kit/secrets.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { createPrepare } from './prepare.ts';
import type { Prepare, Prepared, PrepareInput } from './prepared.ts';

interface World {
  readonly prepare: Prepare;
  readonly variables: Record<string, string>;
  readonly files: Record<string, string>;
  readonly secrets: Record<string, string>;
  readonly clock: StillClock;
  readonly redacted: (text: string) => string;
  base: JsonObject | undefined;
}

function world(): World {
  const [variables, files, secrets]: Record<string, string>[] = [{}, {}, {}];
  const clock = stillClock();
  const env = testEnv({ variables, clock });
  const vault = defineSecretManager({
    type: 'vault',
    description: 'secrets of this test',
    settings: [],
    open: () =>
      Promise.resolve({
        read: (name) => Promise.resolve(secrets?.[name] ?? ''),
        close: () => Promise.resolve(),
      }),
  });
  const made: World = {
    variables: variables ?? {},
    files: files ?? {},
    secrets: secrets ?? {},
    clock,
    base: undefined,
    redacted: (text) => env.redactor.text(text),
    prepare: createPrepare({
      env,
      parts: { ...FAKE_PARTS, secrets: new Map([['vault', vault]]) as never },
      cpus: 2,
      readFile: (path) => new TextEncoder().encode(files?.[path]),
      base: () => made.base,
    }),
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
async function kept(prepare: Prepare, given: PrepareInput): Promise<Prepared> {
  await prepare(given);
  return prepare(given);
}

async function sourcePath(prepare: Prepare, path: string, more?: string): Promise<unknown> {
  const { plan } = await prepare(submission(path, more));
  return (plan.rows[0]?.source.parsed as { path?: string } | undefined)?.path;
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
  for (const _ of [1, 2, 3])
    expect(await sourcePath(prepare, '${param.day}', params('monday'))).toBe('monday');
  expect(await sourcePath(prepare, '${param.day}', params('friday'))).toBe('friday');
  const selecting = (tag: string) => submission('in', `selection: { include_parents: ${tag} }`);
  expect((await prepare(selecting('all'))).document).not.toEqual(
    (await prepare(selecting('off'))).document,
  );
});

test('a variable that the document reads is looked at every time, others are not', async () => {
  const { prepare, variables } = world();
  variables['FOLDER'] = 'blue';
  const first = await kept(prepare, submission('${env:FOLDER}'));
  variables['OTHER'] = 'no matter';
  expect(await prepare(submission('${env:FOLDER}'))).toBe(first);
  variables['FOLDER'] = 'green';
  expect(await sourcePath(prepare, '${env:FOLDER}')).toBe('green');
  delete variables['FOLDER'];
  await expect(prepare(submission('${env:FOLDER}'))).rejects.toThrow('FOLDER');
});

test('a file that the document reads is read every time', async () => {
  const { prepare, files } = world();
  files['folder.txt'] = 'north';
  for (const _ of [1, 2]) expect(await sourcePath(prepare, '${file:folder.txt}')).toBe('north');
  files['folder.txt'] = 'south';
  expect(await sourcePath(prepare, '${file:folder.txt}')).toBe('south');
});

test('a secret is asked for every time, and no document that holds one is kept', async () => {
  const { prepare, secrets, redacted } = world();
  secrets['team/key'] = 'first-secret';
  const before = await kept(prepare, submission('${vault:team/key}'));
  expect(before.plan.rows[0]?.source.parsed).toMatchObject({ path: 'first-secret' });
  secrets['team/key'] = 'second-secret';
  expect(await sourcePath(prepare, '${vault:team/key}')).toBe('second-secret');
  const secret = 'params: { key: { default: written-down, secret: true } }';
  expect(await kept(prepare, submission('${param.key}', secret))).not.toBe(
    await prepare(submission('${param.key}', secret)),
  );
  expect(redacted('first-secret second-secret written-down')).toBe('*** *** ***');
});

test('what other documents held is not checked again, unless a secret stands in the document', async () => {
  const { prepare, secrets } = world();
  const path = 'incoming-orders';
  secrets['team/key'] = path;
  const parsed = async (name: string, written: string): Promise<unknown> =>
    (await prepare({ ...submission(written), name })).plan.rows[0]?.source.parsed;
  const [first, second, third] = [
    await parsed('a', path),
    await parsed('b', path),
    await parsed('c', path),
  ];
  expect(second).not.toBe(first);
  expect(third).toBe(second);
  const withSecret = await parsed('d', '${vault:team/key}');
  expect(withSecret).toEqual(third);
  expect(withSecret).not.toBe(third);
});

test('a new default document of the server changes what it lies beneath', async () => {
  const world1 = world();
  world1.base = { name: 'old' };
  expect((await kept(world1.prepare, submission('in'))).name).toBe('old');
  world1.base = { name: 'new' };
  expect((await world1.prepare(submission('in'))).name).toBe('new');
});

test('a faulty document is told so every time', async () => {
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
