import { resolve } from 'node:path';
import type { Env } from '../../lib/env.ts';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { readRegular } from '../../lib/files/regular-file.ts';
import type { ConnectionTls, TlsBlock } from './tls.ts';

const PEM = /^-----BEGIN /;
/** Timeouts of the built-in `fetch` for the connection and for the response. */
const BUILT_IN_CONNECT_MS = 10_000;
const BUILT_IN_ANSWER_MS = 300_000;
const LONGEST_CERTIFICATE_BYTES = 16 * 1024 * 1024;

export interface ConnectionNeeds {
  readonly tls?: TlsBlock | undefined;
  readonly connectTimeoutMs?: number;
  readonly timeoutMs?: number;
}

/**
 * Connections of one connector. `fetch` is present only when the shared one of the process is not
 * enough.
 */
export interface Connections {
  readonly fetch: typeof fetch | undefined;
  close(): Promise<void>;
}

export async function openConnections(needs: ConnectionNeeds, env: Env): Promise<Connections> {
  const { tls, connectTimeoutMs = BUILT_IN_CONNECT_MS, timeoutMs = 0 } = needs;
  if (
    tls === undefined &&
    connectTimeoutMs === BUILT_IN_CONNECT_MS &&
    timeoutMs <= BUILT_IN_ANSWER_MS
  ) {
    return { fetch: undefined, close: () => Promise.resolve() };
  }
  const identity = tls === undefined ? {} : await identityOf(tls, env.cwd);
  // Agent and fetch must come from the same copy of the library; the built-in fetch uses its own.
  const undici = await import('undici');
  const dispatcher = new undici.Agent({
    connect: { ...identity, timeout: connectTimeoutMs },
    connectTimeout: connectTimeoutMs,
    // The client has its own timeouts.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const send = (input: string, init?: object): Promise<unknown> =>
    undici.fetch(input, { ...init, dispatcher });
  // The two type declarations of this standard interface differ only in names.
  return { fetch: send as unknown as typeof fetch, close: () => dispatcher.destroy() };
}

/** As `tls.connect` takes them. */
export interface SecureOptions {
  readonly ca?: Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly pfx?: Buffer;
  readonly passphrase?: string;
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  readonly servername?: string;
}

/** Reads the files that the block names. */
export async function secureOptions(tls: ConnectionTls, cwd: string): Promise<SecureOptions> {
  const { ca_path: path, server_name: servername } = tls;
  const ca = path === undefined ? undefined : await readPart(path, cwd);
  return {
    ...(await identityOf(tls, cwd)),
    ...(ca === undefined ? {} : { ca }),
    ...(servername === undefined ? {} : { servername }),
  };
}

async function identityOf(tls: TlsBlock, cwd: string): Promise<SecureOptions> {
  const [cert, key, pfx] = await Promise.all([
    tls.client_cert === undefined ? undefined : pemOf(tls.client_cert, cwd),
    tls.client_key === undefined ? undefined : pemOf(tls.client_key, cwd),
    tls.client_identity_pkcs12 === undefined
      ? undefined
      : readPart(tls.client_identity_pkcs12, cwd),
  ]);
  return {
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(pfx === undefined ? {} : { pfx }),
    ...(tls.pkcs12_password === undefined ? {} : { passphrase: tls.pkcs12_password }),
    minVersion: tls.min_version === '1.3' ? 'TLSv1.3' : 'TLSv1.2',
  };
}

async function pemOf(value: string, cwd: string): Promise<string | Buffer> {
  return PEM.test(value) ? value : readPart(value, cwd);
}

async function readPart(path: string, cwd: string): Promise<Buffer> {
  try {
    return await readRegular(resolve(cwd, path), { limitBytes: LONGEST_CERTIFICATE_BYTES });
  } catch (error) {
    throw new ConnectorError(
      'missing',
      `the certificate file ${path} cannot be read: ${messageOf(error)}`,
      { cause: error },
    );
  }
}
