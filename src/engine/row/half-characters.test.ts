/** Half of a character in JSON that an API or a broker gives is told, as in a file. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { run } from '../../../test/fakes/engine.ts';
import { testEnv } from '../../../test/fakes/env.ts';
import { planOfTree } from '../../../test/fakes/verify.ts';
import { startWebsocketServer } from '../../../test/fakes/websocket-server.ts';
import { SOURCES } from '../../connectors/index.ts';
import { JSON_LINES } from '../../kit/json-lines.ts';
import { Page } from '../../kit/page.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { tellHalfCharacters } from './half-characters.ts';

const closers = new AsyncDisposableStack();
afterAll(() => closers.disposeAsync());

const WHOLE = '{"id":1,"t":"\\ud83d\\ude00 \\\\ud800"}';
const HALVES = ['{"id":2,"t":"\\ud800"}', '{"id":3,"t":{"\\udc00":[null,1]}}'];
const RECORDS = [WHOLE, ...HALVES];

async function api(): Promise<JsonObject> {
  const server: Server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`[${RECORDS.join()}]`);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  closers.defer(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { type: 'rest', config: { base_url: `http://127.0.0.1:${port}`, path: '/' } };
}

async function socket(): Promise<JsonObject> {
  const server = await startWebsocketServer((client) => {
    for (const record of RECORDS) client.send(record);
    client.close(1000);
  });
  closers.defer(() => server.close());
  return { type: 'websocket', config: { url: server.url, idle_timeout: 10, batch_size: 2 } };
}

const GRAPH: JsonObject = {
  nodes: { read: { kind: 'source' }, write: { kind: 'sink' } },
  edges: [{ from: 'read', to: 'write' }],
};

test.each([
  ['rest', api, {}],
  ['websocket', socket, {}],
  ['a graph of nodes', api, GRAPH],
])('%s: the first one is told with its number, all are counted', async (_name, source, graph) => {
  const env = testEnv({ clock: systemClock });
  const sink = { type: 'sqlite', config: { database_url: 'sqlite::memory:', table_name: 't' } };
  const plan = planOfTree({ pipeline: { source: await source(), sink, ...graph } });
  const { error } = await run(plan, { env });
  expect(error).toBeNull();
  const told = env.lines.filter(({ line }) => line.includes('half of a character'));
  expect(told.map(({ level, line }) => [level, line])).toEqual([
    ['WARN', expect.stringMatching(/unpaired surrogate.* record=2/)],
    ['WARN', expect.stringMatching(/texts of records.* records=2/)],
  ]);
});

test('every source whose records are JSON of others is looked at', () => {
  const types = SOURCES.filter(({ readsJson }) => readsJson).map(({ type }) => type);
  expect(types.sort()).toEqual([
    'airbyte',
    'dynamodb',
    'elasticsearch',
    'graphql',
    'kafka',
    'kinesis',
    'mqtt',
    'nats',
    'pubsub',
    'rabbitmq',
    'redis',
    'rest',
    'singer',
    'sqs',
    'webhook',
    'websocket',
  ]);
});

test('lines that pass on as they came are read only where an escape may be a half', async () => {
  const decoded: number[] = [];
  const encoding = {
    ...JSON_LINES,
    decode: (block: Uint8Array) => {
      decoded.push(block.byteLength);
      return JSON_LINES.decode(block);
    },
  };
  const env = testEnv();
  async function* pages(): AsyncGenerator<Page> {
    for (const line of ['{"t":"\u00e9 \\n"}', ...HALVES, '{"t":"\\uD800"}'])
      yield Page.ofBlock(encoding, Buffer.from(`${line}\n`), 1);
  }
  for await (const page of tellHalfCharacters(pages(), { readsJson: true }, env.log))
    expect(page.count).toBe(1);
  expect(decoded).toHaveLength(3);
  expect(env.lines.map(({ line }) => line).join('\n')).toMatch(/record=2[^]*records=3/);
});
