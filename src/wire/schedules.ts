/** Schedules as the HTTP API shows them. */
import { z } from 'zod';

const time = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC.' });

export const SCHEDULE_STATES = ['active', 'paused', 'ended', 'invalid'] as const;

const lastRun = z.object({
  run_id: z.string().nullable().meta({ description: 'Null when it could not be submitted.' }),
  tick: time,
  status: z.enum(['queued', 'completed', 'failed', 'cancelled']).meta({
    description: '`queued` until it has ended.',
  }),
  finished_at: time.nullable(),
  error: z.string().nullable(),
});

export const scheduleSchema = z
  .object({
    name: z.string(),
    source: z.union([
      z.object({ kind: z.literal('document'), path: z.string() }),
      z.object({ kind: z.literal('template'), id: z.string(), version: z.int() }),
    ]),
    state: z.enum(SCHEDULE_STATES).meta({
      description:
        '`ended`: its document says so, after failures or after enough runs. `invalid`: its document cannot be used.',
    }),
    pipeline: z.string().nullable().meta({ description: 'Name of its runs and of its metrics.' }),
    cron: z.string().nullable(),
    timezone: z.string().nullable(),
    overlap_policy: z.enum(['skip', 'queue', 'forbid']).nullable(),
    next_run: time.nullable().meta({ description: 'Null when none will come.' }),
    running: z.boolean().meta({ description: 'Whether a run of it has not ended.' }),
    waiting: time.nullable().meta({ description: 'The tick that waits for the active run.' }),
    last_run: lastRun.nullable(),
    successes: z.int().meta({ description: 'Runs that succeeded, since it began.' }),
    consecutive_failures: z.int(),
    paused: z.object({ at: time, by: z.string() }).nullable(),
    reason: z.string().nullable().meta({ description: 'Why it has ended or is invalid.' }),
  })
  .meta({ description: 'A document that the server runs at the times that it names.' });
export type ScheduleView = z.infer<typeof scheduleSchema>;

export const scheduleListSchema = z.object({ schedules: z.array(scheduleSchema) });
