/** Against another program's idea of MongoDB's protocol, which has no transactions. */
import { BSON, MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sinkContext, sourceContext } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import { mongoJavaServer } from '../../../test/servers/mongodb.ts';
import { startOf, type TestServer } from '../../../test/servers/test-servers.ts';
import { Page } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { Sink } from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { mongodbSink, mongodbSource } from './index.ts';

const { reason } = mongoJavaServer;

describe.skipIf(reason !== undefined)(`mongodb ${reason ?? ''}`, () => {
  let server: TestServer;
  let client: MongoClient;
  let collections = 0;

  beforeAll(async () => {
    server = await startOf(mongoJavaServer);
    client = new MongoClient(`mongodb://${server.address}`);
  });
  afterAll(async () => {
    await client.close();
    await server.stop();
  });

  const place = (more: JsonObject = {}): JsonObject & { readonly collection: string } => {
    const collection = `c${(collections += 1)}`;
    return { connection_uri: `mongodb://${server.address}`, database: 'd', collection, ...more };
  };
  const open = async (config: JsonObject): Promise<Sink> => {
    const checked = check(mongodbSink.config, config);
    if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
    return mongodbSink.open(checked.value, sinkContext());
  };
  const write = async (config: JsonObject, records: readonly JsonValue[], partial = false) => {
    const sink = await open(config);
    try {
      const result = await sink.write(Page.ofRecords(records), { partial });
      await sink.flush();
      await sink.finish('success');
      return result;
    } finally {
      await sink.close();
    }
  };
  const stored = async (name: string): Promise<unknown> =>
    BSON.EJSON.serialize(
      await client
        .db('d')
        .collection(name)
        .find({}, { projection: { _id: 0 } })
        .toArray(),
    );

  it('is read in many batches, with filter, projection and sort', async () => {
    const config = place();
    const records = Array.from({ length: 2500 }, (_, n) => ({
      _id: { $oid: n.toString(16).padStart(24, '0') },
      n,
      at: { $date: new Date(Date.UTC(2024, 0, 1) + n * 1000).toISOString().replace('.000Z', 'Z') },
      price: { $numberDecimal: `${n}.10` },
    }));
    await write(config, records);
    expect((await runSource(mongodbSource, { ...config, cursor_batch_size: 300 })).records).toEqual(
      records,
    );
    const { records: found } = await runSource(
      mongodbSource,
      {
        ...config,
        filter: { at: { $gte: { $date: '2024-01-01T00:10:00Z' } }, n: { $lt: '{to}' } },
        projection: { _id: 0, n: 1 },
        sort: { n: -1 },
        limit: 3,
      },
      { context: { parent: { to: 700 } } },
    );
    expect(found).toEqual([{ n: 699 }, { n: 698 }, { n: 697 }]);
    const nothing = place();
    expect((await runSource(mongodbSource, nothing)).records).toEqual([]);
  });

  it('lists its collections', async () => {
    const config = place({ database: 'listed' });
    await write(config, [{ _id: 1, a: 'x' }]);
    const checked = check(mongodbSource.config, config);
    if (!checked.ok) throw new Error('not valid');
    expect(await mongodbSource.discover?.(checked.value, sourceContext())).toEqual([
      {
        name: config.collection,
        kind: 'collection',
        schema: { type: 'object', properties: { _id: { type: 'integer' }, a: { type: 'string' } } },
        estimated_rows: 1,
        config_patch: { collection: config.collection },
      },
    ]);
  });

  it('takes upserts, deletes and markers by key', async () => {
    const marker = { delete_marker: { field: 'op', values: ['d'] } };
    const config = place({ write_mode: 'upsert', key: ['id'], ...marker });
    await write(config, [
      { id: 1, a: 1, op: 'i' },
      { id: 2, a: 2, op: 'i' },
      { id: 3, a: 3 },
    ]);
    await write(config, [
      { id: 1, b: 9 },
      { id: 2, op: 'd' },
    ]);
    expect(await stored(config.collection)).toEqual([
      { id: 1, b: 9 },
      { id: 3, a: 3 },
    ]);
    const { delete_marker: _marker, ...rest } = config;
    await write({ ...rest, write_mode: 'delete' }, [{ id: 3 }, { id: 8 }]);
    expect(await stored(config.collection)).toEqual([{ id: 1, b: 9 }]);
  });

  it('refuses single records, in both orders', async () => {
    for (const ordered of [false, true]) {
      const config = place({ ordered });
      await client.db('d').collection(config.collection).createIndex({ id: 1 }, { unique: true });
      const records = [{ id: 1 }, { id: 1 }, { id: 2 }, { id: 1 }, { id: 3 }];
      const { rejected, written } = await write(config, records, true);
      expect([rejected.map(({ index }) => index), written]).toEqual([[1, 3], 3]);
      expect(await stored(config.collection)).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    }
  });

  it('is overwritten at once, and only by a run that succeeds', async () => {
    const config = place({ write_mode: 'overwrite' });
    await write({ ...config, write_mode: 'append' }, [{ n: 1 }]);
    await client.db('d').collection(config.collection).createIndex({ n: 1 }, { unique: true });
    const sink = await open(config);
    await sink.write(Page.ofRecords([{ n: 2 }]), { partial: false });
    expect(await stored(config.collection)).toEqual([{ n: 1 }]);
    await sink.finish('failed');
    await sink.close();
    expect(await stored(config.collection)).toEqual([{ n: 1 }]);
    await write(config, [{ n: 3 }]);
    expect(await stored(config.collection)).toEqual([{ n: 3 }]);
    const indexes = await client.db('d').collection(config.collection).listIndexes().toArray();
    expect(indexes.map(({ name }) => String(name))).toContain('n_1');
  });

  it('loses the documents that are not at the source any more', async () => {
    const config = place({ write_mode: 'upsert', key: ['id'] });
    await write(config, [
      { id: 1, p: 'a' },
      { id: 2, p: 'a' },
      { id: 3, p: 'b' },
    ]);
    const sink = await open(config);
    expect(await sink.sweep?.({ scope: { p: 'a' }, keys: [[2]] })).toBe(1);
    await sink.close();
    expect(await stored(config.collection)).toEqual([
      { id: 2, p: 'a' },
      { id: 3, p: 'b' },
    ]);
  });

  it('has no transactions, which is said', async () => {
    const sink = await open(place());
    const failure = await failureOf(sink.tokens?.last('p::row') ?? Promise.resolve());
    expect(failure).toMatchObject({ kind: 'refused' });
    await sink.close();
  });
});
