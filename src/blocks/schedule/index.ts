import { defineBlock } from '../define-block.ts';
import { scheduleSchema, type ScheduleSpec } from './schema.ts';

export const scheduleBlock = defineBlock<ScheduleSpec>({
  name: 'schedule',
  placement: 'top',
  description:
    'When `headgate schedule`, or a server with `--schedules`, runs the document. Every other command passes over it, and a document that is submitted as a run cannot have it.',
  schema: scheduleSchema,
  examples: [
    { cron: '0 3 * * *', timezone: 'Europe/Berlin' },
    { cron: '*/10 * * * * *', overlap_policy: 'queue', max_consecutive_failures: 5 },
    {
      cron: '0 6 * * MON-FRI',
      run_timeout_secs: 3600,
      on_failure: 'stop',
      start_immediately: true,
    },
  ],
  plannedFor: 'plan',
  notSubmitted: {
    code: 'schedule_refused',
    message: 'a submitted document cannot have a `schedule`: it runs once, now',
    hint: 'remove the block, and submit on your schedule',
  },
  introduce: ({ cron, timezone }) => `\`headgate schedule\` runs it at \`${cron}\` (${timezone}).`,
});
