import type { Fact } from '../define-block.ts';
import type { VerifyPlan } from './verification.ts';

export function explainVerify({
  spec: { after_run: afterRun, fail_on_difference: fails, repair, allow_delete: deletes },
}: VerifyPlan): readonly Fact[] {
  if (!afterRun) return [];
  const puts = repair
    ? `; what differs is written again${deletes ? ', and what is too much is deleted' : ''}`
    : '';
  const then = fails
    ? `The run fails when they differ${repair ? ' still' : ''}.`
    : 'A difference is a warning.';
  return [
    {
      topic: 'expects',
      short: `equal to its source${repair ? ', repaired' : ''}${fails ? '' : ', or a warning'}`,
      words: `After a run the destination is compared with the source, key by key${puts}. ${then}`,
    },
  ];
}
