/** Reads the changes of a publication, transaction by transaction, from where the last run stopped. */
import type { Client } from 'pg';
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import type { ReadRequest, Source, SourceLag } from '../../kit/source.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import { withinSecs } from '../_sql/within-secs.ts';
import { readAgain } from '../_brokers/read-again.ts';
import { statusSeconds, type PostgresCdcConfig } from './config.ts';
import { leftOut } from './left-out.ts';
import { bookmarkOf, lsnOf } from './read/bookmark.ts';
import { DATA_AT, LogStream, type LogMessage } from './read/log-stream.ts';
import { parseLsn } from './read/lsn.ts';
import { readMessage, type Message, type Relation } from './read/messages.ts';
import { CHANGE_SCHEMA, ChangeRecords } from './read/records.ts';
import { TransactionPages, type ChangeLog } from '../_cdc/transaction-pages.ts';
import { ColumnTypes } from './read/types.ts';
import { ANSWER_SECS, asked, connectToLog, connectUsual, SILENT } from './session.ts';
import { checkPublication, endOfLog, makeSlot, slotBehind, whenFree } from './slot.ts';

/** How long a change waits until its page is given. */
export const IDLE_FLUSH_MS = 100;
/** After so long without a message it is asked whether it is there. */
const HEARD_MS = 30_000;

const LOG: ChangeLog<bigint> = {
  schema: CHANGE_SCHEMA,
  bookmarkOf,
  isAfter: (one, other) => one > other,
};

export class CdcSource implements Source {
  readonly acknowledge?: (bookmark: JsonValue) => Promise<void>;
  readonly #config: PostgresCdcConfig;
  readonly #context: SourceContext;
  readonly #again: ReturnType<typeof readAgain>;
  readonly #reading: ReturnType<typeof readAgain>;
  readonly #types = new ColumnTypes();
  readonly #records: ChangeRecords;
  readonly #over = new AbortController();
  #stream: LogStream | undefined;
  #usual: Client | undefined;
  #pages: TransactionPages<bigint> | undefined;
  #hasStarted = false;
  /** The last bookmark that is stored. */
  #stored: bigint | undefined;
  #hasAcknowledged = false;
  /** The server waits for a bookmark, as when it is about to stop. */
  #isAsked = false;
  /** A page with that bookmark was given. */
  #isAwaited = false;
  #idleMs = 0;
  /** Before an idle run ends: the end of the log, how far the server has sent it, and when it was asked. */
  #endOfLog: bigint | undefined;
  #told: bigint | undefined;
  #askedAtMs: number | undefined;
  /** When a message was last waited for and came, or the stream was opened. */
  #heardAtMs = 0;
  /** The stream has failed, and nothing came since. */
  #isFailing = false;
  #pageSinceMs = 0;
  #markedAtMs = 0;
  #lastTimeMs: number | undefined;

  constructor(config: PostgresCdcConfig, context: SourceContext) {
    this.#config = config;
    this.#context = context;
    this.#again = readAgain(context);
    this.#reading = readAgain(context, { isFailing: () => this.#isFailing });
    this.#records = new ChangeRecords(context.env.log);
    if (isPermanent(config)) this.acknowledge = (bookmark) => this.#acknowledge(bookmark);
  }

  async *pages({ bookmark, limit = Infinity }: ReadRequest): AsyncGenerator<Page> {
    const { batch_size: batchSize, max_messages: most = Infinity } = this.#config;
    const { signal, pageBytes, env } = this.#context;
    signal.throwIfAborted();
    const pages = await this.#begin(bookmark, pageBounds(batchSize, pageBytes));
    this.#markedAtMs = env.clock.elapsedMs();
    while (pages.count < limit && (pages.count < most || pages.isOpen)) {
      const message = this.#stream?.take() ?? (await this.#reading(() => this.#next()));
      if (message === 'end') break;
      if (message === 'pause') this.#pause(pages);
      else if (message.kind === 'data') {
        const learning = this.#read(message.bytes, pages);
        if (learning !== undefined) await learning;
      } else this.#pass(message, pages);
      if (pages.ready.length > 0) yield* this.#given(pages);
    }
    if (pages.count >= limit) pages.giveAll();
    else {
      pages.giveWhole();
      pages.mark();
    }
    yield* this.#given(pages);
  }

