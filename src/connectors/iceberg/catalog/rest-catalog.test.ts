/** Against a server that keeps its tables as files, and answers as a test wants it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { sinkContext, sourceContext } from '../../../../test/fakes/env.ts';
import {
  startHttpServer,
  type HttpServer,
  type Reply,
} from '../../../../test/fakes/http-server.ts';
import { readAll } from '../../../../test/fakes/read-all.ts';
import { Page } from '../../../kit/page.ts';
import { check } from '../../../kit/schema.ts';
import { parseJson, stringifyJson, type JsonObject } from '../../../lib/text/json.ts';
import { icebergSink, icebergSource } from '../index.ts';
import type { TableUpdate } from '../metadata/updates.ts';
import type { Catalog } from './catalog.ts';
import { openCatalog } from './open-catalog.ts';

const TABLE = { namespace: ['ns'], table: 't' };
let server: HttpServer;
let folder: string;
let files: Catalog;
/** What goes out instead of the answer to a commit that was made. */
let altered: (answer: JsonObject) => Reply;

beforeAll(async () => {
  server = await startHttpServer();
});
afterAll(() => server.close());

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-iceberg-rest-'));
  altered = (answer) => ({ body: stringifyJson(answer) });
  files = await openCatalog(configOf(local()).catalog, sinkContext(), false);
  server.respond(async ({ method, path, body }) => {
    if (path === '/v1/config') return { json: {} };
    const table = await files.load(TABLE);
    if (table === undefined) return { status: 404, json: {} };
    if (method === 'GET') return { body: stringifyJson(answerOf(table)) };
    const { updates } = parseJson(body) as unknown as { updates: readonly TableUpdate[] };
    const made = await files.commit(TABLE, table, updates);
    return made === false ? { status: 409, json: {} } : altered(answerOf(made));
  });
  await write(local(), 1);
});
afterEach(async () => {
  await files.close();
  rmSync(folder, { recursive: true, force: true });
});

const local = (): JsonObject => ({ type: 'file', warehouse: folder });
const remote = (): JsonObject => ({ type: 'rest', uri: server.url });

function answerOf({
  metadataFile,
  metadata,
}: {
  metadataFile: string;
  metadata: { raw: JsonObject };
}) {
  return { 'metadata-location': metadataFile, metadata: metadata.raw };
}

function configOf(catalog: JsonObject) {
  const checked = check(icebergSink.config, { ...TABLE, catalog });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return checked.value;
}

async function write(catalog: JsonObject, id: number): Promise<void> {
  const sink = await icebergSink.open(configOf(catalog), sinkContext());
  try {
    await sink.write(Page.ofRecords([{ id }]), { partial: false });
    await sink.flush();
    await sink.finish('success');
  } catch (error) {
    await sink.finish('failed');
    throw error;
  } finally {
    await sink.close();
  }
}

async function ids(): Promise<number[]> {
  const checked = check(icebergSource.config, { table: 'ns.t', catalog: local() });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const source = await icebergSource.open(checked.value, sourceContext());
  const pages = await readAll(source);
  await source.close();
  return pages
    .flatMap((page) => page.records().map((record) => Number((record as JsonObject)['id'])))
    .toSorted((a, b) => a - b);
}

it.each<[string, Reply]>([
  ['half of an answer', { body: '{"metadata": {"loc' }],
  ['another answer', { json: { ok: true } }],
  ['an answer without its metadata', { json: { metadata: { 'format-version': 2 } } }],
])('a commit after which %s comes is made once, and keeps its files', async (_what, reply) => {
  altered = () => reply;
  await write(remote(), 2);
  expect(await ids()).toEqual([1, 2]);
});

it('a commit that is redirected without its body is none', async () => {
  const { url } = server;
  const before = await startHttpServer(({ path }) => ({
    status: 301,
    headers: { location: url + path },
  }));
  try {
    await expect(write({ type: 'rest', uri: before.url }, 2)).rejects.toThrow(
      'where it would arrive without its body',
    );
    expect(await ids()).toEqual([1]);
  } finally {
    await before.close();
  }
});
