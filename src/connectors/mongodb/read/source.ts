import type { FindCursor, FindOptions } from 'mongodb';
import type { SourceContext } from '../../../kit/context.ts';
import type { Page } from '../../../kit/page.ts';
import { pageBounds } from '../../../kit/page-bounds.ts';
import type { ReadRequest, Source } from '../../../kit/source.ts';
import { MongoLink } from '../../../lib/mongodb/client.ts';
import { bsonOfFields, UnstorableValue } from '../../../lib/mongodb/to-bson.ts';
import { jsonOfBson } from '../../../lib/mongodb/to-json.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { JsonObject } from '../../../lib/text/json.ts';
import { readAgain } from '../../_brokers/read-again.ts';
import { cutPages, type Sized } from '../../_files/lines/cut-pages.ts';
import type { MongodbSourceConfig } from '../config.ts';
import { withParentValues } from '../../_documents/parent-values.ts';

export function openMongodbSource(config: MongodbSourceConfig, context: SourceContext): Source {
  return new MongodbSource(config, context);
}

class MongodbSource implements Source {
  readonly #config: MongodbSourceConfig;
  readonly #context: SourceContext;
  readonly #link: MongoLink;
  readonly #doing: string;
  #cursor: FindCursor | undefined;

  constructor(config: MongodbSourceConfig, context: SourceContext) {
    const { connection_uri: uri, database, collection } = config;
    const { signal, env } = context;
    this.#config = config;
    this.#context = context;
    this.#doing = `the collection \`${database}.${collection}\` cannot be read`;
    this.#link = new MongoLink({ uri, database, signal, redactor: env.redactor });
  }

  pages({ lane, limit: wanted = Infinity }: ReadRequest): AsyncGenerator<Page> {
    const { batch_size: batch, limit: most = 0 } = this.#config;
    const { pageBytes, signal } = this.#context;
    const limit = Math.min(wanted, most === 0 ? Infinity : most);
    const bounds = pageBounds(batch, pageBytes);
    return cutPages(this.#batches(limit), { lane, bounds, limit, signal });
  }

  async close(): Promise<void> {
    this.#cursor = undefined;
    await this.#link.close();
  }

  /** The documents of each answer of the server. Nothing is read ahead. */
  async *#batches(limit: number): AsyncGenerator<Iterable<Sized>> {
    if (limit <= 0) return;
    let bytes: Uint8Array | null = await readAgain(this.#context)(() => this.#first(limit));
    for (; bytes !== null; bytes = await this.#next()) {
      const rest = (this.#cursor?.readBufferedDocuments() ?? []) as unknown as Uint8Array[];
      yield recordsOf(bytes, rest);
    }
  }

  /** Until the first document is there, the query can be asked again. */
  async #first(limit: number): Promise<Uint8Array | null> {
    await this.#cursor?.close().catch(() => {});
    const filter = this.#document('filter') ?? {};
    const options = this.#options(limit);
    try {
      return await this.#link.run(this.#doing, (db) => {
        this.#cursor = db.collection(this.#config.collection).find(filter, options);
        return this.#cursor.next();
      });
    } catch (error) {
      // No document has come that could be at fault.
      if (!(error instanceof ConnectorError) || error.kind !== 'data') throw error;
      const hint = 'check `filter`, `projection` and `sort`: the server does not take the query';
      throw new ConnectorError('refused', error.message, { hint, cause: error });
    }
  }

  #next(): Promise<Uint8Array | null> {
    return this.#link.run(
      this.#doing,
      async () => ((await this.#cursor?.next()) ?? null) as unknown as Uint8Array | null,
    );
  }

  #options(limit: number): FindOptions {
    const { cursor_batch_size: batchSize } = this.#config;
    const [projection, sort] = [this.#document('projection'), this.#document('sort')];
    return {
      raw: true,
      ...(projection === undefined ? {} : { projection }),
      ...(sort === undefined ? {} : { sort: sort as FindOptions['sort'] }),
      ...(limit === Infinity ? {} : { limit }),
      ...(batchSize === undefined ? {} : { batchSize }),
    };
  }

  #document(field: 'filter' | 'projection' | 'sort'): Record<string, unknown> | undefined {
    const given = this.#config[field] as JsonObject | undefined;
    if (given === undefined) return undefined;
    try {
      return bsonOfFields(withParentValues(given, this.#context.parent));
    } catch (error) {
      if (!(error instanceof UnstorableValue)) throw error;
      throw new ConnectorError('refused', `\`${field}\` holds a value that ${error.message}`);
    }
  }
}

function* recordsOf(first: Uint8Array, rest: readonly Uint8Array[]): Generator<Sized> {
  yield { value: jsonOfBson(first), size: first.byteLength };
  for (const bytes of rest) yield { value: jsonOfBson(bytes), size: bytes.byteLength };
}
