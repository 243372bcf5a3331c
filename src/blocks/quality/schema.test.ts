import { describe, expect, it } from 'vitest';
import { check } from '../../kit/schema.ts';
import { qualityBlock } from './index.ts';
import { qualitySchema, qualityQuarantines } from './schema.ts';

function issues(config: unknown): readonly { code: string; path: string }[] {
  const checked = check(qualitySchema, config);
  return checked.ok ? [] : checked.issues.map(({ code, path }) => ({ code, path }));
}

const record = (fields: object) => ({
  record: [{ field: 'v', on_failure: 'quarantine', ...fields }],
});
const batch = (fields: object) => ({ batch: [{ on_failure: 'quarantine_batch', ...fields }] });

describe('the quality block', () => {
  it('accepts its examples', () => {
    for (const example of qualityBlock.examples) expect(issues(example)).toEqual([]);
  });

  it.each([
    [record({ type: 'not_null', on_failure: undefined }), 'missing_key', 'record[0].on_failure'],
    [
      record({ type: 'not_null', on_failure: 'quarantine_batch' }),
      'invalid_value',
      'record[0].on_failure',
    ],
    [
      batch({ type: 'row_count', min: 1, on_failure: 'quarantine' }),
      'invalid_value',
      'batch[0].on_failure',
    ],
    [batch({ type: 'unique', fields: ['a'] }), 'invalid_value', 'batch[0].on_failure'],
    [record({ type: 'no_such' }), 'invalid_value', 'record[0].type'],
    [record({ type: 'not_null', fields: ['v'] }), 'unknown_key', 'record[0].fields'],
    [record({ type: 'not_null', field: '$.v[*]' }), 'invalid_path', 'record[0].field'],
    [record({ type: 'regex_match', pattern: '(' }), 'invalid_pattern', 'record[0].pattern'],
    [
      record({ type: 'regex_match', pattern: '[a-z&&[^b]]' }),
      'invalid_pattern',
      'record[0].pattern',
    ],
    [record({ type: 'value_in_set', values: [] }), 'out_of_range', 'record[0].values'],
    [record({ type: 'compare', op: 'gt', value: 'many' }), 'wrong_type', 'record[0].value'],
    [record({ type: 'string_length' }), 'missing_key', 'record[0]'],
    [record({ type: 'string_length', min: 3, max: 2 }), 'out_of_range', 'record[0].min'],
    [batch({ type: 'row_count', min: 3, max: 2 }), 'out_of_range', 'batch[0].min'],
    [batch({ type: 'null_rate', field: 'v', max: 1.5 }), 'out_of_range', 'batch[0].max'],
    [batch({ type: 'unique', fields: [], on_failure: 'abort' }), 'out_of_range', 'batch[0].fields'],
    [
      { record: [{ type: 'json_schema', schema: { type: 'no_such' }, on_failure: 'abort' }] },
      'invalid_value',
      'record[0].schema',
    ],
    [
      { record: [{ type: 'json_schema', schema: { $ref: 'https://x/y' }, on_failure: 'abort' }] },
      'invalid_value',
      'record[0].schema',
    ],
    [
      { record: [{ type: 'json_schema', schema: 'id', on_failure: 'abort' }] },
      'invalid_value',
      'record[0].schema',
    ],
    [
      { record: [{ type: 'json_schema', schema: { $async: true }, on_failure: 'abort' }] },
      'invalid_value',
      'record[0].schema',
    ],
  ])('refuses %j', (config, code, path) => {
    expect(issues(config)).toContainEqual({ code, path });
  });

  it('says whether anything can go to the dead-letter queue', () => {
    const abort = { type: 'not_null', field: 'v', on_failure: 'abort' };
    const whole = { type: 'row_count', min: 1, on_failure: 'quarantine_batch' };
    expect(qualityQuarantines(qualitySchema.parse({ record: [abort] }))).toBe(false);
    expect(qualityQuarantines(qualitySchema.parse({ record: [abort], batch: [whole] }))).toBe(true);
  });
});
