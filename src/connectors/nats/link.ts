import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node';
import type { PartContext } from '../../kit/context.ts';
import { ConnectorError, isTransient, messageOf } from '../../lib/errors.ts';
import { loadClient } from '../../lib/load-client.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import { serverOf } from './addresses.ts';
import type { NatsConnectionConfig } from './config.ts';
import { natsError } from './errors.ts';
import { permittedFile } from '../../lib/files/file-access.ts';

const CONNECT_MS = 10_000;
const PING_MS = 20_000;
const CLOSE_MS = 500;

type Client = typeof import('@nats-io/transport-node');

/**
 * A connection that is made when it is first needed, and again when it is needed after it was lost.
 * Nothing is repeated: whoever sent it knows whether that is safe.
 */
export class NatsLink {
  readonly #config: NatsConnectionConfig;
  readonly #context: PartContext;
  #nc: NatsConnection | undefined;
  /** Aborted when the connection is gone. */
  #lost = new AbortController();
  #connecting: Promise<NatsConnection> | undefined;
  /** What the server said of something that has no answer. */
  #complaint: unknown;
  #isClosed = false;

  constructor(config: NatsConnectionConfig, context: PartContext) {
    this.#config = config;
    this.#context = context;
    for (const secret of secretsOf(config)) context.env.redactor.register(secret);
  }

  /** The connection, where it stands. */
  get current(): NatsConnection | undefined {
    return this.#nc?.isClosed() === false ? this.#nc : undefined;
  }

  /** Failures are `ConnectorError`s that begin with `doing`. */
  async run<T>(doing: string, work: (nc: NatsConnection) => Promise<T>): Promise<T> {
    const { signal } = this.#context;
    signal.throwIfAborted();
    try {
      const nc = await untilAborted(this.#connected(), signal);
      // The client never answers a flush whose connection was lost.
      const result = await untilAborted(work(nc), AbortSignal.any([signal, this.#lost.signal]));
      this.#throwComplaint();
      return result;
    } catch (error) {
      if (signal.aborted && error === signal.reason) throw error;
      const failure = natsError(error, doing);
      if (isTransient(failure.kind)) await this.#drop();
      throw failure;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#drop();
  }

  async #drop(): Promise<void> {
    const nc = this.#nc;
    this.#nc = undefined;
    if (nc === undefined) return;
    const closed = nc.close().catch(() => {});
    await Promise.race([closed, this.#context.env.clock.sleep(CLOSE_MS)]);
  }

  #throwComplaint(): void {
    const complaint = this.#complaint;
    this.#complaint = undefined;
    if (complaint !== undefined) throw complaint;
  }

  async #connected(): Promise<NatsConnection> {
    const current = this.current;
    if (current !== undefined) return current;
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  async #connect(): Promise<NatsConnection> {
    const client = await loadClient(
      '@nats-io/transport-node',
      () => import('@nats-io/transport-node'),
    );
    const nc = await client.connect(await optionsOf(client, this.#config, this.#context));
    if (this.#isClosed || this.#context.signal.aborted) {
      await nc.close();
      throw new ConnectorError('connection', 'the connection was closed');
    }
    this.#nc = nc;
    this.#complaint = undefined;
    const lost = new AbortController();
    this.#lost = lost;
    void nc.closed().then((error) => lost.abort(error ?? new Error('the connection was lost')));
    void this.#listen(nc);
    return nc;
  }

  async #listen(nc: NatsConnection): Promise<void> {
    for await (const status of nc.status())
      if (status.type === 'error' && nc === this.#nc) this.#complaint ??= status.error;
  }
}

function secretsOf({ servers, auth }: NatsConnectionConfig): string[] {
  const inAddresses = servers.flatMap((address) => {
    const login = serverOf(address)?.login;
    return login === undefined ? [] : [login.password ?? login.user];
  });
  if (auth?.type === 'token') return [...inAddresses, auth.config.token];
  if (auth?.type === 'user_password') return [...inAddresses, auth.config.password];
  return auth?.type === 'n_key' ? [...inAddresses, auth.config.nkey] : inAddresses;
}

async function optionsOf(
  client: Client,
  config: NatsConnectionConfig,
  { env }: PartContext,
): Promise<NodeConnectionOptions> {
  const servers = config.servers.flatMap((address) => serverOf(address) ?? []);
  const isTls = config.tls || servers.some((server) => server.isTls);
  return {
    servers: servers.map(({ host }) => host),
    name: config.name ?? 'headgate',
    reconnect: false,
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    noAsyncTraces: true,
    ...(isTls ? { tls: {} } : {}),
    ...(await loginOf(client, config, env.cwd)),
  };
}

async function loginOf(
  client: Client,
  { auth, servers }: NatsConnectionConfig,
  cwd: string,
): Promise<NodeConnectionOptions> {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  switch (auth?.type) {
    case 'token':
      return { token: auth.config.token };
    case 'user_password':
      return { user: auth.config.username, pass: auth.config.password };
    case 'n_key':
      return { authenticator: client.nkeyAuthenticator(bytes(auth.config.nkey.trim())) };
    case 'creds_file':
      return {
        authenticator: client.credsAuthenticator(await fileAt(resolve(cwd, auth.config.path))),
      };
    default: {
      const login = servers.map((address) => serverOf(address)?.login).find(Boolean);
      if (login === undefined) return {};
      const { user, password } = login;
      return password === undefined ? { token: user } : { user, pass: password };
    }
  }
}

async function fileAt(path: string): Promise<Buffer> {
  try {
    return await readFile(permittedFile(path));
  } catch (error) {
    if (error instanceof ConnectorError) throw error;
    throw new ConnectorError(
      'missing',
      `the file of \`auth\` cannot be read: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
}
