/** Removes the documents that no longer exist at the source. */
import type { ClientSession, Collection, Db, Document } from 'mongodb';
import { ConnectorError } from '../../../lib/errors.ts';
import type { MongoLink } from '../../../lib/mongodb/client.ts';
import { jsonOf, jsonOfBson } from '../../../lib/mongodb/to-json.ts';
import { bsonOf } from '../../../lib/mongodb/to-bson.ts';
import { canonicalJson } from '../../../lib/text/json.ts';
import type { RecordSchema } from '../../../kit/record-schema.ts';
import type { Sweep } from '../../../kit/sink.ts';
import { documentWriter } from './documents.ts';

/** Documents that one command deletes, and those of one transaction. */
const AT_ONCE = 1000;
const TOGETHER = 100_000;

export interface SweepOf {
  readonly collection: string;
  readonly key: readonly string[];
  readonly schema: RecordSchema | undefined;
}

export async function sweepCollection(
  link: MongoLink,
  { collection: name, key, schema }: SweepOf,
  { scope, keys }: Sweep,
): Promise<number> {
  const doing = `documents of \`${name}\` that no longer exist at the source cannot be removed`;
  const isEmpty = await link.run(doing, (db) => isWithout(db.collection(name), {}));
  if (isEmpty) return 0;
  const writer = documentWriter(schema);
  const filter: Document = {};
  for (const [field, value] of Object.entries(scope))
    filter[field] = { $eq: writer.field(field, value) };
  await link.run(doing, (db) =>
    requireFields(db.collection(name), [...Object.keys(scope), ...key]),
  );
  const seen = new Set(
    keys.map((values) =>
      canonicalJson(key.map((field, at) => jsonOf(writer.field(field, values[at] ?? null)))),
    ),
  );
  const isAtomic = await link.hasTransactions();
  const remove = (ids: readonly unknown[]): Promise<number> =>
    isAtomic
      ? link.transaction(doing, (db, session) => removeIds(db, { name, filter, ids, session }))
      : link.run(doing, (db) => removeIds(db, { name, filter, ids }));
  let removed = 0;
  let ids: unknown[] = [];
  const cursor = await link.run(doing, (db) => Promise.resolve(keysOf(db, name, { filter, key })));
  for (;;) {
    const next = await link.run(doing, () => cursor.next());
    if (next === null) break;
    const batch = [next, ...cursor.readBufferedDocuments()] as unknown as Uint8Array[];
    for (const document of batch.map(jsonOfBson)) {
      const found = canonicalJson(key.map((field) => document[field] ?? null));
      if (!seen.has(found)) ids.push(bsonOf(document['_id'] ?? null));
    }
    if (ids.length < TOGETHER) continue;
    removed += await remove(ids);
    ids = [];
  }
  return removed + (ids.length === 0 ? 0 : await remove(ids));
}

function keysOf(
  db: Db,
  name: string,
  { filter, key }: { filter: Document; key: readonly string[] },
) {
  const projection = Object.fromEntries([...key, '_id'].map((field) => [field, 1]));
  return db.collection(name).find(filter, { projection, raw: true });
}

interface Removal {
  readonly name: string;
  readonly filter: Document;
  readonly ids: readonly unknown[];
  readonly session?: ClientSession;
}

/** A document that has left the scope meanwhile stays. */
async function removeIds(db: Db, { name, filter, ids, session }: Removal): Promise<number> {
  const options = session === undefined ? {} : { session };
  let removed = 0;
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const some = ids.slice(from, from + AT_ONCE);
    const which = { $and: [filter, { _id: { $in: some } }] } as Document;
    removed += (await db.collection(name).deleteMany(which, options)).deletedCount;
  }
  return removed;
}

async function isWithout(collection: Collection, filter: Document): Promise<boolean> {
  return (await collection.findOne(filter, { projection: { _id: 1 } })) === null;
}

/** A name that is wrong would leave everything out of the scope, or let nothing be found by its key. */
async function requireFields(collection: Collection, fields: readonly string[]): Promise<void> {
  for (const field of new Set(fields))
    if (await isWithout(collection, { [field]: { $exists: true } }))
      throw new ConnectorError(
        'missing',
        `no document of \`${collection.collectionName}\` has a field \`${field}\`, which is needed to find documents that no longer exist at the source`,
        { hint: 'name fields that are written' },
      );
}
