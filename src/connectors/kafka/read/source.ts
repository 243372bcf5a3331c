import type { Admin, Consumer } from '@platformatic/kafka';
import type { SourceContext } from '../../../kit/context.ts';
import { Page, type Lane } from '../../../kit/page.ts';
import { PageFill, pageBounds } from '../../../kit/page-bounds.ts';
import type { Share } from '../../../kit/share.ts';
import type { ReadRequest, Source, SourceLag } from '../../../kit/source.ts';
import { AppError, ConnectorError } from '../../../lib/errors.ts';
import { kafkaError, kafkaLibrary } from '../../../lib/kafka/kafka.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../../../lib/text/json.ts';
import { untilAborted } from '../../../lib/until-aborted.ts';
import { readAgain } from '../../_brokers/read-again.ts';
import { clientOptions, sourceSettings } from '../client/settings.ts';
import type { KafkaSourceConfig } from '../config.ts';
import { decoderOf, registryOf } from '../formats/decode.ts';
import { GroupMember, groupTimes } from './group-member.ts';
import { LogReader, type LogMessage, type OffsetRange, type Position } from './log-reader.ts';
import { pageMakerOf } from './page-maker.ts';
import { recordOf, sizeOf, type Decoders } from './record.ts';
import { bookmarkOf, generationIn, positionsIn, startOf, startOfMember } from './start.ts';

/** How long a message waits until its page is given. */
export const IDLE_FLUSH_MS = 200;

export async function openKafkaSource(
  config: KafkaSourceConfig,
  context: SourceContext,
): Promise<Source> {
  const options = await clientOptions(sourceSettings(config), context);
  const { Admin: AdminClient, Consumer: ConsumerClient } = await kafkaLibrary();
  return new KafkaSource({
    config,
    context,
    openConsumer: (more = {}) =>
      new ConsumerClient({ ...options, groupId: config.group_id, autocommit: false, ...more }),
    openAdmin: () => new AdminClient(options),
  });
}

interface Setup {
  readonly config: KafkaSourceConfig;
  readonly context: SourceContext;
  readonly openConsumer: (more?: { requestTimeout?: number; retries?: number }) => Consumer;
  readonly openAdmin: () => Admin;
}

/** What a page belongs to that a member of the group gives. */
interface PartOfGroup {
  readonly generation: number;
  /** Whether the group takes the partitions back. */
  isOver(): boolean;
}

/** Members give as many together as one reader would. */
function mostOf({ max_messages: most = Infinity }: KafkaSourceConfig, share?: Share): number {
  if (share === undefined || most === Infinity) return most;
  return Math.floor(most / share.count) + (share.index < most % share.count ? 1 : 0);
}

class KafkaSource implements Source {
  readonly acknowledge?: (bookmark: JsonValue) => Promise<void>;
  readonly #setup: Setup;
  readonly #decoders: Decoders;
  readonly #again: ReturnType<typeof readAgain>;
  readonly #fetching: ReturnType<typeof readAgain>;
  #consumer: Consumer | undefined;
  #admin: Admin | undefined;
  #reader: LogReader | undefined;
  /** Behind the last page that was given. */
  #given: readonly Position[] = [];
  /** Milliseconds without a message. */
  #idleMs = 0;
  #skipped = 0;
  /** Messages that may still be given. */
  #left = Infinity;
  #member: GroupMember | undefined;
  /** The bookmark of the last page that was given and is not committed; of members only. */
  #uncommitted: string | undefined;
  /** A member gives no more pages until the group has agreed anew. */
  #isGiving = false;

