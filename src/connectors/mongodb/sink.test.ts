import { BSON, MongoClient, type Document } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sinkContext, testEnv } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { CommandError } from '../../../test/fakes/mongodb/command-error.ts';
import {
  startMongodbServer,
  type Fault,
  type MongodbServer,
} from '../../../test/fakes/mongodb/server.ts';
import { runSource } from '../../../test/fakes/run-source.ts';
import type { SinkContext } from '../../kit/context.ts';
import { Page } from '../../kit/page.ts';
import type { RecordSchema, RecordType } from '../../kit/record-schema.ts';
import { check } from '../../kit/schema.ts';
import type { Sink, WriteResult } from '../../kit/sink.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { mongodbSink, mongodbSource } from './index.ts';

const faults: { readonly name: string; readonly fault: Fault }[] = [];
let server: MongodbServer;
let alone: MongodbServer;
let client: MongoClient;
let collections = 0;

beforeAll(async () => {
  const fault = (name: string): Fault | undefined =>
    faults[0]?.name === name ? faults.shift()?.fault : undefined;
  server = await startMongodbServer({ fault });
  alone = await startMongodbServer({ standalone: true, fault });
  client = new MongoClient(server.url, { promoteValues: false });
});
afterEach(() => {
  faults.length = 0;
});
afterAll(async () => {
  await client.close();
  await server.close();
  await alone.close();
});

/** A collection of its own. */
function place(more: JsonObject = {}): JsonObject & { readonly collection: string } {
  const collection = `c${(collections += 1)}`;
  return { connection_uri: server.url, database: 'd', collection, ...more };
}

async function open(config: JsonObject, context: Partial<SinkContext> = {}): Promise<Sink> {
  const checked = check(mongodbSink.config, config);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return mongodbSink.open(checked.value, sinkContext(context));
}

interface Writing {
  readonly schema?: RecordSchema;
  readonly partial?: boolean;
  readonly context?: Partial<SinkContext>;
}

async function write(
  config: JsonObject,
  records: readonly JsonValue[],
  { schema, partial = false, context }: Writing = {},
): Promise<WriteResult> {
  const sink = await open(config, context);
  try {
    const result = await sink.write(Page.ofRecords(records, { schema }), { partial });
    await sink.flush();
    await sink.finish('success');
    return result;
  } finally {
    await sink.close();
  }
}

const stored = (name: string): Promise<Document[]> =>
  client
    .db('d')
    .collection(name)
    .find({}, { projection: { _id: 0 } })
    .toArray();
/** With the types that the database holds. */
const typed = async (name: string): Promise<unknown[]> =>
  (await stored(name)).map((one) => BSON.EJSON.serialize(one, { relaxed: false }));

function field(name: string, type: RecordType): RecordSchema['fields'][number] {
  return { name, type, nullable: true };
}

