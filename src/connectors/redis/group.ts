/** A stream read as a consumer of a group: what was written is acknowledged and does not come again. */
import { Page } from '../../kit/page.ts';
import { PageFill, pageBounds } from '../../kit/page-bounds.ts';
import type { ReadRequest, Source } from '../../kit/source.ts';
import type { SourceContext } from '../../kit/context.ts';
import { messageOf } from '../../lib/errors.ts';
import { isObject, type JsonValue } from '../../lib/text/json.ts';
import type { Sized } from '../_files/lines/cut-pages.ts';
import { readAgain } from '../_brokers/read-again.ts';
import { Window } from '../_brokers/window.ts';
import type { RedisSourceConfig, StreamSource } from './config.ts';
import type { RedisLink } from './link.ts';
import { entryOf } from './read.ts';

/** As long as the server waits for entries; a stop and an acknowledgement wait no longer. */
const BLOCK_MS = 100;
const ACKNOWLEDGED_AT_ONCE = 1000;
const CONSUMER = 'headgate';

/** How long an entry waits until its page is given. */
export const IDLE_FLUSH_MS = 200;

export interface GroupSetup {
  readonly link: RedisLink;
  readonly config: RedisSourceConfig;
  readonly stream: StreamSource & { readonly group: string };
  readonly context: SourceContext;
}

/** The types of the client know this command with fixed arguments only. */
interface GroupReader {
  xreadgroupBuffer(...args: readonly string[]): Promise<Reply>;
}

type Reply = [Buffer, [Buffer, Buffer[] | null][]][] | null;

export class GroupSource implements Source {
  readonly #setup: GroupSetup;
  readonly #again: ReturnType<typeof readAgain>;
  readonly #window: Window;
  /** Ids of entries that were given and not acknowledged, in order. */
  #open: string[] = [];
  /** What the consumer was given before is asked for first, after this id; `undefined`: all was. */
  #ownAfter: string | undefined = '0';
  #newest = '0';
  #deleted = 0;

  constructor(setup: GroupSetup) {
    const { config, stream, context } = setup;
    this.#setup = setup;
    this.#again = readAgain(context);
    const most = Math.min(stream.count ?? Infinity, config.batch_size || Infinity);
    this.#window = new Window(most, context.pageBytes);
  }

  async *pages({ limit = Infinity }: ReadRequest): AsyncGenerator<Page> {
    const { config, context } = this.#setup;
    await this.#makeGroup();
    const bounds = pageBounds(config.batch_size, context.pageBytes);
    const fill = new PageFill(bounds);
    let records: JsonValue[] = [];
    const cut = (): Page => {
      const { id } = records.at(-1) as { id: string };
      const page = Page.ofRecords(records, { bookmark: { id }, bytes: fill.bytes });
      records = [];
      fill.clear();
      return page;
    };
    let left = Math.min(limit, config.max_records ?? Infinity);
    while (left > 0) {
      const batch = await this.#next(left);
      if (batch === undefined) break;
      for (const { value, size = 0 } of batch) {
        if (!fill.add(size)) {
          yield cut();
          context.signal.throwIfAborted();
          fill.add(size);
        }
        records.push(value);
        this.#open.push((value as { id: string }).id);
      }
      left -= batch.length;
      if (config.batch_size !== 0 && records.length > 0) yield cut();
    }
    if (records.length > 0) yield cut();
  }

  /** Entries up to the bookmark; those of pages behind it stay with the consumer. */
  async acknowledge(bookmark: JsonValue): Promise<void> {
    const id = isObject(bookmark) ? bookmark['id'] : undefined;
    const done = this.#open.findIndex((one) => one === id) + 1;
    for (let from = 0; from < done; from += ACKNOWLEDGED_AT_ONCE)
      await this.#acknowledge(this.#open.slice(from, Math.min(done, from + ACKNOWLEDGED_AT_ONCE)));
    this.#open = this.#open.slice(done);
  }

