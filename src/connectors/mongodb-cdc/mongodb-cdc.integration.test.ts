/**
 * Against another program's idea of change streams. It names no collections, gives wrong keys of
 * updates, takes a replaced document for an updated one, and has no positions besides those of its
 * events.
 */
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sourceContext } from '../../../test/fakes/env.ts';
import { mongoWithChanges } from '../../../test/servers/mongodb.ts';
import { startOf, type TestServer } from '../../../test/servers/test-servers.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { mongodbCdcSource } from './index.ts';

const { reason } = mongoWithChanges;

describe.skipIf(reason !== undefined)(`mongodb-cdc ${reason ?? ''}`, () => {
  let server: TestServer;
  let client: MongoClient;
  beforeAll(async () => {
    server = await startOf(mongoWithChanges);
    client = new MongoClient(`mongodb://${server.address}`);
  });
  afterAll(async () => {
    await client.close();
    await server.stop();
  });

  const read = async (more: JsonObject, bookmark?: JsonValue) => {
    const checked = check(mongodbCdcSource.config, {
      connection_uri: `mongodb://${server.address}`,
      max_await_time_ms: 50,
      idle_timeout: 0.5,
      ...more,
    });
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    const source = await mongodbCdcSource.open(checked.value, sourceContext());
    const records: JsonObject[] = [];
    const bookmarks: JsonValue[] = [];
    try {
      const request = { lane: RECORDS_LANE, ...(bookmark === undefined ? {} : { bookmark }) };
      for await (const page of source.pages(request)) {
        records.push(...(page.records() as JsonObject[]));
        if (page.bookmark !== undefined) bookmarks.push(page.bookmark);
      }
    } finally {
      await source.close();
    }
    return { records, bookmarks };
  };

  test('changes of a collection, from its oldest one and from each bookmark', async () => {
    const collection = client.db('shop').collection('orders');
    await collection.insertMany([1, 2, 3].map((id) => ({ _id: id as never, n: id })));
    await collection.updateOne({ _id: 1 as never }, { $set: { n: 10 } });
    await collection.replaceOne({ _id: 2 as never }, { n: 20 });
    await collection.deleteOne({ _id: 3 as never });
    await client.db('shop').collection('other').insertOne({ n: 0 });
    const config = {
      scope: { type: 'collection', database: 'shop', collection: 'orders' },
      start_from: 'earliest',
      full_document: 'update_lookup',
      batch_size: 2,
    };
    const { records, bookmarks } = await read(config);
    expect(records.map(({ op }) => op)).toEqual(['c', 'c', 'c', 'u', 'u', 'd']);
    expect(records.map(({ after }) => after)).toEqual([
      { _id: 1, n: 1 },
      { _id: 2, n: 2 },
      { _id: 3, n: 3 },
      { _id: 1, n: 10 },
      { _id: 2, n: 20 },
      null,
    ]);
    for (const [index, bookmark] of bookmarks.slice(0, 3).entries())
      expect((await read(config, bookmark)).records).toEqual(records.slice((index + 1) * 2));
  });
});