describe('values', () => {
  test('are stored with the types that their fields have', async () => {
    const schema: RecordSchema = {
      fields: [
        field('small', { kind: 'int32' }),
        field('long', { kind: 'int64' }),
        field('huge', { kind: 'uint64' }),
        field('float', { kind: 'float64' }),
        field('nan', { kind: 'float64' }),
        field('price', { kind: 'decimal', precision: 10, scale: 2 }),
        field('at', { kind: 'timestamp', unit: 'us', zone: 'UTC' }),
        field('wall', { kind: 'timestamp', unit: 'us' }),
        field('day', { kind: 'date' }),
        field('bytes', { kind: 'binary' }),
        field('uuid', { kind: 'uuid' }),
        field('text', { kind: 'utf8' }),
        field('list', { kind: 'list', item: { kind: 'decimal' } }),
        field('struct', { kind: 'struct', fields: [field('n', { kind: 'int64' })] }),
        field('map', { kind: 'map', key: { kind: 'utf8' }, value: { kind: 'float64' } }),
        field('none', { kind: 'int64' }),
      ],
    };
    const config = place();
    const result = await write(
      config,
      [
        {
          small: 1,
          long: 2,
          huge: 18_446_744_073_709_551_615n,
          float: 3,
          nan: 'NaN',
          price: '1.10',
          at: '2024-05-06T07:08:09.25Z',
          wall: '2024-05-06T07:08:09.25',
          day: '2024-05-06',
          bytes: 'AQI=',
          uuid: '00000000-0000-4000-8000-000000000001',
          text: '{"$oid":"x"}',
          list: ['1.5', null],
          struct: { n: 4, other: 'x' },
          map: { a: 5 },
          none: null,
        },
      ],
      { schema },
    );
    expect(result.roundedFields).toBeUndefined();
    expect(await typed(config.collection)).toEqual([
      {
        small: { $numberInt: '1' },
        long: { $numberLong: '2' },
        huge: { $numberDecimal: '18446744073709551615' },
        float: { $numberDouble: '3.0' },
        nan: { $numberDouble: 'NaN' },
        price: { $numberDecimal: '1.10' },
        at: { $date: { $numberLong: String(Date.UTC(2024, 4, 6, 7, 8, 9, 250)) } },
        wall: '2024-05-06T07:08:09.25',
        day: '2024-05-06',
        bytes: { $binary: { base64: 'AQI=', subType: '00' } },
        uuid: { $binary: { base64: 'AAAAAAAAQACAAAAAAAAAAQ==', subType: '04' } },
        text: '{"$oid":"x"}',
        list: [{ $numberDecimal: '1.5' }, null],
        struct: { n: { $numberLong: '4' }, other: 'x' },
        map: { a: { $numberDouble: '5.0' } },
        none: null,
      },
    ]);
  });

  test('that lose digits are counted', async () => {
    const schema: RecordSchema = {
      fields: [
        field('at', { kind: 'timestamp', unit: 'us', zone: 'UTC' }),
        field('price', { kind: 'decimal' }),
      ],
    };
    const config = place();
    const digits = '1.234567890123456789012345678901234567';
    const result = await write(
      config,
      [
        { at: '2024-05-06T07:08:09.123456Z', price: digits },
        { at: '2024-05-06T07:08:09.123000Z', price: '1' },
        { at: 'infinity', price: 'Infinity' },
      ],
      { schema },
    );
    expect([...(result.roundedFields ?? [])]).toEqual([
      ['at', 1],
      ['price', 1],
    ]);
    expect((await stored(config.collection)).map((one) => String(one['price']))).toEqual([
      '1.234567890123456789012345678901235',
      '1',
      'Infinity',
    ]);
    expect((await stored(config.collection))[2]?.['at']).toBe('infinity');
  });

  test('read from MongoDB come back to it as they were', async () => {
    const from = place();
    await client
      .db('d')
      .collection(from.collection)
      .insertOne({
        i: new BSON.Int32(1),
        l: BSON.Long.fromNumber(2 ** 40),
        d: new BSON.Double(1.5),
        p: BSON.Decimal128.fromString('1.10'),
        at: new Date(5),
        old: new Date(-5),
        u: new BSON.UUID('00000000-0000-4000-8000-000000000001'),
        r: new BSON.BSONRegExp('^a', 'i'),
        t: new BSON.Timestamp({ t: 1, i: 2 }),
      });
    const { records } = await runSource(mongodbSource, from);
    const to = place();
    await write(to, records);
    expect(await typed(to.collection)).toEqual(await typed(from.collection));
  });

  test('that are no value of their form are refused with the name of the field', async () => {
    const failure = await failureOf(write(place(), [{ a: 1 }, { ref: { $oid: 'x' } }]));
    expect(failure).toMatchObject({ kind: 'data' });
    expect(failure.message).toMatch(/a record cannot be written.*`ref` .*ObjectId/);
  });
});

