/** Calls of one method; the only file that knows the client library. */
import { createSecureContext } from 'node:tls';
import type { ChannelCredentials, Client, ClientOptions, Metadata } from '@grpc/grpc-js';
import type { Credential, CredentialProvider, SourceContext } from '../../kit/context.ts';
import { ConnectorError } from '../../lib/errors.ts';
import { loadClient } from '../../lib/load-client.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import { secureOptions } from '../_http/connections.ts';
import { partsOf } from '../_http/credential-parts.ts';
import type { GrpcConfig } from './config.ts';
import { grpcError, isUnknownLogin } from './errors.ts';

type Library = typeof import('@grpc/grpc-js');

/** Longer than the five minutes that servers ask for between pings. */
const KEEPALIVE_MS = 6 * 60_000;

interface Target {
  readonly path: string;
  readonly request: Buffer;
}

/** A stream of answers that can be made to wait. */
export interface AnswerStream {
  pause(isPaused: boolean): void;
  cancel(): void;
}

export interface StreamListener {
  onMessage(bytes: Buffer): void;
  /** Called once, after the last message; with the reason where it did not end as it should. */
  onEnd(failure?: ConnectorError): void;
}

export class GrpcClient {
  readonly #library: Library;
  readonly #client: Client;
  readonly #config: GrpcConfig;
  readonly #target: Target;
  readonly #context: SourceContext;
  readonly #provider: CredentialProvider;
  readonly #doing: string;

  static async open(
    config: GrpcConfig,
    target: Target,
    context: SourceContext,
  ): Promise<GrpcClient> {
    const library = await loadClient('@grpc/grpc-js', () => import('@grpc/grpc-js'));
    const security = await securityOf(library, config, context.env.cwd);
    const { host } = new URL(config.endpoint);
    const address = /:\d+$/.test(host) ? host : `${host}:${security.usualPort}`;
    const client = new library.Client(address, security.credentials, {
      'grpc.max_receive_message_length': config.max_decoding_message_size,
      'grpc.max_send_message_length': config.max_encoding_message_size ?? -1,
      'grpc.keepalive_time_ms': KEEPALIVE_MS,
      ...security.options,
    });
    return new GrpcClient({ library, client, config, target, context });
  }

  private constructor(parts: {
    readonly library: Library;
    readonly client: Client;
    readonly config: GrpcConfig;
    readonly target: Target;
    readonly context: SourceContext;
  }) {
    const { library, client, config, target, context } = parts;
    this.#library = library;
    this.#client = client;
    this.#config = config;
    this.#target = target;
    this.#context = context;
    this.#provider = providerOf(config, context);
    this.#doing = `${config.method_name} of ${config.endpoint} cannot be read`;
  }

  /** The answer of a unary method. A token that the server no longer knows is replaced once. */
  async ask(): Promise<Buffer> {
    const credential = await this.#credential();
    try {
      return await this.#askOnce(credential);
    } catch (error) {
      if (!isUnknownLogin(error)) throw error;
      const renewed = await this.#renewed(credential);
      if (renewed === undefined) throw error;
      return this.#askOnce(renewed);
    }
  }

