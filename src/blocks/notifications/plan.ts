import type { Placed } from '../../document/parse/read-blocks.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { BlockPlace, BlockTools, PlanInMaking } from '../define-block.ts';
import { findChannel, type ChannelDefinition } from '../../kit/channel.ts';
import { EVENT_KINDS, type EventKind } from '../../kit/notification-event.ts';
import { wants, type NotificationRule } from './schema.ts';

export interface PlannedRule extends NotificationRule {
  /** Failures open an incident at its channel, and the next success resolves it. */
  readonly keepsIncidents: boolean;
}

/** The receivers of messages about how runs ended. */
export interface NotificationsPlan {
  readonly rules: readonly PlannedRule[];
  /** The document has neither matrix nor nodes: its one row has no name of its own. */
  readonly isOneRow: boolean;
}

export function planNotifications(
  { value: rules }: Placed<NotificationRule[]>,
  { isOneRow }: Pick<BlockTools, 'isOneRow'>,
  channels: readonly ChannelDefinition[],
): NotificationsPlan | undefined {
  return rules.length === 0 ? undefined : { rules: planRules(rules, channels), isOneRow };
}

export function planRules(
  rules: readonly NotificationRule[],
  channels: readonly ChannelDefinition[],
): readonly PlannedRule[] {
  return rules.map((rule) => ({
    ...rule,
    keepsIncidents: findChannel(channels, rule.channel.type)?.incidents !== undefined,
  }));
}

/** Warns about rules that can never send anything: their absence would not be noticed. */
export function checkNotifications(
  { rules }: NotificationsPlan,
  plan: PlanInMaking,
  { path, issues }: BlockPlace,
): void {
  for (const [index, rule] of rules.entries()) {
    const reason = silenceOf(rule, plan);
    if (reason === undefined) continue;
    issues.warn(
      'notification_unused',
      joinPath(path, index),
      `the rule \`${rule.name}\` never sends anything: ${reason}`,
      'widen `on` or `min_severity`, or remove the rule',
    );
  }
}

function silenceOf(rule: PlannedRule, { rows, events }: PlanInMaking): string | undefined {
  const wanted = EVENT_KINDS.filter((kind) => wants(rule, kind));
  const sent = wanted.filter((kind) => kind !== 'run_success' || !rule.keepsIncidents);
  const needed = (kind: EventKind) => events.find((event) => event.kind === kind);
  if (sent.some((kind) => rows.some((row) => needed(kind)?.canHappen(row) ?? true)))
    return undefined;
  if (wanted.length === 0)
    return `no event of its \`on\` is as severe as its \`min_severity\` (${rule.min_severity})`;
  if (sent.length === 0)
    return `a success only resolves what failures have opened, and it does not ask for failures`;
  return sent
    .map((kind) => `${kind} needs ${needed(kind)?.needs ?? 'a row'}, which no row has`)
    .join('; ');
}
