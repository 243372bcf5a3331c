import { z } from 'zod';
import { isZone } from '../../document/tokens/strftime.ts';
import { boolean, finding, integer, optional, text, nullAsAbsent } from '../../kit/schema.ts';
import { parseCron } from '../../lib/time/cron.ts';

export const scheduleSchema = z.lazy(() =>
  z
    .strictObject({
      cron: text().meta({
        description:
          'When it runs: minute, hour, day of month, month and day of week; six fields begin with the second.',
        examples: ['0 3 * * *', '*/10 * * * * *'],
      }),
      timezone: nullAsAbsent(z.string().default('UTC')).meta({
        description: 'IANA name of the zone whose clocks count.',
      }),
      overlap_policy: nullAsAbsent(z.enum(['skip', 'queue', 'forbid']).default('skip')).meta({
        description:
          'When a tick comes while a run is still under way: `skip` drops it, `queue` keeps one of them in memory, `forbid` ends the scheduler with an error.',
      }),
      max_runs: optional(integer({ min: 1 })).meta({
        description: 'Ends after this many runs that succeeded; without it never.',
      }),
      max_consecutive_failures: optional(integer({ min: 1 })).meta({
        description: 'Ends with an error after this many failures in a row; without it never.',
      }),
      on_failure: nullAsAbsent(z.enum(['continue', 'stop']).default('continue')).meta({
        description: 'Whether it continues after a failed run.',
      }),
      start_immediately: nullAsAbsent(boolean().default(false)).meta({
        description: 'Runs once at the start, before the first tick.',
      }),
      run_timeout_secs: optional(integer({ min: 1 })).meta({
        description: 'A run that takes longer is stopped, and counts as failed.',
      }),
      shutdown_grace_secs: nullAsAbsent(integer({ min: 0 }).default(30)).meta({
        description: 'How long a run may continue when the scheduler is stopped.',
      }),
    })
    .superRefine(({ cron: expression, timezone }, ctx) => {
      if (!isZone(timezone)) {
        const hint = 'use an IANA name such as `Europe/Oslo`';
        ctx.addIssue(
          finding('invalid_value', `\`${timezone}\` is not a time zone`, {
            path: ['timezone'],
            hint,
          }),
        );
        return;
      }
      const cron = parseCron(expression, timezone);
      if ('fault' in cron) {
        ctx.addIssue(
          finding('invalid_cron', cron.fault, {
            path: ['cron'],
            ...(cron.hint === undefined ? {} : { hint: cron.hint }),
          }),
        );
      } else if (cron.next(new Date(0)) === undefined) {
        const hint = 'no month has such a day';
        ctx.addIssue(
          finding('invalid_cron', `\`${expression}\` never comes true`, { path: ['cron'], hint }),
        );
      }
    }),
);
export type ScheduleSpec = z.infer<typeof scheduleSchema>;
