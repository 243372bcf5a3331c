import { MongoClient, ObjectId } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sourceContext, testEnv } from '../../../test/fakes/env.ts';
import { failureOf } from '../../../test/fakes/failure.ts';
import { CommandError } from '../../../test/fakes/mongodb/command-error.ts';
import {
  startMongodbServer,
  type Fault,
  type MongodbServer,
} from '../../../test/fakes/mongodb/server.ts';
import { issuesOf, runSource } from '../../../test/fakes/run-source.ts';
import { RECORDS_LANE } from '../../kit/page.ts';
import { check } from '../../kit/schema.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { mongodbSource } from './index.ts';

/** The next commands with this name, and what becomes of them. */
const faults: { readonly name: string; readonly fault: Fault }[] = [];
let server: MongodbServer;
let client: MongoClient;

beforeAll(async () => {
  server = await startMongodbServer({
    fault: (name) => (faults[0]?.name === name ? faults.shift()?.fault : undefined),
  });
  client = new MongoClient(server.url);
  await client.db('d').collection('c').insertMany(documents());
});
afterAll(async () => {
  await client.close();
  await server.close();
});

function documents(): { _id: ObjectId; n: number; text: string }[] {
  return Array.from({ length: 1000 }, (_, n) => ({
    _id: ObjectId.createFromHexString(n.toString(16).padStart(24, '0')),
    n,
    text: 'x'.repeat(100),
  }));
}

const config = (more: JsonObject = {}): JsonObject => ({
  connection_uri: server.url,
  database: 'd',
  collection: 'c',
  ...more,
});
const read = (more: JsonObject, options: Parameters<typeof runSource>[2] = {}) =>
  runSource(mongodbSource, config(more), options);
const numbers = (records: readonly unknown[]): unknown[] =>
  records.map((record) => (record as JsonObject)['n']);

describe('what is read', () => {
  test('values of the parent record keep their types, and are no operators', async () => {
    const context = {
      parent: { id: 7, ids: [3, 5], ref: { _id: { $oid: '000000000000000000000009' } }, to: 12 },
    };
    const found = async (filter: JsonObject): Promise<unknown[]> =>
      numbers((await read({ filter, projection: { n: 1 } }, { context })).records);
    expect(await found({ n: '{id}' })).toEqual([7]);
    expect(await found({ n: { $in: '{ids}' } })).toEqual([3, 5]);
    expect(await found({ _id: '{ref._id}' })).toEqual([9]);
    expect(await found({ n: { $gt: 9, $lte: '{to}' } })).toEqual([10, 11, 12]);
    expect(await found({ text: 'no {id}' })).toEqual([]);
    const failure = await failureOf(found({ n: '{nowhere}' }));
    expect(failure.message).toContain('`{nowhere}` has no value');
  });

  test('without a parent braces are letters', async () => {
    expect((await read({ filter: { text: '{id}' } })).records).toEqual([]);
  });

  test('a limit is the smaller one of the config and the caller, and is told to the server', async () => {
    expect(numbers((await read({ limit: 3 })).records)).toEqual([0, 1, 2]);
    expect(numbers((await read({ limit: 3 }, { limit: 2 })).records)).toEqual([0, 1]);
    expect((await read({ limit: 0 })).records).toHaveLength(1000);
    server.commands();
    await read({}, { limit: 101 });
    expect(server.commands().filter((name) => name === 'getMore')).toEqual([]);
  });

  test('nothing is asked for before it is needed, and a reader that leaves frees the cursor', async () => {
    const checked = check(mongodbSource.config, config({ cursor_batch_size: 10, batch_size: 10 }));
    if (!checked.ok) throw new Error('not valid');
    const source = await mongodbSource.open(checked.value, sourceContext());
    server.commands();
    const pages = source.pages({ lane: RECORDS_LANE })[Symbol.asyncIterator]();
    await pages.next();
    await pages.next();
    const asked = server.commands().filter((name) => /^(?:find|getMore)$/.test(name));
    expect(asked.length).toBeLessThanOrEqual(3);
    expect(server.openCursors).toBe(1);
    await source.close();
    await expect.poll(() => server.openCursors).toBe(0);
  });

  test('pages end at the bound of bytes', async () => {
    const { pages } = await read({}, { context: { pageBytes: 4096 } });
    expect(pages.length).toBeGreaterThan(30);
    for (const page of pages) expect(page.bytes).toBeLessThanOrEqual(4096);
  });

  test('data sets are the collections, with the types of some documents and their number', async () => {
    await client
      .db('shop')
      .collection('mixed')
      .insertMany([
        { _id: 1 as never, a: 1, at: new Date(0), list: [] },
        { _id: 2 as never, a: 1.5, b: null, big: 2n ** 60n },
      ]);
    await client.db('shop').createCollection('system.views');
    await client.db('shop').createCollection('empty');
    const checked = check(mongodbSource.config, config({ database: 'shop' }));
    if (!checked.ok) throw new Error('not valid');
    expect(await mongodbSource.discover?.(checked.value, sourceContext())).toEqual([
      {
        name: 'empty',
        kind: 'collection',
        schema: { type: 'object', properties: {} },
        estimated_rows: 0,
        config_patch: { collection: 'empty' },
      },
      {
        name: 'mixed',
        kind: 'collection',
        schema: {
          type: 'object',
          properties: {
            _id: { type: 'integer' },
            a: { type: 'number' },
            at: { type: ['object', 'null'] },
            list: { type: ['array', 'null'] },
            b: { type: 'null' },
            big: { type: ['integer', 'null'] },
          },
        },
        estimated_rows: 2,
        config_patch: { collection: 'mixed' },
      },
    ]);
  });
});

