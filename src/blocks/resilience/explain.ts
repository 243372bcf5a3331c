import { count } from '../../lib/text/count.ts';
import type { Fact } from '../define-block.ts';
import type { PoisonPolicy, Resilience } from './schema.ts';

const AFTER_LAST_TRY: Readonly<Record<PoisonPolicy['action'], string>> = {
  dlq: 'it goes to the dead-letter queue',
  drop: 'it is dropped',
  fail: 'the run fails',
};

export function explainResilience({ retry, poison, breaker }: Resilience): readonly Fact[] {
  const topic = 'retries' as const;
  const facts: (Fact | undefined)[] = [
    retry && {
      topic,
      short: count(retry.maxAttempts, 'attempt'),
      words: `What fails for a while is tried ${count(retry.maxAttempts, 'time')} (${retry.on.join(', ')}); a write only where a repeat changes nothing.`,
    },
    poison && {
      topic,
      short: `${count(poison.maxRowAttempts, 'attempt')} for a record, then ${poison.action}`,
      words: `A single record is tried ${count(poison.maxRowAttempts, 'time')}, then ${AFTER_LAST_TRY[poison.action]}.`,
    },
    breaker && {
      topic,
      short: `breaker at ${count(breaker.consecutiveFailures, 'page')}`,
      words: `After ${count(breaker.consecutiveFailures, 'page')} in a row of which nothing could be written the run stops.`,
    },
  ];
  return facts.filter((fact) => fact !== undefined);
}
