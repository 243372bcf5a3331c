import type { Admin, Consumer } from '@platformatic/kafka';
import type { SourceContext } from '../../../kit/context.ts';
import { Page } from '../../../kit/page.ts';
import { PageFill, pageBounds } from '../../../kit/page-bounds.ts';
import type { ReadRequest, Source, SourceLag } from '../../../kit/source.ts';
import { AppError, ConnectorError } from '../../../lib/errors.ts';
import { kafkaError, kafkaLibrary } from '../../../lib/kafka/kafka.ts';
import type { JsonObject, JsonValue } from '../../../lib/text/json.ts';
import { untilAborted } from '../../../lib/until-aborted.ts';
import { readAgain } from '../../_brokers/read-again.ts';
import { clientOptions, sourceSettings } from '../client/settings.ts';
import type { KafkaSourceConfig } from '../config.ts';
import { decoderOf, registryOf } from '../formats/decode.ts';
import { LogReader, type LogMessage, type OffsetRange, type Position } from './log-reader.ts';
import { pageMakerOf } from './page-maker.ts';
import { recordOf, sizeOf, type Decoders } from './record.ts';
import { bookmarkOf, positionsIn, startOf } from './start.ts';

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
    openConsumer: () =>
      new ConsumerClient({ ...options, groupId: config.group_id, autocommit: false }),
    openAdmin: () => new AdminClient(options),
  });
}

interface Setup {
  readonly config: KafkaSourceConfig;
  readonly context: SourceContext;
  readonly openConsumer: () => Consumer;
  readonly openAdmin: () => Admin;
}

class KafkaSource implements Source {
  readonly acknowledge?: (bookmark: JsonValue) => Promise<void>;
  readonly #setup: Setup;
  readonly #decoders: Decoders;
  readonly #again: ReturnType<typeof readAgain>;
  #consumer: Consumer | undefined;
  #admin: Admin | undefined;
  #reader: LogReader | undefined;
  /** Behind the last page that was given. */
  #given: readonly Position[] = [];
  /** Milliseconds without a message. */
  #idleMs = 0;
  #skipped = 0;

  constructor(setup: Setup) {
    const { config, context } = setup;
    const registry = registryOf(config.schema_registry, context);
    this.#setup = setup;
    this.#again = readAgain(context, { forMs: config.session_timeout * 1000 });
    this.#decoders = {
      key: decoderOf(config.key_format, registry),
      value: decoderOf(config.value_format, registry),
    };
    if (config.commit_offsets) this.acknowledge = (bookmark) => this.#commit(bookmark);
  }

  async *pages({ bookmark: from, lane, limit = Infinity }: ReadRequest): AsyncGenerator<Page> {
    const { config, context } = this.#setup;
    const { isAnchor, reader } = await this.#start(from);
    // What comes from now on must not be lost when this run ends before any of it does.
    if (isAnchor) yield Page.ofRecords([], { bookmark: bookmarkOf(reader.positions()) });
    const fill = new PageFill(pageBounds(config.batch_size, context.pageBytes));
    const maker = pageMakerOf(lane, config);
    let left = Math.min(limit, config.max_messages ?? Infinity);
    const cut = (before?: LogMessage): Page => {
      this.#given = reader.positions(before);
      const bookmark = bookmarkOf(this.#given);
      const page = maker.take({ bookmark, bytes: fill.bytes });
      fill.clear();
      return page;
    };
    while (left > 0) {
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
          fill.add(size);
        }
        maker.add(message, record);
        left -= 1;
      }
    }
    if (maker.count > 0) yield cut();
    this.#tellSkipped();
  }

  lag(): SourceLag | undefined {
    const behind = this.#reader?.behind(this.#given);
    return behind === undefined ? undefined : { records: behind };
  }

  async close(): Promise<void> {
    const [consumer, admin] = [this.#consumer, this.#admin];
    this.#consumer = undefined;
    this.#admin = undefined;
    await consumer?.close().catch(() => {});
    await admin?.close().catch(() => {});
  }

  async #start(bookmark: JsonValue | undefined) {
    const { config, context, openConsumer } = this.#setup;
    const { signal, env } = context;
    signal.throwIfAborted();
    const settings = sourceSettings(config);
    const consumer = (this.#consumer ??= openConsumer());
    const { positions, isAnchor } = await this.#again(() =>
      this.#asked('the position cannot be found', startOf(consumer, config, bookmark)),
    );
    const outOfRange = (at: Position, range: OffsetRange): bigint => this.#moved(at, range);
    const reader = new LogReader(
      { consumer, settings, context: { env, signal }, outOfRange },
      positions,
    );
    this.#reader = reader;
    this.#given = positions;
    return { reader, isAnchor };
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
    return this.#again(() => this.#asked('messages cannot be read', read()));
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
