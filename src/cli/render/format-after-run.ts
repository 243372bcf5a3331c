import { catalogBlock } from '../../blocks/catalog/index.ts';
import { lineageBlock } from '../../blocks/lineage/index.ts';
import { notificationsBlock } from '../../blocks/notifications/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import type { PlannedRule } from '../../blocks/notifications/plan.ts';
import { wants } from '../../blocks/notifications/schema.ts';
import { EVENT_KINDS, SEVERITIES } from '../../kit/notification-event.ts';
import type { Plan } from '../../plan/plan.ts';

/** Who is told how runs end, a sentence for each rule. */
export function formatNotifications(plan: Pick<Plan, 'blocks'>): string[] {
  return (blockOf(plan, notificationsBlock)?.rules ?? []).map(
    (rule) =>
      `${rule.name} (${rule.channel.type}) is notified of ${eventsOf(rule)}${windowOf(rule)}.`,
  );
}

function eventsOf(rule: PlannedRule): string {
  const { on, min_severity: least } = rule;
  if (on.length === 0)
    return least === SEVERITIES[0]
      ? 'everything'
      : `what is ${SEVERITIES.slice(SEVERITIES.indexOf(least)).join(' or ')}`;
  const kinds = EVENT_KINDS.filter((kind) => wants(rule, kind));
  return kinds.length === 0 ? 'nothing' : kinds.join(', ');
}

function windowOf({ dedupe_window_secs: secs, keepsIncidents }: PlannedRule): string {
  const resolves = keepsIncidents ? ', and when the row succeeds again' : '';
  return `${resolves}${secs === 0 ? '' : `; equal events within ${secs} s count as one`}`;
}

export function notificationsDocument(plan: Pick<Plan, 'blocks'>): Record<string, unknown> {
  const notifications = blockOf(plan, notificationsBlock);
  if (notifications === undefined) return {};
  return {
    notifications: notifications.rules.map(
      ({ name, channel, on, min_severity, dedupe_window_secs, dlq_threshold }) => ({
        name,
        channel: channel.type,
        on,
        min_severity,
        dedupe_window_secs,
        dlq_threshold,
      }),
    ),
  };
}

/** Where it is remembered, and who is told, what runs read and wrote. */
export function formatRecording(plan: Pick<Plan, 'blocks'>): string[] {
  const lineage = blockOf(plan, lineageBlock);
  const catalog = blockOf(plan, catalogBlock);
  const events =
    lineage === undefined
      ? []
      : Object.entries(lineage.spec.emit_on).flatMap(([event, isWanted]) =>
          isWanted ? [event] : [],
        );
  const to = lineage?.spec.transport.type === 'file' ? 'written to a file' : 'sent to a collector';
  return [
    ...(lineage === undefined
      ? []
      : [
          `Lineage events of each row (${events.join(', ')}) are ${to}; a lost event does not affect the run.`,
        ]),
    ...(catalog === undefined
      ? []
      : ['Successful runs are recorded in a catalog. A server always uses its own catalog.']),
  ];
}
