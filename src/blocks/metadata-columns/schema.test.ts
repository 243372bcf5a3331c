import { describe, expect, test } from 'vitest';
import { issuesOf, plan } from '../../../test/fakes/documents.ts';

const document = (block: string): string =>
  `version: 1\npipeline:\n  source: {type: lines, config: {path: in}}\n  sink: {type: lines, config: {path: out}}\nmetadata_columns: ${block}\n`;
const namesOf = (block: string) =>
  plan(document(block)).rows[0]?.metadataColumns?.map((one) => one.name);

describe('metadata_columns (spec 2.16)', () => {
  test('adds four columns under `_svc` unless it is set', () => {
    const four = ['_svc_extracted_at', '_svc_loaded_at', '_svc_run_id', '_svc_source'];
    expect(namesOf('{}')).toEqual(four);
    expect(namesOf('{columns: [], prefix: null}')).toEqual(four);
  });

  test('takes a prefix and a choice of columns, each once', () => {
    expect(namesOf('{prefix: m, columns: [sequence, run_id, sequence]}')).toEqual([
      'm_sequence',
      'm_run_id',
    ]);
  });

  test('is off when it is not enabled or not there', () => {
    expect(namesOf('{enabled: false}')).toBeUndefined();
    expect(namesOf('null')).toBeUndefined();
  });

  test('refuses a blank prefix and unknown columns, at their place', () => {
    expect(issuesOf(() => plan(document('{prefix: " ", columns: [host]}')))).toEqual([
      'invalid_value metadata_columns.prefix',
      'invalid_value metadata_columns.columns[0]',
    ]);
  });

  test('makes a row that could pass bytes travel as records, and says why', () => {
    expect(plan(document('{}')).rows[0]?.lane.reason).toBe(
      'records: `metadata_columns` adds fields to every record',
    );
    expect(plan(document('{enabled: false}')).rows[0]?.lane.lane.form).toBe('bytes');
  });
});
