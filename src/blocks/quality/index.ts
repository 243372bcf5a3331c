import { defineBlock } from '../define-block.ts';
import { count } from '../../lib/text/count.ts';
import {
  qualityNeedsRecords,
  qualityQuarantines,
  qualitySchema,
  type QualityConfig,
} from './schema.ts';

export const qualityBlock = defineBlock<QualityConfig>({
  name: 'quality',
  placement: 'pipeline',
  description: 'Checks that records and pages have to pass before they are written.',
  schema: qualitySchema,
  examples: [
    {
      record: [
        { type: 'not_null', field: 'id', on_failure: 'quarantine' },
        {
          type: 'regex_match',
          field: '$.user.email',
          pattern: '(?i)^[^@]+@[^@]+$',
          on_failure: 'quarantine',
        },
        { type: 'compare', field: 'amount', op: 'gte', value: 0, on_failure: 'abort' },
      ],
      batch: [
        { type: 'unique', fields: ['id'], on_failure: 'quarantine' },
        { type: 'null_rate', field: 'email', max: 0.1, on_failure: 'quarantine_batch' },
      ],
    },
  ],
  plannedFor: 'rows',
  quarantines: qualityQuarantines,
  readsRecords: (quality) => ({
    why: '`quality` checks every record',
    onColumns: !qualityNeedsRecords(quality),
  }),
  explain: ({ record, batch }) => [
    {
      topic: 'checks',
      short: `quality (${count(record.length + batch.length, 'check')})`,
      words: 'Quality checks are applied before writing.',
    },
  ],
  settings: (quality) => quality,
  listed: {
    key: 'quality',
    value: ({ record, batch }) => ({ record: record.length, batch: batch.length }),
  },
});
