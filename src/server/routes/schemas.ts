/** What documents may name, and the JSON Schema of each. Derived from the parts of this build. */
import { z, type ZodType } from 'zod';
import { jsonSchemaOf, type JsonSchema } from '../../kit/schema.ts';
import { RefusedError } from '../../lib/errors.ts';
import { suggestion } from '../../lib/text/nearest.ts';
import type { Parts, Registry } from '../../kit/parts.ts';
import type { BlockListing, Services } from '../services.ts';
import { defineRoute, json, type Route } from '../route.ts';

const listing = z.object({ name: z.string(), description: z.string() });
const catalogSchema = z.object({
  sources: z.array(listing),
  sinks: z.array(listing),
  transforms: z.array(listing),
  state: z.array(z.string()).meta({ description: 'Kinds of state stores.' }),
  blocks: z
    .array(listing.extend({ placement: z.enum(['pipeline', 'top']) }))
    .meta({ description: 'Blocks of the document and where they stand.' }),
});

const listSchemas = defineRoute({
  method: 'GET',
  path: '/v1/schemas',
  permission: 'schema_read',
  label: 'schema.list',
  tag: 'schemas',
  summary: 'List connectors, transforms, state stores and document blocks',
  uses: ['parts', 'blocks'],
  responses: {
    200: { description: 'Everything this build contains, by name.', schema: catalogSchema },
  },
  handle(_call, { parts, blocks }) {
    return json(200, {
      sources: parts.sources.all.map(listed),
      sinks: parts.sinks.all.map(listed),
      transforms: parts.transforms.all.map(listed),
      state: parts.states.types(),
      blocks: blocks.map(({ name, description, placement }) => ({ name, description, placement })),
    });
  },
});

function listed({ type, description }: { readonly type: string; readonly description: string }) {
  return { name: type, description };
}

const KINDS = ['source', 'sink', 'transform', 'block'] as const;
const schemaParams = z.strictObject({
  // A plain string: an unknown kind deserves an answer that names the known ones.
  kind: z.string().meta({ description: `One of ${KINDS.join(', ')}.` }),
  name: z.string().meta({ description: 'Name or alias.' }),
});

const getSchema = defineRoute({
  method: 'GET',
  path: '/v1/schemas/{kind}/{name}',
  permission: 'schema_read',
  label: 'schema.get',
  tag: 'schemas',
  summary: 'Read the JSON Schema of one connector, transform or block',
  params: schemaParams,
  uses: ['parts', 'blocks'],
  responses: { 200: { description: 'A JSON Schema (2020-12).', schema: z.looseObject({}) } },
  handle({ params: { kind, name } }, services) {
    return json(200, schemaFor(kind, name, services));
  },
});

function schemaFor(
  kind: string,
  name: string,
  { parts, blocks }: Pick<Services, 'parts' | 'blocks'>,
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
      throw unknown('kind of schema', kind, KINDS);
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
  const part = registry.get(name);
  if (part === undefined) throw unknown(kind, name, registry.types());
  return { title: part.type, description: part.description, ...jsonSchemaOf(part.config) };
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

export const schemaRoutes: readonly Route[] = [listSchemas, getSchema];
