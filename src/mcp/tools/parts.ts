/** What documents may name, and a document to begin with. */
import { z } from 'zod';
import { listParts, partOf, schemaFor } from '../../features/part-schemas.ts';
import { starterOf } from '../../features/starter.ts';
import { defineTool } from '../define-tool.ts';

const KINDS = ['source', 'sink', 'transform', 'state', 'all'] as const;

export const listConnectorsTool = defineTool({
  name: 'list_connectors',
  description: 'Lists sources, sinks, transforms and state stores that a document may name.',
  input: z.strictObject({
    kind: z.enum(KINDS).default('all').meta({ description: 'Only these.' }),
  }),
  needs: 'schema_read',
  call: async ({ kind }, { parts, blocks }) => {
    const listed = listParts(parts, blocks);
    const tiered = (list: readonly object[]) => list.map((one) => ({ ...one, tier: 'stable' }));
    const wants = (one: string): boolean => kind === 'all' || kind === one;
    return {
      ...(wants('source') ? { sources: tiered(listed.sources) } : {}),
      ...(wants('sink') ? { sinks: tiered(listed.sinks) } : {}),
      ...(wants('transform') ? { transforms: listed.transforms } : {}),
      ...(wants('state') ? { state_stores: listed.state } : {}),
    };
  },
});

export const connectorSchemaTool = defineTool({
  name: 'get_connector_schema',
  description: 'Gives the JSON Schema of the config of a source, sink or transform, or of a block.',
  input: z.strictObject({
    kind: z.string().meta({ description: 'source, sink, transform or block.' }),
    name: z.string().meta({ description: 'Its name.' }),
  }),
  needs: 'schema_read',
  call: async ({ kind, name }, context) => ({ schema: schemaFor(kind, name, context) }),
});

export const scaffoldConfigTool = defineTool({
  name: 'scaffold_config',
  description: 'Writes a commented document for a source and a sink, to be filled in.',
  input: z.strictObject({
    source: z.string().meta({ description: 'Name of the source, such as `csv`.' }),
    sink: z.string().meta({ description: 'Name of the sink, such as `jsonl`.' }),
    name: z.string().min(1).optional().meta({ description: 'Name of the document.' }),
  }),
  needs: 'schema_read',
  call: async ({ source, sink, name = 'starter' }, { parts }) =>
    starterOf(name, partOf(parts.sources, 'source', source), partOf(parts.sinks, 'sink', sink))
      .document,
});
