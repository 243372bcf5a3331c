import { finding, integer, number, optional } from '../../kit/schema.ts';

/** Fields of a source that waits for messages: when a run ends. */
export function endOfMessages() {
  return {
    max_messages: optional(integer({ min: 1 })).meta({
      description: 'Messages after which the run ends.',
    }),
    idle_timeout_secs: optional(number({ min: 0, max: 31_536_000 })).meta({
      description: 'Seconds without a message after which the run ends.',
    }),
  };
}

interface End {
  readonly max_messages?: number | undefined;
  readonly idle_timeout_secs?: number | undefined;
}

export function checkEnd(
  { max_messages: most, idle_timeout_secs: idle }: End,
  ctx: { addIssue(issue: ReturnType<typeof finding>): void },
): void {
  if (most !== undefined || idle !== undefined) return;
  const message = 'the run would not end: `idle_timeout_secs` or `max_messages` is needed';
  const hint = 'e.g. `idle_timeout_secs: 30` ends it after 30 seconds without a message';
  ctx.addIssue(finding('missing_key', message, { path: ['idle_timeout_secs'], hint }));
}
