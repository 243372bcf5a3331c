import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../../blocks/notifications/schema.ts';
import type { JsonValue } from '../../../lib/text/json.ts';
import { NO_INVOCATION, notificationEvent, type NotificationEvent } from '../event.ts';
import { rulesOf } from '../../../../test/support/notifications.ts';
import { resolveMessage, triggerMessage } from './pagerduty.ts';
import { chatMessage } from './slack.ts';
import { webhookMessage } from './webhook.ts';

const owner = { pipeline: 'orders', row: 'eu', ...NO_INVOCATION, run_id: 'run-1' };
const failure = notificationEvent('run_failure', owner, 'it broke', { error_kind: 'sink' });

function configOf<T extends Channel['type']>(type: T, config: Record<string, JsonValue>) {
  // The type decides what the config is.
  return rulesOf({ channel: { type, config } })[0]?.channel.config as Extract<
    Channel,
    { readonly type: T }
  >['config'];
}

const body = (message: { readonly body: string }): Record<string, unknown> =>
  JSON.parse(message.body) as Record<string, unknown>;

describe('a chat message', () => {
  const send = (event: NotificationEvent, config: Record<string, JsonValue> = {}) =>
    chatMessage(configOf('slack', { webhook_url: 'https://chat.test/T0/B0', ...config }), event);

  it('has a headline, and blocks with what happened and to what', () => {
    const message = send(failure);
    expect([message.url, message.method, message.headers]).toEqual([
      'https://chat.test/T0/B0',
      'POST',
      { 'content-type': 'application/json' },
    ]);
    expect(body(message)).toEqual({
      text: '❌ pipeline failed: orders / eu',
      blocks: [
        {
          type: 'section',
          text: { type: 'mrkdwn', text: '❌ *pipeline failed: orders / eu*\nit broke' },
        },
        {
          type: 'context',
          elements: [
            {
              type: 'mrkdwn',
              text: '*Pipeline:* orders • *Severity:* error • *Row:* eu • *error_kind:* sink',
            },
          ],
        },
      ],
    });
  });

  it('names channel and author only where they are configured, and the row only where there is one', () => {
    expect(body(send(failure, { channel: '#ops', username: 'mover' }))).toMatchObject({
      channel: '#ops',
      username: 'mover',
    });
    const text = send(
      notificationEvent('scheduler_stuck', { ...owner, row: '' }, 'gives up', {}),
    ).body;
    expect(text).toContain('*Pipeline:* orders • *Severity:* critical"');
  });

  it('tells severities apart at a glance', () => {
    const emoji = (kind: 'circuit_open' | 'sla_breach' | 'run_success'): string =>
      String(body(send(notificationEvent(kind, owner, '', { sla_kind: 'volume' })))['text']).split(
        ' ',
      )[0] ?? '';
    expect([emoji('circuit_open'), emoji('sla_breach'), emoji('run_success')]).toEqual([
      '🚨',
      '⚠️',
      '✅',
    ]);
  });

  it('neither links nor calls anybody, however long it is', () => {
    const event = notificationEvent('run_failure', owner, `<!channel> & ${'<'.repeat(9000)}`, {});
    const { blocks } = body(send(event)) as { blocks: { text?: { text: string } }[] };
    expect(blocks[0]?.text?.text).toContain('&lt;!channel&gt; &amp; &lt;&lt;');
    expect(blocks[0]?.text?.text.length).toBeLessThanOrEqual(3000);
  });
});

describe('an incident', () => {
  const config = (more: Record<string, JsonValue> = {}) =>
    configOf('pagerduty', { routing_key: 'key', ...more });

  it('is opened with what is known, under the key of pipeline and row', () => {
    const message = triggerMessage(config(), failure);
    expect(message.url).toBe('https://events.pagerduty.com/v2/enqueue');
    expect(body(message)).toEqual({
      routing_key: 'key',
      event_action: 'trigger',
      dedup_key: 'orders:eu',
      payload: {
        summary: 'pipeline failed: orders / eu',
        source: 'orders',
        severity: 'error',
        custom_details: {
          message: 'it broke',
          pipeline: 'orders',
          row: 'eu',
          details: { error_kind: 'sink' },
        },
      },
    });
  });

  it('may have another source and go elsewhere', () => {
    const message = triggerMessage(
      config({ source: 'host-7', endpoint: 'http://pager.test/in' }),
      failure,
    );
    expect([message.url, body(message)]).toEqual([
      'http://pager.test/in',
      expect.objectContaining({ payload: expect.objectContaining({ source: 'host-7' }) }),
    ]);
  });

  it('is resolved by its key alone', () => {
    expect(body(resolveMessage(config(), 'orders', 'eu'))).toEqual({
      routing_key: 'key',
      event_action: 'resolve',
      dedup_key: 'orders:eu',
    });
  });

  it('has a key that is not too long, and still its own', () => {
    const keys = ['a', 'b'].map((end) =>
      String(body(resolveMessage(config(), 'p'.repeat(400) + end, ''))['dedup_key']),
    );
    expect(keys.map((key) => key.length)).toEqual([255, 255]);
    expect(keys[0]).not.toBe(keys[1]);
  });
});

describe('a webhook', () => {
  const send = (config: Record<string, JsonValue> = {}, event = failure) =>
    webhookMessage(configOf('webhook', { url: 'https://hook.test/in', ...config }), event);

  it('is sent the twelve fields, all of them', () => {
    const message = send();
    expect([message.method, message.url]).toEqual(['POST', 'https://hook.test/in']);
    expect(Object.keys(body(message))).toEqual(
      'event severity pipeline row run_id invocation_id started_at finished_at duration_secs title message details'.split(
        ' ',
      ),
    );
    expect(body(message)).toMatchObject({
      event: 'run_failure',
      run_id: 'run-1',
      invocation_id: null,
      duration_secs: null,
    });
  });

  it('is sent further fields and headers by the method that is asked for', () => {
    const message = send({
      method: 'put',
      headers: { 'X-Team': 'data' },
      extra_fields: { environment: 'prod', tags: [1] },
    });
    expect([message.method, message.headers]).toEqual([
      'PUT',
      { 'content-type': 'application/json', 'X-Team': 'data' },
    ]);
    expect(body(message)).toMatchObject({ event: 'run_failure', environment: 'prod', tags: [1] });
  });

  it('is signed over its very bytes', () => {
    const event = notificationEvent('run_failure', owner, 'é ☃ \ud800', {});
    const { body: text, headers } = send({ hmac_secret: 's3crét' }, event);
    const digest = createHmac('sha256', 's3crét').update(Buffer.from(text)).digest('hex');
    expect(headers['X-Svc-Signature']).toBe(digest);
    expect(send({ hmac_secret: 'x', signature_header: 'X-Sign' }).headers).toHaveProperty(
      'X-Sign',
      expect.stringMatching(/^[0-9a-f]{64}$/),
    );
  });
});
