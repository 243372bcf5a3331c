/** The server that senders reach while a run takes payloads. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { ConnectorError } from '../../lib/errors.ts';
import { listenAddress, listenFault } from '../../lib/http/listen-address.ts';

/** Answers under way may still be sent when it is closed. */
const CLOSE_GRACE_MS = 500;
const REQUEST_MS = 30_000;

export interface ReceiverOptions {
  readonly listen: string;
  readonly path: string;
  readonly maxBodyBytes: number;
  readonly token: string | undefined;
  /** The status of the answer. */
  readonly take: (body: Buffer) => Promise<number>;
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #server: Server;

  private constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#server = createServer({ requestTimeout: REQUEST_MS }, (request, response) => {
      void this.#answer(request).then(
        (answer) => reply(response, answer),
        () => response.destroy(),
      );
    });
  }

  /** Rejects with a `ConnectorError` when nothing can listen there. */
  static async open(options: ReceiverOptions): Promise<Receiver> {
    const receiver = new Receiver(options);
    const { host = '', port = 0 } = listenAddress(options.listen) ?? {};
    receiver.#server.listen(port, host);
    try {
      await once(receiver.#server, 'listening');
    } catch (error) {
      const { reason, ...cause } = listenFault(error as NodeJS.ErrnoException);
      throw new ConnectorError('refused', `cannot listen on ${options.listen}: ${reason}`, {
        hint: 'choose another `listen_addr`',
        ...cause,
      });
    }
    return receiver;
  }

  /** Takes no more requests. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeIdleConnections();
    const late = setTimeout(() => this.#server.closeAllConnections(), CLOSE_GRACE_MS);
    await closed;
    clearTimeout(late);
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const { path, maxBodyBytes, token, take } = this.#options;
    if (pathOf(request.url ?? '') !== pathOf(path)) return { status: 404 };
    if (request.method !== 'POST') return { status: 405, headers: { allow: 'POST' } };
    if (token !== undefined && !isAllowed(request.headers.authorization, token))
      return { status: 401, headers: { 'www-authenticate': 'Bearer' } };
    if (!['identity', undefined].includes(request.headers['content-encoding']?.toLowerCase()))
      return { status: 415 };
    const body = await bodyOf(request, maxBodyBytes);
    return body === undefined ? { status: 413 } : { status: await take(body) };
  }
}

/** As senders encode it. */
function pathOf(address: string): string | undefined {
  return URL.parse(address.startsWith('/') ? `http://localhost${address}` : address)?.pathname;
}

/** Says nothing by the time it takes. */
function isAllowed(given = '', token: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const bare = given.replace(/^Bearer +/i, '');
  const [plain, stripped] = [given, bare].map((one) => timingSafeEqual(digest(one), digest(token)));
  return plain === true || stripped === true;
}

/** Undefined when it is too long; the rest of it is not read. */
async function bodyOf(request: IncomingMessage, most: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length']) > most) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += (chunk as Buffer).length;
    if (size > most) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

function reply(response: ServerResponse, { status, headers = {} }: Answer): void {
  const text = `${JSON.stringify({ status, message: STATUS_CODES[status] ?? '' })}\n`;
  // What was not read of a body would be taken for the next request.
  const end = response.req.complete ? {} : { connection: 'close' };
  response.writeHead(status, { 'content-type': 'application/json', ...headers, ...end }).end(text);
}
