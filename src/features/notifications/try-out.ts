/** One test event through every rule, to see whether it arrives. */
import { notificationsBlock } from '../../blocks/notifications/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { CHANNELS } from '../../channels/index.ts';
import type { ChannelDefinition } from '../../kit/channel.ts';
import type { EventKind, NotificationEvent } from '../../kit/notification-event.ts';
import type { Env } from '../../lib/env.ts';
import type { Plan } from '../../plan/plan.ts';
import { Dispatcher, takes } from './dispatcher.ts';
import { NO_INVOCATION, notificationEvent } from './event.ts';

export interface TriedRule {
  readonly rule: string;
  readonly channel: string;
  /** `nothing_to_send`: a success opens no incident. */
  readonly outcome: 'sent' | 'failed' | 'nothing_to_send';
  /** Why it did not arrive. */
  readonly reason?: string;
  /** Whether the rule asks for such events. */
  readonly wanted: boolean;
}

type Details = Readonly<Record<EventKind, NotificationEvent['details']>>;

const DETAILS: Omit<Details, 'dlq_threshold'> = {
  run_failure: { error_kind: 'error' },
  run_success: { records_written: 0 },
  sla_breach: { sla_kind: 'min_rows' },
  circuit_open: { failures: 5, cooldown_secs: 60 },
  contract_abort: {},
  scheduler_stuck: {},
};

/** What rules ask for, and what was sent before, does not count. */
export async function tryRules(
  plan: Plan,
  kind: EventKind,
  env: Env,
  channels: readonly ChannelDefinition[] = CHANNELS,
): Promise<readonly TriedRule[]> {
  const dispatcher = new Dispatcher(env, channels);
  const rules = blockOf(plan, notificationsBlock)?.rules ?? [];
  const threshold = Math.max(1, ...rules.map(({ dlq_threshold: records }) => records));
  const event = testEvent(
    kind,
    plan.name,
    { ...DETAILS, dlq_threshold: { records_dlq: threshold } },
    env,
  );
  return Promise.all(
    rules.map(async (rule): Promise<TriedRule> => {
      const { name, channel } = rule;
      const base = { rule: name, channel: channel.type, wanted: takes(rule, event) };
      if (kind === 'run_success' && rule.keepsIncidents)
        return { ...base, outcome: 'nothing_to_send' };
      const reason = await dispatcher.dispatch(channel, event);
      return reason === undefined
        ? { ...base, outcome: 'sent' }
        : { ...base, outcome: 'failed', reason };
    }),
  );
}

function testEvent(
  kind: EventKind,
  pipeline: string,
  details: Details,
  { clock, ids }: Pick<Env, 'clock' | 'ids'>,
): NotificationEvent {
  const now = clock.now().toISOString();
  const invocation = {
    run_id: ids.next(),
    invocation_id: ids.next(),
    started_at: now,
    finished_at: now,
    duration_secs: 0,
  };
  const owner = { pipeline, row: '', ...(kind === 'scheduler_stuck' ? NO_INVOCATION : invocation) };
  const event = notificationEvent(
    kind,
    owner,
    'this is a test of the notification rules: nothing has happened',
    details[kind],
  );
  return { ...event, title: `${event.title} (test)` };
}
