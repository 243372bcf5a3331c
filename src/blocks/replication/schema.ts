import { z } from 'zod';
import { configField } from '../../document/structure/transform.ts';
import { boolean, nullAsAbsent, text } from '../../kit/schema.ts';

const sourceSchema = z.lazy(() =>
  z.strictObject({
    type: text().meta({
      description: 'Name of the source connector; one that reads a table, and no changes.',
    }),
    config: configField,
  }),
);

const snapshotSchema = z.lazy(() =>
  z.strictObject({
    source: sourceSchema.meta({
      description:
        'Reads the rows that are there already, from the same database as the changes: the source of the pipeline reads those.',
    }),
  }),
);

export const replicationSchema = z.lazy(() =>
  z.strictObject({
    mode: nullAsAbsent(z.enum(['snapshot_then_cdc']).default('snapshot_then_cdc')).meta({
      description:
        'What is moved: the rows that are there, and then all changes since before they were read.',
    }),
    snapshot: snapshotSchema.meta({ description: 'How the rows that are there already are read.' }),
    continuous: nullAsAbsent(boolean().default(true)).meta({
      description:
        'Whether changes are read until the command is stopped; otherwise until there are none for as long as the source waits (`idle_timeout`).',
    }),
  }),
);
export type ReplicationSpec = z.output<typeof replicationSchema>;
