/** Catalogs that want signed requests: the server of Apache Iceberg behind a door that asks for them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sinkContext } from '../../../test/fakes/env.ts';
import {
  startHttpServer,
  type HttpServer,
  type SeenRequest,
} from '../../../test/fakes/http-server.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { icebergRest } from '../../../test/servers/iceberg-rest.ts';
import { startOf, type TestServer } from '../../../test/servers/test-servers.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { icebergSink, icebergSource } from './index.ts';

const KEYS = { 'client.access-key-id': 'AKID', 'client.secret-access-key': 'not-a-secret' };
const ROWS = [
  { id: 1, v: 'a' },
  { id: 2, v: 'b' },
];

let server: TestServer | undefined;
let door: HttpServer;
let locations: unknown[] = [];
let namespaces = new Set<string>();
let tables = 0;

beforeAll(async () => {
  if (icebergRest.reason === undefined) server = await startOf(icebergRest);
});
afterAll(() => server?.stop());

/** Passes on what is signed for this service, and keeps where tables were to be made. */
async function openDoor(service: string): Promise<void> {
  [locations, namespaces] = [[], new Set()];
  door = await startHttpServer(async (request) => {
    const { method, path, query, body } = request;
    if (!isSigned(request, service)) return { status: 403, json: { error: { code: 403 } } };
    const sent = body === '' ? undefined : withoutLocation(body);
    if (path.endsWith('/namespaces')) namespaces.add(namespaceIn(body));
    const [, namespace] = /\/namespaces\/([^/]+)\/tables$/.exec(path) ?? [];
    // The server behind makes tables in namespaces that it does not know.
    if (method === 'POST' && namespace !== undefined && !namespaces.has(namespace))
      return { status: 404, json: { error: { code: 404 } } };
    const to = `${server?.url}${path.replace('/iceberg', '')}?${query}`;
    const answer = await fetch(to, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(sent === undefined ? {} : { body: sent }),
    });
    return { status: answer.status, body: await answer.text() };
  });
}

function isSigned({ headers }: SeenRequest, service: string): boolean {
  const form = new RegExp(
    `^AWS4-HMAC-SHA256 Credential=AKID/\\d{8}/eu-north-1/${service}/aws4_request, ` +
      'SignedHeaders=[a-z0-9;-]*host[a-z0-9;-]*, Signature=[0-9a-f]{64}$',
  );
  return form.test(headers['authorization'] ?? '');
}

function namespaceIn(body: string): string {
  return (JSON.parse(body) as { readonly namespace: readonly string[] }).namespace.join('.');
}

/** The server behind has no S3. */
function withoutLocation(body: string): string {
  const { location, ...rest } = JSON.parse(body) as JsonObject;
  if (location === undefined) return body;
  locations.push(location);
  return JSON.stringify(rest);
}

async function write(catalog: JsonObject, namespace: string, table: string): Promise<void> {
  const checked = check(icebergSink.config, { catalog, namespace: [namespace], table });
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  const sink = await icebergSink.open(checked.value, sinkContext());
  try {
    await sink.write(Page.ofRecords([...ROWS]), { partial: false });
    await sink.flush();
    await sink.finish('success');
  } finally {
    await sink.close();
  }
}

const title = `signed requests ${icebergRest.reason ?? ''}`;
describe.skipIf(icebergRest.reason !== undefined)(title, () => {
  test('AWS Glue is a REST catalog, and tables are made in the warehouse', async () => {
    await openDoor('glue');
    await using _ = door;
    const [namespace, table] = [`glue${(tables += 1)}`, 't'];
    const catalog = {
      type: 'glue',
      uri: `${door.url}/iceberg`,
      warehouse: 's3://lake/warehouse/',
      properties: { ...KEYS, 'client.region': 'eu-north-1', 'glue.id': '123456789012' },
    };
    await write(catalog, namespace, table);
    const place = `s3://lake/warehouse/${namespace}.db/${table}`;
    // The second time the namespace was there.
    expect(locations).toEqual([place, place]);
    const { records } = await runSource(icebergSource, { catalog, table: `${namespace}.${table}` });
    expect(records).toEqual(ROWS);
    expect(door.requests[0]?.query.get('warehouse')).toBe('123456789012');
    await write(catalog, namespace, 'second');
    const made = door.requests.filter(({ method, path }) =>
      `${method} ${path}`.endsWith('namespaces'),
    );
    expect(made.map(({ method }) => method)).toEqual(['POST']);
  });

  test('other catalogs say for which service', async () => {
    await openDoor('s3tables');
    await using _ = door;
    const namespace = `s3tables${(tables += 1)}`;
    const signed = {
      'rest.sigv4-enabled': 'true',
      'rest.signing-name': 's3tables',
      'rest.signing-region': 'eu-north-1',
    };
    const catalog = (properties: JsonObject) => ({
      type: 'rest',
      uri: `${door.url}/iceberg`,
      properties,
    });
    await write(catalog({ ...KEYS, ...signed }), namespace, 't');
    expect(locations).toEqual([]);
    const read = (properties: JsonObject) =>
      runSource(icebergSource, { catalog: catalog(properties), table: `${namespace}.t` });
    expect((await read({ ...KEYS, ...signed })).records).toEqual(ROWS);
    await expect(read(KEYS)).rejects.toMatchObject({ status: 403 });
    await expect(read({ ...KEYS, ...signed, 'rest.signing-name': 'x' })).rejects.toMatchObject({
      status: 403,
    });
  });

  test('without a region nothing is asked', async () => {
    await openDoor('glue');
    await using _ = door;
    const catalog = { type: 'glue', uri: door.url, warehouse: 's3://lake', properties: KEYS };
    await expect(runSource(icebergSource, { catalog, table: 'a.b' })).rejects.toMatchObject({
      message: 'it is not said in which region the catalog is',
    });
    expect(door.requests).toEqual([]);
  });
});
