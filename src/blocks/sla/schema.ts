import { z } from 'zod';
import { finding, integer, number, optional, nullAsAbsent } from '../../kit/schema.ts';

const DEFAULT_SENSITIVITY = { zscore: 3, iqr: 1.5 } as const;

const volumeAnomaly = z.lazy(() =>
  z
    .strictObject({
      method: nullAsAbsent(z.enum(['zscore', 'iqr']).default('zscore')).meta({
        description:
          '`zscore` measures in standard deviations from the mean, `iqr` in distances between the quartiles.',
      }),
      sensitivity: optional(number()).meta({
        description:
          'How far off a volume has to be; 3 for `zscore` and 1.5 for `iqr` when absent.',
      }),
      min_history: nullAsAbsent(integer({ min: 2 }).default(5)).meta({
        description: 'Successful runs that must be known before volumes are judged.',
      }),
      window: nullAsAbsent(integer({ min: 2 }).default(20)).meta({
        description: 'Successful runs that are remembered.',
      }),
    })
    .superRefine(({ sensitivity, window, min_history: least }, ctx) => {
      if (sensitivity !== undefined && sensitivity <= 0)
        ctx.addIssue(finding('out_of_range', 'must be greater than 0', { path: ['sensitivity'] }));
      if (window >= least) return;
      ctx.addIssue(
        finding(
          'out_of_range',
          `\`window\` (${window}) is smaller than \`min_history\` (${least})`,
          { path: ['window'] },
        ),
      );
    }),
);

export const slaSchema = z.lazy(() =>
  z
    .strictObject({
      max_staleness_secs: optional(integer({ min: 0 })).meta({
        description:
          'Judged when a run fails: how long ago the last success may be. Needs `state`.',
      }),
      min_rows_per_run: optional(integer({ min: 0 })).meta({
        description: 'Fewest records a successful run writes.',
      }),
      volume_anomaly: optional(volumeAnomaly).meta({
        description: 'Compares the records written with those of earlier runs. Needs `state`.',
      }),
    })
    .superRefine((sla, ctx) => {
      if (Object.values(sla).some((one) => one !== undefined)) return;
      ctx.addIssue(
        finding('missing_key', 'at least one check is required', {
          hint: 'max_staleness_secs, min_rows_per_run or volume_anomaly',
        }),
      );
    }),
);
export type SlaConfig = z.infer<typeof slaSchema>;

/** Whether a check looks at earlier runs. */
export function needsHistory(sla: SlaConfig): boolean {
  return sla.max_staleness_secs !== undefined || sla.volume_anomaly !== undefined;
}

export function sensitivityOf({
  method,
  sensitivity,
}: NonNullable<SlaConfig['volume_anomaly']>): number {
  return sensitivity ?? DEFAULT_SENSITIVITY[method];
}
