/** The OpenAPI 3.1 description, derived from the routes. */
import type { ZodType } from 'zod';
import { jsonSchemaOf, type JsonSchema } from '../kit/json-schema.ts';
import { ERRORS, statusOf, type ErrorCode } from './errors.ts';
import { EVENT_STREAM } from './http/event-stream.ts';
import { parameterNames } from './http/paths.ts';
import { refusalsOf, type ResponseSpec, type Route } from './route.ts';

/** Version of the API, not of the product. */
const API_VERSION = '1.0.0';

const TAGS: Readonly<Record<Route['tag'], string>> = {
  runs: 'Submission, tracking and logs of runs.',
  templates: 'Pipelines and connectors that are registered, versioned and run by name.',
  triggers: 'What starts runs when something happens.',
  schedules: 'Documents that run at the times that they name.',
  schemas: 'What documents may contain.',
  catalog: 'Data sets, their lineage, and the files that sinks wrote.',
  operations: 'Health, identity, audit and this description.',
};

const ERROR_SCHEMA = {
  type: 'object',
  description: 'The body of every error.',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'string', enum: Object.keys(ERRORS), description: 'Stable; decide by this.' },
        message: { type: 'string', description: 'For people; secrets are masked.' },
        details: {
          description:
            'Issues of a refused document as `{issues: [{code, path, message, hint, line, column}]}`, or the doctor report.',
        },
      },
    },
  },
};

export function describeApi(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes)
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Headgate',
      version: API_VERSION,
      description:
        'Submit pipeline documents as runs, follow them, and see what this build can do.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: { Error: ERROR_SCHEMA },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function operation(route: Route): object {
  const parameters = [...pathParameters(route), ...queryParameters(route)];
  return {
    operationId: operationId(route),
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(route.permission === 'public'
      ? { security: [] }
      : {
          security: route.isOpenTo === undefined ? [{ bearer: [] }] : [{ bearer: [] }, {}],
          'x-permission': route.permission,
        }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestOf(route),
    responses: responsesOf(route),
  };
}

/** `run.submit` reads `runSubmit`; where one label serves two methods, the second names its own. */
function operationId({ label, method }: Route): string {
  const name = label.replaceAll(/[._](\w)/g, (_, letter: string) => letter.toUpperCase());
  return method === 'PUT' ? `${name}ByPut` : name;
}

function pathParameters(route: Route): object[] {
  const { properties = {} } = route.params === undefined ? {} : plainSchema(route.params);
  return parameterNames(route.path).map((name) =>
    parameter('path', name, properties[name] ?? { type: 'string' }, true),
  );
}

function queryParameters(route: Route): object[] {
  if (route.query === undefined) return [];
  const { properties = {}, required } = plainSchema(route.query);
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, schema]) =>
    parameter('query', name, schema, needed.includes(name)),
  );
}

function parameter(
  place: 'path' | 'query',
  name: string,
  schema: JsonSchema,
  required: boolean,
): object {
  const { description, ...shape } = schema;
  // Lists are written with commas, not as repeated parameters.
  const style = shape['type'] === 'array' ? { style: 'form', explode: false } : {};
  return {
    name,
    in: place,
    required,
    ...(description === undefined ? {} : { description }),
    ...style,
    schema: shape,
  };
}

function requestOf({ anyBody, body, bodyOptional }: Route): object {
  if (anyBody === true) return { requestBody: { required: false, content: { '*/*': {} } } };
  return body === undefined ? {} : { requestBody: requestBody(body, bodyOptional !== true) };
}

function requestBody(schema: ZodType, required: boolean): object {
  return { required, content: { 'application/json': { schema: plainSchema(schema) } } };
}

interface Response {
  readonly description: string;
  readonly headers?: object;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

function responsesOf(route: Route): Record<string, Response> {
  const failed = Object.fromEntries(
    refusalsOf(route).map((code) => [String(statusOf(code)), failure(code)]),
  );
  // Numbers are listed in ascending order.
  return { ...failed, ...successes(route, failed) };
}

function successes(
  route: Route,
  failed: Readonly<Record<string, Response>>,
): Record<string, Response> {
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, spec]) => [
      status,
      failed[status] === undefined ? success(spec) : orRefusal(success(spec)),
    ]),
  );
}

/** A status that a route uses for an answer of its own, and that a refusal has as well. */
function orRefusal({ description, content }: Response): Response {
  const own = content?.['application/json']?.schema;
  return {
    description,
    content: { 'application/json': { schema: { anyOf: [own, ERROR_SCHEMA] } } },
  };
}

/** No type: some readers take it for the schema of one event, others for that of the whole text. */
const EVENTS = { description: 'Server-sent events with `id`, `event` and `data`.' };

function success({
  description,
  schema,
  contentType,
  otherContentTypes = [],
}: ResponseSpec): Response {
  if (schema === undefined && contentType === undefined) return { description };
  const body = schema === undefined ? { type: 'string' } : plainSchema(schema);
  const types = [contentType ?? 'application/json', ...otherContentTypes];
  return {
    description,
    content: Object.fromEntries(
      types.map((type) => [type, { schema: type === EVENT_STREAM ? EVENTS : body }]),
    ),
  };
}

function failure(code: ErrorCode): Response {
  const headers =
    code === 'queue_full'
      ? {
          headers: {
            'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } },
          },
        }
      : {};
  return {
    description: `\`${code}\`: ${ERRORS[code].when}`,
    ...headers,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
}

/** Inside an API description the dialect is that of the whole. */
function plainSchema(schema: ZodType): JsonSchema {
  const { $schema: _, ...plain } = jsonSchemaOf(schema);
  return JSON.parse(JSON.stringify(plain), withoutTextForm) as JsonSchema;
}

/** Numbers that documents may also write as text have one form here. */
function withoutTextForm(key: string, value: unknown): unknown {
  return key === 'type' && Array.isArray(value) && value[1] === 'string' ? value[0] : value;
}
