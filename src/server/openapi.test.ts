import { expect, test } from 'vitest';
import { ERRORS, type ErrorCode } from './errors.ts';
import { describeApi } from './openapi.ts';
import { ROUTES } from './routes/index.ts';
import { startFixture } from '../../test/support/server.ts';

interface Operation {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: { type?: string };
  }[];
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly content?: Readonly<Record<string, { readonly schema?: unknown }>>;
      }
    >
  >;
}
interface Description {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: {
      readonly Error: {
        readonly properties: {
          readonly error: { readonly properties: { readonly code: { readonly enum: string[] } } };
        };
      };
    };
  };
}

const description = describeApi(ROUTES) as Description;
const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    path,
    operation,
  })),
);

test('the description and the router hold the same routes, both ways', async () => {
  const { server } = await startFixture();
  const routed = server.registered.map(({ method, path }) => `${method} ${path}`);
  expect(operations.map(({ name }) => name).sort()).toEqual([...routed].sort());
  expect(new Set(routed).size).toBe(routed.length);
});

test('the description is OpenAPI 3.1 of API version 1.0.0, served openly and under /v1', async () => {
  const { ask } = await startFixture();
  expect((await ask('GET', '/openapi.json', { as: null })).json()).toEqual(
    JSON.parse(JSON.stringify(description)),
  );
  expect((await ask('GET', '/v1/openapi.json', { as: 'viewer' })).json()).toMatchObject({
    openapi: '3.1.0',
    info: { version: '1.0.0' },
  });
});

test('operation ids are unique', () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

test.each(operations)(
  '$name describes its path parameters and its security',
  ({ path, operation }) => {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const described = (operation.parameters ?? []).filter((one) => one.in === 'path');
    expect(described.map(({ name }) => name)).toEqual(named);
    expect(described.every(({ required }) => required)).toBe(true);
    const isGuarded = /^\/(v1\/|runs\/|mcp$)/.test(path);
    const needed = isGuarded ? [{ bearer: [] }] : [];
    // A signature may take the place of a token.
    expect(operation.security).toEqual(path === '/v1/triggers/{name}' ? [...needed, {}] : needed);
  },
);

test('query parameters carry their types and none is required', () => {
  const parameters = description.paths['/v1/runs']?.['get']?.parameters ?? [];
  expect(parameters.map(({ name, required, schema }) => [name, required, schema.type])).toEqual([
    ['status', false, 'array'],
    ['name', false, 'string'],
    ['since', false, 'string'],
    ['until', false, 'string'],
    ['limit', false, 'integer'],
    ['cursor', false, 'string'],
  ]);
});

test('what is served is what is described: types of logs, clamped limits, the least concurrency', () => {
  const text = JSON.stringify(description);
  const at = (path: string, method: string) => JSON.stringify(description.paths[path]?.[method]);
  for (const type of [
    'text/event-stream; charset=utf-8',
    'application/x-ndjson',
    'text/plain; charset=utf-8',
  ])
    expect(at('/v1/runs/{id}/logs', 'get')).toContain(`"${type}":{"schema"`);
  expect(text).not.toContain('"maximum":500');
  expect(at('/v1/runs', 'get')).toContain('above 500 as 500');
  expect(at('/v1/runs', 'post')).toMatch(
    /Overrides the concurrency setting[^}]*"minimum":1,"maximum":256/,
  );
});

test.each([
  ['POST /v1/runs', '202 400 401 403 404 408 409 413 415 422 429 431 500 503'],
  ['GET /v1/runs', '200 400 401 403 408 413 431 500 503'],
  ['GET /v1/runs/{id}', '200 400 401 403 404 408 413 431 500 503'],
  ['DELETE /v1/runs/{id}', '204 400 401 403 404 408 409 413 415 431 500 503'],
  ['POST /v1/runs/{id}/cancel', '200 202 400 401 403 404 408 413 415 431 500 503'],
  ['GET /v1/runs/{id}/logs', '200 204 400 401 403 404 408 413 431 500 503'],
  ['POST /v1/doctor', '200 400 401 403 408 413 415 422 431 500 503'],
  ['POST /v1/plan', '200 400 401 403 408 413 415 422 429 431 500 503'],
  ['POST /v1/verify', '200 400 401 403 408 409 413 415 422 429 431 500 503'],
  ['POST /v1/backfill', '202 400 401 403 404 408 409 413 415 422 431 500 503'],
  ['GET /readyz', '200 400 403 408 413 431 500 503'],
])('%s answers with %s', (name, statuses) => {
  const found = operations.find((one) => one.name === name);
  expect(Object.keys(found?.operation.responses ?? {}).join(' ')).toBe(statuses);
});

test('a readiness that says no is described beside the refusal of the same status', () => {
  const { content } = description.paths['/readyz']?.['get']?.responses['503'] ?? {};
  const schema = content?.['application/json']?.schema;
  expect(schema).toMatchObject({
    anyOf: [{ required: ['status', 'history_ok', 'queue_ok', 'cluster'] }, { required: ['error'] }],
  });
});

test.each([
  ['a path that cannot be read', 'GET', '/v1/runs/%ff', '/v1/runs/{id}', {}],
  ['a type that cannot be read', 'POST', '/mcp', '/mcp', { 'content-type': 'nothing' }],
  ['a length beyond the limit', 'GET', '/v1/whoami', '/v1/whoami', { 'content-length': '2000000' }],
  ['another host', 'GET', '/healthz', '/healthz', { host: 'elsewhere.example' }],
])('the answer to %s is described', async (_, method, url, path, headers) => {
  const { ask } = await startFixture({ localOnly: { listenHost: '127.0.0.1' } });
  const { status } = await ask(method, url, { headers: { host: 'localhost', ...headers } });
  expect(status).toBeGreaterThanOrEqual(400);
  const operation = description.paths[path]?.[method.toLowerCase()];
  expect(Object.keys(operation?.responses ?? {})).toContain(String(status));
});

test('the error catalogue and the described codes are the same', () => {
  const { code } = description.components.schemas.Error.properties.error.properties;
  expect(code.enum).toEqual(Object.keys(ERRORS));
});

test('every described refusal names a code of the table with its status', () => {
  for (const { operation } of operations) {
    for (const [status, { description: told }] of Object.entries(operation.responses)) {
      const code = /^`(\w+)`: /.exec(told)?.[1];
      if (code !== undefined) expect(String(ERRORS[code as ErrorCode].status)).toBe(status);
      else
        expect(ROUTES.some((route) => route.responses[Number(status)]?.description === told)).toBe(
          true,
        );
    }
  }
});

test('codes, statuses and sentences of the table are distinct', () => {
  const kinds = Object.values(ERRORS);
  expect(new Set(kinds.map(({ status }) => status)).size).toBe(kinds.length);
  expect(new Set(kinds.map(({ when }) => when)).size).toBe(kinds.length);
});
