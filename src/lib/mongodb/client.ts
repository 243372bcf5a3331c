import { MongoClient, type ClientSession, type Db } from 'mongodb';
import { closedInTime } from '../closed-in-time.ts';
import { ConnectorError } from '../errors.ts';
import { momentAfter } from '../moment-after.ts';
import type { Redactor } from '../redact.ts';
import { untilAborted } from '../until-aborted.ts';
import { parseMongoAddress } from './address.ts';
import { mongoError } from './errors.ts';
import { permittedFile } from '../files/file-access.ts';

/** Where the address does not say otherwise. */
const LIMITS = {
  serverSelectionTimeoutMS: 10_000,
  connectTimeoutMS: 10_000,
  maxPoolSize: 4,
} as const;

export interface MongoLinkOptions {
  readonly uri: string;
  readonly database: string;
  readonly signal: AbortSignal;
  readonly redactor: Pick<Redactor, 'register'>;
}

/** The driver reads the files that an address names. */
function permitFiles(uri: string): void {
  const parameters = new URLSearchParams(uri.slice(uri.indexOf('?') + 1));
  for (const [name, path] of parameters) if (/^tls\w*File$/i.test(name)) permittedFile(path);
}

/** A client that connects when it is first used. It finds the servers again by itself. */
export class MongoLink {
  readonly #options: MongoLinkOptions;
  #client: Promise<MongoClient> | undefined;
  #isClosed = false;

  constructor(options: MongoLinkOptions) {
    this.#options = options;
    permitFiles(options.uri);
    for (const secret of parseMongoAddress(options.uri)?.secrets ?? [])
      options.redactor.register(secret);
  }

  /**
   * Failures are `ConnectorError`s that begin with `doing`. `always`: also after the signal, for
   * what has to be cleaned up, but not for long.
   */
  async run<T>(
    doing: string,
    work: (db: Db, client: MongoClient) => Promise<T>,
    { always = false }: { readonly always?: boolean } = {},
  ): Promise<T> {
    const { database } = this.#options;
    const signal = always ? momentAfter(this.#options.signal) : this.#options.signal;
    signal.throwIfAborted();
    try {
      const task = this.#connected().then((client) => work(client.db(database), client));
      return await untilAborted(task, signal);
    } catch (error) {
      if (signal.aborted && error === signal.reason) throw error;
      throw mongoError(error, doing);
    }
  }

  /**
   * All of the work, or nothing of it; it is repeated where another transaction was in the way.
   * Needs a replica set or a sharded cluster.
   */
  transaction<T>(doing: string, work: (db: Db, session: ClientSession) => Promise<T>): Promise<T> {
    return this.run(doing, (db, client) =>
      client.withSession((session) =>
        session.withTransaction(() => work(db, session), {
          readPreference: 'primary',
          readConcern: { level: 'snapshot' },
          writeConcern: { w: 'majority' },
        }),
      ),
    );
  }

  /** Whether servers of this kind have transactions. */
  hasTransactions(): Promise<boolean> {
    return this.run('the server cannot be asked what it is', async (db) => {
      // Servers before 4.4 know the older name only.
      const hello = await db
        .admin()
        .command({ hello: 1 })
        .catch(() => db.admin().command({ isMaster: 1 }));
      return typeof hello['setName'] === 'string' || hello['msg'] === 'isdbgrid';
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const asked = this.#client;
    this.#client = undefined;
    // One that is still connecting is closed when it has.
    if (asked !== undefined) await closedInTime(async () => (await asked).close());
  }

  async #connected(): Promise<MongoClient> {
    if (this.#isClosed) throw new ConnectorError('connection', 'the connection was closed');
    this.#client ??= connected(this.#options.uri).catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }
}

async function connected(uri: string): Promise<MongoClient> {
  const written = parseMongoAddress(uri)?.options;
  const limits = Object.entries(LIMITS).filter(
    ([name]) => written?.has(name.toLowerCase()) !== true,
  );
  const client = new MongoClient(uri, { appName: 'headgate', ...Object.fromEntries(limits) });
  try {
    return await client.connect();
  } catch (error) {
    await closedInTime(() => client.close());
    throw error;
  }
}
