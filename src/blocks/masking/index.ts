import { defineBlock } from '../define-block.ts';
import { count } from '../../lib/text/count.ts';
import { checkMaskedKey, checkMaskingTargets } from './rules.ts';
import { maskingRulesFor, maskingSchema, type MaskingConfig } from './schema.ts';

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
  plannedFor: 'rows',
  prepare: (given, tools) => {
    checkMaskingTargets(given, tools);
    return given.value;
  },
  checkRow: checkMaskedKey,
  readsRecords: () => ({ why: '`masking` looks at every field', onColumns: true }),
  explain: (masking, { sink }) => {
    const rules = maskingRulesFor(masking, sink).length;
    if (rules === 0) return [];
    return [
      {
        topic: 'checks',
        short: `masking (${count(rules, 'rule')})`,
        words: 'Fields are masked before anything else sees them.',
      },
    ];
  },
  settings: (masking) => masking,
  listed: {
    key: 'masking',
    value: (masking, { sink }) => ({ rules: maskingRulesFor(masking, sink).length }),
  },
});
