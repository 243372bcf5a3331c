/** Properties of Kafka clients by their usual names, and what they mean for this one. */
import type { ClientSettings, Sasl, TlsFiles } from './client-settings.ts';

export interface Property {
  /** Why the value cannot be taken. */
  fault(value: string): string | undefined;
  apply(settings: ClientSettings, value: string): void;
}

function words<const W extends string>(
  known: readonly W[],
  apply: (settings: ClientSettings, word: W) => void,
): Property {
  return {
    fault: (value) =>
      known.some((word) => word === value.toLowerCase())
        ? undefined
        : `\`${value}\` is not one of ${known.join(', ')}`,
    apply: (settings, value) => apply(settings, value.toLowerCase() as W),
  };
}

function numbers(apply: (settings: ClientSettings, value: number) => void): Property {
  return {
    fault: (value) => (/^\d{1,12}$/.test(value.trim()) ? undefined : `\`${value}\` is no number`),
    apply: (settings, value) => apply(settings, Number(value)),
  };
}

function texts(apply: (settings: ClientSettings, value: string) => void): Property {
  return {
    fault: (value) => (value === '' ? 'the value is empty' : undefined),
    apply,
  };
}

const sasl = (apply: (login: Sasl, value: string) => void): Property =>
  texts((settings, value) => {
    settings.sasl ??= { mechanism: 'PLAIN', username: '', password: '' };
    apply(settings.sasl, value);
  });

const tls = (apply: (files: TlsFiles, value: string) => void): Property =>
  texts((settings, value) => apply((settings.tls ??= {}), value));

const mechanism = words(['plain', 'scram-sha-256', 'scram-sha-512'], (settings, word) => {
  settings.sasl ??= { mechanism: 'PLAIN', username: '', password: '' };
  settings.sasl.mechanism = word.toUpperCase() as Sasl['mechanism'];
});
const requestTimeout = numbers((settings, ms) => (settings.requestMs = ms));
const brokers = texts((settings, list) => (settings.brokers = list.split(',')));
const partitionBytes = numbers((settings, bytes) => (settings.fetch.partitionBytes = bytes));
const compression = words(['none', 'gzip', 'snappy', 'lz4', 'zstd'], (settings, word) => {
  settings.compression = word;
});
const acks = words(['all', '-1', '1', '0'], (settings, word) => {
  settings.acks = word === '0' ? 'none' : word === '1' ? 'leader' : 'all';
  if (settings.acks !== 'all') settings.isIdempotent = false;
});
const messageTimeout = numbers((settings, ms) => (settings.messageMs = ms));

export const PROPERTIES: Readonly<Record<string, Property>> = {
  acks: acks,
  'allow.auto.create.topics': words(['true', 'false'], (settings, word) => {
    settings.createsTopics = word === 'true';
  }),
  'bootstrap.servers': brokers,
  'client.id': texts((settings, id) => (settings.clientId = id)),
  'client.rack': texts((settings, rack) => (settings.clientRack = rack)),
  'compression.codec': compression,
  'compression.type': compression,
  'delivery.timeout.ms': messageTimeout,
  'enable.idempotence': words(['true', 'false'], (settings, word) => {
    settings.isIdempotent = word === 'true';
  }),
  'enable.ssl.certificate.verification': words(['true', 'false'], (settings, word) => {
    settings.tls ??= {};
    settings.tls.rejectUnauthorized = word === 'true';
  }),
  'fetch.max.bytes': numbers((settings, bytes) => (settings.fetch.maxBytes = bytes)),
  'fetch.message.max.bytes': partitionBytes,
  'fetch.min.bytes': numbers((settings, bytes) => (settings.fetch.minBytes = bytes)),
  'fetch.wait.max.ms': numbers((settings, ms) => (settings.fetch.maxWaitMs = ms)),
  'isolation.level': words(['read_committed', 'read_uncommitted'], (settings, word) => {
    settings.readsUncommitted = word === 'read_uncommitted';
  }),
  'max.partition.fetch.bytes': partitionBytes,
  'message.timeout.ms': messageTimeout,
  'metadata.broker.list': brokers,
  'metadata.max.age.ms': numbers((settings, ms) => (settings.metadataMs = ms)),
  'request.required.acks': acks,
  'request.timeout.ms': requestTimeout,
  retries: numbers((settings, count) => (settings.retries = count)),
  'retry.backoff.ms': numbers((settings, ms) => (settings.retryMs = ms)),
  'sasl.mechanism': mechanism,
  'sasl.mechanisms': mechanism,
  'sasl.password': sasl((login, password) => (login.password = password)),
  'sasl.username': sasl((login, username) => (login.username = username)),
  'security.protocol': words(
    ['plaintext', 'ssl', 'sasl_plaintext', 'sasl_ssl'],
    (settings, protocol) => {
      if (protocol.endsWith('ssl')) settings.tls ??= {};
      else settings.tls = undefined;
      if (!protocol.startsWith('sasl')) settings.sasl = undefined;
    },
  ),
  'socket.connection.setup.timeout.ms': numbers((settings, ms) => (settings.connectMs = ms)),
  'socket.timeout.ms': requestTimeout,
  'ssl.ca.location': tls((files, path) => (files.ca = path)),
  'ssl.certificate.location': tls((files, path) => (files.cert = path)),
  'ssl.endpoint.identification.algorithm': words(['https', 'none'], (settings, word) => {
    settings.tls ??= {};
    settings.tls.checksHost = word === 'https';
  }),
  'ssl.key.location': tls((files, path) => (files.key = path)),
  'ssl.key.password': tls((files, password) => (files.passphrase = password)),
  'transaction.timeout.ms': numbers((settings, ms) => (settings.transactionMs = ms)),
};
