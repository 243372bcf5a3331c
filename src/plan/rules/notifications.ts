import { keepsIncidents, type NotificationRule } from '../../blocks/notifications/schema.ts';
import { EVENT_KINDS, wants, type EventKind } from '../../blocks/notifications/events.ts';
import { notificationsBlock } from '../../blocks/notifications/index.ts';
import { parsedBlock, type ParsedBlocks } from '../../document/parse/read-blocks.ts';
import { joinPath } from '../../lib/text/text-path.ts';
import type { IssueList } from '../issue-list.ts';
import type { NotificationsPlan, RowPlan } from '../plan.ts';

/**
 * Doubts about rules that can never send anything are told: nobody would miss what they do not
 * send.
 */
export function planNotifications(
  blocks: ParsedBlocks,
  rows: readonly RowPlan[],
  issues: IssueList,
): NotificationsPlan | undefined {
  const { matrix, pipeline } = blocks;
  const rules = parsedBlock(blocks, notificationsBlock)?.value;
  if (rules === undefined || rules.length === 0) return undefined;
  for (const [index, rule] of rules.entries())
    warnWhenSilent(rule, rows, { path: joinPath('notifications', index), issues });
  return { rules, isOneRow: matrix === undefined && pipeline.nodes === undefined };
}

/** What a row needs so that the event can happen; others can always. */
const NEEDS: Partial<
  Readonly<Record<EventKind, { readonly what: string; readonly has: (row: RowPlan) => boolean }>>
> = {
  sla_breach: { what: '`sla`', has: ({ sla }) => sla !== undefined },
  circuit_open: {
    what: 'a `circuit_breaker` and a dead-letter queue',
    has: ({ breaker, dlq }) => breaker !== undefined && dlq !== undefined,
  },
  contract_abort: {
    what: 'a `contract` whose `on_breach` is `fail`',
    has: ({ governance }) => governance.contract?.on_breach === 'fail',
  },
  dlq_threshold: { what: 'a dead-letter queue', has: ({ dlq }) => dlq !== undefined },
};

function warnWhenSilent(
  rule: NotificationRule,
  rows: readonly RowPlan[],
  { path, issues }: { path: string; issues: IssueList },
): void {
  const wanted = EVENT_KINDS.filter((kind) => wants(rule, kind));
  const sent = wanted.filter((kind) => kind !== 'run_success' || !keepsIncidents(rule.channel));
  if (sent.some((kind) => rows.some((row) => NEEDS[kind]?.has(row) ?? true))) return;
  const message = `the rule \`${rule.name}\` never sends anything: ${reasonOf(rule, wanted, sent)}`;
  issues.warn(
    'notification_unused',
    path,
    message,
    'widen `on` or `min_severity`, or remove the rule',
  );
}

function reasonOf(
  rule: NotificationRule,
  wanted: readonly EventKind[],
  sent: readonly EventKind[],
): string {
  if (wanted.length === 0)
    return `no event of its \`on\` is as severe as its \`min_severity\` (${rule.min_severity})`;
  if (sent.length === 0)
    return `a success only resolves what failures have opened, and it does not ask for failures`;
  return sent
    .map((kind) => `${kind} needs ${NEEDS[kind]?.what ?? 'a row'}, which no row has`)
    .join('; ');
}