  /** Begins to read a stream. A token that the server no longer knows is replaced once. */
  async stream(listener: StreamListener): Promise<AnswerStream> {
    const credential = await this.#credential();
    let isCancelled = false;
    let current = this.#streamOnce(credential, {
      onMessage: (bytes) => listener.onMessage(bytes),
      onEnd: (failure) => {
        if (failure === undefined || !isUnknownLogin(failure)) return listener.onEnd(failure);
        void this.#again(credential, failure, listener).then(
          (again) => {
            current = again ?? current;
            if (isCancelled) current.cancel();
          },
          (error: unknown) => listener.onEnd(grpcError(error, this.#doing)),
        );
      },
    });
    return {
      pause: (isPaused) => current.pause(isPaused),
      cancel: () => {
        isCancelled = true;
        current.cancel();
      },
    };
  }

  close(): void {
    this.#client.close();
  }

  async #again(
    stale: Credential,
    failure: ConnectorError,
    listener: StreamListener,
  ): Promise<AnswerStream | undefined> {
    const renewed = await this.#renewed(stale);
    if (renewed !== undefined) return this.#streamOnce(renewed, listener);
    listener.onEnd(failure);
    return undefined;
  }

  #credential(): Promise<Credential> {
    return this.#provider.get(this.#context.signal);
  }

  /** Another login than that one; `undefined` where there is none. */
  async #renewed(stale: Credential): Promise<Credential | undefined> {
    this.#provider.invalidate(stale);
    const credential = await this.#credential();
    return credential === stale ? undefined : credential;
  }

  async #askOnce(credential: Credential): Promise<Buffer> {
    const { path, request } = this.#target;
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const call = this.#client.makeUnaryRequest(
      path,
      asIs,
      asIs,
      request,
      this.#metadata(credential),
      this.#deadline(),
      (error, answer) => {
        if (error !== null || answer === undefined) reject(grpcError(error, this.#doing));
        else resolve(answer);
      },
    );
    const { signal } = this.#context;
    try {
      return await untilAborted(promise, signal);
    } finally {
      if (signal.aborted) call.cancel();
    }
  }

  #streamOnce(credential: Credential, listener: StreamListener): AnswerStream {
    const { path, request } = this.#target;
    const call = this.#client.makeServerStreamRequest(
      path,
      asIs,
      asIs,
      request,
      this.#metadata(credential),
      this.#deadline(),
    );
    call.on('data', (bytes: Buffer) => listener.onMessage(bytes));
    // The status is told ahead of messages that wait: `end` comes when they are taken.
    let failure: ConnectorError | undefined;
    call.on('error', (error) => (failure = grpcError(error, this.#doing)));
    call.on('end', () => setImmediate(() => listener.onEnd(failure)));
    return {
      pause: (isPaused) => (isPaused ? call.pause() : call.resume()),
      cancel: () => call.cancel(),
    };
  }

  #deadline(): { deadline?: Date } {
    const { timeout } = this.#config;
    return timeout === undefined ? {} : { deadline: new Date(Date.now() + timeout * 1000) };
  }

  /** Entries of a login, or the headers of one that is shared. */
  #metadata(credential: Credential): Metadata {
    const { auth, endpoint } = this.#config;
    const metadata = new this.#library.Metadata();
    for (const [key, value] of entriesOf(auth))
      metadata.add(key, key.toLowerCase().endsWith('-bin') ? Buffer.from(value, 'base64') : value);
    const url = `${endpoint.replace(/\/$/, '')}${this.#target.path}`;
    const { headers, query, body } = partsOf(credential, { method: 'POST', url });
    if (Object.keys({ ...query, ...body }).length > 0 || credential.baseUrl !== undefined)
      throw new ConnectorError('refused', 'the login is not one of headers, which gRPC sends', {
        hint: 'use a login that is a token, a user with a password, or a header',
      });
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    return metadata;
  }
}

const asIs = (bytes: Buffer): Buffer => bytes;

function entriesOf(auth: GrpcConfig['auth']): (readonly [string, string])[] {
  if (auth === undefined || !('type' in auth) || auth.type !== 'metadata') return [];
  const { entries } = auth.config as { entries: { key: string; value: string }[] };
  return entries.map(({ key, value }) => [key, value] as const);
}

const NOTHING: Credential = { headers: {}, query: {} };

function providerOf({ auth }: GrpcConfig, { env, credentials }: SourceContext): CredentialProvider {
  const entries = entriesOf(auth);
  if (entries.length === 0) return credentials.resolve(auth);
  for (const [, value] of entries) env.redactor.register(value);
  return { get: () => Promise.resolve(NOTHING), invalidate: () => {} };
}

interface Security {
  readonly credentials: ChannelCredentials;
  readonly options: ClientOptions;
  readonly usualPort: number;
}

async function securityOf(
  { credentials }: Library,
  { endpoint, tls }: GrpcConfig,
  cwd: string,
): Promise<Security> {
  const isOff = tls === false || (tls === undefined && !/^https:/i.test(endpoint));
  if (isOff) return { credentials: credentials.createInsecure(), options: {}, usualPort: 80 };
  const usualPort = 443;
  if (typeof tls !== 'object')
    return { credentials: credentials.createSsl(), options: {}, usualPort };
  const { servername, ...secure } = await secureOptions(tls, cwd);
  return {
    credentials: credentials.createFromSecureContext(createSecureContext(secure)),
    options: servername === undefined ? {} : { 'grpc.ssl_target_name_override': servername },
    usualPort,
  };
}
