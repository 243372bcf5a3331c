import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { check } from '../kit/schema.ts';
import type { RequestReceiver, TriggerRequest } from '../kit/trigger.ts';
import { RefusedError } from '../lib/errors.ts';
import { uuidIds } from '../lib/ids.ts';
import { webhook } from './webhook.ts';

const NOW = new Date('2026-08-01T12:00:00Z');
const SECONDS = NOW.getTime() / 1000;
const BODY = '{"a": "ü"}';

function receiver(fields: object = {}): RequestReceiver {
  const config = check(webhook.fields(), fields);
  if (!config.ok) throw new Error(JSON.stringify(config.issues));
  if (webhook.events.by !== 'request') throw new Error('not requested');
  const context = { name: 'hook', clock: { now: () => NOW }, ids: uuidIds };
  return webhook.events.open(config.value, context);
}

const request = (over: Partial<TriggerRequest> = {}): TriggerRequest => ({
  method: 'POST',
  headers: {},
  search: '',
  body: new TextEncoder().encode(BODY),
  ...over,
});

const hmac = (secret: string, text: string): string =>
  createHmac('sha256', secret).update(text).digest('hex');

function refusal(act: () => unknown): RefusedError {
  try {
    act();
  } catch (error) {
    if (error instanceof RefusedError) return error;
  }
  throw new Error('it was not refused');
}

describe('a request', () => {
  test('gives its method, body, headers and query', () => {
    const { value, labels } = receiver().receive(
      request({
        headers: { 'x-day': 'mo', authorization: 'Bearer secret', cookie: 'a=b' },
        search: 'a=1%202&b=x+y&a=3',
      }),
    );
    expect(labels).toEqual({ method: 'POST' });
    expect(
      ['method', 'body', 'header.X-Day', 'header.x-day', 'query.a', 'query.b'].map(value),
    ).toEqual(['POST', BODY, 'mo', 'mo', '1 2', 'x y']);
    const none = ['header.none', 'query.none', 'header.Authorization', 'header.cookie', 'other'];
    expect(none.map(value)).toEqual(none.map(() => undefined));
  });

  test('of another method is refused with those that are taken', () => {
    expect(refusal(() => receiver().receive(request({ method: 'PUT' })))).toMatchObject({
      code: 'bad_config',
      hint: 'send POST',
    });
    const both = receiver({ methods: ['PUT', 'POST'] });
    expect(both.receive(request({ method: 'PUT' })).value('method')).toBe('PUT');
  });

  test('has a key of its own, or that of its header', () => {
    const plain = receiver();
    const keys = [plain.receive(request()).key, plain.receive(request()).key];
    expect(new Set(keys).size).toBe(2);
    const deduping = receiver({ dedupe_header: 'X-Delivery' });
    const key = (value: string) =>
      deduping.receive(request({ headers: { 'x-delivery': value } })).key;
    expect(key(' a, b')).toBe(' a, b');
    expect(key('')).toMatch(/^[\da-f-]{36}$/);
    expect(refusal(() => key('x'.repeat(513)))).toMatchObject({ code: 'bad_config' });
  });

  test('may have a body that is no text, unless a document asks for it', () => {
    const event = receiver().receive(request({ body: Uint8Array.of(0xff) }));
    expect(refusal(() => event.value('body'))).toMatchObject({ code: 'bad_config' });
  });
});

describe('signatures', () => {
  const signed = (style: string, more: object = {}) =>
    receiver({ signature: { style, secret: ['old', 'right'], ...more } });
  const stripe = (secret: string, at = SECONDS) =>
    `t=${at},v1=${'0'.repeat(64)},v1=${hmac(secret, `${at}.${BODY}`)}`;
  const slack = (secret: string, at = SECONDS) => ({
    'x-slack-request-timestamp': String(at),
    'x-slack-signature': `v0=${hmac(secret, `v0:${at}:${BODY}`)}`,
  });

  test.each([
    ['github', { 'x-hub-signature-256': `sha256=${hmac('right', BODY)}` }],
    ['github', { 'x-hub-signature-256': `sha256=${hmac('old', BODY).toUpperCase()}` }],
    ['plain', { 'x-svc-signature': hmac('right', BODY) }],
    ['stripe', { 'stripe-signature': stripe('right') }],
    ['stripe', { 'stripe-signature': stripe('right', SECONDS - 300) }],
    ['slack', slack('right')],
  ])('of %s are right: %j', (style, headers) => {
    expect(signed(style).receive(request({ headers })).value('method')).toBe('POST');
  });

  test.each([
    ['github', {}, 'no signature'],
    ['github', { 'x-hub-signature-256': hmac('right', BODY) }, 'no signature'],
    ['github', { 'x-hub-signature-256': `sha256=${hmac('wrong', BODY)}` }, 'is wrong'],
    ['github', { 'x-hub-signature-256': `sha256=${hmac('right', `${BODY} `)}` }, 'is wrong'],
    ['github', { 'x-hub-signature-256': 'sha256=right' }, 'is wrong'],
    ['plain', { 'x-svc-signature': '' }, 'no signature'],
    ['stripe', { 'stripe-signature': stripe('wrong') }, 'is wrong'],
    ['stripe', { 'stripe-signature': stripe('right', SECONDS - 301) }, 'is not now'],
    ['stripe', { 'stripe-signature': stripe('right', SECONDS + 301) }, 'is not now'],
    ['stripe', { 'stripe-signature': `v1=${hmac('right', `.${BODY}`)}` }, 'is not now'],
    ['slack', slack('right', SECONDS - 301), 'is not now'],
    ['slack', { 'x-slack-signature': slack('right')['x-slack-signature'] }, 'is not now'],
  ])('of %s are refused: %j', (style, headers, message) => {
    const found = refusal(() => signed(style).receive(request({ headers })));
    expect([found.code, found.message]).toEqual(['unauthorized', expect.stringContaining(message)]);
    expect(`${found.message} ${found.hint ?? ''}`).not.toContain(hmac('right', BODY));
  });

  test('are looked for in another header, and replace a token, only where the file says so', () => {
    const own = signed('plain', { header: 'X-Own', instead_of_token: true });
    expect(own.needsNoToken).toBe(true);
    expect(signed('plain').needsNoToken).toBe(false);
    expect(receiver().needsNoToken).toBe(false);
    expect(own.receive(request({ headers: { 'x-own': hmac('right', BODY) } })).key).toBeDefined();
    expect(
      check(webhook.fields(), { signature: { style: 'slack', secret: 'a', header: 'X' } }).ok,
    ).toBe(false);
  });

  test('are secrets that are hidden', () => {
    const config = check(webhook.fields(), { signature: { style: 'plain', secret: 'a-secret' } });
    expect(config.ok && webhook.secrets(config.value)).toEqual(['a-secret']);
  });
});
