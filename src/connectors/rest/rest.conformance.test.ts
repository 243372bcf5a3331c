import { afterAll, beforeAll } from 'vitest';
import { describeSource } from '../../../test/conformance/source.ts';
import {
  startHttpServer,
  type HttpServer,
  type Reply,
  type SeenRequest,
} from '../../../test/fakes/http-server.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { restSource } from './index.ts';

const records = Array.from({ length: 23 }, (_, index): JsonObject => ({
  id: index + 1,
  v: `v${index + 1}`,
  at: `2026-01-${String(index + 1).padStart(2, '0')}`,
}));
let server: HttpServer;

beforeAll(async () => {
  server = await startHttpServer(answer);
});
afterAll(() => server.close());

function answer({ path, query }: SeenRequest): Reply {
  if (path === '/broken') return { body: '<html>' };
  if (path === '/denied') return { status: 403, json: { error: 'no' } };
  const offset = Number(query.get('offset') ?? 0);
  return { json: { items: records.slice(offset, offset + Number(query.get('limit') ?? 100)) } };
}

const config = (): JsonObject => ({
  base_url: server.url,
  path: '/items',
  records_path: '$.items[*]',
  pagination: { type: 'Offset', limit: 10 },
});

describeSource(restSource, {
  config,
  records,
  secret: 'hunter2-secret',
  skip: { discover: 'only OData services tell what data sets they have' },
  broken: {
    'a host that is not there': {
      base_url: 'http://user:hunter2-secret@127.0.0.1:1',
      max_retries: 0,
    },
    'an address that nobody listens to': {
      base_url: 'http://127.0.0.1:1/?api_key=hunter2-secret',
      max_retries: 0,
    },
  },
});
