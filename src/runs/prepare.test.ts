import { expect, test } from 'vitest';
import { FAKE_PARTS } from '../../test/fakes/parts.ts';
import { refusalOf } from '../../test/fakes/documents.ts';
import { Redactor } from '../lib/redact.ts';
import { createPrepare, type Prepared } from './prepare.ts';

const redactor = new Redactor();
const prepare = createPrepare({
  env: { variables: {}, redactor },
  parts: FAKE_PARTS,
  cpus: 2,
  readFile: () => {
    throw new Error('a submission reads no file here');
  },
});

function submit(params: string): Prepared {
  const config = `version: 1
params: ${params}
pipeline:
  source: { type: lines, config: { path: 'in-\${param.day}' } }
  sink: { type: lines, config: { path: out } }
`;
  const prepared = prepare({ config, config_format: 'yaml' });
  if (prepared instanceof Promise) throw new Error('cannot happen: nothing has to be waited for');
  return prepared;
}

test('the parameters of a submission take their defaults', () => {
  expect(submit('{day: {default: "2026-01-31"}}').plan.rows[0]?.source.parsed).toMatchObject({ path: 'in-2026-01-31' });
});

test('one that is required refuses the submission as a fault of the document, by name', () => {
  const { stage, issues } = refusalOf(() => submit('{day: {required: true}}'));
  expect([stage, issues[0]?.code, issues[0]?.path]).toEqual(['validate', 'missing_param', 'params.day']);
});

test('composition is refused, and no file is read', () => {
  for (const line of ['extends: base.yaml', 'profiles: {prod: {}}', 'vars: !include vars.yaml']) {
    const { stage, issues } = refusalOf(() => submit(`{day: {default: x}}\n${line}`));
    expect([stage, issues[0]?.code]).toEqual(['validate', 'composition_file_only']);
  }
});
