/** What documents may name, and the JSON Schema of each. Derived from the parts of this build. */
import type { ZodType } from 'zod';
import type { Parts, Registry } from '../kit/parts.ts';
import { jsonSchemaOf, type JsonSchema } from '../kit/json-schema.ts';
import { RefusedError } from '../lib/errors.ts';
import { suggestion } from '../lib/text/nearest.ts';

/** A document block as the schema catalogue shows it. */
export interface BlockListing {
  readonly name: string;
  readonly placement: 'pipeline' | 'top';
  readonly description: string;
  readonly schema: ZodType;
}

export const SCHEMA_KINDS = ['source', 'sink', 'transform', 'block'] as const;

export interface PartListing {
  readonly name: string;
  readonly description: string;
}

/** Everything of this build, by name. */
export function listParts(parts: Parts, blocks: readonly BlockListing[]) {
  return {
    sources: parts.sources.all.map(listed),
    sinks: parts.sinks.all.map(listed),
    transforms: parts.transforms.all.map(listed),
    state: parts.states.types(),
    blocks: blocks.map(({ name, description, placement }) => ({ name, description, placement })),
  };
}

function listed({ type, description }: Pick<Described, 'type' | 'description'>): PartListing {
  return { name: type, description };
}

/** Throws `RefusedError` (`not_found`) with the nearest name. */
export function schemaFor(
  kind: string,
  name: string,
  { parts, blocks }: { readonly parts: Parts; readonly blocks: readonly BlockListing[] },
): object {
  switch (kind) {
    case 'source':
      return partSchema(parts.sources, kind, name);
    case 'sink':
      return partSchema(parts.sinks, kind, name);
    case 'transform':
      return partSchema(parts.transforms, kind, name);
    case 'block':
      return name === 'state' ? stateSchema(parts, blocks) : blockSchema(blocks, name);
    default:
      throw unknown('kind of schema', kind, SCHEMA_KINDS);
  }
}

interface Described {
  readonly type: string;
  readonly aliases?: readonly string[];
  readonly description: string;
  readonly config: ZodType;
}

function partSchema<D extends Described>(
  registry: Registry<D>,
  kind: string,
  name: string,
): object {
  const part = partOf(registry, kind, name);
  return { title: part.type, description: part.description, ...jsonSchemaOf(part.config) };
}

/** Throws `RefusedError` (`not_found`) with the nearest name. */
export function partOf<D extends Pick<Described, 'type' | 'aliases'>>(
  registry: Registry<D>,
  kind: string,
  name: string,
): D {
  const part = registry.get(name);
  if (part === undefined) throw unknown(kind, name, registry.types());
  return part;
}

function blockSchema(blocks: readonly BlockListing[], name: string): object {
  const block = blocks.find((one) => one.name === name);
  if (block === undefined) {
    throw unknown(
      'block',
      name,
      blocks.map((one) => one.name),
    );
  }
  return { title: block.name, description: block.description, ...jsonSchemaOf(block.schema) };
}

/** The document leaves the config of a store to the store; readers of the schema want to see it. */
function stateSchema(parts: Parts, blocks: readonly BlockListing[]): object {
  const { $schema, title, description } = {
    $schema: undefined,
    title: '',
    description: '',
    ...blockSchema(blocks, 'state'),
  };
  const oneOf = parts.states.all.map((store) => ({
    type: 'object',
    description: store.description,
    properties: { type: { const: store.type }, config: withoutDialect(jsonSchemaOf(store.config)) },
    required: ['type'],
    additionalProperties: false,
  }));
  return { title, description, ...($schema === undefined ? {} : { $schema }), oneOf };
}

function withoutDialect(schema: JsonSchema): JsonSchema {
  const { $schema: _, ...plain } = schema;
  return plain;
}

function unknown(what: string, name: string, known: readonly string[]): RefusedError {
  const hint = suggestion(name, known, 'known');
  return new RefusedError(
    'not_found',
    `there is no ${what} called ${JSON.stringify(name)}`,
    hint === undefined ? {} : { hint },
  );
}
