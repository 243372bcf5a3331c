/** One connection to the server, from its handshake to its end. */
import { once } from 'node:events';
import type { WebSocket } from 'ws';
import { ConnectorError, messageOf } from '../../lib/errors.ts';
import { statusError, transportError } from '../_http/errors.ts';
import { safeUrl } from '../_http/url.ts';

const HANDSHAKE_MS = 30_000;
const AGAIN_HINT = 'set `reconnect: true` to connect again';
/** Slow networks answer later than the next ping. */
const SILENT_MS = 30_000;
const FEWEST_PINGS = 2;
const CLEAN = 1000;
/** Closed as it should be, by a server that says nothing of why (RFC 6455, 7.1.5). */
const NO_CODE = 1005;
/** The client holds the server to one of them, which it has to know as such. */
const PROTOCOL = 'sec-websocket-protocol';
const TOO_LONG = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';

export interface ConnectionOptions {
  readonly url: string;
  /** Their names are lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
  /** Sent when it stands. */
  readonly greetings: readonly string[];
  /** Whether another one is made when it ends with another code than 1000. */
  readonly reconnects: boolean;
  readonly pingMs: number | undefined;
  /** With pings: how long nothing may come. */
  readonly silentMs?: number;
  readonly onMessage: (bytes: Buffer) => void;
  /** Something came, if only an answer to a ping. */
  readonly onFrame: () => void;
}

/** The library is loaded by the first connection. */
export async function connect(options: ConnectionOptions): Promise<Connection> {
  const { url, headers, maxMessageBytes } = options;
  const { WebSocket: Client } = await import('ws');
  const { [PROTOCOL]: protocols, ...others } = headers;
  try {
    const socket = new Client(url, protocolsIn(protocols), {
      headers: others,
      maxPayload: maxMessageBytes,
      handshakeTimeout: HANDSHAKE_MS,
    });
    return new Connection(socket, options);
  } catch (error) {
    // The client speaks up before it connects where it cannot ask for what it was given.
    const what = `${safeUrl(url)} cannot be asked: ${messageOf(error)}`;
    const hint = 'check `url`, the values that fill it, and the headers of `auth`';
    throw new ConnectorError('refused', what, { hint, cause: error });
  }
}

export class Connection {
  readonly #socket: WebSocket;
  readonly #options: ConnectionOptions;
  #failure: unknown;
  #hasOpened = false;
  #pings: NodeJS.Timeout | undefined;
  /** Pings since something came. */
  #unanswered = 0;

  constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    const shown = safeUrl(options.url);
    socket.on('error', (error) => (this.#failure ??= failureOf(error, shown, options)));
    socket.on('unexpected-response', (_request, { statusCode: status = 0 }) => {
      this.#failure ??= statusError({ method: 'GET', url: shown, status, excerpt: '' });
      socket.terminate();
    });
    socket.on('open', () => this.#greet());
    for (const frame of ['ping', 'pong'] as const) socket.on(frame, () => this.#hear());
    socket.on('message', (data) => {
      this.#hear();
      options.onMessage(data as Buffer);
    });
  }

  get hasOpened(): boolean {
    return this.#hasOpened;
  }

  pause(isPaused: boolean): void {
    this.#unanswered = 0;
    if (isPaused) this.#socket.pause();
    else this.#socket.resume();
  }

  /** Undefined when it was closed as it should be; else why it ended. Never rejects. */
  async ended(): Promise<unknown> {
    const [code, reason] = (await once(this.#socket, 'close').catch(() => [0])) as [
      number,
      Buffer?,
    ];
    clearInterval(this.#pings);
    const { reconnects } = this.#options;
    if (code === CLEAN || (code === NO_CODE && !reconnects)) return undefined;
    const why = reason === undefined || reason.length === 0 ? '' : `: ${reason.toString()}`;
    return (
      this.#failure ??
      new ConnectorError(
        'connection',
        `${safeUrl(this.#options.url)} closed the connection with code ${code}${why}`,
        reconnects ? {} : { hint: AGAIN_HINT },
      )
    );
  }

  /** Says goodbye where there is somebody to hear it. */
  close(): void {
    clearInterval(this.#pings);
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.close(CLEAN);
    this.#socket.terminate();
  }

  #greet(): void {
    const { greetings, pingMs } = this.#options;
    this.#hasOpened = true;
    for (const text of greetings) this.#socket.send(text);
    if (pingMs !== undefined) this.#pings = setInterval(() => this.#ping(pingMs), pingMs).unref();
  }

  /** Whoever has answered to none of the last pings, and sent nothing else, is not there any more. */
  #ping(everyMs: number): void {
    const { silentMs = SILENT_MS, url } = this.#options;
    const most = Math.max(FEWEST_PINGS, Math.ceil(silentMs / everyMs));
    if (this.#unanswered >= most) {
      const shown = safeUrl(url);
      const what = `${shown} answered to none of ${most} pings, ${everyMs / 1000} s apart`;
      this.#failure ??= new ConnectorError('timeout', what, {
        hint: `${AGAIN_HINT}; remove \`ping_interval\` where the server does not answer to pings`,
      });
      return this.#socket.terminate();
    }
    // What has come is not looked at before the reader wants more.
    if (!this.#socket.isPaused) this.#unanswered += 1;
    this.#socket.ping();
  }

  #hear(): void {
    this.#unanswered = 0;
    this.#options.onFrame();
  }
}

function protocolsIn(header = ''): string[] {
  return header
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function failureOf(
  error: Error,
  shown: string,
  { maxMessageBytes }: ConnectionOptions,
): ConnectorError {
  if ('code' in error && error.code === TOO_LONG)
    return new ConnectorError(
      'data',
      `a message of ${shown} is longer than ${maxMessageBytes} bytes`,
      {
        hint: 'raise `max_message_bytes`',
        cause: error,
      },
    );
  if (messageOf(error).includes('handshake has timed out'))
    return new ConnectorError('timeout', `${shown} did not answer within ${HANDSHAKE_MS / 1000} s`);
  return transportError(error, 'GET', shown);
}
