import { defineBlock } from '../define-block.ts';
import { contractSchema, type ContractConfig } from './schema.ts';

export const contractBlock = defineBlock<ContractConfig>({
  name: 'contract',
  placement: 'pipeline',
  description:
    'What records promise to their readers, enforced after transforms and quality checks and before the sink.',
  schema: contractSchema,
  examples: [
    {
      version: '1.2.0',
      owner: 'crm-team',
      on_breach: 'quarantine',
      allow_extra_fields: false,
      fields: [
        { name: 'id', type: 'integer', min: 1 },
        {
          name: 'email',
          type: 'string',
          pattern: '^[^@]+@[^@]+$',
          max_length: 254,
          nullable: true,
        },
        { name: 'tier', type: 'string', enum: ['free', 'paid'], required: false },
      ],
    },
  ],
});
