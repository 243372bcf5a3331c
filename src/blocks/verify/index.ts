import { defineBlock } from '../define-block.ts';
import { explainVerify } from './explain.ts';
import { checkVerify, planVerify } from './plan.ts';
import { verifySchema, type VerifySpec } from './schema.ts';
import type { VerifyPlan } from './verification.ts';

export const verifyBlock = defineBlock<VerifySpec, VerifyPlan, VerifyPlan>({
  name: 'verify',
  placement: 'top',
  description:
    'Compares the destination of a row with its source, key by key: after each successful run, and whenever `headgate verify` or `POST /v1/verify` asks.',
  asWritten: true,
  schema: verifySchema,
  examples: [
    { key: ['id'] },
    {
      key: ['region', 'id'],
      exclude: ['_svc_*', 'loaded_at'],
      normalize: { float_tolerance: 0.01 },
      repair: true,
      allow_delete: true,
    },
    {
      key: ['id'],
      destination: { type: 'jsonl', config: { path: 'out/orders.jsonl' } },
      after_run: false,
    },
  ],
  plannedFor: 'rows',
  prepare: planVerify,
  forRow: (verify, { resolved }) =>
    resolved.parent === undefined && resolved.forEach.length === 0 ? verify : undefined,
  checkPlan: checkVerify,
  explain: explainVerify,
});
