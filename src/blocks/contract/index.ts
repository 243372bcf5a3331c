import { defineBlock } from '../define-block.ts';
import { count } from '../../lib/text/count.ts';
import { checkContract } from './rules.ts';
import { contractQuarantines, contractSchema, type ContractConfig } from './schema.ts';

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
  plannedFor: 'rows',
  checkRow: checkContract,
  quarantines: contractQuarantines,
  readsRecords: (contract) => ({
    why: '`contract` checks every record',
    onColumns: true,
    // A contract that only warns does so once a row.
    inOrder: contract.on_breach === 'warn',
  }),
  events: [
    {
      kind: 'contract_abort',
      needs: 'a `contract` whose `on_breach` is `fail`',
      canHappen: (contract) => contract.on_breach === 'fail',
    },
  ],
  explain: ({ version, fields, on_breach: breach }) => [
    {
      topic: 'checks',
      short: `contract ${version} (${count(fields.length, 'field')}, on breach ${breach})`,
      words: 'Records have to keep the contract.',
    },
  ],
  settings: (contract) => contract,
  listed: {
    key: 'contract',
    value: ({ version, on_breach, fields }) => ({ version, on_breach, fields: fields.length }),
  },
});