describe('modes', () => {
  test('an upsert replaces the whole document, and keeps its _id', async () => {
    const config = place({ write_mode: 'upsert', key: ['id'] });
    await write(config, [
      { id: 1, a: 1, b: 2 },
      { id: 2, a: 1 },
    ]);
    const [before] = await client.db('d').collection(config.collection).find({ id: 1 }).toArray();
    await write(config, [
      { id: 1, c: 3 },
      { id: 2, b: 5 },
      { id: 2, c: 6 },
    ]);
    const [after] = await client.db('d').collection(config.collection).find({ id: 1 }).toArray();
    expect(after?.['_id']).toEqual(before?.['_id']);
    expect(BSON.EJSON.serialize(await stored(config.collection))).toEqual([
      { id: 1, c: 3 },
      { id: 2, c: 6 },
    ]);
  });

  test('values of a key are compared, whatever they look like', async () => {
    const config = place({ write_mode: 'upsert', key: ['_id'] });
    await write(config, [{ _id: 1, v: 'one' }]);
    const remove = { ...config, write_mode: 'delete' };
    await write(remove, [{ _id: { $ne: 5 } }]);
    expect(await stored(config.collection)).toEqual([{ v: 'one' }]);
    await write(config, [{ _id: { $oid: '65a1b2c3d4e5f60718293a4b' }, v: 'two' }]);
    await write(remove, [{ _id: 1 }]);
    const [left] = await client.db('d').collection(config.collection).find().toArray();
    expect(left).toMatchObject({ v: 'two' });
    expect(left?.['_id']).toBeInstanceOf(BSON.ObjectId);
  });

  test('a key gets a unique index with a new collection, and a warning without one in an old one', async () => {
    const config = place({ write_mode: 'upsert', key: ['id'] });
    await write(config, [{ id: 1 }]);
    const indexes = await client.db('d').collection(config.collection).listIndexes().toArray();
    expect(indexes.map(({ name, unique }) => [name, unique])).toContainEqual(['id_1', true]);
    const env = testEnv();
    const warnings = (): number => env.lines.filter(({ level }) => level === 'WARN').length;
    await write({ ...config, key: ['id', 'part'] }, [{ id: 2, part: 1 }], { context: { env } });
    expect(warnings()).toBe(0);
    await write({ ...config, key: ['part'] }, [{ id: 3, part: 9 }], { context: { env } });
    expect(warnings()).toBe(1);
  });

  test('a user who may not look at indexes writes all the same, and is told', async () => {
    const config = place({ write_mode: 'upsert', key: ['id'] });
    const env = testEnv();
    faults.push({ name: 'listCollections', fault: new CommandError(13, 'not authorized') });
    await write(config, [{ id: 1 }, { id: 2 }, { id: 1, v: 2 }], { context: { env } });
    expect(BSON.EJSON.serialize(await stored(config.collection))).toEqual([
      { id: 1, v: 2 },
      { id: 2 },
    ]);
    const [warning] = env.lines.filter(({ level }) => level === 'WARN');
    expect(warning?.line).toContain('not authorized');
  });

  test('an overwrite keeps the settings and indexes of the collection, and leaves nothing else', async () => {
    const config = place({ write_mode: 'overwrite' });
    const database = client.db('d');
    await database.createCollection(config.collection, { validator: { n: { $gte: 0 } } });
    await database.collection(config.collection).createIndex({ n: 1 }, { unique: true });
    await write(config, [{ n: 1 }]);
    await write(config, [{ n: 2 }]);
    expect(BSON.EJSON.serialize(await stored(config.collection))).toEqual([{ n: 2 }]);
    const refused = await failureOf(write(config, [{ n: 3 }, { n: 3 }]));
    expect(refused.message).toMatch(/cannot be written.*duplicate key/);
    expect((await failureOf(write(config, [{ n: -1 }]))).message).toContain('failed validation');
    const sink = await open(config);
    await sink.write(Page.ofRecords([{ n: 4 }]), { partial: false });
    await sink.finish('failed');
    await sink.close();
    await write(config, [{ n: 5 }]);
    expect(BSON.EJSON.serialize(await stored(config.collection))).toEqual([{ n: 5 }]);
    const names = (await database.listCollections().toArray()).map(({ name }) => name);
    expect(names.filter((name) => name.startsWith(`${config.collection}__`))).toEqual([]);
  });

  test('of two overwrites at the same time the later one wins, and the other says so', async () => {
    const config = place({ write_mode: 'overwrite' });
    const [first, second] = [await open(config), await open(config)];
    const page = (n: number): Page => Page.ofRecords([{ n }]);
    await first.write(page(1), { partial: false });
    await second.write(page(2), { partial: false });
    // The server makes the dropped collection again for this page.
    await first.write(page(1), { partial: false });
    const failure = await failureOf(first.finish('success'));
    expect(failure).toMatchObject({ kind: 'refused' });
    await second.finish('success');
    await first.close();
    await second.close();
    expect(BSON.EJSON.serialize(await stored(config.collection))).toEqual([{ n: 2 }]);
  });

  test('dead letters are added, whatever the mode', async () => {
    const config = place({ write_mode: 'upsert', key: ['id'] });
    await write(config, [{ error: 'x' }, { error: 'x' }], { context: { role: 'dlq' } });
    expect(await stored(config.collection)).toHaveLength(2);
  });
});

