/** Reads the changes of capture instances, merged in the order of the commits. */
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import type { ReadRequest, Source, SourceLag } from '../../kit/source.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { readAgain } from '../_brokers/read-again.ts';
import { TransactionPages, type ChangeLog } from '../_cdc/transaction-pages.ts';
import { IDLE_FLUSH_MS, type MssqlCdcConfig } from './config.ts';
import { Links } from './links.ts';
import { InstanceChanges, type Told } from './read/instance-changes.ts';
import { after, before, type Lsn } from './read/lsn.ts';
import { bookmarkOf, readThrough, storedPositions, type Positions } from './read/position.ts';
import { CHANGE_SCHEMA, isBefore } from './read/records.ts';
import {
  askKept,
  checkEnabled,
  checkKept,
  endOf,
  findInstances,
  transactionAfter,
  type Instance,
  type Kept,
} from './server.ts';

/** How often a position without changes is given as a bookmark. */
const MARK_EVERY_MS = 10_000;
/** What the server puts in order at once. */
const MOST_TRANSACTIONS = 10_000;
/** Smallest share of the bytes of a page that an instance may hold. */
const LEAST_BOUND = 65_536;

export class CdcSource implements Source {
  readonly #config: MssqlCdcConfig;
  readonly #context: SourceContext;
  readonly #again: ReturnType<typeof readAgain>;
  readonly #links: Links;
  #instances: readonly Instance[] = [];
  #readers: readonly InstanceChanges[] = [];
  #start: Positions = new Map();
  /** The last transaction that was given, or what holds no change. */
  #through: Lsn = '';
  /** All of what is read was there until here when it had been read. */
  #checked: Lsn = '';
  #pages: TransactionPages<Lsn> | undefined;
  /** The last transaction that the server had captured when it was asked. */
  #last: Lsn | undefined;
  /** Age of the oldest change that was not given then, at that time. */
  #behind: { readonly ms: number; readonly atMs: number } | undefined;
  /** All is read that the server had. */
  #hasCaughtUp = false;
  #idleMs = 0;
  #pageSinceMs = 0;
  #markedAtMs = 0;

  constructor(config: MssqlCdcConfig, context: SourceContext) {
    this.#config = config;
    this.#context = context;
    this.#again = readAgain(context);
    this.#links = new Links(config, context);
  }

