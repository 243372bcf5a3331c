/** What documents may name, and the JSON Schema of each. Derived from the parts of this build. */
import { z } from 'zod';
import { listParts, SCHEMA_KINDS, schemaFor } from '../../features/part-schemas.ts';
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
    return json(200, listParts(parts, blocks));
  },
});

const schemaParams = z.strictObject({
  // A plain string: an unknown kind deserves an answer that names the known ones.
  kind: z.string().meta({ description: `One of ${SCHEMA_KINDS.join(', ')}.` }),
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

export const schemaRoutes: readonly Route[] = [listSchemas, getSchema];