  lag(): SourceLag | undefined {
    const { waiting = 0, oldestMs = this.#lastTimeMs } = this.#pages ?? {};
    const isBehind = waiting > 0 || this.#stream?.hasData === true;
    if (!isBehind) return this.#stream === undefined ? undefined : { seconds: 0 };
    if (oldestMs === undefined) return undefined;
    const now = this.#context.env.clock.now().getTime();
    return { seconds: Math.max(0, now - oldestMs) / 1000 };
  }

  async close(): Promise<void> {
    this.#over.abort();
    const [stream, usual] = [this.#stream, this.#usual];
    this.#stream = undefined;
    this.#usual = undefined;
    await stream?.close();
    await usual?.end().catch(() => {});
  }

  *#given(pages: TransactionPages<bigint>): Generator<Page> {
    while (pages.ready.length > 0) {
      const page = pages.ready.shift() as Page;
      if (page.bookmark !== undefined) this.#markedAtMs = this.#context.env.clock.elapsedMs();
      yield page;
      this.#context.signal.throwIfAborted();
    }
    this.#pageSinceMs = this.#context.env.clock.elapsedMs();
  }

  async #begin(
    bookmark: JsonValue | undefined,
    bounds: ReturnType<typeof pageBounds>,
  ): Promise<TransactionPages<bigint>> {
    const { start_lsn: start, max_staged_records: longest } = this.#config;
    const marks = isPermanent(this.#config);
    const stored = bookmark === undefined || !marks ? undefined : lsnOf(bookmark);
    const from = stored ?? (start === undefined ? undefined : parseLsn(start)) ?? 0n;
    const pages = new TransactionPages({ log: LOG, bounds, longest, marks, from, marked: from });
    this.#pages = pages;
    this.#stored = stored;
    await this.#again(() => this.#connect(stored));
    return pages;
  }

  /** Opens the stream, at first or again, behind all that is complete. */
  async #connect(stored?: bigint): Promise<LogStream> {
    const { env, signal, pageBytes } = this.#context;
    const pages = this.#pages as TransactionPages<bigint>;
    if (this.#hasStarted && !isPermanent(this.#config)) throw temporaryIsGone(this.#config);
    const { timeoutMs, slot } = await this.#usually('the server cannot be asked', (usual) =>
      this.#check(usual, stored),
    );
    const client = await connectToLog(this.#config, this.#context);
    try {
      const { confirmed } =
        slot ?? (await asked('the slot cannot be made', makeSlot(client, this.#config), signal));
      pages.startOver();
      pages.pass(confirmed);
      const options = {
        client,
        config: this.#config,
        from: pages.position ?? 0n,
        bound: pageBytes,
      };
      const use = (): Promise<LogStream> =>
        untilAborted(withinSecs(LogStream.start(options), ANSWER_SECS, undefined, SILENT), signal);
      const waiting = { clock: env.clock, signal };
      const starting = whenFree(this.#config, waiting, use);
      const stream = await asked('the changes cannot be read', starting, signal);
      this.#stream = stream;
      this.#heardAtMs = env.clock.elapsedMs();
      this.#hasStarted = true;
      void this.#reportStatus(stream, timeoutMs);
      return stream;
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
  }

  /** Without a slot it has to be made, if this is the first time. */
  async #check(client: Client, stored: bigint | undefined) {
    const { timeoutMs, hasTables } = await checkPublication(client, this.#config);
    if (!this.#hasStarted) await this.#tellOfPublication(client, hasTables);
    // Once it was read, a slot that is gone must not be made again: that would leave a gap.
    const last = this.#hasStarted ? this.#pages?.position : stored;
    return { timeoutMs, slot: await slotBehind(client, this.#config, last) };
  }

  async #tellOfPublication(client: Client, hasTables: boolean): Promise<void> {
    const { log } = this.#context.env;
    const { publication_name: publication } = this.#config;
    if (!hasTables) log.warn('no table belongs to the publication', { publication });
    const missing = await leftOut(client, publication);
    if (missing.length > 0)
      log.warn('the publication leaves changes out, so that a copy would not be whole', {
        publication,
        left_out: missing.join('; '),
      });
  }

  /** Asks on a usual connection, which is made anew after a failure. */
  async #usually<T>(doing: string, ask: (client: Client) => Promise<T>): Promise<T> {
    const client = (this.#usual ??= await connectUsual(this.#config, this.#context));
    try {
      return await asked(
        doing,
        withinSecs(ask(client), ANSWER_SECS, undefined, SILENT),
        this.#context.signal,
      );
    } catch (error) {
      this.#usual = undefined;
      void client.end().catch(() => {});
      throw error;
    }
  }

  /** The server gives up readers that it hears nothing of. */
  async #reportStatus(stream: LogStream, timeoutMs: number): Promise<void> {
    const everyMs = Math.min(
      statusSeconds(this.#config) * 1000,
      timeoutMs === 0 ? Infinity : timeoutMs / 3,
    );
    for (;;) {
      await this.#context.env.clock.sleep(everyMs, this.#over.signal);
      if (this.#over.signal.aborted || stream !== this.#stream) return;
      this.#report();
    }
  }

  /** `pause`: nothing has come for as long as a page may wait; `end`: for as long as the run may. */
  async #next(): Promise<LogMessage | 'pause' | 'end'> {
    const { clock } = this.#context.env;
    const stream = this.#stream ?? (await this.#connect());
    const restMs = this.#config.idle_timeout * 1000 - this.#idleMs;
    const from = clock.elapsedMs();
    const rested = new AbortController();
    const waitMs = restMs <= 0 ? IDLE_FLUSH_MS / 2 : Math.min(IDLE_FLUSH_MS / 2, restMs);
    const rest = clock.sleep(waitMs, rested.signal);
    try {
      if (restMs <= 0 && (await this.#isAtEnd(stream))) return 'end';
      await untilAborted(Promise.race([stream.arrival(), rest]), this.#context.signal);
      const message = stream.take();
      const nowMs = clock.elapsedMs();
      if (message === undefined && nowMs - this.#heardAtMs > HEARD_MS) this.#askStream(stream);
      if (message !== undefined) {
        this.#heardAtMs = nowMs;
        return message;
      }
    } catch (error) {
      // The next attempt connects again.
      this.#isFailing = true;
      this.#stream = undefined;
      this.#forgetEnd();
      await stream.close();
      throw error;
    } finally {
      rested.abort();
      this.#idleMs += clock.elapsedMs() - from;
    }
    return 'pause';
  }

  /** A server that is silent, or still looks through its log, may have more. */
  async #isAtEnd(stream: LogStream): Promise<boolean> {
    this.#endOfLog ??= await this.#usually('the end of the log cannot be asked for', endOfLog);
    if (this.#told !== undefined && this.#told >= this.#endOfLog) return true;
    this.#askStream(stream);
    return false;
  }

  /** Throws where the server has not answered for too long. */
  #askStream(stream: LogStream): void {
    const nowMs = this.#context.env.clock.elapsedMs();
    if (this.#askedAtMs === undefined) {
      this.#askedAtMs = nowMs;
      stream.sendStatus({ wantsReply: true });
    } else if (nowMs - this.#askedAtMs > ANSWER_SECS * 1000) throw silent();
  }

  /** A promise only where a table is described, whose types may have to be asked for. */
  #read(bytes: Buffer, pages: TransactionPages<bigint>): Promise<void> | undefined {
    this.#forgetEnd();
    this.#isFailing = false;
    const message = readMessage(bytes, DATA_AT);
    if (message.kind === 'relation') return this.#learn(message.relation);
    const given = pages.count;
    this.#apply(message, bytes.length, pages);
    if (pages.count > given) this.#idleMs = 0;
    return undefined;
  }

  #apply(
    message: Exclude<Message, { kind: 'relation' }>,
    size: number,
    pages: TransactionPages<bigint>,
  ): void {
    switch (message.kind) {
      case 'begin':
        this.#lastTimeMs = message.timeMs;
        this.#records.begin(message.commit, message.timeMs);
        if (pages.waiting === 0) this.#pageSinceMs = this.#context.env.clock.elapsedMs();
        return pages.begin(message.commit);
      case 'change':
        if (this.#records.isOwn(message.relation)) return;
        return pages.add(
          this.#records.record(message),
          size + this.#records.frameOf(message.relation),
          this.#records.schemaOf(message.relation),
        );
      case 'truncate':
        for (const id of message.relations)
          if (!this.#records.isOwn(id))
            pages.add(
              this.#records.truncated(id),
              this.#records.frameOf(id),
              this.#records.schemaOf(id),
            );
        return;
      case 'commit':
        pages.commit(message.end);
        if (this.#isDue()) pages.giveWhole();
        return;
      case 'other':
        return;
      default:
        return message satisfies never;
    }
  }

  async #learn(relation: Relation): Promise<void> {
    const unknown = this.#types.unknown(relation);
    if (unknown.length > 0)
      await this.#again(() =>
        this.#usually('types cannot be looked up', (client) => this.#types.ask(client, unknown)),
      );
    const types = this.#types;
    this.#records.learn(relation, types.decoders(relation), types.fields(relation));
  }

  #pass(
    { end, wantsReply }: Extract<LogMessage, { kind: 'position' }>,
    pages: TransactionPages<bigint>,
  ): void {
    pages.pass(end);
    this.#isAsked ||= wantsReply;
    this.#told = end;
    this.#askedAtMs = undefined;
    this.#isFailing = false;
  }

  #forgetEnd(): void {
    this.#endOfLog = undefined;
    this.#told = undefined;
    this.#askedAtMs = undefined;
  }

  #isDue(): boolean {
    if (this.#config.batch_size === 0) return false;
    return this.#context.env.clock.elapsedMs() - this.#pageSinceMs >= IDLE_FLUSH_MS;
  }

  /** Changes of other tables move the position, too, and the server keeps them until they are confirmed. */
  #pause(pages: TransactionPages<bigint>): void {
    if (this.#config.batch_size === 0) return;
    pages.giveWhole();
    const sinceMs = this.#context.env.clock.elapsedMs() - this.#markedAtMs;
    if (!this.#isAsked && sinceMs < statusSeconds(this.#config) * 1000) return;
    pages.mark();
    this.#isAwaited ||= this.#isAsked;
    this.#isAsked = false;
  }

  /**
   * Confirmed with the next report, or at once where the server waits for it. What was stored before
   * this run is not needed any more.
   */
  #acknowledge(bookmark: JsonValue): Promise<void> {
    if (!this.#hasAcknowledged) this.#report();
    this.#hasAcknowledged = true;
    this.#stored = lsnOf(bookmark);
    if (this.#isAwaited) this.#report();
    this.#isAwaited = false;
    return Promise.resolve();
  }

  #report(): void {
    if (this.#stored !== undefined) this.#stream?.confirm(this.#stored);
    this.#stream?.sendStatus();
  }
}

function temporaryIsGone({ slot_name: name }: PostgresCdcConfig): ConnectorError {
  return new ConnectorError(
    'refused',
    `the temporary slot \`${name}\` has ended with its connection, so that the changes since cannot be read`,
    { hint: 'use `slot_type: permanent` where a run has to go on after a failure' },
  );
}

function silent(): ConnectorError {
  return new ConnectorError('timeout', `the server has not answered for ${ANSWER_SECS} s`);
}

function isPermanent({ slot_type: type }: PostgresCdcConfig): boolean {
  return type === 'permanent';
}
