import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { inProcessJobs } from '../../../test/support/jobs.ts';
import { parts } from '../../parts.ts';
import type { StagePreview } from '../../wire/stage-preview.ts';
import { createStagePreview } from './stage-preview.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-stages-'));
  writeFileSync(join(folder, 'in.csv'), 'id,mail\n1,ann@example.com\n2,bea@example.com\n3,x\n');
});
afterEach(() => rmSync(folder, { recursive: true }));

function preview(config: string, row?: string): Promise<StagePreview> {
  const show = createStagePreview({
    jobs: inProcessJobs({ env: testEnv(), parts }),
    base: () => undefined,
  });
  const request = { config, config_format: 'yaml' as const, limit: 10 };
  return show(row === undefined ? request : { ...request, row }, new AbortController().signal);
}

const documentOf = (rest = ''): string => `version: 1
pipeline:
  source: { type: csv, config: { path: ${folder}/in.csv } }
  transforms:
    - { type: filter, config: { path: $.id, op: ne, value: '2' } }
    - { type: rename_field, config: { fields: { mail: contact } } }
  sink: { type: jsonl, config: { path: ${folder}/out.jsonl } }
${rest}`;

it('shows the records after each stage, and writes nothing', async () => {
  const shown = await preview(documentOf());
  expect(shown).toMatchObject({ row: 'row-0', source: 'csv', sink: 'jsonl', error: null });
  expect(shown.input).toHaveLength(3);
  expect(
    shown.stages.map(({ stage, before, after, filtered }) => [
      stage,
      before.length,
      after.length,
      filtered,
    ]),
  ).toEqual([
    ['transform filter', 3, 2, 1],
    ['transform rename_field', 2, 2, 0],
  ]);
  expect(shown.output).toEqual([
    { id: '1', contact: 'ann@example.com' },
    { id: '3', contact: 'x' },
  ]);
  expect(existsSync(join(folder, 'out.jsonl'))).toBe(false);
});

it('hides what masking hides, at every stage', async () => {
  const masking =
    '  masking: { rules: [{ match: { fields: [contact] }, action: { type: redact } }] }\n';
  const shown = await preview(documentOf(masking));
  expect(JSON.stringify(shown)).not.toContain('example.com');
});

it('refuses a row that is not there', async () => {
  await expect(preview(documentOf(), 'other')).rejects.toMatchObject({
    code: 'unprocessable',
    message: 'there is no row "other" that can be read by itself',
  });
});

it('tells of a source that cannot be read as the run would', async () => {
  rmSync(join(folder, 'in.csv'));
  await expect(preview(documentOf())).rejects.toThrow(/in\.csv/);
});
