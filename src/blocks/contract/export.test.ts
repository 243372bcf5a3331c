import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { contractSchema, type ContractConfig } from './schema.ts';
import { contractJson, contractJsonSchema, contractLineageFacet } from './export.ts';

function contract(more: object): ContractConfig {
  return contractSchema.parse({ version: '1.0', owner: 'team', ...more });
}

const people = contract({
  description: 'People.',
  allow_extra_fields: false,
  fields: [
    { name: 'id', type: 'integer', min: 1, max: 9 },
    { name: 'tier', type: 'string', enum: ['free', 'paid'], nullable: true, description: 'Plan.' },
    {
      name: 'code',
      type: 'string',
      pattern: '(?i)^(?P<a>[a-z])-',
      min_length: 2,
      max_length: 4,
      required: false,
    },
  ],
});

describe('the JSON Schema of a contract', () => {
  it('says everything the contract says', () => {
    expect(contractJsonSchema(people)).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      description: 'People.',
      type: 'object',
      properties: {
        id: { type: 'integer', minimum: 1, maximum: 9 },
        tier: { description: 'Plan.', type: ['string', 'null'], enum: ['free', 'paid', null] },
        code: { type: 'string', pattern: '(?i:^(?<a>[a-z])-)', minLength: 2, maxLength: 4 },
      },
      required: ['id', 'tier'],
      additionalProperties: false,
      'x-contract-version': '1.0',
      'x-contract-owner': 'team',
    });
  });

  it('accepts and refuses the same records', () => {
    const accepts = new Ajv2020({ strict: false }).compile(contractJsonSchema(people));
    expect(accepts({ id: 1, tier: null, code: 'A-1' })).toBe(true);
    expect(accepts({ id: 1, tier: null, more: 1 })).toBe(false);
    expect(accepts({ id: 1, tier: 'other' })).toBe(false);
    expect(accepts({ id: 1, tier: 'free', code: '1-1' })).toBe(false);
  });

  it('keeps a pattern that other readers cannot know as an annotation', () => {
    for (const pattern of ['a\\z', '[[:alpha:]]', '[x[:alpha:][:digit:]]', 'a(?i)b', '\\pLa']) {
      const { properties } = contractJsonSchema(
        contract({ fields: [{ name: 'a', type: 'string', pattern }] }),
      );
      expect(properties).toEqual({ a: { type: 'string', 'x-pattern': pattern } });
    }
  });
});

describe('the canonical JSON of a contract', () => {
  it('is the same text for the same contract, however it is written', () => {
    const one = contract({ fields: [{ name: 'a', type: 'string' }], on_breach: 'fail' });
    const other = contract({
      allow_extra_fields: true,
      fields: [{ type: 'string', required: true, name: 'a' }],
    });
    expect(contractJson(one)).toBe(contractJson(other));
    expect(contractJson(one)).toBe(
      '{"allow_extra_fields":true,"fields":[{"name":"a","nullable":false,"required":true,"type":"string"}],"on_breach":"fail","owner":"team","version":"1.0"}',
    );
  });
});

describe('the lineage facet of a contract', () => {
  it('lists names, types and descriptions, and the version', () => {
    expect(contractLineageFacet(people, 'https://example.org/1')).toEqual({
      _producer: 'https://example.org/1',
      _schemaURL:
        'https://openlineage.io/spec/facets/1-1-1/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet',
      fields: [
        { name: 'id', type: 'integer' },
        { name: 'tier', type: 'string', description: 'Plan.' },
        { name: 'code', type: 'string' },
      ],
      contractVersion: '1.0',
    });
  });
});
