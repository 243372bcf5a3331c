/**
 * The JSON Schema of whole documents, for editors: the grammar of the blocks, with the settings of
 * every part of a build filled in.
 */
import type { Parts } from '../kit/parts.ts';
import { jsonSchemaOf, type JsonSchema } from '../kit/schema.ts';
import type { Grammar } from './grammar.ts';

type Kind = 'source' | 'sink' | 'transform' | 'state' | 'credential';

/** Keys of a document below which `{type, config}` names a part of a kind. */
const KIND_BELOW: Readonly<Record<string, Kind>> = {
  source: 'source',
  sources: 'source',
  from_source: 'source',
  sink: 'sink',
  sinks: 'sink',
  transforms: 'transform',
  state: 'state',
  auth: 'credential',
};

interface Typed {
  readonly type: string;
  readonly aliases?: readonly string[];
  readonly description: string;
  readonly config: Parameters<typeof jsonSchemaOf>[0];
}

export function editorSchema(parts: Parts, grammar: Grammar): JsonSchema {
  const { required, ...whole } = withParts(jsonSchemaOf(grammar.document), undefined) as JsonSchema;
  return {
    ...whole,
    // What a document extends may bring what it lacks itself.
    anyOf: [{ required }, { required: ['extends'] }],
    title: 'Headgate pipeline document',
    $defs: {
      source: partSchema(parts.sources.all, 'partial'),
      sink: partSchema(parts.sinks.all, 'partial'),
      transform: partSchema(parts.transforms.all, 'whole'),
      state: partSchema(parts.states.all, 'whole'),
      credential: partSchema(parts.credentials.all, 'whole'),
    },
  };
}

/** Every place where a part is named also refers to what is known about the parts of that kind. */
function withParts(schema: unknown, kind: Kind | undefined): unknown {
  if (Array.isArray(schema)) return schema.map((one) => withParts(one, kind));
  if (typeof schema !== 'object' || schema === null) return schema;
  const node: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema))
    node[key] = key === 'properties' ? propertiesWithParts(value, kind) : withParts(value, kind);
  const named = kind ?? kindOfNode(schema as JsonSchema);
  return named !== undefined && namesPart(schema as JsonSchema)
    ? { ...node, $ref: `#/$defs/${named}` }
    : node;
}

/** Nodes of a graph say themselves what they are. */
function kindOfNode({ properties }: JsonSchema): Kind | undefined {
  const fixed = properties?.['kind']?.['const'];
  return fixed === 'source' || fixed === 'sink' ? fixed : undefined;
}

function propertiesWithParts(properties: unknown, kind: Kind | undefined): unknown {
  const entries = Object.entries(properties as Record<string, unknown>);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, withParts(value, KIND_BELOW[name] ?? kind)]),
  );
}

function namesPart({ properties }: JsonSchema): boolean {
  return properties?.['type'] !== undefined && properties['config'] !== undefined;
}

/**
 * One condition a type, so that an editor shows the settings of the type that stands there. Rows
 * complete the sources and sinks they start from, so that nothing is required of one that stands
 * alone.
 */
function partSchema(definitions: readonly Typed[], config: 'whole' | 'partial'): object {
  const names = ({ type, aliases = [] }: Typed): string[] => [type, ...aliases];
  return {
    properties: { type: { enum: definitions.flatMap(names) } },
    allOf: definitions.map((one) => ({
      if: { properties: { type: { enum: names(one) } }, required: ['type'] },
      // oxlint-disable-next-line unicorn/no-thenable -- the keyword of JSON Schema
      then: { description: one.description, properties: { config: configSchema(one, config) } },
    })),
  };
}

function configSchema({ config }: Typed, completeness: 'whole' | 'partial'): object {
  const { $schema: _dialect, required, ...rest } = jsonSchemaOf(config);
  return completeness === 'whole' && required !== undefined ? { ...rest, required } : rest;
}