  constructor(setup: Setup) {
    const { config, context } = setup;
    const registry = registryOf(config.schema_registry, context);
    this.#setup = setup;
    const forMs = config.session_timeout * 1000;
    this.#again = readAgain(context, { forMs });
    const isFailing = (): boolean => this.#reader?.isFailing === true;
    this.#fetching = readAgain(context, { forMs, isFailing });
    this.#decoders = {
      key: decoderOf(config.key_format, registry),
      value: decoderOf(config.value_format, registry),
    };
    if (context.share !== undefined)
      this.acknowledge = (bookmark) => this.#commitAsMember(bookmark);
    else if (config.commit_offsets) this.acknowledge = (bookmark) => this.#commit(bookmark);
  }

  async *pages(request: ReadRequest): AsyncGenerator<Page> {
    const { config, context } = this.#setup;
    const { bookmark, limit = Infinity } = request;
    this.#left = Math.min(limit, mostOf(config, context.share));
    if (context.share !== undefined && this.#left > 0) yield* this.#pagesAsMember(request);
    else {
      const { isAnchor, reader } = await this.#start(bookmark);
      // What comes from now on must not be lost when this run ends before any of it does.
      if (isAnchor) yield Page.ofRecords([], { bookmark: bookmarkOf(reader.positions()) });
      yield* this.#pagesOf(reader, request.lane);
    }
    this.#tellSkipped();
  }

  /** What the brokers give to this member, until it is idle; they give more when others leave. */
  async *#pagesAsMember({ bookmark, lane }: ReadRequest): AsyncGenerator<Page> {
    const { config, context, openConsumer } = this.#setup;
    const { topics, session_timeout } = config;
    const consumer = (this.#consumer ??= openConsumer());
    const member = (this.#member = new GroupMember({
      topics,
      times: groupTimes(session_timeout),
      context,
      openMember: openConsumer,
      openCommitter: openConsumer,
    }));
    await this.#again(() => this.#asked('the group cannot be joined', member.join()));
    try {
      for (;;) {
        this.#handOver();
        const assignment = await member.assignment();
        const { partitions, generation } = assignment;
        const start = startOfMember(consumer, config, { partitions, bookmark });
        const { positions, isAnchor } = await this.#again(() =>
          this.#asked('the position cannot be found', start),
        );
        this.#isGiving = true;
        this.#idleMs = 0;
        const reader = this.#readerAt(consumer, positions);
        if (isAnchor) yield this.#givenByMember(bookmarkOf(positions, generation));
        const isOver = (): boolean => !member.has(assignment);
        yield* this.#pagesOf(reader, lane, { generation, isOver });
        if (!isOver()) return;
      }
    } finally {
      this.#handOver();
    }
  }

  #givenByMember(bookmark: JsonObject): Page {
    this.#uncommitted = stringifyJson(bookmark);
    return Page.ofRecords([], { bookmark });
  }

  async *#pagesOf(reader: LogReader, lane: Lane, part?: PartOfGroup): AsyncGenerator<Page> {
    const { config, context } = this.#setup;
    const fill = new PageFill(pageBounds(config.batch_size, context.pageBytes));
    const maker = pageMakerOf(lane, config);
    const cut = (before?: LogMessage): Page => {
      this.#given = reader.positions(before);
      const bookmark = bookmarkOf(this.#given, part?.generation);
      if (part !== undefined) this.#uncommitted = stringifyJson(bookmark);
      const page = maker.take({ bookmark, bytes: fill.bytes });
      fill.clear();
      return page;
    };
    while (this.#left > 0 && part?.isOver() !== true) {
      const isFilling = maker.count > 0 && config.batch_size !== 0;
      const message = reader.take() ?? (await this.#next(reader, isFilling));
      if (message === 'pause' && maker.count > 0) yield cut();
      if (message === 'end') break;
      if (message === 'pause') continue;
      this.#idleMs = 0;
      const passes = maker.passes(message);
      const made = passes ? undefined : this.#decode(message);
      const record = made instanceof Promise ? await made : made;
      if (passes || record !== undefined) {
        const size = sizeOf(message);
        if (!fill.add(size)) {
          yield cut(message);
          context.signal.throwIfAborted();
          fill.add(size);
        }
        maker.add(message, record);
        this.#left -= 1;
      }
    }
    if (maker.count > 0) yield cut();
  }

  lag(): SourceLag | undefined {
    const behind = this.#reader?.behind(this.#given);
    return behind === undefined ? undefined : { records: behind };
  }

  async close(): Promise<void> {
    const [consumer, admin, member] = [this.#consumer, this.#admin, this.#member];
    this.#consumer = undefined;
    this.#admin = undefined;
    this.#member = undefined;
    await member?.leave();
    await consumer?.close().catch(() => {});
    await admin?.close().catch(() => {});
  }

  async #start(bookmark: JsonValue | undefined) {
    const { config, context, openConsumer } = this.#setup;
    context.signal.throwIfAborted();
    const consumer = (this.#consumer ??= openConsumer());
    const { positions, isAnchor } = await this.#again(() =>
      this.#asked('the position cannot be found', startOf(consumer, config, bookmark)),
    );
    return { reader: this.#readerAt(consumer, positions), isAnchor };
  }

  #readerAt(consumer: Consumer, positions: readonly Position[]): LogReader {
    const { config, context } = this.#setup;
    const settings = sourceSettings(config);
    const outOfRange = (at: Position, range: OffsetRange): bigint => this.#moved(at, range);
    const readsAll = context.share === undefined;
    const options = { consumer, settings, context, outOfRange, readsAll };
    this.#reader = new LogReader(options, positions);
    this.#given = positions;
    return this.#reader;
  }

  /**
   * The next message. `pause`: none has come for as long as a page may wait; `end`: none for as long
   * as the run may, and the brokers say that there is none. Brokers that are silent fail the read.
   */
  async #next(reader: LogReader, isFilling: boolean): Promise<LogMessage | 'pause' | 'end'> {
    const { config, context } = this.#setup;
    const { idle_timeout: idleSeconds = Infinity } = config;
    const restMs = idleSeconds * 1000 - this.#idleMs;
    const waitMs = Math.min(isFilling ? IDLE_FLUSH_MS / 2 : IDLE_FLUSH_MS, Math.max(restMs, 1));
    const from = context.env.clock.elapsedMs();
    const message = await this.#read(() => reader.next(waitMs, Math.max(0, Math.ceil(restMs))));
    if (message !== undefined) return message;
    this.#idleMs += Math.max(waitMs, context.env.clock.elapsedMs() - from);
    if (this.#idleMs < idleSeconds * 1000) return 'pause';
    return (await this.#read(() => reader.nextByAll())) ?? 'end';
  }

  #read(read: () => Promise<LogMessage | undefined>): Promise<LogMessage | undefined> {
    return this.#fetching(() => this.#asked('messages cannot be read', read()));
  }

  /** `undefined` is a message that is left out; a promise only where a schema is asked for. */
  #decode(message: LogMessage): JsonObject | undefined | Promise<JsonObject | undefined> {
    try {
      const record = recordOf(message, this.#decoders);
      if (!(record instanceof Promise)) return record;
      return record.catch((error: unknown) => this.#undecoded(error, message));
    } catch (error) {
      return this.#undecoded(error, message);
    }
  }

  #undecoded(error: unknown, message: LogMessage): undefined | Promise<JsonObject | undefined> {
    if (!(error instanceof ConnectorError)) throw error;
    if (error.kind !== 'data') return this.#again(async () => recordOf(message, this.#decoders));
    if (this.#setup.config.on_decode_error === 'fail') throw error;
    this.#skipped += 1;
    if (this.#skipped === 1)
      this.#setup.context.env.log.warn('messages that cannot be decoded are left out', {
        first: error.message,
      });
    return undefined;
  }

  #tellSkipped(): void {
    if (this.#skipped < 2) return;
    this.#setup.context.env.log.warn('messages could not be decoded', { count: this.#skipped });
  }

  /** Where a partition goes on whose offset is not there: with what is left of it. */
  #moved({ topic, partition, offset }: Position, { start, end }: OffsetRange): bigint {
    const { auto_offset_reset: reset } = this.#setup.config;
    const isPast = offset < start;
    const next = isPast || reset === 'earliest' ? start : end;
    const why = isPast
      ? 'messages were deleted before they were read'
      : 'the partition ends before the position, as if the topic had been made anew';
    const { log } = this.#setup.context.env;
    log.warn(why, { topic, partition, position: String(offset), continues_at: String(next) });
    return next;
  }

  async #commit(bookmark: JsonValue): Promise<void> {
    const { config, openAdmin } = this.#setup;
    const admin = (this.#admin ??= openAdmin());
    const positions = positionsIn(bookmark);
    const topics = [...new Set(positions.map(({ topic }) => topic))].map((name) => ({
      name,
      partitionOffsets: positions
        .filter(({ topic }) => topic === name)
        .map(({ partition, offset }) => ({ partition, offset })),
    }));
    await this.#again(() =>
      this.#asked(
        'the position cannot be committed to the group',
        admin.alterConsumerGroupOffsets({ groupId: config.group_id, topics }),
      ),
    );
  }

  async #commitAsMember(bookmark: JsonValue): Promise<void> {
    const positions = positionsIn(bookmark);
    const isTaken = await this.#again(() =>
      this.#asked(
        'the position cannot be committed to the group',
        this.#member?.commit(generationIn(bookmark), positions) ?? Promise.resolve(false),
      ),
    );
    if (!isTaken)
      this.#setup.context.env.log.warn(
        'the group gave partitions to others before they were committed: some of their messages are written a second time',
      );
    if (stringifyJson(bookmark) === this.#uncommitted) this.#uncommitted = undefined;
    if (!this.#isGiving) this.#handOver();
  }

  /** No page is given until the group has agreed anew, which it can when all are committed. */
  #handOver(): void {
    this.#isGiving = false;
    if (this.#uncommitted === undefined) this.#member?.handOver();
  }

  async #asked<T>(doing: string, work: Promise<T>): Promise<T> {
    const { signal } = this.#setup.context;
    try {
      return await untilAborted(work, signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw error instanceof AppError ? error : kafkaError(error, doing);
    }
  }
}
