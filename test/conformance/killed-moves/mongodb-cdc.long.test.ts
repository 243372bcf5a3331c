/**
 * Changes of MongoDB move to a sink that commits records and watermark together, alone and behind a
 * snapshot. Killed at every failpoint and run again, the destination holds each change once, and a
 * copy is the collection.
 */
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isObject, stringifyJson, type JsonObject } from '../../../src/lib/text/json.ts';
import { startMongodbServer, type MongodbServer } from '../../fakes/mongodb/server.ts';
import { Crasher } from '../crash/crash.ts';
import { changedInTheMiddle } from './changed-in-the-middle.ts';
import { sqliteTarget, type Row } from './sqlite-target.ts';

const LONG = { timeout: 900_000 };
const PAGE = 5;
const [DATABASE, COLLECTION] = ['shop', 'orders'];

let server: MongodbServer;
let client: MongoClient;
beforeAll(async () => {
  server = await startMongodbServer();
  client = new MongoClient(server.url);
});
afterAll(async () => {
  await client.close();
  await server.close();
});
const orders = () => client.db(DATABASE).collection(COLLECTION);
const idOf = (id: number) => ({ _id: id as never });

/** With seconds of its own, so that reading from a time begins behind what was before. */
async function renew(): Promise<void> {
  await orders().deleteMany({});
  server.changes.seconds += 10;
}
beforeEach(renew);

function changesFrom(more: JsonObject = {}): JsonObject {
  return {
    type: 'mongodb-cdc',
    config: {
      connection_uri: server.url,
      scope: { type: 'collection', database: DATABASE, collection: COLLECTION },
      operation_types: ['insert', 'update', 'replace', 'delete'],
      batch_size: PAGE,
      idle_timeout: 0.6,
      max_await_time_ms: 50,
      ...more,
    },
  };
}

async function makeChanges(): Promise<number> {
  await renew();
  const start = server.changes.seconds;
  for (let id = 1; id <= 12; id += 1) await orders().insertOne({ ...idOf(id), n: id });
  await orders().updateOne(idOf(1), { $set: { n: 0 } });
  await orders().deleteOne(idOf(2));
  await orders().replaceOne(idOf(3), { n: 33 });
  return start;
}

const EXPECTED = [
  ...Array.from({ length: 12 }, (_, index) => `c ${index + 1}`),
  'u 1',
  'd 2',
  'r 3',
].sort();

function changeText({ op, document_key: key }: Row): string {
  const parsed: unknown = typeof key === 'string' ? JSON.parse(key) : key;
  return `${String(op)} ${isObject(parsed) ? Number(parsed['_id']) : '?'}`;
}

test('changes: each once after a kill at every failpoint', LONG, async () => {
  using crasher = new Crasher();
  const move = async (crashAt: number | null): Promise<readonly string[]> => {
    const seconds = await makeChanges();
    using to = sqliteTarget('op TEXT, document_key TEXT', {});
    const start = { type: 'timestamp', timestamp_secs: seconds };
    const tree = stringifyJson({
      version: 1,
      name: 'killed',
      delivery: 'exactly_once',
      pipeline: {
        source: changesFrom({ start_from: start }),
        transforms: [{ type: 'select', config: { fields: ['op', 'document_key'] } }],
        sink: to.sink,
        state: { type: 'file', config: { path: to.folder } },
      },
    });
    const first = await crasher.run({ tree, crashAt });
    expect(first === undefined, `crash at ${crashAt}`).toBe(crashAt !== null);
    const again = crashAt === null ? first : await crasher.run({ tree, crashAt: null });
    expect(again?.error ?? null, `after a crash at ${crashAt}`).toBeNull();
    expect(to.rows().map(changeText).sort(), `after a crash at ${crashAt}`).toEqual(EXPECTED);
    return first?.failpoints ?? [];
  };
  const failpoints = await move(null);
  expect(failpoints.length).toBeGreaterThan(8);
  for (const crashAt of failpoints.keys()) await move(crashAt);
});

const KEYED: JsonObject = {
  write_mode: 'upsert',
  key: ['_id'],
  delete_marker: { field: '__op', values: ['d'] },
};

/** What changes while nobody reads: old and new documents, and keys that come back. */
async function change(round: number): Promise<void> {
  for (let id = round; id <= 12; id += 5)
    await orders().updateOne(idOf(id), { $set: { n: id + 100 } });
  await orders().deleteOne(idOf(round + 1));
  await orders().deleteOne(idOf(round + 9));
  await orders().insertOne({ ...idOf(1000 + round), n: round });
  await orders().replaceOne(idOf(2), { n: -round }, { upsert: true });
}

const keysAndValues = (rows: readonly Row[]): string[] =>
  rows.map(({ _id, n }) => `${String(_id)}=${String(n)}`).sort();

describe('a replication', () => {
  test('the copy is the collection after a kill at every failpoint', LONG, async () => {
    using crasher = new Crasher();
    const move = async (crashAt: number | null): Promise<readonly string[]> => {
      await renew();
      await orders().insertMany(
        Array.from({ length: 12 }, (_, index) => ({ ...idOf(index + 1), n: index + 1 })),
      );
      using to = sqliteTarget('_id int PRIMARY KEY, n int', KEYED);
      const config = {
        connection_uri: server.url,
        database: DATABASE,
        collection: COLLECTION,
        batch_size: PAGE,
      };
      const tree = stringifyJson({
        version: 1,
        name: 'replica',
        delivery: 'exactly_once',
        replication: { continuous: false, snapshot: { source: { type: 'mongodb', config } } },
        pipeline: {
          source: changesFrom({ full_document: 'update_lookup' }),
          transforms: [{ type: 'cdc_unwrap' }],
          sink: to.sink,
          state: { type: 'file', config: { path: to.folder } },
        },
      });
      const first = await changedInTheMiddle(crasher, { tree, crashAt }, to.folder, () =>
        change(0),
      );
      expect(first === undefined, `crash at ${crashAt}`).toBe(crashAt !== null);
      await change(1);
      const again = await crasher.run({ tree, crashAt: null });
      expect(again?.error ?? null, `after a crash at ${crashAt}`).toBeNull();
      const original = await orders().find().toArray();
      expect(keysAndValues(to.rows()), `after a crash at ${crashAt}`).toEqual(
        keysAndValues(original),
      );
      return first?.failpoints ?? [];
    };
    const failpoints = await move(null);
    expect(failpoints.filter((name) => name.startsWith('after_anchor of'))).toHaveLength(1);
    expect(failpoints.filter((name) => name.startsWith('after_phase'))).toHaveLength(2);
    for (const crashAt of failpoints.keys()) await move(crashAt);
  });
});
