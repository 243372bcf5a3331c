/** A change stream of the server, from a position on. */
import {
  Timestamp,
  type ChangeStream,
  type ChangeStreamOptions,
  type Db,
  type Document,
  type MongoClient,
} from 'mongodb';
import { closedInTime } from '../../../lib/closed-in-time.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { MongoLink } from '../../../lib/mongodb/client.ts';
import { bsonOfFields } from '../../../lib/mongodb/to-bson.ts';
import { jsonOf } from '../../../lib/mongodb/to-json.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { OWN_TABLES } from '../../_cdc/own-tables.ts';
import { EXPANDED_TYPES, tokenOf, type MongodbCdcConfig } from '../config.ts';
import type { StreamPosition } from './position.ts';
import { eventOf, type Event } from './records.ts';
import { streamError, type PositionFrom } from './stream-errors.ts';

const DOING = 'the change stream cannot be read';
const LONGEST_AWAIT_MS = 1000;
/** Integers keep all their digits, and bytes and expressions their type. */
const READING = { useBigInt64: true, promoteBuffers: false, bsonRegExp: true } as const;

/** `end`: the server has ended the stream; `none`: nothing has come while it waited. */
export type Answer = Event | 'none' | 'end';

export interface StreamOptions {
  readonly link: MongoLink;
  readonly config: MongodbCdcConfig;
  /** Without one the stream begins as `start_from` says. */
  readonly position: StreamPosition | undefined;
  readonly from: PositionFrom;
  readonly maxAwaitMs?: number;
}

export class ChangeEvents {
  readonly #options: StreamOptions;
  readonly #stream: ChangeStream;

  private constructor(options: StreamOptions, stream: ChangeStream) {
    this.#options = options;
    this.#stream = stream;
  }

  /** The server is asked with the first `next`. */
  static async open(options: StreamOptions): Promise<ChangeEvents> {
    const { link, config } = options;
    const where = await startOf(options);
    const stages = [
      ...foreignStage(config),
      ...kindsStage(config),
      ...config.aggregation_pipeline.map(withInvalidate),
    ];
    const pipeline = stages.map((stage) => bsonOfFields(stage as JsonObject));
    return link.run(DOING, (db, client) => {
      const stream = watched(config, db, client)(pipeline, { ...optionsOf(options), ...where });
      return Promise.resolve(new ChangeEvents(options, stream));
    });
  }

  /** Behind the last event that `next` gave, and what the server says holds no change. */
  get token(): JsonObject | undefined {
    const token = jsonOf(this.#stream.resumeToken ?? null);
    return isObject(token) ? { ...token } : undefined;
  }

  async next(): Promise<Answer> {
    const { link, from } = this.#options;
    try {
      const given = await link.run(DOING, async () =>
        this.#stream.closed ? null : this.#stream.tryNext(),
      );
      if (given !== null) return eventOf(given);
      return this.#stream.closed ? 'end' : 'none';
    } catch (error) {
      throw streamError(error, from);
    }
  }

  async close(): Promise<void> {
    await closedInTime(() => this.#stream.close());
  }
}

function watched({ scope }: MongodbCdcConfig, db: Db, client: MongoClient) {
  return (pipeline: Document[], options: ChangeStreamOptions): ChangeStream => {
    if (scope.type === 'cluster') return client.watch(pipeline, options);
    if (scope.type === 'database') return db.watch(pipeline, options);
    return db.collection(scope.collection).watch(pipeline, options);
  };
}

const FULL = {
  off: {},
  when_available: { fullDocument: 'whenAvailable' },
  required: { fullDocument: 'required' },
  update_lookup: { fullDocument: 'updateLookup' },
} as const;
const BEFORE = {
  off: {},
  when_available: { fullDocumentBeforeChange: 'whenAvailable' },
  required: { fullDocumentBeforeChange: 'required' },
} as const;

export function awaitMs({
  max_await_time_ms: given,
  idle_timeout: idle,
}: MongodbCdcConfig): number {
  return given ?? Math.max(1, Math.min(LONGEST_AWAIT_MS, Math.floor((idle * 1000) / 2)));
}

function optionsOf({ config, maxAwaitMs }: StreamOptions): ChangeStreamOptions {
  const expanded: readonly string[] = EXPANDED_TYPES;
  const asksMore = config.operation_types.some((type) => expanded.includes(type));
  const size = config.batch_size;
  return {
    ...READING,
    maxAwaitTimeMS: maxAwaitMs ?? awaitMs(config),
    ...(size === 0 ? {} : { batchSize: size }),
    ...FULL[config.full_document],
    ...BEFORE[config.full_document_before_change],
    ...(asksMore ? { showExpandedEvents: true } : {}),
  };
}

async function startOf({ link, config, position }: StreamOptions): Promise<ChangeStreamOptions> {
  if (position !== undefined) {
    const token = bsonOfFields(position.token);
    return position.isInvalidate ? { startAfter: token } : { resumeAfter: token };
  }
  const { start_from: start } = config;
  switch (start.type) {
    case 'now':
      return {};
    case 'earliest':
      return { startAtOperationTime: await earliestTime(link) };
    case 'resume_token':
      return { startAfter: bsonOfFields(tokenOf(start.token) ?? {}) };
    case 'timestamp':
      return { startAtOperationTime: new Timestamp({ t: start.timestamp_secs, i: 1 }) };
    default:
      return start satisfies never;
  }
}

/** Members of a replica set show their log; a sharded cluster has one for each shard. */
async function earliestTime(link: MongoLink): Promise<Timestamp> {
  const first = await link.run('the oldest change cannot be looked up', (_db, client) =>
    client
      .db('local')
      .collection('oplog.rs')
      .findOne({}, { sort: { $natural: 1 }, projection: { ts: 1 } }),
  );
  const time: unknown = first?.['ts'];
  if (time instanceof Timestamp) return time;
  throw new ConnectorError('refused', 'the server does not show its oldest change', {
    hint: '`start_from: earliest` reads `local.oplog.rs`, which the user must be allowed to, and which sharded clusters do not have; use `start_from: {type: timestamp, timestamp_secs: …}`',
  });
}

/** What runs store of how far they have come is no change, unless its collection is named. */
function foreignStage({ scope }: MongodbCdcConfig): JsonObject[] {
  if (scope.type === 'collection') return [];
  return [{ $match: { 'ns.coll': { $nin: [...OWN_TABLES] } } }];
}

/** The event that ends a stream is always told, because the next one begins behind it. */
function kindsStage({ operation_types: types }: MongodbCdcConfig): JsonObject[] {
  if (types.length === 0) return [];
  return [{ $match: { operationType: { $in: [...new Set([...types, 'invalidate'])] } } }];
}

function withInvalidate(stage: JsonValue): JsonValue {
  if (!isObject(stage) || !('$match' in stage)) return stage;
  return { $match: { $or: [{ operationType: 'invalidate' }, stage['$match'] ?? {}] } };
}
