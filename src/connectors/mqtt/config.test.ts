import { describe, expect, it } from 'vitest';
import { issuesOf } from '../../../test/fakes/run-source.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { mqttSink, mqttSource } from './index.ts';
import { isTopic, isTopicFilter } from './topics.ts';

const base = { url: 'mqtt://localhost', topics: ['a'], client_id: 'c', max_messages: 1 };
const paths = (more: JsonObject) =>
  issuesOf(mqttSource, { ...base, ...more }).map(({ path }) => path);
const sinkPaths = (more: JsonObject): readonly string[] => {
  const checked = check(mqttSink.config, { url: 'mqtt://localhost', topic: 'a', ...more });
  return checked.ok ? [] : checked.issues.map(({ path }) => path);
};

describe('a config of mqtt', () => {
  it.each(['http://x', 'localhost:1883', 'mqtt://x/path', 'mqtt://'])('%s is no address', (url) => {
    expect(paths({ url })).toEqual(['url']);
  });

  it.each(['mqtts://u:p@x:8884', 'ws://x/mqtt?a=b', 'wss://x', 'mqtt://[::1]:1884'])(
    '%s is one',
    (url) => {
      expect(paths({ url })).toEqual([]);
    },
  );

  it('needs an end, and a name for a session that is kept', () => {
    expect(paths({ max_messages: null })).toEqual(['idle_timeout_secs']);
    expect(paths({ client_id: null })).toEqual(['client_id']);
    expect(paths({ client_id: null, qos: 0 })).toEqual([]);
    expect(paths({ client_id: null, clean_start: true })).toEqual([]);
    expect(paths({ qos: 0, session_expiry_secs: 5 })).toEqual(['session_expiry_secs']);
    expect(paths({ clean_start: true, session_expiry_secs: 5 })).toEqual(['session_expiry_secs']);
    expect(paths({ qos: 3 })).toEqual(['qos']);
  });

  it('refuses what MQTT 3.1.1 has not', () => {
    const old = { protocol_version: '3.1.1' };
    expect(paths(old)).toEqual([]);
    expect(paths({ ...old, session_expiry_secs: 5 })).toEqual(['session_expiry_secs']);
    expect(paths({ ...old, receive_maximum: 5 })).toEqual(['receive_maximum']);
    expect(sinkPaths({ ...old, message_expiry_secs: 5 })).toEqual(['message_expiry_secs']);
    expect(sinkPaths({ ...old, user_properties: { a: 'b' } })).toEqual(['user_properties']);
    expect(paths({ protocol_version: 5 })).toEqual([]);
    expect(paths({ protocol_version: '4' })).toEqual(['protocol_version']);
  });

  it('takes one topic as a text, and says which of several is none', () => {
    expect(paths({ topics: 'a/#' })).toEqual([]);
    expect(paths({ topics: ['a', 'a#'] })).toEqual(['topics[1]']);
    expect(sinkPaths({ topic: 'a/+' })).toEqual(['topic']);
    expect(paths({ url: 'mqtts://x', tls: false })).toEqual(['tls']);
    expect(sinkPaths({ url: 'wss://x', tls: false })).toEqual(['tls']);
  });

  it('is known by its server and topics, without a login', () => {
    const source = check(mqttSource.config, {
      ...base,
      url: 'mqtts://me:pw@one',
      topics: ['a', 'b/#'],
    });
    expect(source.ok && mqttSource.datasetUri(source.value)).toBe('mqtt://one:8883?topic=a,b/#');
    const sink = check(mqttSink.config, { url: 'mqtt://one', topic: 'a', topic_field: 'to' });
    expect(sink.ok && mqttSink.datasetUri(sink.value)).toBe(
      'mqtt://one:1883?topic=(from_field:to)',
    );
  });
});

describe('topics', () => {
  it.each(['a', 'a/b', '/', '+', '#', 'a/+/b', 'a/#', '+/+', '$share/g/a/#', '$SYS/#', 'a b/ü'])(
    '%s can be read',
    (filter) => {
      expect(isTopicFilter(filter)).toBe(true);
    },
  );

  it.each([
    '',
    'a+',
    'a/#/b',
    'a#',
    '$share/g',
    '$share/g/',
    '$share/+/a',
    'a\0b',
    'x'.repeat(65_536),
  ])('%j cannot', (filter) => {
    expect(isTopicFilter(filter)).toBe(false);
  });

  it('without wildcards can be published to', () => {
    expect(['a', 'a/b', 'a/+', '#', ''].map(isTopic)).toEqual([true, true, false, false, false]);
  });
});
