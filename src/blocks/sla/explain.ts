import { count } from '../../lib/text/count.ts';
import type { Fact } from '../define-block.ts';
import type { SlaConfig } from './schema.ts';

export function explainSla({
  min_rows_per_run: least,
  max_staleness_secs: staleness,
  volume_anomaly: volume,
}: SlaConfig): readonly Fact[] {
  const topic = 'expects' as const;
  const facts: (Fact | undefined)[] = [
    least === undefined
      ? undefined
      : {
          topic,
          short: `at least ${count(least, 'record')}`,
          words: `Fewer than ${count(least, 'record')} in a run is a warning.`,
        },
    staleness === undefined
      ? undefined
      : {
          topic,
          short: `a success every ${staleness} s`,
          words: `A failure is a warning when the last success is more than ${staleness} s ago.`,
        },
    volume === undefined
      ? undefined
      : {
          topic,
          short: `usual volume (${volume.method})`,
          words: 'An unusual number of records is a warning.',
        },
  ];
  return facts.filter((fact) => fact !== undefined);
}
