import { expect, test } from 'vitest';
import { notificationsSchema } from '../../blocks/notifications/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { notificationsDocument, formatNotifications } from './format-after-run.ts';

const chat = { type: 'slack', config: { webhook_url: 'https://chat.test/canary' } };
const pager = { type: 'pagerduty', config: { routing_key: 'canary' } };
const plan = (...rules: JsonObject[]) => ({
  notifications: { rules: notificationsSchema.parse(rules), isOneRow: true },
});

test('each rule is told by what it sends, without what its channel keeps secret', () => {
  const told = plan(
    { name: 'all', channel: chat },
    { name: 'team', min_severity: 'error', dedupe_window_secs: 60, channel: chat },
    { name: 'some', on: ['run_success', 'sla_breach'], min_severity: 'warning', channel: chat },
    { name: 'none', on: ['run_success'], min_severity: 'error', channel: chat },
    { name: 'oncall', on: ['run_failure'], channel: pager },
  );
  expect(formatNotifications(told)).toEqual([
    'all (slack) is told of everything.',
    'team (slack) is told of what is error or critical; equal events within 60 s count as one.',
    'some (slack) is told of sla_breach.',
    'none (slack) is told of nothing.',
    'oncall (pagerduty) is told of run_failure, and when a row is well again.',
  ]);
  expect(JSON.stringify(notificationsDocument(told))).not.toContain('canary');
});

test('without rules nobody is told', () => {
  expect([formatNotifications({}), notificationsDocument({})]).toEqual([[], {}]);
});
