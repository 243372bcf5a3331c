import { count } from '../../lib/text/count.ts';
import type { Fact } from '../define-block.ts';
import type { DlqOfRow, DlqPlan } from './plan.ts';

export function explainDlq({ dlq }: DlqOfRow): readonly Fact[] {
  return [
    {
      topic: 'dead letters',
      short: dlq === undefined ? 'none: a rejected record fails the run' : dlq.sink.type,
      words:
        dlq === undefined
          ? 'A record that cannot be written fails the run: there is no dead-letter queue.'
          : `A record that cannot be written goes to ${dlq.sink.type}, with the reason beside it.${limitsOf(dlq)}`,
    },
  ];
}

function limitsOf({ maxFailuresPerPage, maxFailuresTotal }: DlqPlan): string {
  const limits = [
    ...(maxFailuresPerPage === undefined
      ? []
      : [`${count(maxFailuresPerPage, 'record')} of a page`]),
    ...(maxFailuresTotal === undefined ? [] : [`${count(maxFailuresTotal, 'record')} in all`]),
  ];
  return limits.length === 0 ? '' : ` More than ${limits.join(', or ')} fail the run.`;
}