describe('records that are refused', () => {
  const records = [{ id: 1 }, { id: 7 }, { id: 2 }, { id: 7 }, { id: 3 }];
  const seeded = async (
    more: JsonObject,
  ): Promise<JsonObject & { readonly collection: string }> => {
    const config = place(more);
    await client.db('d').collection(config.collection).createIndex({ id: 1 }, { unique: true });
    await write(config, [{ id: 7 }]);
    return config;
  };
  const ids = async (name: string): Promise<number[]> =>
    (await stored(name)).map(({ id }) => Number(id));

  test.each<JsonObject>([
    {},
    { ordered: true },
    { batch_size: 2 },
    { batch_size: 2, ordered: true },
    { batch_size: 0 },
  ])('are told one by one, and the others are written (%j)', async (more) => {
    const config = await seeded(more);
    const result = await write(config, records, { partial: true });
    expect(result.rejected.map(({ index }) => index)).toEqual([1, 3]);
    expect(result.rejected[0]?.error.message).toContain('E11000');
    expect(result.written).toBe(3);
    expect(await ids(config.collection)).toEqual([7, 1, 2, 3]);
  });

  test('fail the page where nobody takes them, behind which nothing is written in order', async () => {
    const config = await seeded({ ordered: true });
    const failure = await failureOf(write(config, records));
    expect(failure.message).toMatch(/cannot be written.*E11000/);
    expect(await ids(config.collection)).toEqual([7, 1]);
  });

  test('for being too large do not keep the others from being written', async () => {
    const config = place();
    const large = { text: 'x'.repeat(17 * 1024 * 1024) };
    const result = await write(config, [{ id: 1 }, large, { id: 2 }], { partial: true });
    expect(result.rejected.map(({ index, error }) => [index, error.message])).toEqual([
      [1, expect.stringMatching(/bytes, and MongoDB stores at most 16 MiB/)],
    ]);
    expect(await ids(config.collection)).toEqual([1, 2]);
  });

  test('are not those that a server refuses for its own reasons', async () => {
    const config = place();
    for (let times = 0; times < 3; times += 1)
      faults.push({ name: 'insert', fault: new CommandError(10_107, 'not primary') });
    expect(await failureOf(write(config, [{ id: 1 }], { partial: true }))).toMatchObject({
      kind: 'connection',
    });
    const writeErrors = [{ index: 0, code: 10_107, errmsg: 'not primary' }];
    faults.length = 0;
    faults.push({ name: 'insert', fault: { ok: 1, n: 0, writeErrors } });
    expect(await failureOf(write(config, [{ id: 1 }], { partial: true }))).toMatchObject({
      kind: 'connection',
    });
  });

  test('do not hide that enough members have not confirmed the others', async () => {
    const writeErrors = [{ index: 1, code: 11_000, errmsg: 'E11000 duplicate key' }];
    const writeConcernError = { code: 64, errmsg: 'waiting for replication timed out' };
    for (const refused of [[], writeErrors]) {
      const answer = { ok: 1, n: 2 - refused.length, writeErrors: refused, writeConcernError };
      faults.push({ name: 'insert', fault: answer });
      const failure = await failureOf(write(place(), [{ id: 1 }, { id: 2 }], { partial: true }));
      expect(failure).toMatchObject({ kind: 'timeout' });
      expect(failure.message).toContain('waiting for replication timed out');
    }
  });

  test('a connection that a server alone has lost is told as that', async () => {
    faults.push({ name: 'insert', fault: 'cut' });
    const failing = write(place({ connection_uri: alone.url }), [{ id: 1 }], { partial: true });
    expect(await failureOf(failing)).toMatchObject({ kind: 'connection' });
  });

  test('a command that was done and not answered is not done again', async () => {
    const config = place();
    faults.push({ name: 'insert', fault: 'cut after' });
    await write(config, [{ id: 1 }, { id: 2 }]);
    expect(await ids(config.collection)).toEqual([1, 2]);
  });
});

