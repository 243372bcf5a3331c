/** The data of the fake, and the commands that read and change it. */
import { randomUUID } from 'node:crypto';
import { Binary, BSON, Int32, Long, ObjectId, UUID, type Document } from 'mongodb';
import { CommandError } from './command-error.ts';
import { matches, projected, sorted, textOf } from './match.ts';

export interface Collection {
  readonly documents: readonly Document[];
  readonly indexes: readonly Document[];
  readonly options: Document;
  readonly uuid: Binary;
}

/** By `database.collection`. Collections are replaced, never changed, so a copy is a snapshot. */
export type Data = Map<string, Collection>;

const ID_INDEX = { v: new Int32(2), key: { _id: new Int32(1) }, name: '_id_' };
const DUPLICATE = 11_000;
const BATCH_BYTES = 1024 * 1024;
const FIRST_BATCH = 101;

function emptyCollection(options: Document = {}): Collection {
  const uuid = new Binary(new UUID(randomUUID()).buffer, 4);
  return { documents: [], indexes: [ID_INDEX], options, uuid };
}

/** Results that were not given whole. */
export class Cursors {
  readonly #open = new Map<string, Document[]>();
  #last = 0;

  give(ns: string, documents: readonly Document[], size: number): Document {
    const { batch, rest } = cut(documents, size);
    return { cursor: { firstBatch: batch, ns, id: this.#keep(rest) } };
  }

  more({ getMore, collection, batchSize, $db }: Document): Document {
    const id = String(getMore);
    const left = this.#open.get(id);
    if (left === undefined) throw new CommandError(43, `cursor id ${id} not found`);
    this.#open.delete(id);
    const { batch, rest } = cut(left, Number(batchSize ?? Infinity));
    return { cursor: { nextBatch: batch, ns: `${$db}.${collection}`, id: this.#keep(rest) } };
  }

  kill(ids: readonly unknown[]): void {
    for (const id of ids) this.#open.delete(String(id));
  }

  get count(): number {
    return this.#open.size;
  }

  #keep(rest: Document[]): Long {
    if (rest.length === 0) return Long.ZERO;
    this.#last += 1;
    this.#open.set(String(this.#last), rest);
    return Long.fromNumber(this.#last);
  }
}

function cut(
  documents: readonly Document[],
  size: number,
): { batch: Document[]; rest: Document[] } {
  let bytes = 0;
  let at = 0;
  for (; at < Math.min(size, documents.length) && bytes < BATCH_BYTES; at += 1)
    bytes += BSON.calculateObjectSize(documents[at] ?? {});
  return { batch: documents.slice(0, at), rest: documents.slice(at) };
}

type Run = (data: Data, command: Document, cursors: Cursors) => Document;

export const COMMANDS: Readonly<Record<string, Run>> = {
  find(data, command, cursors) {
    const ns = `${command['$db']}.${command['find']}`;
    const all = data.get(ns)?.documents ?? [];
    // Also where there is no document that shows it, a condition may be wrong.
    matches({}, command['filter'] ?? {});
    const found = all.filter((one) => matches(one, command['filter'] ?? {}));
    const ordered = command['sort'] === undefined ? found : sorted(found, command['sort']);
    const limit = Math.abs(Number(command['limit'] ?? 0)) || Infinity;
    const given = ordered.slice(0, limit).map((one) => projected(one, command['projection'] ?? {}));
    const size = Number(command['batchSize'] ?? FIRST_BATCH);
    return cursors.give(ns, given, command['singleBatch'] === true ? Infinity : size);
  },
  getMore: (_data, command, cursors) => cursors.more(command),
  killCursors(_data, command, cursors) {
    cursors.kill(command['cursors'] as unknown[]);
    return { cursorsKilled: command['cursors'] as unknown };
  },
  count: (data, command) => ({
    n: data.get(`${command['$db']}.${command['count']}`)?.documents.length ?? 0,
  }),
  insert: (data, command) =>
    writeAll(command['documents'] as Document[], command, (document) => {
      insertOne(data, `${command['$db']}.${command['insert']}`, document);
      return 1;
    }),
  update(data, command) {
    const upserted: Document[] = [];
    const ns = `${command['$db']}.${command['update']}`;
    const result = writeAll(command['updates'] as Document[], command, (update, index) => {
      const { matched, id } = updateOne(data, ns, update);
      if (id !== undefined) upserted.push({ index: new Int32(index), _id: id });
      return matched;
    });
    return { ...result, nModified: result['n'] as unknown, upserted };
  },
  delete: (data, command) =>
    writeAll(command['deletes'] as Document[], command, ({ q, limit }) =>
      remove(data, `${command['$db']}.${command['delete']}`, q, Number(limit)),
    ),
  create(data, command) {
    const { create, $db, lsid: _session, writeConcern: _concern, ...options } = command;
    const ns = `${$db}.${create}`;
    if (data.has(ns)) throw new CommandError(48, `Collection ${ns} already exists.`);
    data.set(ns, emptyCollection(options));
    return {};
  },
  drop(data, command) {
    data.delete(`${command['$db']}.${command['drop']}`);
    return {};
  },
  dropDatabase(data, command) {
    for (const ns of data.keys()) if (ns.startsWith(`${command['$db']}.`)) data.delete(ns);
    return {};
  },
  renameCollection(data, { renameCollection: from, to, dropTarget }) {
    const found = data.get(String(from));
    if (found === undefined) throw new CommandError(26, `Source collection ${from} does not exist`);
    if (data.has(String(to)) && dropTarget !== true)
      throw new CommandError(48, 'target namespace exists');
    data.delete(String(from));
    data.set(String(to), found);
    return {};
  },
  listCollections(data, { $db, filter = {} }, cursors) {
    const found = [...data].flatMap(([ns, { options, uuid }]) => {
      if (!ns.startsWith(`${$db}.`)) return [];
      const name = ns.slice(String($db).length + 1);
      return [{ name, type: 'collection', options, info: { readOnly: false, uuid } }];
    });
    const given = found.filter((one) => matches(one, filter as Document));
    return cursors.give(`${$db}.$cmd.listCollections`, given, Infinity);
  },
  listIndexes(data, command, cursors) {
    const ns = `${command['$db']}.${command['listIndexes']}`;
    const found = data.get(ns);
    if (found === undefined) throw new CommandError(26, `ns does not exist: ${ns}`);
    return cursors.give(ns, found.indexes, Infinity);
  },
  createIndexes(data, command) {
    const ns = `${command['$db']}.${command['createIndexes']}`;
    const before = data.get(ns) ?? emptyCollection();
    const indexes = [...before.indexes, ...(command['indexes'] as Document[])];
    data.set(ns, { ...before, indexes });
    return {};
  },
};

function writeAll(
  items: readonly Document[],
  { ordered = true }: Document,
  write: (item: Document, index: number) => number,
): Document {
  const writeErrors: Document[] = [];
  let n = 0;
  for (const [index, item] of items.entries()) {
    try {
      n += write(item, index);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      writeErrors.push({ index: new Int32(index), code: error.code, errmsg: error.message });
      if (ordered === true) break;
    }
  }
  return { n: new Int32(n), ...(writeErrors.length === 0 ? {} : { writeErrors }) };
}

function insertOne(data: Data, ns: string, document: Document): void {
  const collection = data.get(ns) ?? emptyCollection();
  const { _id: id = new ObjectId(), ...fields } = document;
  const stored = { _id: id as unknown, ...fields };
  refuseDuplicate(collection, ns, stored);
  data.set(ns, { ...collection, documents: [...collection.documents, stored] });
}

function refuseDuplicate(
  { indexes, documents, options }: Collection,
  ns: string,
  stored: Document,
): void {
  for (const { key, name, unique } of indexes) {
    if (unique !== true && name !== '_id_') continue;
    const of = (one: Document): string =>
      textOf(Object.keys(key as Document).map((field) => one[field] as unknown));
    if (!documents.some((one) => of(one) === of(stored))) continue;
    const what = `E11000 duplicate key error collection: ${ns} index: ${name} dup key: ${of(stored)}`;
    throw new CommandError(DUPLICATE, what);
  }
  const required = (options['validator'] ?? {}) as Document;
  if (!matches(stored, required)) throw new CommandError(121, 'Document failed validation');
}

function updateOne(
  data: Data,
  ns: string,
  { q, u, upsert }: Document,
): { readonly matched: number; readonly id?: unknown } {
  const collection = data.get(ns) ?? emptyCollection();
  const at = collection.documents.findIndex((one) => matches(one, q));
  const old = collection.documents[at];
  if (old === undefined && upsert !== true) return { matched: 0 };
  const id = (u._id ?? old?.['_id'] ?? q._id?.$eq ?? q._id ?? new ObjectId()) as unknown;
  const isChange = Object.keys(u as Document)[0]?.startsWith('$') === true;
  const { _id: _given, ...fields } = isChange ? changed(old ?? {}, u) : (u as Document);
  const stored = { _id: id, ...fields };
  if (old !== undefined && textOf(old['_id']) !== textOf(id))
    throw new CommandError(66, "the (immutable) field '_id' was found to have been altered");
  const others = collection.documents.filter((one) => one !== old);
  refuseDuplicate({ ...collection, documents: others }, ns, stored);
  const documents = old === undefined ? [...others, stored] : collection.documents.with(at, stored);
  data.set(ns, { ...collection, documents });
  return old === undefined ? { matched: 1, id } : { matched: 1 };
}

function changed(old: Document, { $set = {}, $inc = {} }: Document): Document {
  const sums = Object.entries($inc as Document).map(([name, by]) => [
    name,
    new Int32(Number(old[name] ?? 0) + Number(by)),
  ]);
  return { ...old, ...($set as Document), ...Object.fromEntries(sums) };
}

function remove(data: Data, ns: string, filter: Document, limit: number): number {
  const collection = data.get(ns);
  if (collection === undefined) return 0;
  let left = limit === 0 ? Infinity : limit;
  const documents = collection.documents.filter((one) => {
    if (left === 0 || !matches(one, filter)) return true;
    left -= 1;
    return false;
  });
  data.set(ns, { ...collection, documents });
  return collection.documents.length - documents.length;
}
