import { describe, expect, it } from 'vitest';
import { testEnv } from '../../../test/fakes/env.ts';
import { issuesOf } from '../../../test/fakes/run-source.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { clientOptions, sinkSettings, sourceSettings } from './client/settings.ts';
import type { KafkaSinkConfig, KafkaSourceConfig } from './config.ts';
import { withFieldsOfProperties } from './client/properties-of-fields.ts';
import { kafkaSink, kafkaSource } from './index.ts';

const REGISTRY = { url: 'http://registry:8081' };
const base = { brokers: 'a:1, b', topics: ['t'], group_id: 'g', idle_timeout: 1 };

function source(more: JsonObject = {}): KafkaSourceConfig {
  const checked = check(kafkaSource.config, { ...base, ...more });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

function sink(more: JsonObject = {}): KafkaSinkConfig {
  const checked = check(kafkaSink.config, { brokers: 'a:1', topic: 't', ...more });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

const paths = (more: JsonObject): string[] =>
  issuesOf(kafkaSource, { ...base, ...more }).map(({ path }) => path);

describe('auth', () => {
  const login = { username: 'u', password: 'secret-word' };

  it.each<[JsonObject, string]>([
    [{ type: 'sasl_plain', config: login }, 'PLAIN'],
    [{ type: 'sasl_plain', ...login }, 'PLAIN'],
    [{ type: 'sasl_scram', config: { mechanism: 'sha512', ...login } }, 'SCRAM-SHA-512'],
    [{ type: 'sasl_scram', mechanism: 'SCRAM-SHA-256', ...login }, 'SCRAM-SHA-256'],
    [{ type: 'sasl_ssl', config: { sasl: { mechanism: 'sha256', ...login } } }, 'SCRAM-SHA-256'],
    [{ type: 'sasl_ssl', config: { sasl: { type: 'sasl_plain', config: login } } }, 'PLAIN'],
  ])('%j is told to the client', async (auth, mechanism) => {
    const env = testEnv();
    const options = await clientOptions(sourceSettings(source({ auth })), { env });
    expect(options.sasl).toEqual({ mechanism, ...login });
    expect('tls' in options).toBe(auth['type'] === 'sasl_ssl');
    expect(env.redactor.text('secret-word')).not.toContain('secret-word');
  });

  it('needs a certificate and its key together, and says which file is missing', async () => {
    expect(paths({ auth: { type: 'ssl', config: { cert_path: 'c.pem' } } })).toEqual([
      'auth.config.key_path',
    ]);
    const auth = { type: 'ssl', config: { ca_path: '/nowhere/ca.pem' } };
    const options = clientOptions(sourceSettings(source({ auth })), { env: testEnv() });
    await expect(options).rejects.toThrow(/a file of `auth` cannot be read/);
  });
});

it('raw properties go before all other settings', () => {
  const extra_client_config = {
    'client.id': 'nightly',
    'fetch.max.bytes': 4096,
    'isolation.level': 'read_uncommitted',
    'security.protocol': 'SASL_SSL',
    'sasl.mechanisms': 'SCRAM-SHA-256',
    'sasl.username': 'u',
    'sasl.password': 'p',
  };
  expect(sourceSettings(source({ extra_client_config }))).toMatchObject({
    clientId: 'nightly',
    fetch: { maxBytes: 4096 },
    readsUncommitted: true,
    sasl: { mechanism: 'SCRAM-SHA-256', username: 'u', password: 'p' },
    tls: {},
  });
  const acks = { acks: '1', 'compression.type': 'gzip' };
  expect(sinkSettings(sink({ extra_client_config: acks }))).toMatchObject({
    acks: 'leader',
    isIdempotent: false,
    compression: 'gzip',
  });
  expect(sourceSettings(source()).fetch.maxBytes).toBe(8 * 1024 * 1024);
});

it('raw properties go before the fields of the document, where it has them', () => {
  const extra_client_config = {
    'session.timeout.ms': 6000,
    'auto.offset.reset': 'smallest',
    'group.id': 'other',
    'linger.ms': '20',
  };
  expect(withFieldsOfProperties(source({ extra_client_config }))).toMatchObject({
    session_timeout: 6,
    auto_offset_reset: 'earliest',
    group_id: 'other',
  });
  expect(withFieldsOfProperties(source({ extra_client_config }))).not.toHaveProperty('linger');
  const writing = withFieldsOfProperties(sink({ extra_client_config }));
  expect(writing).toMatchObject({ linger: 0.02 });
  expect(writing).not.toHaveProperty('group_id');
});

it('raw properties that change nothing are told, with what does', () => {
  const extra_client_config = { 'enable.auto.commit': false, 'client.id': 'x' };
  expect(kafkaSource.doubts?.(source({ extra_client_config }))).toEqual([
    {
      code: 'without_effect',
      path: 'extra_client_config["enable.auto.commit"]',
      message:
        '`enable.auto.commit` changes nothing here: positions are kept as bookmarks; `commit_offsets: true` tells them to the group',
      hint: 'remove it',
    },
  ]);
  expect(kafkaSink.doubts?.(sink({ extra_client_config }))).toHaveLength(1);
});

it.each(['message.max.bytes', 'max.request.size', 'receive.message.max.bytes'])(
  '`%s` of documents from elsewhere is taken, and told to change nothing',
  (name) => {
    const doubts = kafkaSink.doubts?.(sink({ extra_client_config: { [name]: 10_000_000 } }));
    expect(doubts?.map(({ code, path }) => [code, path])).toEqual([
      ['without_effect', `extra_client_config["${name}"]`],
    ]);
  },
);

it.each<[string, JsonObject]>([
  ['beside the format', { value_format: 'confluent_avro', schema_registry: REGISTRY }],
  ['in it', { value_format: { type: 'confluent_avro', schema_registry: REGISTRY } }],
  [
    'in its config',
    { value_format: { type: 'confluent_avro', config: { schema_registry: REGISTRY } } },
  ],
  [
    'in two formats that name the same one',
    {
      value_format: { type: 'confluent_avro', schema_registry: REGISTRY },
      key_format: { type: 'confluent_avro', schema_registry: REGISTRY },
    },
  ],
])('the registry may stand %s', (_where, more) => {
  expect(source(more)).toMatchObject({
    value_format: { type: 'confluent_avro' },
    schema_registry: { url: 'http://registry:8081' },
  });
});

it('there is one registry', () => {
  const other = { type: 'confluent_avro', schema_registry: { url: 'http://other:8081' } };
  expect(paths({ value_format: other, schema_registry: REGISTRY })).toEqual([
    'value_format.schema_registry',
  ]);
});

it('settings of the sink reach the client', () => {
  const config = { queue_full_backoff: 2, queue_full_max_retries: 7, message_timeout: 5 };
  expect(sinkSettings(sink(config))).toMatchObject({ retries: 7, retryMs: 2000, messageMs: 5000 });
});

it('a broker that is away is tried again until a record has waited for its time', () => {
  expect(sinkSettings(sink({}))).toMatchObject({ retries: 240, retryMs: 100, messageMs: 30_000 });
  const config = { queue_full_backoff: 2, message_timeout: 60 };
  expect(sinkSettings(sink(config))).toMatchObject({ retries: 24, retryMs: 2000 });
});

it('a config that cannot work does not load', () => {
  expect(issuesOf(kafkaSource, { ...base, idle_timeout: null }).map(({ path }) => path)).toEqual([
    'idle_timeout',
  ]);
  expect(paths({ value_format: 'confluent_avro' })).toEqual(['schema_registry']);
  expect(paths({ value_format: { type: 'confluent_protobuf' } })).toEqual(['value_format']);
  expect(
    paths({
      extra_client_config: {
        'no.such': 1,
        'auto.offset.reset': 'none',
        'session.timeout.ms': 1,
        'fetch.max.bytes': 'x',
      },
    }),
  ).toEqual([
    'extra_client_config["no.such"]',
    'extra_client_config["auto.offset.reset"]',
    'extra_client_config["session.timeout.ms"]',
    'extra_client_config["fetch.max.bytes"]',
  ]);
  const sinkPaths = (more: JsonObject) => {
    const checked = check(kafkaSink.config, { brokers: 'a', topic: 't', ...more });
    return checked.ok ? [] : checked.issues.map(({ path }) => path);
  };
  expect(sinkPaths({ acks: 'leader' })).toEqual(['acks']);
  expect(sinkPaths({ acks: 'leader', idempotent: false })).toEqual([]);
  expect(
    sinkPaths({ value_format: 'confluent_avro', schema_registry: { url: 'http://r' } }),
  ).toEqual(['value_schema']);
});

it('data sets are named by their first broker', () => {
  expect(kafkaSource.datasetUri(source({ topics: ['x', 'y'] }))).toBe('kafka://a:1?topic=x,y');
  const topic = { type: 'from_path', path: '$.kind' };
  expect(kafkaSink.datasetUri(sink({ topic }))).toBe('kafka://a:1?topic=(from_path:$.kind)');
});
