import { blockOf, defineBlock, type BlockDefinition } from '../define-block.ts';
import type { PlannedBlocks } from '../../plan/plan.ts';
import { checkReplication, planReplication, type ReplicationPlan } from './plan.ts';
import { replicationSchema, type ReplicationSpec } from './schema.ts';

type Definition = BlockDefinition<ReplicationSpec, ReplicationPlan, ReplicationPlan>;

const EXAMPLE = {
  snapshot: {
    source: {
      type: 'postgres',
      config: {
        connection_url: 'postgres://replicator:secret@db.example:5432/shop',
        query: 'SELECT * FROM orders',
      },
    },
  },
};

const shared: Omit<Definition, 'name' | 'description'> = {
  placement: 'top',
  asWritten: true,
  schema: replicationSchema,
  examples: [EXAMPLE, { ...EXAMPLE, mode: 'snapshot_then_cdc', continuous: false }],
  plannedFor: 'plan',
  prepare: planReplication,
  checkPlan: checkReplication,
  // How far it has come, and where the changes begin.
  usesState: () => true,
  introduce: ({ source, continuous }) =>
    `\`headgate replicate\` first reads what is there with ${source?.type ?? 'a source'}, then the changes since before that, ${continuous ? 'until it is stopped' : 'until there are none'}; every other command knows only the changes.`,
};

export const replicationBlock: Definition = defineBlock({
  ...shared,
  name: 'replication',
  description:
    'A table and then its changes: `headgate replicate` takes a position of the change log, reads the rows that are there, and goes on with all changes since the position. Every other command reads only changes.',
});

/** The name that later versions of the grammar have for it. */
export const mirrorBlock: Definition = defineBlock({
  ...shared,
  name: 'mirror',
  description: 'Another name of `replication`; a document has one of the two.',
});

/** What a plan has of it under either name. */
export function replicationOf(plan: {
  readonly blocks: PlannedBlocks;
}): ReplicationPlan | undefined {
  return blockOf(plan, replicationBlock) ?? blockOf(plan, mirrorBlock);
}