test('a collection whose number of documents may not be asked for is listed all the same', async () => {
  const checked = check(mongodbSource.config, config());
  if (!checked.ok) throw new Error('not valid');
  faults.push({ name: 'count', fault: new CommandError(13, 'not authorized') });
  const found = await mongodbSource.discover?.(checked.value, sourceContext());
  expect(found?.map(({ name, estimated_rows: rows }) => [name, rows])).toEqual([['c', undefined]]);
});

describe('failures', () => {
  test('of the query before the first document are gone with the next attempt', async () => {
    faults.push({ name: 'find', fault: new CommandError(50, 'operation exceeded time limit') });
    const { records, env } = await read({ filter: { n: 4 } });
    expect(numbers(records)).toEqual([4]);
    expect(env.lines.some(({ line }) => line.includes('reading again'))).toBe(true);
  });

  test('between documents end the read as something that may be repeated', async () => {
    faults.push({ name: 'getMore', fault: new CommandError(43, 'cursor id 9 not found') });
    const failure = await failureOf(read({}));
    expect(failure).toMatchObject({ kind: 'connection' });
    expect(failure.message).toContain('`d.c` cannot be read: cursor id 9 not found');
  });

  test('of a cut connection say so', async () => {
    for (let times = 0; times < 6; times += 1) faults.push({ name: 'getMore', fault: 'cut' });
    expect(await failureOf(read({}))).toMatchObject({ kind: 'connection' });
    faults.length = 0;
  });

  test('of the query itself are told at once', async () => {
    server.commands();
    await expect(read({ filter: { n: { $nope: 1 } } })).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('unknown operator: $nope') as string,
      hint: expect.stringContaining('`filter`') as string,
    });
    expect(server.commands().filter((name) => name === 'find')).toHaveLength(1);
  });

  test('of the login name no password, nor does the log', async () => {
    const env = testEnv();
    const uri = server.url.replace('//', '//me:p%40ssword@');
    const failure = await failureOf(read({ connection_uri: uri }, { context: { env } }));
    expect(failure).toMatchObject({ kind: 'auth' });
    env.log.info('the password is p@ssword, or p%40ssword');
    const told = JSON.stringify([failure.message, env.lines]);
    expect(told).not.toContain('ssword"');
    expect(told).not.toMatch(/p(?:@|%40)ssword/);
  });
});

describe('configs', () => {
  test('may use the other name of the address', () => {
    const { connection_uri, ...rest } = config();
    expect(issuesOf(mongodbSource, { ...rest, connection_url: connection_uri ?? '' })).toEqual([]);
  });

  test.each<[JsonObject, string]>([
    [{ filter: [{ a: 1 }] }, 'filter'],
    [{ filter: 'a' }, 'filter'],
    [{ projection: 1 }, 'projection'],
    [{ sort: ['a'] }, 'sort'],
    [{ limit: -1 }, 'limit'],
    [{ connection_uri: 'postgres://h/d' }, 'connection_uri'],
    [{ database: 'a.b' }, 'database'],
    [{ collection: 'a$b' }, 'collection'],
    [{ querry: {} }, 'querry'],
  ])('%j is refused', (more, path) => {
    expect(issuesOf(mongodbSource, config(more)).map((issue) => issue.path)).toEqual([path]);
  });
});
