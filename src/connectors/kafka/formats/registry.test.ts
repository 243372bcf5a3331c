import { afterAll, beforeAll, expect, it } from 'vitest';
import { sourceContext } from '../../../../test/fakes/env.ts';
import {
  startHttpServer,
  type HttpServer,
  type Reply,
} from '../../../../test/fakes/http-server.ts';
import { SchemaRegistry } from './registry.ts';

let server: HttpServer;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());

function schemaFrom(reply: Reply) {
  server.respond([reply]);
  const config = { url: server.url, auth: undefined, cache_capacity: 1, request_timeout: 10 };
  return new SchemaRegistry(config, sourceContext()).schemaOf(7);
}

it.each<readonly [string, Reply, object]>([
  ['that breaks off', { json: { schema: '"int"' }, breaks: true }, { kind: 'connection' }],
  ['of what stands before the registry', { body: '<html>' }, { kind: 'connection' }],
  [
    'of a busy registry',
    { status: 429, headers: { 'retry-after': '7' } },
    { kind: 'rate_limited', retryAfterMs: 7000 },
  ],
  ['of another address', { status: 404, body: 'no such page' }, { kind: 'missing' }],
  ['without a schema', { json: { id: 1 } }, { kind: 'refused' }],
])('an answer %s is no fault of the message', async (_what, reply, expected) => {
  await expect(schemaFrom(reply)).rejects.toMatchObject(expected);
});

it('a schema that the registry does not know is a fault of the message that names it', async () => {
  const json = { error_code: 40403, message: 'Schema 7 not found' };
  await expect(schemaFrom({ status: 404, json })).rejects.toMatchObject({
    kind: 'data',
    message: expect.stringContaining('Schema 7 not found') as string,
  });
});
