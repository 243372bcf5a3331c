/** The JSON Schema editors use to complete and check documents: structural blocks plus one `config` schema per part type. */
import type { BlockDefinition } from '../../src/document/block.ts';
import type { Parts } from '../../src/kit/parts.ts';
import { jsonSchemaOf, type JsonSchema } from '../../src/kit/schema.ts';

interface Typed {
  readonly type: string;
  readonly aliases?: readonly string[];
  readonly description: string;
  readonly config: Parameters<typeof jsonSchemaOf>[0];
}

export function editorSchema(parts: Parts, blocks: readonly BlockDefinition<unknown>[]): object {
  const block = (placement: 'pipeline' | 'top'): Record<string, JsonSchema> =>
    Object.fromEntries(
      blocks.filter((one) => one.placement === placement).map((one) => [one.name, bare(jsonSchemaOf(one.schema), one.description)]),
    );
  const source = { $ref: '#/$defs/source' };
  const sink = { $ref: '#/$defs/sink' };
  const transforms = { type: 'array', items: { $ref: '#/$defs/transform' } };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Headgate pipeline document',
    type: 'object',
    required: ['version', 'pipeline'],
    properties: {
      version: { const: 1, description: 'Version of the document grammar.' },
      ...block('top'),
      name: { type: 'string', description: 'Drives state keys and metric labels.' },
      vars: { type: 'object', description: 'Values used as `${vars.NAME}`.' },
      pipeline: {
        type: 'object',
        description: 'What moves: source, transforms, sink, and what is checked on the way.',
        properties: {
          ...block('pipeline'),
          source,
          sink,
          sources: { type: 'object', additionalProperties: source, description: 'Named sources that rows select with `ref`.' },
          sinks: { type: 'object', additionalProperties: sink, description: 'Named sinks that rows select with `ref`.' },
          transforms,
        },
      },
    },
    $defs: {
      source: oneOf(parts.sources.all),
      sink: oneOf(parts.sinks.all),
      transform: oneOf(parts.transforms.all),
    },
  };
}

/** `{type, config}` with the config schema of the chosen type; run-time tokens may stand for any value, so nothing is refused by type alone. */
function oneOf(definitions: readonly Typed[]): object {
  const names = definitions.flatMap((one) => [one.type, ...(one.aliases ?? [])]);
  return {
    type: 'object',
    properties: { type: { enum: names, description: 'What it is.' }, config: { type: 'object', description: 'Its settings.' } },
    allOf: definitions.map((one) => ({
      if: { properties: { type: { enum: [one.type, ...(one.aliases ?? [])] } }, required: ['type'] },
      then: { description: one.description, properties: { config: bare(jsonSchemaOf(one.config)) } },
    })),
  };
}

function bare(schema: JsonSchema, description?: string): JsonSchema {
  const { $schema: _dialect, ...rest } = schema;
  return description === undefined || rest['description'] !== undefined ? rest : { ...rest, description };
}
