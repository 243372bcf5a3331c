/**
 * The one file that knows the HTTP framework. A request passes, in this order: cross-origin
 * headers, body size, route match, authentication, permission, body, handler; whatever fails
 * answers with the error envelope.
 */
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { messageOf, RefusedError } from '../../lib/errors.ts';
import { stringifyJson, type JsonValue } from '../../lib/text/json.ts';
import { admit, NOBODY } from '../auth/admit.ts';
import type { Principal } from '../auth/auth.ts';
import { afterLostBody } from './after-lost-body.ts';
import { answerBrokenRequest, answerTunnel } from './broken-request.ts';
import { earlyRefusal } from './early-refusal.ts';
import { HeldBodies } from './held-bodies.ts';
import { jsonPieces } from './json-pieces.ts';
import { cannotListen } from './listen.ts';
import { corsFor, preflightHeaders } from './cors.ts';
import { errorBody, failureOf, headersOf, statusOf, type Failure } from '../errors.ts';
import { DEFAULT_BODY_LIMIT_BYTES, servicesOf, type ServerOptions } from '../options.ts';
import { allowHeader, indexPaths, nothingHere, readParams, type PathIndex } from './paths.ts';
import { readQuery } from './query.ts';
import { addVary, sendFile, sendPage } from './send-file.ts';
import { readBody, tooLarge, type BodySource } from './request-body.ts';
import { countRequest, UNMATCHED } from './request-metrics.ts';
import type { Answer, RawRequest, Route, RouteCall } from '../route.ts';
import { pickServices, type Services } from '../services.ts';
import { ROUTES } from '../routes/index.ts';

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null;
    startedMs: number;
    /** Path label of the metrics. */
    template: string;
  }
}

export interface InjectedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: string | Uint8Array;
}

export interface InjectedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  readonly body: string;
}

export interface Server {
  /** Port 0 takes a free one; `address` is `http://host:port`. */
  listen(host: string, port: number): Promise<{ readonly address: string }>;
  /** Answers a request without a socket. */
  inject(request: InjectedRequest): Promise<InjectedAnswer>;
  /**
   * Ends open streams, lets requests in flight finish for a few seconds, then closes every
   * connection.
   */
  close(): Promise<void>;
  /** Routes that were registered with the framework, for comparing with the API description. */
  readonly registered: readonly { readonly method: string; readonly path: string }[];
}

/** A request must have arrived in full after this long. */
const REQUEST_TIMEOUT_MS = 120_000;
/** How long `close` waits for answers under way. */
const CLOSE_GRACE_MS = 5_000;
/** Longest path parameter that is routed; ids and names are far shorter. */
const PARAM_LENGTH = 2_048;
const JSON_TYPE = 'application/json; charset=utf-8';

