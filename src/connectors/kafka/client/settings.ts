/** What the client is told, worked out of the config. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { PartContext } from '../../../kit/context.ts';
import { ConnectorError, messageOf } from '../../../lib/errors.ts';
import { brokerList } from '../../../lib/kafka/kafka.ts';
import type { KafkaSinkConfig, KafkaSourceConfig } from '../config.ts';
import type { KafkaAuth, SaslLogin, SslFiles } from './config.ts';
import type { ClientSettings, Sasl, TlsFiles } from './client-settings.ts';
import { PROPERTIES } from './properties.ts';
import { permittedFile } from '../../../lib/files/file-access.ts';

const MEBIBYTE = 1024 * 1024;

const DEFAULTS = {
  clientId: 'headgate',
  connectMs: 10_000,
  requestMs: 30_000,
  retries: 3,
  retryMs: 250,
  createsTopics: false,
  fetch: { minBytes: 1, maxBytes: 8 * MEBIBYTE, partitionBytes: MEBIBYTE, maxWaitMs: 1000 },
  readsUncommitted: false,
  acks: 'all',
  compression: 'none',
  isIdempotent: true,
  messageMs: 30_000,
  transactionMs: 60_000,
} as const;

export function sourceSettings(config: KafkaSourceConfig): ClientSettings {
  const { session_timeout: session, idle_timeout: idle = Infinity } = config;
  const poll = Math.min(config.poll_timeout, idle);
  return withProperties(config, {
    ...DEFAULTS,
    ...loginOf(config.auth),
    brokers: brokerList(config.brokers),
    requestMs: session * 1000 + poll * 1000,
    // The source itself asks again, for as long as `session_timeout` says.
    retries: 0,
    fetch: { ...DEFAULTS.fetch, maxWaitMs: Math.round(poll * 1000) },
  });
}

export function sinkSettings(config: KafkaSinkConfig): ClientSettings {
  const messageMs = config.message_timeout * 1000;
  const retryMs = config.queue_full_backoff === 0 ? 100 : config.queue_full_backoff * 1000;
  return withProperties(config, {
    ...DEFAULTS,
    fetch: { ...DEFAULTS.fetch },
    ...loginOf(config.auth),
    brokers: brokerList(config.brokers),
    requestMs: Math.min(DEFAULTS.requestMs, messageMs),
    retries: config.queue_full_max_retries ?? retriesWithin(messageMs, retryMs),
    retryMs,
    createsTopics: true,
    acks: config.acks,
    compression: config.compression,
    isIdempotent: config.idempotent,
    messageMs,
  });
}

/**
 * How many fit into the time, with some of it left: what the broker said last is then told, and not
 * only that the time is over.
 */
export function retriesWithin(ms: number, retryMs: number): number {
  return Math.floor((0.8 * ms) / retryMs);
}

function withProperties(
  { extra_client_config: extra }: Pick<KafkaSourceConfig, 'extra_client_config'>,
  settings: ClientSettings,
): ClientSettings {
  for (const [name, value] of Object.entries(extra)) PROPERTIES[name]?.apply(settings, value);
  return settings;
}

function loginOf(auth: KafkaAuth | undefined): Pick<ClientSettings, 'sasl' | 'tls'> {
  switch (auth?.type) {
    case 'sasl_plain':
    case 'sasl_scram':
      return { sasl: saslOf(auth) };
    case 'ssl':
      return { tls: tlsOf(auth.config) };
    case 'sasl_ssl':
      return { sasl: saslOf(auth.config.sasl), tls: tlsOf(auth.config.ssl) };
    default:
      return {};
  }
}

function saslOf(login: SaslLogin): Sasl {
  const { username, password } = login.config;
  if (login.type === 'sasl_plain') return { mechanism: 'PLAIN', username, password };
  const mechanism = login.config.mechanism === 'sha256' ? 'SCRAM-SHA-256' : 'SCRAM-SHA-512';
  return { mechanism, username, password };
}

function tlsOf(files: SslFiles): TlsFiles {
  const { ca_path: ca, cert_path: cert, key_path: key, key_password: passphrase } = files;
  return { ca, cert, key, passphrase };
}

/** The options that all clients of the library take. */
export async function clientOptions(settings: ClientSettings, { env }: Pick<PartContext, 'env'>) {
  const { sasl, tls, clientRack, metadataMs } = settings;
  if (sasl !== undefined) env.redactor.register(sasl.password);
  return {
    clientId: settings.clientId,
    bootstrapBrokers: settings.brokers,
    connectTimeout: settings.connectMs,
    requestTimeout: settings.requestMs,
    retries: settings.retries,
    retryDelay: settings.retryMs,
    autocreateTopics: settings.createsTopics,
    ...(clientRack === undefined ? {} : { clientRack }),
    ...(metadataMs === undefined ? {} : { metadataMaxAge: metadataMs }),
    ...(sasl === undefined ? {} : { sasl }),
    ...(tls === undefined ? {} : { tls: await tlsOptions(tls, env.cwd), tlsServerName: true }),
  };
}

async function tlsOptions(files: TlsFiles, cwd: string) {
  const { passphrase, rejectUnauthorized, checksHost } = files;
  const read = async (name: 'ca' | 'cert' | 'key') => {
    const path = files[name];
    return path === undefined ? {} : { [name]: await fileAt(resolve(cwd, path)) };
  };
  return {
    ...(await read('ca')),
    ...(await read('cert')),
    ...(await read('key')),
    ...(passphrase === undefined ? {} : { passphrase }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    ...(checksHost === false ? { checkServerIdentity: () => undefined } : {}),
  };
}

async function fileAt(path: string): Promise<Buffer> {
  try {
    return await readFile(permittedFile(path));
  } catch (error) {
    if (error instanceof ConnectorError) throw error;
    throw new ConnectorError('missing', `a file of \`auth\` cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
