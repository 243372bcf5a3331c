import { z } from 'zod';
import { isZone } from '../../document/tokens/strftime.ts';
import { finding, integer, optional, text, nullAsAbsent } from '../../kit/schema.ts';
import { parseWindow } from '../../document/ranges/windows.ts';

export const backfillSchema = z.lazy(() =>
  z
    .strictObject({
      window: optional(z.union([z.int(), text()])).meta({
        description:
          'What one unit covers: seconds, or a number with `s`, `m`, `h`, `d` or `w`; days and weeks are those of the calendar in `timezone`. Without it the whole range is one unit.',
        examples: ['1d', '6h', '1w'],
      }),
      concurrency: nullAsAbsent(integer({ min: 1 }).default(1)).meta({
        description: 'Units that `headgate backfill` runs at the same time.',
      }),
      timezone: nullAsAbsent(z.string().default('UTC')).meta({
        description:
          'IANA name of the zone in which dates are midnights, and of the times that are shown.',
      }),
    })
    .superRefine(({ window, timezone }, ctx) => {
      if (!isZone(timezone)) {
        const hint = 'use an IANA name such as `Europe/Oslo`';
        ctx.addIssue(
          finding('invalid_value', `\`${timezone}\` is not a time zone`, {
            path: ['timezone'],
            hint,
          }),
        );
      }
      if (window === undefined || parseWindow(window) !== undefined) return;
      const hint = 'e.g. `1d`, `6h` or a number of seconds';
      ctx.addIssue(
        finding('invalid_value', `\`${window}\` is not a span of time greater than 0`, {
          path: ['window'],
          hint,
        }),
      );
    }),
);
export type BackfillSpec = z.infer<typeof backfillSchema>;
