import { defineBlock } from '../define-block.ts';
import { maskingSchema, type MaskingConfig } from './schema.ts';

export const maskingBlock = defineBlock<MaskingConfig>({
  name: 'masking',
  placement: 'pipeline',
  description:
    'Hides personal data before anything else looks at a record: checks, sinks, the dead-letter queue and lineage samples.',
  schema: maskingSchema,
  examples: [
    {
      key: '${env:MASKING_KEY}',
      rules: [
        {
          name: 'mail',
          match: { value_detector: 'email' },
          action: { type: 'tokenize', prefix: 'mail_' },
        },
        {
          match: { fields: ['card.number'], value_detector: 'credit_card' },
          action: { type: 'partial' },
          applies_to: ['warehouse'],
        },
        { match: { field_pattern: '(?i)password|secret' }, action: { type: 'redact', mask: null } },
      ],
    },
  ],
});
