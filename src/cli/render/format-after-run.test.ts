import { expect, test } from 'vitest';
import { rulesOf } from '../../../test/support/notifications.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { notificationsDocument, formatNotifications } from './format-after-run.ts';

const chat = { type: 'slack', config: { webhook_url: 'https://chat.test/canary' } };
const pager = { type: 'pagerduty', config: { routing_key: 'canary' } };
const plan = (...rules: JsonObject[]) => ({
  blocks: { notifications: { rules: rulesOf(...rules), isOneRow: true } },
});

test('each rule is described by what it sends, without what its channel keeps secret', () => {
  const told = plan(
    { name: 'all', channel: chat },
    { name: 'team', min_severity: 'error', dedupe_window_secs: 60, channel: chat },
    { name: 'some', on: ['run_success', 'sla_breach'], min_severity: 'warning', channel: chat },
    { name: 'none', on: ['run_success'], min_severity: 'error', channel: chat },
    { name: 'oncall', on: ['run_failure'], channel: pager },
  );
  expect(formatNotifications(told)).toEqual([
    'all (slack) is notified of everything.',
    'team (slack) is notified of what is error or critical; equal events within 60 s count as one.',
    'some (slack) is notified of sla_breach.',
    'none (slack) is notified of nothing.',
    'oncall (pagerduty) is notified of run_failure, and when the row succeeds again.',
  ]);
  expect(JSON.stringify(notificationsDocument(told))).not.toContain('canary');
});

test('without rules nobody is told', () => {
  expect([formatNotifications({ blocks: {} }), notificationsDocument({ blocks: {} })]).toEqual([
    [],
    {},
  ]);
});
