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

/** The same fields under the names that streams of cloud services have for them. */
export function idleTermination(afterMessages: string, afterSilence: string) {
  return {
    max_messages: optional(integer({ min: 1 })).meta({ description: afterMessages }),
    idle_termination_secs: optional(number({ min: 0, max: 31_536_000 })).meta({
      description: afterSilence,
    }),
  };
}

interface Most {
  readonly max_messages?: number | undefined;
}

interface Findings {
  addIssue(issue: ReturnType<typeof finding>): void;
}

export function checkEnd(
  config: Most & { readonly idle_timeout_secs?: number | undefined },
  ctx: Findings,
): void {
  requireEnd('idle_timeout_secs', [config.max_messages, config.idle_timeout_secs], ctx);
}

export function checkTermination(
  config: Most & { readonly idle_termination_secs?: number | undefined },
  ctx: Findings,
): void {
  requireEnd('idle_termination_secs', [config.max_messages, config.idle_termination_secs], ctx);
}

function requireEnd(idle: string, ends: readonly (number | undefined)[], ctx: Findings): void {
  if (ends.some((end) => end !== undefined)) return;
  const message = `the run would not end: \`${idle}\` or \`max_messages\` is needed`;
  const hint = `e.g. \`${idle}: 30\` ends it after 30 seconds without a message`;
  ctx.addIssue(finding('missing_key', message, { path: [idle], hint }));
}
