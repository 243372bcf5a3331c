import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startHttpServer, type HttpServer, type Reply } from '../../../test/fakes/http-server.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import type { SourceDefinition } from '../../kit/source.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { graphqlSource } from '../graphql/index.ts';
import { restSource } from '../rest/index.ts';
import { xmlSource } from '../xml/index.ts';

let server: HttpServer;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());

const names = Array.from({ length: 200 }, (_, id) => `name ${id * 7919}`);
const json = JSON.stringify({ data: { list: names.map((name) => ({ name })) } });
const xml = `<list>${names.map((name) => `<item><name>${name}</name></item>`).join('')}</list>`;

const cases: readonly (readonly [SourceDefinition, string, (url: string) => JsonObject])[] = [
  [restSource, json, (url) => ({ base_url: url, records_path: '$.data.list[*]' })],
  [graphqlSource, json, (url) => ({ endpoint: url, query: '{a}', records_path: '$.data.list[*]' })],
  [xmlSource, xml, (url) => ({ base_url: url, path: '', records_element_path: 'list.item' })],
];

/** The client takes such an answer for a whole one. */
function cutIn(text: string, how: 'plain' | 'gzip'): Reply {
  const bytes = how === 'gzip' ? gzipSync(text) : Buffer.from(text);
  const headers: Reply['headers'] = how === 'gzip' ? { 'content-encoding': 'gzip' } : {};
  return { headers, body: bytes.subarray(0, bytes.length / 2 + 3) };
}

for (const [definition, text, configOf] of cases)
  it.each(['plain', 'gzip'] as const)(
    `${definition.type} asks again for an answer that ends in the middle (%s)`,
    async (how) => {
      const cut = cutIn(text, how);
      server.respond([cut, cut, { body: text }]);
      const { records, waits } = await runSource(definition, configOf(server.url));
      expect(records).toEqual(names.map((name) => ({ name })));
      expect(waits).toHaveLength(2);
      server.respond([cut]);
      await expect(runSource(definition, configOf(server.url))).rejects.toMatchObject({
        kind: 'connection',
        message: expect.stringMatching(/ends in the middle, after \d+ bytes$/) as string,
      });
    },
  );

it('what is wrong before its end is not asked for again', async () => {
  server.requests.length = 0;
  server.respond([{ body: '{"data": nothing}' }]);
  const [[definition, , configOf] = []] = cases;
  if (definition === undefined || configOf === undefined) throw new Error('no case');
  await expect(runSource(definition, configOf(server.url))).rejects.toMatchObject({ kind: 'data' });
  expect(server.requests).toHaveLength(1);
});
