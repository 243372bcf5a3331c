import { z } from 'zod';
import { finding, integer, optional, text } from '../../kit/schema.ts';
import { defineBlock } from '../block.ts';
import { isZone, parseWindow } from '../ranges/windows.ts';
import { nullAsAbsent } from './null-as-absent.ts';

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
          'IANA name of the zone in which dates are midnights, and in which times are told.',
      }),
    })
    .superRefine(({ window, timezone }, ctx) => {
      if (!isZone(timezone)) {
        const hint = 'use an IANA name such as `Europe/Oslo`';
        ctx.addIssue(
          finding('invalid_value', `\`${timezone}\` is no time zone`, { path: ['timezone'], hint }),
        );
      }
      if (window === undefined || parseWindow(window) !== undefined) return;
      const hint = 'e.g. `1d`, `6h` or a number of seconds';
      ctx.addIssue(
        finding('invalid_value', `\`${window}\` is no span of time greater than 0`, {
          path: ['window'],
          hint,
        }),
      );
    }),
);
export type BackfillSpec = z.infer<typeof backfillSchema>;

export const backfillBlock = defineBlock<BackfillSpec>({
  name: 'backfill',
  placement: 'top',
  description:
    'How past ranges of time are run again, unit by unit: `headgate backfill` and `POST /v1/backfill` fill `${backfill.start}` and its like into sources and sinks.',
  schema: backfillSchema,
  examples: [{ window: '1d', timezone: 'Europe/Berlin' }, { window: '6h', concurrency: 4 }, {}],
});
