import { defineBlock } from '../define-block.ts';
import {
  checkMetadataColumns,
  explainMetadataColumns,
  planMetadataColumns,
  readsForMetadataColumns,
} from './plan.ts';
import { metadataColumnsSchema, type MetadataColumnsSpec } from './schema.ts';

export const metadataColumnsBlock = defineBlock<MetadataColumnsSpec>({
  name: 'metadata_columns',
  placement: 'top',
  description:
    'Fields every record gets just before the sink takes it: when it was read and written, by which invocation, and from where. Dead letters do not carry them.',
  schema: metadataColumnsSchema,
  examples: [{}, { prefix: '_load', columns: ['run_id', 'sequence'] }, { enabled: false }],
  plannedFor: 'members',
  checkDocument: checkMetadataColumns,
  conclude: (given, _row, tools) => planMetadataColumns(given, tools),
  planRow: (_given, { metadataColumns }) => ({ metadataColumns }),
  readsRecords: (_spec, row) => readsForMetadataColumns(row),
  explainRow: explainMetadataColumns,
});
