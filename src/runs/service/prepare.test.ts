import { expect, test } from 'vitest';
import { FAKE_PARTS } from '../../../test/fakes/parts.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { ConfigError } from '../../lib/errors.ts';
import { createPrepare } from './prepare.ts';
import type { Prepared } from './prepared.ts';

const prepare = createPrepare({
  env: testEnv(),
  parts: FAKE_PARTS,
  cpus: 2,
  readFile: () => {
    throw new Error('a submission reads no file here');
  },
});

function submit(params: string): Promise<Prepared> {
  const config = `version: 1
params: ${params}
pipeline:
  source: { type: lines, config: { path: 'in-\${param.day}' } }
  sink: { type: lines, config: { path: out } }
`;
  return prepare({ config, config_format: 'yaml' });
}

async function refusalOf(submitted: Promise<Prepared>): Promise<ConfigError> {
  const error: unknown = await submitted.then(
    () => undefined,
    (why: unknown) => why,
  );
  if (error instanceof ConfigError) return error;
  throw new Error('nothing was refused', { cause: error });
}

test('the parameters of a submission take their defaults', async () => {
  expect(
    (await submit('{day: {default: "2026-01-31"}}')).plan.rows[0]?.source.parsed,
  ).toMatchObject({ path: 'in-2026-01-31' });
});

test('one that is required refuses the submission as a fault of the document, by name', async () => {
  const { stage, issues } = await refusalOf(submit('{day: {required: true}}'));
  expect([stage, issues[0]?.code, issues[0]?.path]).toEqual([
    'validate',
    'missing_param',
    'params.day',
  ]);
});

test('composition is refused, and no file is read', async () => {
  for (const line of ['extends: base.yaml', 'profiles: {prod: {}}', 'vars: !include vars.yaml']) {
    const { stage, issues } = await refusalOf(submit(`{day: {default: x}}\n${line}`));
    expect([stage, issues[0]?.code]).toEqual(['validate', 'composition_file_only']);
  }
});

test('what a worker gets of the document keeps every digit of an integer', async () => {
  const { document } = await submit('{day: {default: x}}\nvars: {big: 9007199254740993}');
  expect(document).toContain('"vars":{"big":9007199254740993}');
});
