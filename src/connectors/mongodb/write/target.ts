/** The collection that pages go to: the one of the config, or the one in which an overwrite collects. */
import { MongoServerError, type CollectionInfo, type Db, type Document } from 'mongodb';
import type { HeldScope } from '../../../kit/execution.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import { CODES, isPassing } from '../../../lib/mongodb/errors.ts';
import { stagingName } from '../../_sql/table-names.ts';
import type { MongodbSinkConfig } from '../config.ts';
import { assertHeld } from './tokens.ts';

/** Of a collection, apart from its documents. */
interface Made {
  readonly options: Document;
  readonly indexes: readonly Document[];
}

export class Target {
  readonly #config: MongodbSinkConfig;
  readonly #log: Log;
  readonly #staging: { readonly name: string; readonly prefix: string } | undefined;
  #ready: Promise<void> | undefined;
  #isAlone = false;
  /** Tells the staged collection from one that was made under its name after it was dropped. */
  #id: string | undefined;

  constructor(config: MongodbSinkConfig, log: Log) {
    this.#config = config;
    this.#log = log;
    this.#staging = config.write_mode === 'overwrite' ? stagingName(config.collection) : undefined;
  }

  get name(): string {
    return this.#staging?.name ?? this.#config.collection;
  }

  /** Whether anything has been begun that has to be ended. */
  get isBegun(): boolean {
    return this.#staging !== undefined && this.#ready !== undefined;
  }

  /** Makes what the first page needs; after a failure it is tried again. */
  ready(db: Db): Promise<void> {
    this.#ready ??= this.#prepare(db).catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /**
   * Shows the collected documents in the place of the old ones, all at once. No transaction takes
   * that: an execution that was taken over after it looked at its scope finds that what it has
   * collected is gone, because whoever takes the scope drops it.
   */
  async swap(db: Db, held: HeldScope | undefined): Promise<void> {
    await this.ready(db);
    const { collection } = this.#config;
    if (held !== undefined) await assertHeld(db, held);
    const staged = await infoOf(db, this.name);
    if (staged === undefined || idOf(staged) !== this.#id) throw await this.#lost(db, held);
    try {
      await db.renameCollection(this.name, collection, { dropTarget: true });
    } catch (error) {
      if (!(error instanceof MongoServerError) || error.code !== CODES.namespaceNotFound)
        throw error;
      throw await this.#lost(db, held);
    }
  }

  /** Why the collection is gone. */
  async #lost(db: Db, held: HeldScope | undefined): Promise<ConnectorError> {
    if (held !== undefined) await assertHeld(db, held);
    return takenOver(this.#config.collection);
  }

  /**
   * When several runs replace the same documents, the last one to start does so: it drops what the
   * others have collected, and what a killed one left.
   */
  async dropOthers(db: Db, held: HeldScope | undefined): Promise<void> {
    const { prefix } = this.#staging ?? {};
    if (prefix === undefined || this.#isAlone) return;
    const names = await db.listCollections({}, { nameOnly: true }).toArray();
    // What is listed before the scope is looked at cannot belong to whoever takes it afterwards.
    if (held !== undefined) await assertHeld(db, held);
    for (const { name } of names) if (name.startsWith(prefix)) await db.dropCollection(name);
    this.#isAlone = true;
  }

  async drop(db: Db): Promise<void> {
    await db.dropCollection(this.name);
  }

  #prepare(db: Db): Promise<void> {
    const { write_mode: mode } = this.#config;
    if (this.#staging !== undefined) return this.#stage(db);
    return mode === 'append' ? Promise.resolve() : this.#tryToIndexKey(db);
  }

  /** A user who may write need not have the right to look at indexes, or to make them. */
  async #tryToIndexKey(db: Db): Promise<void> {
    const { collection, key } = this.#config;
    try {
      await this.#indexKey(db);
    } catch (error) {
      if (!(error instanceof MongoServerError) || isPassing(error.code)) throw error;
      this.#log.warn('it is not known whether an index begins with a field of `key`', {
        collection,
        key: key.join(', '),
        reason: error.message,
      });
    }
  }

  async #stage(db: Db): Promise<void> {
    const { collection } = this.#config;
    await this.dropOthers(db, undefined);
    const { options, indexes } = await madeLike(db, collection);
    await db.createCollection(this.name, options);
    if (indexes.length > 0) await db.command({ createIndexes: this.name, indexes: [...indexes] });
    this.#id = idOf(await infoOf(db, this.name));
  }

  /** Each record is looked for by its key: without an index, in the whole collection. */
  async #indexKey(db: Db): Promise<void> {
    const { collection, key, write_mode: mode } = this.#config;
    if (key.includes('_id')) return;
    const isThere = (await infoOf(db, collection)) !== undefined;
    if (!isThere && mode === 'delete') return;
    if (!isThere) {
      const index = Object.fromEntries(key.map((name) => [name, 1]));
      await db.collection(collection).createIndex(index, { unique: true });
      return;
    }
    const indexes = await indexesOf(db, collection);
    if (indexes.some((index) => key.includes(Object.keys(index['key'] as Document)[0] ?? '')))
      return;
    this.#log.warn(
      'no index begins with a field of `key`: each record is looked for in the whole collection',
      {
        collection,
        key: key.join(', '),
      },
    );
  }
}

async function infoOf(db: Db, name: string): Promise<CollectionInfo | undefined> {
  const [found] = await db.listCollections({ name }, { nameOnly: false }).toArray();
  return found;
}

function idOf(info: CollectionInfo | undefined): string | undefined {
  return info?.info?.uuid?.toString('hex');
}

/** Settings that only the server gives, and that it does not take. */
const OF_THE_SERVER = new Set([
  'uuid',
  'idIndex',
  'autoIndexId',
  'timeseries',
  'viewOn',
  'pipeline',
]);

async function madeLike(db: Db, name: string): Promise<Made> {
  const info = await infoOf(db, name);
  if (info === undefined) return { options: {}, indexes: [] };
  const { type = 'collection', options = {} } = info;
  if (type !== 'collection')
    throw new ConnectorError('refused', `\`${name}\` is a ${type}, which cannot be replaced`, {
      hint: 'write into a collection, or with another `write_mode`',
    });
  const kept = Object.entries(options).filter(([option]) => !OF_THE_SERVER.has(option));
  const indexes = (await indexesOf(db, name)).filter((index) => index['name'] !== '_id_');
  return {
    options: Object.fromEntries(kept),
    indexes: indexes.map(({ v: _version, ns: _namespace, ...index }) => index),
  };
}

async function indexesOf(db: Db, name: string): Promise<Document[]> {
  try {
    return await db.collection(name).listIndexes().toArray();
  } catch (error) {
    if (error instanceof MongoServerError && error.code === CODES.namespaceNotFound) return [];
    throw error;
  }
}

function takenOver(collection: string): ConnectorError {
  return new ConnectorError(
    'refused',
    `another run has started to replace the documents of \`${collection}\`, so this run stops`,
    { hint: 'run them one after the other' },
  );
}
