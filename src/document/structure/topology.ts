/**
 * `pipeline.nodes` and `pipeline.edges`: a graph of nodes instead of one way from a source to a
 * sink (spec 2.8).
 */
import { z } from 'zod';
import { finding, integer, json, optional, text, nullAsAbsent } from '../../kit/schema.ts';
import { defineStructure } from '../block.ts';
import { configField, transformsField } from './transform.ts';

export const NODE_KINDS = ['source', 'transform', 'tee', 'merge', 'join', 'sink'] as const;
export type NodeKind = (typeof NODE_KINDS)[number];

const kind = <K extends NodeKind>(name: K, description: string) =>
  z.literal(name).meta({ description });

const connectorFields = (role: 'source' | 'sink') => ({
  ref: optional(text()).meta({
    description: `Preset under \`pipeline.${role}s\`; \`default\` when absent.`,
  }),
  type: optional(text()).meta({ description: 'Replaces the type of the preset.' }),
  config: configField,
});

const sourceNode = z.lazy(() =>
  z.strictObject({ kind: kind('source', 'Reads records.'), ...connectorFields('source') }),
);
const sinkNode = z.lazy(() =>
  z.strictObject({ kind: kind('sink', 'Writes records.'), ...connectorFields('sink') }),
);

const transformNode = z.lazy(() =>
  z.strictObject({
    kind: kind('transform', 'Changes, drops or multiplies records.'),
    transforms: transformsField.meta({ description: 'Transforms of every record, in order.' }),
  }),
);

const teeNode = z.lazy(() =>
  z.strictObject({
    kind: kind('tee', 'Gives every record to each of its outgoing edges.'),
    channel_capacity: nullAsAbsent(integer({ min: 1, max: 10_000 }).default(4)).meta({
      description: 'Pages an outgoing edge holds before the tee waits for the slowest.',
    }),
    fanout: optional(integer({ min: 2 })).meta({
      description: 'How many outgoing edges there have to be.',
    }),
  }),
);

const mergeNode = z.lazy(() =>
  z.strictObject({
    kind: kind('merge', 'Joins several streams to one, pages in order of arrival.'),
  }),
);

const pathText = (description: string) =>
  text()
    .superRefine((path, ctx) => {
      if (path.split('.').includes(''))
        ctx.addIssue(finding('invalid_path', `\`${path}\` has an empty step`));
    })
    .meta({ description });

const side = (what: string) =>
  z.strictObject({
    edge: text().meta({ description: 'The `as` of an incoming edge.' }),
    key: pathText(`Dotted path of the key in ${what}.`),
  });

const projection = z.lazy(() =>
  z.strictObject({
    from: pathText('Dotted path in the build record.'),
    as: text().meta({ description: 'Field of the probe record that takes the value.' }),
  }),
);

const joinNode = z.lazy(() =>
  z
    .strictObject({
      kind: kind(
        'join',
        'Enriches the records of one stream with those of another that have the same key.',
      ),
      mode: nullAsAbsent(z.enum(['inner', 'left']).default('inner')).meta({
        description: 'Whether a record without a match is dropped (`inner`) or kept (`left`).',
      }),
      build: side('a build record').meta({
        description: 'The stream that is read whole, before the first record of the other.',
      }),
      probe: side('a probe record').meta({
        description: 'The stream whose records are enriched and go on.',
      }),
      project: nullAsAbsent(z.array(projection).default([])).meta({
        description: 'What a match brings.',
      }),
      on_missing: json().default(null).meta({
        description: 'Value of each projected field of a record without a match (`left`).',
      }),
      on_duplicate: nullAsAbsent(z.enum(['first', 'cartesian']).default('first')).meta({
        description: 'With several matches: the first one counts, or each gives a record.',
      }),
      on_collision: nullAsAbsent(z.enum(['overwrite', 'skip', 'error']).default('overwrite')).meta({
        description: 'When the probe record has a projected field already.',
      }),
      key_normalize: nullAsAbsent(z.enum(['preserve', 'stringify']).default('preserve')).meta({
        description: 'Whether 42 and "42" are different keys (`preserve`) or one (`stringify`).',
      }),
      max_build_records: nullAsAbsent(integer({ min: 1 }).default(10_000_000)).meta({
        description: 'Build records, those without a key included, above which the run fails.',
      }),
    })
    .superRefine(({ build, probe, project }, ctx) => {
      if (build.edge === probe.edge) {
        const message = `\`build\` and \`probe\` both name the edge \`${build.edge}\``;
        ctx.addIssue(
          finding('conflicting_keys', message, {
            path: ['probe', 'edge'],
            hint: 'each side has an edge of its own',
          }),
        );
      }
      for (const [index, { as }] of project.entries()) {
        if (project.findIndex((other) => other.as === as) === index) continue;
        ctx.addIssue(
          finding('duplicate_name', `\`${as}\` is projected twice`, {
            path: ['project', index, 'as'],
          }),
        );
      }
    }),
);

export const nodeSchema = z.lazy(() =>
  z.discriminatedUnion('kind', [sourceNode, transformNode, teeNode, mergeNode, joinNode, sinkNode]),
);
export type NodeSpec = z.infer<typeof nodeSchema>;
export type JoinSpec = z.infer<typeof joinNode>;

export const edgeSchema = z.lazy(() =>
  z.strictObject({
    from: text().meta({ description: 'Node that the records leave.' }),
    to: text().meta({ description: 'Node that the records reach.' }),
    as: optional(text()).meta({ description: 'What a join calls this edge.' }),
  }),
);
export type EdgeSpec = z.infer<typeof edgeSchema>;

export const nodesBlock = defineStructure<Record<string, NodeSpec>>({
  name: 'nodes',
  placement: 'pipeline',
  description:
    'The nodes of a graph by name; instead of `matrix`. Each sink node is a row of its own.',
  schema: z.record(text(), nodeSchema),
  examples: [
    {
      customers: { kind: 'source', ref: 'customers' },
      orders: { kind: 'source', ref: 'orders', config: { path: 'orders.csv' } },
      paid: {
        kind: 'transform',
        transforms: [{ type: 'select', config: { fields: ['id', 'customer_id'] } }],
      },
      enriched: {
        kind: 'join',
        mode: 'left',
        build: { edge: 'customers', key: 'id' },
        probe: { edge: 'orders', key: 'customer_id' },
        project: [{ from: 'address.city', as: 'city' }],
      },
      both: { kind: 'tee' },
      lake: { kind: 'sink', ref: 'lake' },
      warehouse: { kind: 'sink', ref: 'warehouse' },
    },
  ],
});

export const edgesBlock = defineStructure<EdgeSpec[]>({
  name: 'edges',
  placement: 'pipeline',
  description: 'Which node hands its records to which.',
  schema: z.array(edgeSchema),
  examples: [
    [
      { from: 'customers', to: 'enriched', as: 'customers' },
      { from: 'orders', to: 'paid' },
      { from: 'paid', to: 'enriched', as: 'orders' },
      { from: 'enriched', to: 'both' },
      { from: 'both', to: 'lake' },
      { from: 'both', to: 'warehouse' },
    ],
  ],
});
