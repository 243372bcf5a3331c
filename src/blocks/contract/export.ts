/**
 * A contract in the forms other tools read. Pure functions of the block: command line and lineage
 * share them.
 */
import { canonicalJson, setField, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { ContractConfig, ContractField } from './schema.ts';

/**
 * The contract with all defaults written out, keys sorted at every level: equal contracts give
 * equal text.
 */
export function contractJson(contract: ContractConfig): string {
  return canonicalJson(
    present({ ...contract, fields: contract.fields.map((field) => present(field)) }),
  );
}

/** A JSON Schema (2020-12) that accepts what the contract accepts. */
export function contractJsonSchema(contract: ContractConfig): JsonObject {
  const properties: JsonObject = {};
  for (const field of contract.fields) setField(properties, field.name, fieldSchema(field));
  return present({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    description: contract.description,
    type: 'object',
    properties,
    required: contract.fields.filter((field) => field.required).map((field) => field.name),
    additionalProperties: contract.allow_extra_fields,
    'x-contract-version': contract.version,
    'x-contract-owner': contract.owner,
  });
}

function fieldSchema(field: ContractField): JsonObject {
  const pattern = field.pattern === undefined ? undefined : ecmaPattern(field.pattern);
  return present({
    description: field.description,
    type: field.nullable ? [field.type, 'null'] : field.type,
    enum: field.enum !== undefined && field.nullable ? [...field.enum, null] : field.enum,
    pattern,
    // Readers of JSON Schema know another dialect; what cannot be said in it is kept as an
    // annotation.
    'x-pattern': pattern === undefined ? field.pattern : undefined,
    minimum: field.min,
    maximum: field.max,
    minLength: field.min_length,
    maxLength: field.max_length,
  });
}

/**
 * The pattern as ECMA-262 writes it, as far as only leading flags and the spelling of named groups
 * differ.
 */
function ecmaPattern(pattern: string): string | undefined {
  const named = pattern.replaceAll('(?P<', '(?<');
  const [head = '', flags = ''] = /^\(\?([ims]+)\)/.exec(named) ?? [];
  const translated = head === '' ? named : `(?${flags}:${named.slice(head.length)})`;
  try {
    void new RegExp(translated, 'u');
    return translated;
  } catch {
    return undefined;
  }
}

/** The `schema` facet of an OpenLineage dataset. */
export function contractLineageFacet(contract: ContractConfig, producer: string): JsonObject {
  return {
    _producer: producer,
    _schemaURL:
      'https://openlineage.io/spec/facets/1-1-1/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet',
    fields: contract.fields.map(({ name, type, description }) =>
      present({ name, type, description }),
    ),
    contractVersion: contract.version,
  };
}

function present(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}