  async *pages({ bookmark, limit = Infinity }: ReadRequest): AsyncGenerator<Page> {
    const { signal } = this.#context;
    signal.throwIfAborted();
    const pages = await this.#begin(bookmark);
    this.#markedAtMs = this.#nowMs();
    // Without it, a run that is killed would begin behind what it has not read.
    if (this.#config.start_position.type === 'current') pages.mark();
    yield* this.#given(pages);
    while (pages.count < limit) {
      const to = await this.#again(() => this.#nextRange());
      if (to === undefined) {
        if (await this.#isIdle(pages)) break;
      } else yield* this.#range(to, pages, limit);
      yield* this.#given(pages);
    }
    if (pages.count >= limit) pages.giveAll();
    else {
      pages.giveWhole();
      pages.mark();
    }
    yield* this.#given(pages);
  }

  lag(): SourceLag | undefined {
    const { waiting = 0, ready = [] } = this.#pages ?? {};
    if (this.#hasCaughtUp && waiting + ready.length === 0) return { seconds: 0 };
    if (this.#behind === undefined) return undefined;
    return { seconds: (this.#behind.ms + this.#nowMs() - this.#behind.atMs) / 1000 };
  }

  close(): Promise<void> {
    this.#links.close();
    return Promise.resolve();
  }

  async #begin(bookmark: JsonValue | undefined): Promise<TransactionPages<Lsn>> {
    const { capture_instances: names, max_staged_records: longest } = this.#config;
    const stored = bookmark === undefined ? undefined : storedPositions(bookmark, names);
    this.#start = await this.#again(() => this.#startOf(stored));
    this.#through = [...this.#start.values()].sort()[0] ?? '';
    this.#checked = this.#through;
    const keeps = names.length < this.#links.most;
    const bound = Math.max(LEAST_BOUND, Math.floor(this.#context.pageBytes / names.length));
    this.#readers = this.#instances.map(
      (instance) => new InstanceChanges({ instance, links: this.#links, keeps, bound }),
    );
    const log: ChangeLog<Lsn> = {
      schema: CHANGE_SCHEMA,
      bookmarkOf: (lsn) => bookmarkOf(readThrough(this.#start, lsn)),
      isAfter: (one, other) => one > other,
    };
    const isNew = stored === undefined || stored.size < names.length;
    const isMarked = this.#config.start_position.type === 'earliest' || !isNew;
    this.#pages = new TransactionPages({
      log,
      bounds: pageBounds(this.#config.batch_size, this.#context.pageBytes),
      longest,
      marks: true,
      from: this.#through,
      marked: isMarked ? this.#through : undefined,
    });
    return this.#pages;
  }

  /** Behind the bookmark; an instance that it does not name begins as the config says. */
  #startOf(stored: Positions | undefined): Promise<Positions> {
    const { capture_instances: names, start_position: start } = this.#config;
    return this.#links.using('change data capture cannot be asked', async (link) => {
      await checkEnabled(link);
      this.#instances = await findInstances(link, names);
      const kept = await askKept(link, names);
      const found = new Map<string, Lsn>();
      for (const name of names) {
        const known = stored?.get(name);
        if (known === undefined && stored !== undefined)
          this.#context.env.log.warn('the bookmark does not name a capture instance', {
            capture_instance: name,
            effect: `it begins at \`start_position: ${start.type}\``,
          });
        const first = kept.first.get(name) ?? '';
        found.set(name, known ?? (start.type === 'earliest' ? before(first) : endOf(kept, name)));
      }
      checkKept(kept, found);
      return found;
    });
  }

  /** Where to read to next; `undefined` where there is nothing new. */
  #nextRange(): Promise<Lsn | undefined> {
    return this.#links.using('change data capture cannot be asked', async (link) => {
      const kept = await askKept(link, this.#config.capture_instances);
      this.#check(kept);
      this.#last = kept.last;
      this.#hasCaughtUp = kept.last === undefined || kept.last <= this.#through;
      if (kept.last === undefined || this.#hasCaughtUp) return undefined;
      const oldest = await transactionAfter(link, this.#through, 0);
      const ms =
        oldest === undefined ? NaN : Date.parse(`${kept.now}Z`) - Date.parse(`${oldest.time}Z`);
      // Clocks with local time jump twice a year.
      this.#behind = { ms: Number.isNaN(ms) ? 0 : Math.max(0, ms), atMs: this.#nowMs() };
      const farthest = await transactionAfter(link, this.#through, MOST_TRANSACTIONS);
      return farthest === undefined || farthest.lsn > kept.last ? kept.last : farthest.lsn;
    });
  }

  /** Throws where changes may have been cleaned up before they were read. */
  #check(kept: Kept): void {
    checkKept(kept, readThrough(this.#start, this.#checked));
    this.#checked = this.#through;
  }

  async *#range(to: Lsn, pages: TransactionPages<Lsn>, limit: number): AsyncGenerator<Page> {
    const from = readThrough(this.#start, this.#through);
    for (const [at, { name }] of this.#instances.entries())
      this.#readers[at]?.begin(after(from.get(name) ?? ''), to);
    let open: Lsn | undefined;
    for (;;) {
      const next = await this.#next();
      this.#hasCaughtUp = next === undefined && to === this.#last;
      if (open !== undefined && next?.change.lsn !== open) {
        this.#commit(open, pages);
        open = undefined;
        if (pages.ready.length > 0) yield* this.#given(pages);
        if (pages.count >= limit) return;
      }
      if (next === undefined) break;
      if (open === undefined) {
        open = next.change.lsn;
        pages.begin(open);
      }
      if (pages.waiting === 0) this.#pageSinceMs = this.#nowMs();
      pages.add(next.record, next.size, next.schema);
      if (pages.ready.length > 0) yield* this.#given(pages);
      if (pages.count >= limit) return;
    }
    this.#through = to;
    pages.pass(to);
    if (this.#config.batch_size !== 0) pages.giveWhole();
  }

  #commit(lsn: Lsn, pages: TransactionPages<Lsn>): void {
    this.#idleMs = 0;
    this.#through = lsn;
    pages.commit(lsn);
    const isDue = this.#nowMs() - this.#pageSinceMs >= IDLE_FLUSH_MS;
    if (isDue && this.#config.batch_size !== 0) pages.giveWhole();
  }

  /** The first of all changes that are not taken yet. */
  async #next(): Promise<Told | undefined> {
    const empty = this.#readers.filter((reader) => reader.isEmpty);
    if (empty.length > 0)
      await Promise.all(empty.map((reader) => this.#again(() => reader.fill())));
    let first: InstanceChanges | undefined;
    for (const reader of this.#readers) {
      const [head, other] = [reader.head, first?.head];
      if (head === undefined) continue;
      if (other === undefined || isBefore(head.change, other.change)) first = reader;
    }
    const head = first?.head;
    first?.take();
    return head;
  }

  /** Nothing before a bookmark may have been cleaned up while it was read. */
  async *#given(pages: TransactionPages<Lsn>): AsyncGenerator<Page> {
    const { capture_instances: names } = this.#config;
    if (pages.ready.length > 0 && this.#through > this.#checked) {
      const ask = (): Promise<Kept> =>
        this.#links.using('change data capture cannot be asked', (link) => askKept(link, names));
      this.#check(await this.#again(ask));
    }
    while (pages.ready.length > 0) {
      const page = pages.ready.shift() as Page;
      if (page.bookmark !== undefined) this.#markedAtMs = this.#nowMs();
      yield page;
      this.#context.signal.throwIfAborted();
    }
  }

  /** Waits until the server is asked again; changes of other tables move the position, too. */
  async #isIdle(pages: TransactionPages<Lsn>): Promise<boolean> {
    const { idle_timeout: idle, poll_interval: interval, batch_size: size } = this.#config;
    const { clock } = this.#context.env;
    const restMs = idle * 1000 - this.#idleMs;
    if (restMs <= 0) return true;
    if (size !== 0) {
      pages.giveWhole();
      if (this.#nowMs() - this.#markedAtMs >= MARK_EVERY_MS) pages.mark();
    }
    const from = clock.elapsedMs();
    await clock.sleep(Math.min(interval * 1000, restMs), this.#context.signal);
    this.#context.signal.throwIfAborted();
    this.#idleMs += clock.elapsedMs() - from;
    return false;
  }

  #nowMs(): number {
    return this.#context.env.clock.elapsedMs();
  }
}
