import { notificationsBlock } from './index.ts';
import { blockOf } from '../define-block.ts';
import { describe, expect, it } from 'vitest';
import { issuesOf, plan } from '../../../test/fakes/documents.ts';

const CHAT = 'channel: {type: slack, config: {webhook_url: "https://chat.test/hook"}}';
const PAGER = 'channel: {type: pagerduty, config: {routing_key: key}}';

function document(rules: string, pipeline = ''): string {
  return `
version: 1
pipeline:
  source: {type: numbers, config: {to: 3}}
  sink: {type: lines, config: {path: p}}
  ${pipeline}
notifications: ${rules}
`;
}

const doubts = (rules: string, pipeline?: string): string[] =>
  plan(document(rules, pipeline)).warnings.map(({ path, message }) => `${path} ${message}`);

describe('notifications of a plan', () => {
  it('are its rules, with what they leave open filled in (spec 6)', () => {
    const notifications = blockOf(plan(document(`[{name: a, ${CHAT}}]`)), notificationsBlock);
    expect(notifications).toMatchObject({
      isOneRow: true,
      rules: [
        {
          name: 'a',
          on: [],
          min_severity: 'info',
          dedupe_window_secs: 0,
          dlq_threshold: 1,
          channel: { type: 'slack' },
        },
      ],
    });
  });

  it('of a matrix name their rows', () => {
    expect(
      blockOf(plan(`${document(`[{name: a, ${CHAT}}]`)}\nmatrix: [{id: eu}]`), notificationsBlock)
        ?.isOneRow,
    ).toBe(false);
  });

  it('are absent without rules', () => {
    expect(blockOf(plan(document('[]')), notificationsBlock)).toBeUndefined();
    expect(blockOf(plan(document('null')), notificationsBlock)).toBeUndefined();
  });

  it('take the names of vendors and of what they do', () => {
    const rules = `[{name: a, channel: {type: chat_webhook, config: {webhook_url: "http://c.test"}}}, {name: b, channel: {type: incident_api, config: {routing_key: k}}}]`;
    expect(
      blockOf(plan(document(rules)), notificationsBlock)?.rules.map(({ channel }) => channel.type),
    ).toEqual(['chat_webhook', 'incident_api']);
  });
});

describe('a rule is refused', () => {
  it('for a name that is empty or taken', () => {
    expect(
      issuesOf(() =>
        plan(document(`[{name: a, ${CHAT}}, {name: a, ${PAGER}}, {name: "", ${CHAT}}]`)),
      ),
    ).toEqual(['duplicate_name notifications[1].name', 'out_of_range notifications[2].name']);
  });

  it.each([
    ['slack', 'webhook_url: ""', 'out_of_range', 'webhook_url'],
    ['pagerduty', 'routing_key: ""', 'out_of_range', 'routing_key'],
    ['webhook', 'url: ""', 'out_of_range', 'url'],
    ['webhook', 'url: "ftp://x"', 'invalid_value', 'url'],
    ['webhook', 'url: "http://x", method: ""', 'out_of_range', 'method'],
    ['webhook', 'url: "http://x", method: GET', 'invalid_value', 'method'],
    ['webhook', 'url: "http://x", headers: {Host: y}', 'invalid_value', 'headers.Host'],
    [
      'webhook',
      'url: "http://x", extra_fields: {details: 1}',
      'conflicting_keys',
      'extra_fields.details',
    ],
    ['webhook', 'url: "http://x", secret: 1', 'unknown_key', 'secret'],
  ])('of %s with %s', (type, config, code, key) => {
    const text = document(`[{name: a, channel: {type: ${type}, config: {${config}}}}]`);
    expect(issuesOf(() => plan(text))).toEqual([`${code} notifications[0].channel.config.${key}`]);
  });

  it('for an event, a severity or a channel that does not exist', () => {
    expect(
      issuesOf(() =>
        plan(
          document('[{name: a, on: [done], min_severity: bad, channel: {type: mail, config: {}}}]'),
        ),
      ),
    ).toEqual([
      'invalid_value notifications[0].on[0]',
      'invalid_value notifications[0].min_severity',
      'invalid_value notifications[0].channel.type',
    ]);
  });

  it('for run-time tokens, which nothing fills in there', () => {
    const text = document(
      '[{name: a, channel: {type: webhook, config: {url: "http://x/${now.date}"}}}]',
    );
    expect(issuesOf(() => plan(text))).toEqual([
      'token_out_of_scope notifications[0].channel.config.url',
    ]);
  });
});

describe('a rule that never sends anything is a doubt', () => {
  it('when its events are not severe enough', () => {
    expect(
      doubts(`[{name: a, on: [run_success, sla_breach], min_severity: error, ${CHAT}}]`),
    ).toEqual([
      'notifications[0] the rule `a` never sends anything: no event of its `on` is as severe as its `min_severity` (error)',
    ]);
  });

  it('when nothing in the document can raise its events', () => {
    const rules = `[{name: a, on: [sla_breach, dlq_threshold], ${CHAT}}]`;
    expect(doubts(rules)).toEqual([
      'notifications[0] the rule `a` never sends anything: sla_breach needs `sla`, which no row has; dlq_threshold needs a dead-letter queue, which no row has',
    ]);
    expect(doubts(rules, 'dlq: {sink: {type: lines, config: {path: d}}}')).toEqual([]);
  });

  it('when it resolves incidents that it never opens', () => {
    expect(doubts(`[{name: a, on: [run_success], ${PAGER}}]`)).toEqual([
      'notifications[0] the rule `a` never sends anything: a success only resolves what failures have opened, and it does not ask for failures',
    ]);
    expect(doubts(`[{name: a, on: [run_success], ${CHAT}}]`)).toEqual([]);
  });
});
