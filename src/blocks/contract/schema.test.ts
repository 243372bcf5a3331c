import { describe, expect, it } from 'vitest';
import { check } from '../../kit/schema.ts';
import { contractBlock } from './index.ts';
import { contractSchema, contractQuarantines } from './schema.ts';

function issues(config: unknown): readonly { code: string; path: string }[] {
  const checked = check(contractSchema, config);
  return checked.ok ? [] : checked.issues.map(({ code, path }) => ({ code, path }));
}

const contract = (...fields: object[]) => ({ version: '1', fields });
const string = (fields: object) => contract({ name: 's', type: 'string', ...fields });
const integer = (fields: object) => contract({ name: 'n', type: 'integer', ...fields });

describe('the contract block', () => {
  it('accepts its examples', () => {
    for (const example of contractBlock.examples) expect(issues(example)).toEqual([]);
  });

  it.each([
    [{ ...string({}), version: ' ' }, 'invalid_value', 'version'],
    [{ fields: [{ name: 'a', type: 'string' }] }, 'missing_key', 'version'],
    [contract(), 'out_of_range', 'fields'],
    [contract({ name: ' ', type: 'string' }), 'invalid_value', 'fields[0].name'],
    [
      contract({ name: 'a', type: 'string' }, { name: 'a', type: 'array' }),
      'duplicate_name',
      'fields[1].name',
    ],
    [contract({ name: 'a', type: 'text' }), 'invalid_value', 'fields[0].type'],
    [string({ pattern: 'a(?!b)' }), 'invalid_pattern', 'fields[0].pattern'],
    [string({ min: 1 }), 'invalid_value', 'fields[0].min'],
    [integer({ max_length: 1 }), 'invalid_value', 'fields[0].max_length'],
    [integer({ pattern: '1' }), 'invalid_value', 'fields[0].pattern'],
    [integer({ min: 2, max: 1 }), 'out_of_range', 'fields[0].min'],
    [string({ min_length: 2, max_length: 1 }), 'out_of_range', 'fields[0].min_length'],
    [integer({ enum: [] }), 'out_of_range', 'fields[0].enum'],
    [integer({ enum: [1, 1.5] }), 'wrong_type', 'fields[0].enum[1]'],
    [string({ enum: ['a', null], nullable: true }), 'wrong_type', 'fields[0].enum[1]'],
    [{ ...string({}), on_breach: 'ignore' }, 'invalid_value', 'on_breach'],
    [string({ minimum: 1 }), 'unknown_key', 'fields[0].minimum'],
  ])('refuses %j', (config, code, path) => {
    expect(issues(config)).toContainEqual({ code, path });
  });

  it('says whether a breach can go to the dead-letter queue', () => {
    expect(contractQuarantines(contractSchema.parse(string({})))).toBe(false);
    expect(
      contractQuarantines(contractSchema.parse({ ...string({}), on_breach: 'quarantine' })),
    ).toBe(true);
  });
});
