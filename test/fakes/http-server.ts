/** A scriptable HTTP server in this process, for tests of whatever speaks HTTP. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { received } from './received.ts';

/** A request as it arrived. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The body as JSON; `undefined` when it is empty. */
  readonly json: () => unknown;
  /** Fires when the connection ends before the answer was sent. */
  readonly gone: AbortSignal;
}

/**
 * What is answered. `json` and `body` are alternatives; `hangs` never answers; `breaks` ends the
 * connection in the middle of the body.
 */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly json?: unknown;
  readonly body?: string | Uint8Array;
  readonly hangs?: true;
  readonly breaks?: true;
}

export type Respond = (request: SeenRequest) => Reply | Promise<Reply>;

export interface HttpServer extends AsyncDisposable {
  /** `http://127.0.0.1:port` */
  readonly url: string;
  readonly port: number;
  /** Every request so far, in order of arrival. */
  readonly requests: SeenRequest[];
  /** Replaces the script. */
  respond(script: Respond | readonly Reply[]): void;
  close(): Promise<void>;
}

/**
 * `script` is a function, or a list of replies given one after the other (the last one again and
 * again).
 */
export async function startHttpServer(
  script: Respond | readonly Reply[] = () => ({ status: 404 }),
  tls?: ServerOptions,
): Promise<HttpServer> {
  const requests: SeenRequest[] = [];
  let answer = responder(script);
  const handle = (message: IncomingMessage, response: ServerResponse): void => {
    const gone = new AbortController();
    response.once('close', () => {
      if (!response.writableEnded) gone.abort();
    });
    void received(message).then(async (body) => {
      if (body === undefined) return;
      const request = seenRequest(message, body.toString('utf8'), gone.signal);
      requests.push(request);
      send(response, await answer(request));
    });
  };
  const server: Server = tls === undefined ? createServer(handle) : createTlsServer(tls, handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    requests,
    respond: (next) => {
      answer = responder(next);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function responder(script: Respond | readonly Reply[]): Respond {
  if (typeof script === 'function') return script;
  let index = 0;
  return () => {
    const reply = script[Math.min(index, script.length - 1)] ?? { status: 500 };
    index += 1;
    return reply;
  };
}

function seenRequest(message: IncomingMessage, body: string, gone: AbortSignal): SeenRequest {
  const url = new URL(message.url ?? '/', 'http://fake');
  const headers = Object.fromEntries(
    Object.entries(message.headers).map(([name, value]) => [name, String(value)]),
  );
  return {
    method: message.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers,
    body,
    json: () => (body === '' ? undefined : JSON.parse(body)),
    gone,
  };
}

function send(response: ServerResponse, reply: Reply): void {
  if (reply.hangs === true) return;
  const body = reply.json === undefined ? (reply.body ?? '') : JSON.stringify(reply.json);
  const type = reply.json === undefined ? {} : { 'content-type': 'application/json' };
  if (reply.breaks === true) {
    response.writeHead(reply.status ?? 200, {
      ...type,
      ...reply.headers,
      'content-length': Buffer.byteLength(body) + 100,
    });
    response.write(body, () => response.destroy());
    return;
  }
  response.writeHead(reply.status ?? 200, { ...type, ...reply.headers });
  response.end(body);
}
