import { describe, expect, it } from 'vitest';
import { check } from '../../kit/schema.ts';
import { maskingBlock } from './index.ts';
import { maskingSchema, maskingRulesFor } from './schema.ts';

function issues(config: unknown): readonly { code: string; path: string }[] {
  const checked = check(maskingSchema, config);
  return checked.ok ? [] : checked.issues.map(({ code, path }) => ({ code, path }));
}

const redact = { type: 'redact' };
const one = (fields: object) => ({
  rules: [{ match: { fields: ['a'] }, action: redact, ...fields }],
});

describe('the masking block', () => {
  it('accepts its examples', () => {
    for (const example of maskingBlock.examples) expect(issues(example)).toEqual([]);
  });

  it.each([
    [{ rules: [] }, 'out_of_range', 'rules'],
    [one({ match: {} }), 'missing_key', 'rules[0].match'],
    [one({ match: { fields: [] } }), 'out_of_range', 'rules[0].match.fields'],
    [one({ match: { field_pattern: '(?<' } }), 'invalid_pattern', 'rules[0].match.field_pattern'],
    [one({ match: { value_detector: 'iban' } }), 'invalid_value', 'rules[0].match.value_detector'],
    [one({ match: { field: 'a' } }), 'unknown_key', 'rules[0].match.field'],
    [one({ action: { type: 'tokenize', prefix: '' } }), 'out_of_range', 'rules[0].action.prefix'],
    [one({ action: { type: 'tokenize' } }), 'missing_key', 'rules[0].action.prefix'],
    [
      one({ action: { type: 'partial', keep_last: -1 } }),
      'out_of_range',
      'rules[0].action.keep_last',
    ],
    [
      one({ action: { type: 'partial', mask_char: '**' } }),
      'invalid_value',
      'rules[0].action.mask_char',
    ],
    [one({ action: { type: 'redact', prefix: 'x' } }), 'unknown_key', 'rules[0].action.prefix'],
    [one({ action: { type: 'erase' } }), 'invalid_value', 'rules[0].action.type'],
    [
      one({ applies_to: ['x'], match: { field_pattern: '(' } }),
      'invalid_pattern',
      'rules[0].match.field_pattern',
    ],
    [{ ...one({}), keys: 'k' }, 'unknown_key', 'keys'],
    [{ ...one({}), key: '' }, 'out_of_range', 'key'],
  ])('refuses %j', (config, code, path) => {
    expect(issues(config)).toContainEqual({ code, path });
  });

  it('keeps the labels of rules by their place in the whole block', () => {
    const rules = [
      ...one({ applies_to: ['x'] }).rules,
      ...one({}).rules,
      ...one({ name: 'n' }).rules,
    ];
    const block = maskingSchema.parse({ rules });
    expect(maskingRulesFor(block, { preset: 'y', type: 'z' }).map(({ label }) => label)).toEqual([
      'rule_1',
      'n',
    ]);
    expect(maskingRulesFor(block).map(({ label }) => label)).toEqual(['rule_0', 'rule_1', 'n']);
  });
});