describe('commit tokens', () => {
  const commit = async (
    sink: Sink,
    ids: readonly number[],
    token: string,
  ): Promise<WriteResult> => {
    const page = Page.ofRecords(ids.map((id) => ({ id })));
    const result = await sink.tokens?.write(page, 'p::row', token);
    if (result === undefined) throw new Error('it has no tokens');
    return result;
  };
  const count = async (name: string): Promise<number> => (await stored(name)).length;

  test('stand in a document of their own, in the form of all sinks', async () => {
    const config = place({ database: 'tokens' });
    const sink = await open(config);
    expect(await sink.tokens?.last('p::row')).toBeUndefined();
    await commit(sink, [1], '00000000000000000001#5');
    await sink.close();
    const found = await client
      .db('tokens')
      .collection<{ _id: string }>('_svc_commit_token')
      .findOne({ _id: 'p::row' });
    expect(found).toEqual({ _id: 'p::row', token: '00000000000000000001#5' });
  });

  test('and their page are committed once when the answer is lost, or something was in the way', async () => {
    const config = place();
    const sink = await open(config);
    await sink.tokens?.last('p::row');
    faults.push({ name: 'commitTransaction', fault: 'cut after' });
    await commit(sink, [1, 2], 'one');
    faults.push({
      name: 'update',
      fault: new CommandError(112, 'WriteConflict', ['TransientTransactionError']),
    });
    await commit(sink, [3], 'two');
    expect(await sink.tokens?.last('p::row')).toBe('two');
    await sink.close();
    expect(await count(config.collection)).toBe(3);
  });

  test('are refused to an execution that another one has followed', async () => {
    const config = place({ database: 'followed' });
    const runId = 'run-1';
    const [old, fresh] = [
      await open(config, { runId, claim: 1 }),
      await open(config, { runId, claim: 2 }),
    ];
    await old.tokens?.last('p::row');
    await commit(old, [1], 'one');
    expect(await fresh.tokens?.last('p::row')).toBe('one');
    expect(await failureOf(commit(old, [2], 'two'))).toMatchObject({ kind: 'refused' });
    const late = await open(config, { runId, claim: 1 });
    expect(await failureOf(late.tokens?.last('p::row') ?? Promise.resolve())).toMatchObject({
      kind: 'refused',
    });
    await commit(fresh, [2], 'two');
    for (const sink of [old, fresh, late]) await sink.close();
    const rows = await client.db('followed').collection(config.collection).find().toArray();
    expect(rows.map(({ id }) => Number(id))).toEqual([1, 2]);
  });

  test('need a server with transactions, which is said before anything is written', async () => {
    const sink = await open(place({ connection_uri: alone.url }));
    const failure = await failureOf(sink.tokens?.last('p::row') ?? Promise.resolve());
    expect(failure).toMatchObject({ kind: 'refused' });
    expect(failure.message).toContain('transaction');
    await sink.close();
    expect(alone.commands()).not.toContain('create');
  });
});

describe('rows that no longer exist at the source', () => {
  const schema: RecordSchema = {
    fields: [field('id', { kind: 'uuid' }), field('part', { kind: 'int64' })],
  };
  const uuid = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;

  test.each(['a replica set', 'a server of its own'])(
    'are removed from %s by typed keys',
    async (kind) => {
      const uri = kind === 'a replica set' ? server.url : alone.url;
      const config = place({ connection_uri: uri, write_mode: 'upsert', key: ['id'] });
      const records = [1, 2, 3, 4].map((n) => ({ id: uuid(n), part: n === 4 ? 2 : 1 }));
      const sink = await open(config);
      await sink.write(Page.ofRecords(records, { schema }), { partial: false });
      expect(await sink.sweep?.({ scope: { part: 1 }, keys: [[uuid(2)]] })).toBe(2);
      const failure = await failureOf(
        sink.sweep?.({ scope: { parts: 1 }, keys: [] }) ?? Promise.resolve(),
      );
      expect(failure.message).toContain('`parts`');
      await sink.close();
      const other = new MongoClient(uri);
      const left = await other
        .db('d')
        .collection(config.collection)
        .find()
        .sort({ part: 1 })
        .toArray();
      await other.close();
      expect(left.map(({ id }) => String(id))).toEqual([uuid(2), uuid(4)]);
    },
  );
});

describe('configs', () => {
  const paths = (more: JsonObject): string[] => {
    const checked = check(mongodbSink.config, place(more));
    return checked.ok ? [] : checked.issues.map(({ path }) => path);
  };

  test.each<[JsonObject, string]>([
    [{ write_mode: 'upsert' }, 'key'],
    [{ write_mode: 'upsert', key: ['a.b'] }, 'key[0]'],
    [{ write_mode: 'upsert', key: ['$a'] }, 'key[0]'],
    [{ write_mode: 'merge' }, 'write_mode'],
    [{ ordered: 'yes' }, 'ordered'],
    [{ connection_uri: 'mongodb://h/?w=0' }, 'connection_uri'],
  ])('%j is refused', (more, path) => {
    expect(paths(more)).toEqual([path]);
  });

  test('the doctor pings, writes nothing and tells no password', async () => {
    const probe = async (uri: string) => {
      const checked = check(mongodbSink.config, place({ connection_uri: uri }));
      return checked.ok ? mongodbSink.probe?.(checked.value, sinkContext()) : undefined;
    };
    expect(await probe(server.url)).toEqual([{ name: 'ping', status: 'pass' }]);
    const [refused] = (await probe(server.url.replace('//', '//me:s3cret@'))) ?? [];
    expect(refused).toMatchObject({ name: 'ping', status: 'fail' });
    expect(JSON.stringify(refused)).not.toContain('s3cret');
  });
});
