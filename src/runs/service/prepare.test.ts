import { expect, test } from 'vitest';
import { FAKE_PARTS } from '../../../test/fakes/parts.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { inProcessJobs } from '../../../test/support/jobs.ts';
import { ConfigError } from '../../lib/errors.ts';
import { openDocument } from '../planning/open-document.ts';
import { createPrepare } from './prepare.ts';

const env = testEnv();
const prepare = createPrepare({ env, jobs: inProcessJobs({ env, parts: FAKE_PARTS }) });

function submitted(params: string) {
  const config = `version: 1
params: ${params}
pipeline:
  source: { type: lines, config: { path: 'in-\${param.day}' } }
  sink: { type: lines, config: { path: out } }
`;
  return { config, config_format: 'yaml' as const, name: null, base: null };
}

async function refusalOf(submission: Promise<unknown>): Promise<ConfigError> {
  const error: unknown = await submission.then(
    () => undefined,
    (why: unknown) => why,
  );
  if (error instanceof ConfigError) return error;
  throw new Error('nothing was refused', { cause: error });
}

const options = { env, parts: FAKE_PARTS, cpus: 2 };

test('the parameters of a submission take their defaults', async () => {
  const plan = await openDocument(submitted('{day: {default: "2026-01-31"}}'), options);
  expect(plan.rows[0]?.source.parsed).toMatchObject({ path: 'in-2026-01-31' });
  expect(plan.name).toBe('serve');
});

test('what the default document says holds where the submission says nothing, tokens and all', async () => {
  const base = JSON.stringify({
    name: 'base',
    params: { day: { default: '${env:DAY}' } },
    pipeline: { sink: { type: 'lines', config: { path: '${param.day}-out' } } },
  });
  const config = `version: 1
pipeline:
  source: { type: lines, config: { path: in } }
`;
  const document = { config, config_format: 'yaml' as const, name: null, base };
  const plan = await openDocument(document, {
    ...options,
    env: testEnv({ variables: { DAY: 'monday' } }),
  });
  expect([plan.name, plan.rows[0]?.sink.parsed]).toMatchObject(['base', { path: 'monday-out' }]);
});

test('one that is required refuses the submission as a fault of the document, by name', async () => {
  const { stage, issues } = await refusalOf(prepare(submitted('{day: {required: true}}')));
  expect([stage, issues[0]?.code, issues[0]?.path]).toEqual([
    'validate',
    'missing_param',
    'params.day',
  ]);
});

test('composition is refused, and no file is read', async () => {
  for (const line of ['extends: base.yaml', 'profiles: {prod: {}}', 'vars: !include vars.yaml']) {
    const given = submitted(`{day: {default: x}}\n${line}`);
    const { stage, issues } = await refusalOf(prepare(given));
    expect([stage, issues[0]?.code]).toEqual(['validate', 'composition_file_only']);
  }
});

test('the fingerprint is that of the resolved document, every digit of an integer included', async () => {
  const big = async (digits: string): Promise<string> =>
    (await prepare(submitted(`{day: {default: x}}\nvars: {big: ${digits}}`))).fingerprint;
  expect(await big('9007199254740993')).not.toBe(await big('9007199254740992'));
});
