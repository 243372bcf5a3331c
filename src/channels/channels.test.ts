import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { NO_INVOCATION, notificationEvent } from '../features/notifications/event.ts';
import { findChannel, type ChannelDefinition, type ChannelMessage } from '../kit/channel.ts';
import { EVENT_KINDS, type NotificationEvent } from '../kit/notification-event.ts';
import { jsonSchemaOf } from '../kit/json-schema.ts';
import type { JsonValue } from '../lib/text/json.ts';
import { CHANNELS } from './index.ts';

const owner = { pipeline: 'orders', row: 'eu', ...NO_INVOCATION, run_id: 'run-1' };
const failure = notificationEvent('run_failure', owner, 'it broke', { error_kind: 'sink' });

function channelOf(type: string): ChannelDefinition {
  const channel = findChannel(CHANNELS, type);
  if (channel === undefined) throw new Error(`there is no channel ${type}`);
  return channel;
}

function messageTo(
  type: string,
  config: Record<string, JsonValue>,
  event: NotificationEvent,
): ChannelMessage {
  const channel = channelOf(type);
  return channel.message(channel.config.parse(config), event);
}

const body = (message: { readonly body: string }): Record<string, unknown> =>
  JSON.parse(message.body) as Record<string, unknown>;

describe('a chat message', () => {
  const send = (event: NotificationEvent, config: Record<string, JsonValue> = {}) =>
    messageTo('slack', { webhook_url: 'https://chat.test/T0/B0', ...config }, event);

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
  const { config, incidents } = channelOf('pagerduty');
  const trigger = (more: Record<string, JsonValue> = {}) =>
    messageTo('pagerduty', { routing_key: 'key', ...more }, failure);
  const resolve = (pipeline: string, row: string): ChannelMessage => {
    if (incidents === undefined) throw new Error('it keeps incidents');
    return incidents.resolve(config.parse({ routing_key: 'key' }), { pipeline, row });
  };

  it('is opened with what is known, under the key of pipeline and row', () => {
    const message = trigger();
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
    const message = trigger({ source: 'host-7', endpoint: 'http://pager.test/in' });
    expect([message.url, body(message)]).toEqual([
      'http://pager.test/in',
      expect.objectContaining({ payload: expect.objectContaining({ source: 'host-7' }) }),
    ]);
  });

  it('is resolved by its key alone', () => {
    expect(body(resolve('orders', 'eu'))).toEqual({
      routing_key: 'key',
      event_action: 'resolve',
      dedup_key: 'orders:eu',
    });
  });

  it('has a key that is not too long, and still its own', () => {
    const keys = ['a', 'b'].map((end) =>
      String(body(resolve('p'.repeat(400) + end, ''))['dedup_key']),
    );
    expect(keys.map((key) => key.length)).toEqual([255, 255]);
    expect(keys[0]).not.toBe(keys[1]);
  });
});

describe('a webhook', () => {
  const send = (config: Record<string, JsonValue> = {}, event = failure) =>
    messageTo('webhook', { url: 'https://hook.test/in', ...config }, event);

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

describe.each(CHANNELS)('the channel $type', ({ config, examples, ...channel }) => {
  it.each(examples)('sends each kind of event with the example %j', (example) => {
    const settings = config.parse(example);
    for (const kind of EVENT_KINDS) {
      const {
        url,
        method,
        headers,
        body: text,
      } = channel.message(settings, notificationEvent(kind, owner, 'what happened', {}));
      expect(url).toBe(channel.address(settings));
      expect(() => new Request(url, { method, headers, body: text })).not.toThrow();
      expect(text).toContain('orders');
    }
  });

  it.each(examples)('names the secrets of the example %j', (example) => {
    const hidden = channel.secrets(config.parse(example));
    const schema = jsonSchemaOf(config).properties ?? {};
    const written = Object.entries(example as Record<string, unknown>)
      .filter(([key]) => (schema[key] as { readonly secret?: boolean }).secret === true)
      .flatMap(([, value]) =>
        typeof value === 'string' ? [value] : Object.values(value as object),
      );
    expect(written.length).toBeGreaterThan(0);
    expect(hidden).toEqual(expect.arrayContaining(written));
  });
});
