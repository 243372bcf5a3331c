import { defineBlock } from '../define-block.ts';
import { DRIFT_WORDS } from './explain.ts';
import { checkSchemaDrift } from './rules.ts';
import { driftQuarantines, schemaDriftSchema, type SchemaDriftConfig } from './schema.ts';

export const schemaDriftBlock = defineBlock<SchemaDriftConfig>({
  name: 'schema',
  placement: 'pipeline',
  description:
    'What happens when the top-level fields of records no longer match the columns of the destination.',
  schema: schemaDriftSchema,
  examples: [{ on_drift: 'evolve', on_incompatible: 'quarantine' }, { on_drift: 'fail' }],
  plannedFor: 'rows',
  checkRow: checkSchemaDrift,
  quarantines: driftQuarantines,
  readsRecords: (_schema, { writes }) =>
    writes?.schema === 'none'
      ? undefined
      : { why: '`schema` compares every record with the destination', onColumns: false },
  explain: ({ on_drift: policy }) => [
    { topic: 'checks', short: `schema (on drift ${policy})`, words: DRIFT_WORDS[policy] },
  ],
  settings: (schema) => schema,
  listed: { key: 'schema_drift', value: ({ on_drift: policy }) => policy },
});
