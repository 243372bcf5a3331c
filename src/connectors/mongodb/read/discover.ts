import { MongoServerError, type Collection, type CollectionInfo, type Db } from 'mongodb';
import type { SourceContext } from '../../../kit/context.ts';
import type { Discovered } from '../../../kit/source.ts';
import { MongoLink } from '../../../lib/mongodb/client.ts';
import { isPassing } from '../../../lib/mongodb/errors.ts';
import { jsonOfBson } from '../../../lib/mongodb/to-json.ts';
import { hasField, isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import type { MongodbSourceConfig } from '../config.ts';

const SAMPLE = 10;

/** One data set for each collection and view of the database. */
export async function discoverCollections(
  { connection_uri: uri, database }: MongodbSourceConfig,
  { signal, env }: SourceContext,
): Promise<Discovered[]> {
  const link = new MongoLink({ uri, database, signal, redactor: env.redactor });
  try {
    return await link.run(`the collections of \`${database}\` cannot be listed`, async (db) => {
      const all = (await db.listCollections().toArray()) as CollectionInfo[];
      const found: Discovered[] = [];
      for (const info of all.sort((one, other) => (one.name < other.name ? -1 : 1)))
        if (!info.name.startsWith('system.')) found.push(await described(db, info));
      return found;
    });
  } finally {
    await link.close();
  }
}

async function described(db: Db, { name, type }: CollectionInfo): Promise<Discovered> {
  const collection = db.collection(name);
  const sample = (await collection
    .find({}, { raw: true, limit: SAMPLE })
    .toArray()) as unknown as Uint8Array[];
  // The metadata of a collection has a number; of a view every document would have to be counted.
  const rows = type === 'view' ? undefined : await countOf(collection);
  return {
    name,
    kind: 'collection',
    schema: schemaOf(sample.map(jsonOfBson)),
    ...(rows === undefined ? {} : { estimated_rows: rows }),
    config_patch: { collection: name },
  };
}

/** `undefined` where the server does not tell. */
async function countOf(collection: Collection): Promise<number | undefined> {
  try {
    return await collection.estimatedDocumentCount();
  } catch (error) {
    if (!(error instanceof MongoServerError) || isPassing(error.code)) throw error;
    return undefined;
  }
}

/** Types that the fields of a sample have. A field that some documents lack may be null. */
export function schemaOf(records: readonly JsonObject[]): JsonObject {
  const types = new Map<string, Set<string>>();
  for (const record of records)
    for (const [field, value] of Object.entries(record)) {
      const seen = types.get(field) ?? new Set();
      types.set(field, seen.add(jsonType(value)));
    }
  const properties: JsonObject = {};
  for (const [field, seen] of types) {
    if (seen.has('number')) seen.delete('integer');
    if (!records.every((record) => hasField(record, field))) seen.add('null');
    const all = [...seen].sort((one, other) => Number(one === 'null') - Number(other === 'null'));
    properties[field] = { type: all.length === 1 ? (all[0] ?? 'null') : all };
  }
  return { type: 'object', properties };
}

function jsonType(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (isObject(value)) return 'object';
  if (typeof value === 'bigint') return 'integer';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}