export async function createServer(
  options: ServerOptions,
  routes: readonly Route[] = ROUTES,
): Promise<Server> {
  const limit = options.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES;
  const closing = new AbortController();
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    bodyLimit: limit,
    requestTimeout: REQUEST_TIMEOUT_MS,
    return503OnClosing: false,
    // Node would answer a missing `Host` with an empty body, before anything here sees the request.
    http: { requireHostHeader: false },
    routerOptions: { maxParamLength: PARAM_LENGTH },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, options.env.redactor),
    frameworkErrors: (error, _request, reply) =>
      void sendFailure(reply, frameworkFailure(error, options), options),
  });
  const registered: { method: string; path: string }[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    const path = url.replaceAll(/:(\w+)/g, '{$1}');
    for (const one of [method].flat()) if (one !== 'HEAD') registered.push({ method: one, path });
  });
  const held = new HeldBodies();
  addPrelude(app, { options, limit, held, closing: closing.signal });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const services = servicesOf(options);
  for (const route of routes) register(app, route, { options, services, closing: closing.signal });
  const paths = indexPaths(routes);
  app.setNotFoundHandler((request, reply) => answerUnmatched(request, reply, { paths, options }));
  app.setErrorHandler((error, request, reply) =>
    isMissingType(error)
      ? answerUnmatched(request, reply, { paths, options })
      : answerError(error, request, reply, options),
  );
  await app.ready();
  // Node would answer an `Expect` that it does not know with 417 and no body; it may be ignored.
  app.server.on('checkExpectation', (request, response) =>
    app.server.emit('request', request, response),
  );
  app.server.on('checkContinue', (request, response) => {
    held.hold(request);
    app.server.emit('request', request, response);
  });
  // Without a listener Node ends the connection and says nothing.
  app.server.on('connect', (_request, socket) => answerTunnel(socket, options.env.redactor));

  return {
    registered,
    async listen(host, port) {
      await app.listen({ host, port }).catch((error: NodeJS.ErrnoException) => {
        throw cannotListen({ host, port }, error);
      });
      const { address, family, port: bound } = app.server.address() as AddressInfo;
      return { address: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}` };
    },
    async inject({ method, url, headers, payload }) {
      const answer = await app.inject({
        method: method as 'GET',
        url,
        headers: { ...headers },
        ...(payload === undefined
          ? {}
          : { payload: typeof payload === 'string' ? payload : Buffer.from(payload) }),
      });
      return { status: answer.statusCode, headers: answer.headers, body: answer.body };
    },
    async close() {
      closing.abort();
      const closed = new AbortController();
      const grace = options.env.clock
        .sleep(CLOSE_GRACE_MS, closed.signal)
        .then(() => app.server.closeAllConnections());
      await app.close();
      closed.abort();
      await grace;
    },
  };
}

interface Scope {
  readonly options: ServerOptions;
  readonly services: Services;
  /** Fires when the server closes. */
  readonly closing: AbortSignal;
}

/** What happens to every request, matched or not, before anything else. */
function addPrelude(
  app: FastifyInstance,
  {
    options,
    closing,
    limit,
    held,
  }: Omit<Scope, 'services'> & { readonly limit: number; readonly held: HeldBodies },
): void {
  const cors = corsFor(options.corsOrigins ?? [], options.env.log);
  app.decorateRequest('principal', null);
  app.decorateRequest('startedMs', 0);
  app.decorateRequest('template', UNMATCHED);
  app.addHook('onRequest', (request, reply, done) => {
    request.startedMs = options.env.clock.elapsedMs();
    const granted = cors(request.headers.origin);
    if (granted !== undefined) reply.headers(granted);
    if (request.method === 'OPTIONS') reply.headers(preflightHeaders(granted));
    const isListed = granted?.['access-control-allow-origin'] !== undefined;
    const refusal = earlyRefusal(request, { ...options, closing, limit, isListed });
    if (refusal === undefined) return done();
    // The hook of the route, which names it, is not reached.
    request.template = (request.routeOptions.config as RouteLabel).template ?? UNMATCHED;
    done(refusal);
  });
  app.addHook('preParsing', (request, reply, _payload, done) => {
    held.call(request.raw, reply.raw);
    done();
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (held.has(request.raw)) {
      reply.header('connection', 'close');
      return done();
    }
    afterLostBody(request.raw, options.env.clock, done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    count(request, reply, options);
    done();
  });
}

/** What a route has to say about itself to hooks that come before it. */
interface RouteLabel {
  readonly template?: string;
}

function count(request: FastifyRequest, reply: FastifyReply, { env }: ServerOptions): void {
  const seconds = (env.clock.elapsedMs() - request.startedMs) / 1000;
  countRequest(env.metrics, {
    method: request.method,
    path: request.template,
    status: reply.statusCode,
    seconds,
  });
}

function register(app: FastifyInstance, route: Route, scope: Scope): void {
  // `defineRoute` has checked that the handler reads no other.
  const services = pickServices(scope.services, route.uses ?? []) as Services;
  app.route({
    method: route.method === 'GET' ? ['GET', 'HEAD'] : route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { template: route.path } satisfies RouteLabel,
    onRequest: (request, _reply, done) => {
      request.template = route.path;
      const approach = {
        authorization: request.headers.authorization,
        sourceIp: request.ip,
        params: request.params as Record<string, string>,
      };
      const admitted = admit(route, approach, {
        authenticate: scope.options.authenticate,
        services,
      });
      if (!('denied' in admitted)) {
        request.principal = admitted;
        return done();
      }
      void scope.options.audit.record(admitted.audit).then(() => done(admitted.denied));
    },
    handler: async (request, reply) => {
      const answer = await route.handle(callOf(route, request, reply, scope.closing), services);
      return send(answer, request, reply, scope);
    },
  });
}

function callOf(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  closing: AbortSignal,
): RouteCall<unknown, unknown, unknown> {
  const principal = request.principal ?? NOBODY;
  let gone: AbortSignal | undefined;
  return {
    params: route.params && readParams(route.params, request.params),
    query: route.query && readQuery(route.query, searchOf(request.url)),
    body: route.body && readBody(route.body, bodyOf(request), route.bodyOptional === true),
    principal,
    isNobody: principal === NOBODY,
    get raw() {
      return rawOf(request);
    },
    wantsPage: request.headers.accept?.includes('text/html') === true,
    lastEventId: lastEventId(request),
    caller: { principal: principal.name, role: principal.role, sourceIp: request.ip },
    get signal() {
      gone ??= AbortSignal.any([closing, goneSignal(reply)]);
      return gone;
    },
  };
}

function goneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  // Nobody waits for what a whole answer would stop, and each abort makes an error with its stack.
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
}

function lastEventId({ headers }: FastifyRequest): number | undefined {
  const id = headers['last-event-id'];
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : undefined;
}

function searchOf(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? '' : url.slice(mark + 1);
}

function rawOf({ method, headers, url, body }: FastifyRequest): RawRequest {
  return {
    method,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]),
    ),
    search: searchOf(url),
    body: (body as Uint8Array | undefined) ?? NO_BYTES,
  };
}

const NO_BYTES = new Uint8Array();

function bodyOf({ body, headers }: FastifyRequest): BodySource {
  return {
    bytes: body as Uint8Array | undefined,
    contentType: headers['content-type'],
    contentEncoding: headers['content-encoding'],
  };
}

function send(
  answer: Answer,
  request: FastifyRequest,
  reply: FastifyReply,
  { options, closing }: Scope,
): FastifyReply {
  reply.code(answer.status);
  if ('vary' in answer && answer.vary !== undefined) addVary(reply, answer.vary);
  // A connection kept for more requests would hold `close` until it times out.
  if (closing.aborted || answer.kind === 'stream') reply.header('connection', 'close');
  switch (answer.kind) {
    case 'empty':
      return reply.send();
    case 'json':
      return reply.header('content-type', JSON_TYPE).send(stringifyJson(answer.body as JsonValue));
    case 'long_json':
      return sendPieces(answer, request, reply, options);
    case 'text':
      // As bytes: to a string the framework would add a charset of its own.
      return reply.header('content-type', answer.contentType).send(Buffer.from(answer.text));
    case 'stream':
      return sendStream(answer, request, reply, options);
    case 'page':
      return sendPage(answer, reply);
    case 'file':
      return sendFile(answer.asset, request, reply);
    default:
      return answer satisfies never;
  }
}

/** The headers leave at once: the first event may be a long time coming. */
function sendStream(
  answer: Answer & { kind: 'stream' },
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServerOptions,
): FastifyReply {
  reply.headers({
    'content-type': answer.contentType,
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  });
  if (request.method === 'HEAD') return reply.send();
  countUnfinished(request, reply, options);
  reply.send(Readable.from(logFailure(answer.chunks, options)));
  reply.raw.flushHeaders();
  return reply;
}

function sendPieces(
  { parts }: Answer & { kind: 'long_json' },
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServerOptions,
): FastifyReply {
  reply.header('content-type', JSON_TYPE);
  if (request.method === 'HEAD') return reply.send();
  countUnfinished(request, reply, options);
  return reply.send(Readable.from(logFailure(jsonPieces(parts), options)));
}

/** The framework tells only of answers that were sent whole. */
function countUnfinished(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServerOptions,
): void {
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) count(request, reply, options);
  });
}

async function* logFailure<T>(chunks: AsyncIterable<T>, { env }: ServerOptions): AsyncGenerator<T> {
  try {
    yield* chunks;
  } catch (error) {
    env.log.error('an answer broke off half way', { error: messageOf(error) });
    throw error;
  }
}

/** A request that matches no route: a preflight, a wrong method, or an unknown path. */
function answerUnmatched(
  request: FastifyRequest,
  reply: FastifyReply,
  at: { paths: PathIndex; options: ServerOptions },
): FastifyReply {
  const path = request.url.split('?', 1)[0] ?? '';
  const found = at.paths.find(path);
  if (found !== undefined) {
    request.template = found.template;
    const allow = allowHeader(found.methods);
    if (request.method === 'OPTIONS') return reply.code(200).header('allow', allow).send();
    if (!allow.split(', ').includes(request.method)) {
      const refusal = new RefusedError(
        'method_not_allowed',
        `${request.method} is not possible here; ${found.template} has ${allow}`,
      );
      return sendFailure(reply.header('allow', allow), failureOf(refusal), at.options);
    }
  }
  return sendFailure(reply, failureOf(nothingHere()), at.options);
}

function answerError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServerOptions,
): FastifyReply {
  const failure = isFrameworkError(error) ? frameworkFailure(error, options) : failureOf(error);
  const aborted = request.raw.destroyed && !request.raw.complete;
  if (failure.hidden && !aborted) {
    options.env.log.error('request failed', {
      method: request.method,
      path: request.template,
      error: error instanceof Error ? error.stack : String(error),
    });
  }
  // The framework asks to close after a body that broke a rule; a client still sending would lose
  // the answer.
  return sendFailure(reply.removeHeader('connection'), failure, options);
}

function sendFailure(reply: FastifyReply, failure: Failure, { env }: ServerOptions): FastifyReply {
  return reply
    .code(statusOf(failure.code))
    .headers(headersOf(failure.code))
    .header('content-type', JSON_TYPE)
    .send(errorBody(failure, env.redactor));
}

/** Of a method that no route has: the framework wants a type before it looks for a route. */
function isMissingType(error: unknown): boolean {
  return isFrameworkError(error) && error.code === 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE';
}

function isFrameworkError(error: unknown): error is FastifyError {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('FST_')
  );
}

function frameworkFailure(error: FastifyError, options: ServerOptions): Failure {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return failureOf(tooLarge(options.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES));
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return failureOf(nothingHere());
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return failureOf(
        new RefusedError('unsupported_media_type', 'the content type cannot be read'),
      );
    case 'FST_ERR_BAD_URL':
      return failureOf(new RefusedError('bad_config', 'the path is not a valid percent encoding'));
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return failureOf(
        new RefusedError('bad_config', 'the body is not as long as `Content-Length` says'),
      );
    default:
      return failureOf(error);
  }
}