  close(): Promise<void> {
    const { link, context, stream } = this.#setup;
    link.close();
    if (this.#deleted > 0)
      context.env.log.warn('entries were deleted before they were written', {
        stream: stream.key,
        entries: this.#deleted,
      });
    return Promise.resolve();
  }

  /** The next entries; `undefined` when there are none and none are waited for. */
  async #next(most: number): Promise<Sized[] | undefined> {
    const { context, stream } = this.#setup;
    const { idle_timeout: idleSeconds = 0 } = stream;
    let waitedMs = 0;
    for (;;) {
      context.signal.throwIfAborted();
      const own = this.#ownAfter !== undefined;
      const blockMs = own ? 0 : Math.min(BLOCK_MS, idleSeconds * 1000 - waitedMs);
      const found = await this.#read(Math.min(most, this.#window.size), blockMs);
      const given = await this.#withoutDeleted(found);
      if (given.length > 0) return given;
      if (found.length > 0) continue;
      if (own) {
        this.#ownAfter = undefined;
        continue;
      }
      waitedMs += Math.max(blockMs, 0);
      if (waitedMs >= idleSeconds * 1000) return undefined;
    }
  }

  /**
   * After a failure entries may be with the consumer that nobody saw: they are asked for again.
   */
  async #read(count: number, blockMs: number): Promise<[Buffer, Buffer[] | null][]> {
    const { key, group, consumer = CONSUMER } = this.#setup.stream;
    const doing = `the group \`${group}\` of the stream \`${key}\` cannot be read`;
    const reply = await this.#again(async () => {
      try {
        const block = blockMs > 0 && this.#ownAfter === undefined ? ['BLOCK', `${blockMs}`] : [];
        const from = this.#ownAfter ?? '>';
        return await this.#setup.link.run(doing, (redis) =>
          (redis as unknown as GroupReader).xreadgroupBuffer(
            'GROUP',
            group,
            consumer,
            'COUNT',
            `${count}`,
            ...block,
            'STREAMS',
            key,
            from,
          ),
        );
      } catch (error) {
        this.#ownAfter ??= this.#newest;
        throw error;
      }
    });
    const [[, found] = [null, []]] = reply ?? [];
    const last = found.at(-1)?.[0].toString();
    if (last !== undefined) this.#newest = last;
    if (last !== undefined && this.#ownAfter !== undefined) this.#ownAfter = last;
    return found;
  }

  /** Entries that were deleted while they waited, or cut off, are told of at the end. */
  async #withoutDeleted(found: readonly [Buffer, Buffer[] | null][]): Promise<Sized[]> {
    const { key } = this.#setup.stream;
    const deleted = found.flatMap(([id, flat]) => (flat === null ? [id.toString()] : []));
    if (deleted.length > 0) await this.#acknowledge(deleted);
    this.#deleted += deleted.length;
    const given = found.flatMap(([id, flat]) => (flat === null ? [] : [entryOf(id, flat, key)]));
    this.#window.seen(
      given.length,
      given.reduce((sum, { size = 0 }) => sum + size, 0),
    );
    return given;
  }

  async #acknowledge(ids: readonly string[]): Promise<void> {
    const { key, group } = this.#setup.stream;
    const doing = `entries of the stream \`${key}\` cannot be acknowledged`;
    await this.#again(() => this.#setup.link.run(doing, (redis) => redis.xack(key, group, ...ids)));
  }

  async #makeGroup(): Promise<void> {
    const { key, group } = this.#setup.stream;
    const doing = `the group \`${group}\` of the stream \`${key}\` cannot be made`;
    await this.#again(() =>
      this.#setup.link.run(doing, (redis) =>
        redis.xgroup('CREATE', key, group, '0', 'MKSTREAM').catch((error: unknown) => {
          if (!messageOf(error).startsWith('BUSYGROUP')) throw error;
        }),
      ),
    );
  }
}
