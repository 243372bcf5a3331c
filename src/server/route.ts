/**
 * Routes as data. From one list are derived: the registration with the HTTP framework,
 * authentication and role checks, the API description, the path labels of the metrics and the
 * labels of the audit log.
 */
import type { ZodType } from 'zod';
import { assert } from '../lib/errors.ts';
import type { Caller } from '../runs/service/runs.ts';
import type { Principal } from './auth/auth.ts';
import type { ErrorCode } from './errors.ts';
import type { Permission } from './auth/permissions.ts';
import type { Asset } from './http/assets.ts';
import type { LongJson } from './http/json-pieces.ts';
import type { ServiceName, Services } from './services.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** What comes back for one status; without a schema or content type the body is empty. */
export interface ResponseSpec {
  readonly description: string;
  readonly schema?: ZodType;
  /** Default with a schema: `application/json`. */
  readonly contentType?: string;
  /** Others that the request may ask for. */
  readonly otherContentTypes?: readonly string[];
}

/** A request as it came, for routes that take what others send. */
export interface RawRequest {
  readonly method: string;
  /** By name in lower case; values of a repeated name are joined with commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** What stands behind the `?`. */
  readonly search: string;
  readonly body: Uint8Array;
}

/** One request, checked: parameters, query and body are what their schemas say. */
export interface RouteCall<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly caller: Caller;
  readonly principal: Principal;
  /** Let in without a credential (`isOpenTo`). */
  readonly isNobody: boolean;
  readonly raw: RawRequest;
  /** The client is a browser that wants to show a page: its `Accept` names `text/html`. */
  readonly wantsPage: boolean;
  /** The number in `Last-Event-ID`: the last event of a stream that the client has seen. */
  readonly lastEventId: number | undefined;
  /** Fires when the client is gone or the server closes; for answers that take long. */
  readonly signal: AbortSignal;
}

export type Answer =
  | {
      readonly kind: 'json';
      readonly status: number;
      readonly body: unknown;
      readonly vary?: string;
    }
  | { readonly kind: 'empty'; readonly status: number }
  | {
      readonly kind: 'text';
      readonly status: number;
      readonly contentType: string;
      readonly text: string;
    }
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly contentType: string;
      readonly chunks: AsyncIterable<string>;
    }
  /** A JSON object with one list that may be long. */
  | { readonly kind: 'long_json'; readonly status: number; readonly parts: LongJson }
  /** One file for people, which may be kept; nothing in it is executed or loaded. */
  | {
      readonly kind: 'page';
      readonly status: number;
      readonly html: string;
      readonly fileName: string;
    }
  /** A static file; answered with 304 and no body to a client that holds this version. */
  | {
      readonly kind: 'file';
      readonly status: number;
      readonly asset: Asset;
      readonly vary?: string;
    };

export interface RouteDefinition<P, Q, B, S extends ServiceName> {
  readonly method: HttpMethod;
  /** Template with `{name}` for a path parameter. */
  readonly path: string;
  /** `public` needs no credential; only paths outside `/v1/` may be. */
  readonly permission: Permission | 'public';
  /** Names the action in the audit log; with the method, the operation in the API description. */
  readonly label: string;
  readonly tag:
    | 'runs'
    | 'schedules'
    | 'templates'
    | 'triggers'
    | 'schemas'
    | 'catalog'
    | 'operations';
  readonly summary: string;
  readonly description?: string;
  /** A value that does not fit is a 404: there is no such path. */
  readonly params?: ZodType<P>;
  /**
   * Strict: an unknown or repeated parameter is a 400. Without a schema the query is not looked at.
   */
  readonly query?: ZodType<Q>;
  readonly body?: ZodType<B>;
  /** An absent body reads as `{}`. */
  readonly bodyOptional?: boolean;
  /** It takes bodies of any type, as `raw`. */
  readonly anyBody?: true;
  /**
   * Whether this resource checks by itself who asks: then a request without a token reaches
   * `handle`, as nobody.
   */
  isOpenTo?(params: Readonly<Record<string, string>>, services: Pick<Services, S>): boolean;
  /** Names of the services `handle` is given; it sees no others. */
  readonly uses?: readonly S[];
  readonly responses: Readonly<Record<number, ResponseSpec>>;
  /** Beyond those every route of its kind has (`refusalsOf`). */
  readonly refusals?: readonly ErrorCode[];
  handle(call: RouteCall<P, Q, B>, services: Pick<Services, S>): Answer | Promise<Answer>;
}

export type Route = RouteDefinition<unknown, unknown, unknown, ServiceName>;

export function defineRoute<
  P = undefined,
  Q = undefined,
  B = undefined,
  S extends ServiceName = never,
>(route: RouteDefinition<P, Q, B, S>): Route {
  assert(
    route.permission !== 'public' || !route.path.startsWith('/v1/'),
    `${route.path} is under /v1 and open to all`,
  );
  return Object.freeze(route) as Route;
}

/**
 * What every request may be answered, whatever it asks for: it is no HTTP, is for another host, never
 * ends, is too large, or comes while the server shuts down.
 */
const OF_ANY_REQUEST: readonly ErrorCode[] = [
  'bad_config',
  'forbidden',
  'request_timeout',
  'payload_too_large',
  'headers_too_large',
  'internal',
  'unavailable',
];

/** Every error a route can answer with. */
export function refusalsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>([...OF_ANY_REQUEST, ...(route.refusals ?? [])]);
  if (route.permission !== 'public') codes.add('unauthorized');
  if (route.params !== undefined) codes.add('not_found');
  // A type that cannot be read is refused before anybody knows whether the body is of use.
  if (route.method !== 'GET') codes.add('unsupported_media_type');
  return [...codes];
}

export function json(status: number, body: unknown, headers: { vary?: string } = {}): Answer {
  return { kind: 'json', status, body, ...headers };
}

/** 200 with an object of which one list may be long. */
export function longJson(parts: LongJson): Answer {
  return { kind: 'long_json', status: 200, parts };
}

export function empty(status: number): Answer {
  return { kind: 'empty', status };
}

export function text(contentType: string, content: string): Answer {
  return { kind: 'text', status: 200, contentType, text: content };
}

export function stream(contentType: string, chunks: AsyncIterable<string>): Answer {
  return { kind: 'stream', status: 200, contentType, chunks };
}

export function page(content: string, fileName: string): Answer {
  return { kind: 'page', status: 200, html: content, fileName };
}

export function file(asset: Asset, headers: { vary?: string } = {}): Answer {
  return { kind: 'file', status: 200, asset, ...headers };
}
