/** Reads the events of a change stream, in the order of the server. */
import type { SourceContext } from '../../kit/context.ts';
import { Page } from '../../kit/page.ts';
import { fits, isFull, pageBounds, type PageBounds } from '../../kit/page-bounds.ts';
import type { ReadRequest, Source, SourceLag } from '../../kit/source.ts';
import { ConnectorError } from '../../lib/errors.ts';
import type { MongoLink } from '../../lib/mongodb/client.ts';
import { stringifyJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import { readAgain } from '../_brokers/read-again.ts';
import { IDLE_FLUSH_MS, tokenOf, type MongodbCdcConfig } from './config.ts';
import { presentPosition } from './anchor.ts';
import { linkTo } from './link.ts';
import { ChangeEvents, type Answer } from './read/change-events.ts';
import {
  bookmarkOf,
  isSame,
  startMark,
  storedPosition,
  type StreamPosition,
} from './read/position.ts';
import { changeRecord, changeSchema, tellsPlaces, type Event } from './read/records.ts';

/** How often a position without changes is given as a bookmark. */
const MARK_EVERY_MS = 10_000;

export class CdcSource implements Source {
  readonly #config: MongodbCdcConfig;
  readonly #context: SourceContext;
  readonly #again: ReturnType<typeof readAgain>;
  readonly #bounds: PageBounds;
  readonly #link: MongoLink;
  #events: ChangeEvents | undefined;
  /** The question that the server has not answered yet. */
  #asked: Promise<Answer> | undefined;
  /** Behind the last event that was taken. */
  #position: StreamPosition | undefined;
  #marked: StreamPosition | undefined;
  /** Whether the position was stored by an earlier run, and not by this one. */
  #isResumed = false;
  #records: JsonObject[] = [];
  #bytes = 0;
  #given = 0;
  #hasCaughtUp = false;
  /** The server has not said for a while whether there is more. */
  #isUnanswered = false;
  /** With an event behind which the server tells nothing more. */
  #hasEnded = false;
  #lastTimeMs: number | undefined;
  #idleMs = 0;
  #pageSinceMs = 0;
  #markedAtMs = 0;

  constructor(config: MongodbCdcConfig, context: SourceContext) {
    this.#config = config;
    this.#context = context;
    this.#again = readAgain(context);
    this.#bounds = pageBounds(config.batch_size, context.pageBytes);
    this.#link = linkTo(config, context);
  }

  async *pages({ bookmark, limit = Infinity }: ReadRequest): AsyncGenerator<Page> {
    const { signal, env } = this.#context;
    signal.throwIfAborted();
    await this.#begin(bookmark);
    this.#markedAtMs = env.clock.elapsedMs();
    // Without it, a run that is killed would begin behind what it has not read.
    if (this.#config.start_from.type === 'now') yield* this.#page();
    while (this.#given + this.#records.length < limit) {
      const answer = await this.#next();
      if (answer === 'end') throw endedSilently();
      if (answer === 'idle') break;
      if (typeof answer !== 'string') yield* this.#taken(answer);
      else if (answer === 'pause') yield* this.#paused();
      if (this.#isDue()) yield* this.#page();
      if (this.#hasEnded) break;
    }
    yield* this.#page();
  }

  lag(): SourceLag | undefined {
    if (this.#events === undefined) return undefined;
    if (this.#records.length === 0 && this.#hasCaughtUp) return { seconds: 0 };
    if (this.#records.length === 0 && this.#isUnanswered) return undefined;
    if (this.#lastTimeMs === undefined) return undefined;
    const now = this.#context.env.clock.now().getTime();
    return { seconds: Math.max(0, now - this.#lastTimeMs) / 1000 };
  }

  async close(): Promise<void> {
    this.#asked?.catch(() => {});
    await this.#drop();
    await this.#link.close();
  }

  async #begin(bookmark: JsonValue | undefined): Promise<void> {
    const { start_from: start } = this.#config;
    const token = start.type === 'resume_token' ? tokenOf(start.token) : undefined;
    if (token !== undefined) this.#position = { token, isInvalidate: true };
    if (bookmark === undefined) {
      if (start.type === 'now') this.#position = await presentPosition(this.#config, this.#context);
      return;
    }
    const { position, mark } = storedPosition(bookmark);
    const wanted = startMark(this.#config);
    if (wanted !== undefined && wanted !== mark) {
      this.#context.env.log.warn('`start_from` goes before the stored bookmark', {
        start_from: wanted,
      });
      return;
    }
    [this.#position, this.#marked] = [position, position];
    this.#isResumed = true;
  }

  /** Asks until there is an answer; a pause meanwhile gives it no further attempts. */
  async #answer(): Promise<Answer> {
    return this.#again(async () => {
      const events = (this.#events ??= await this.#open());
      try {
        return await events.next();
      } catch (error) {
        await this.#drop();
        throw error;
      }
    });
  }

  /** The stream, at first or again, behind all that was taken. */
  #open(): Promise<ChangeEvents> {
    return ChangeEvents.open({
      link: this.#link,
      config: this.#config,
      position: this.#position,
      from: this.#isResumed || this.#given > 0 ? 'bookmark' : 'start_from',
    });
  }

  async #drop(): Promise<void> {
    const events = this.#events;
    this.#events = undefined;
    await events?.close();
  }

  /** `pause`: nothing has come for as long as a page may wait; `idle`: for as long as the run may. */
  async #next(): Promise<Answer | 'pause' | 'idle'> {
    const { clock } = this.#context.env;
    const from = clock.elapsedMs();
    const rested = new AbortController();
    try {
      this.#asked ??= this.#answer();
      const rest = clock.sleep(IDLE_FLUSH_MS / 2, rested.signal).then(() => 'pause' as const);
      const answer = await untilAborted(Promise.race([this.#asked, rest]), this.#context.signal);
      this.#idleMs += clock.elapsedMs() - from;
      if (answer === 'pause') {
        this.#isUnanswered = true;
        return answer;
      }
      this.#asked = undefined;
      return this.#answered(answer);
    } finally {
      rested.abort();
    }
  }

  /** A server that looks through a long log for the first change has not answered yet. */
  #answered(answer: Answer): Answer | 'pause' | 'idle' {
    this.#hasCaughtUp = answer === 'none';
    this.#isUnanswered = false;
    if (answer !== 'none') return answer;
    this.#moveTo(this.#events?.token);
    return this.#idleMs >= this.#config.idle_timeout * 1000 ? 'idle' : 'pause';
  }

  /** A server that has moved on nowhere gives the token that it was given. */
  #moveTo(token: JsonObject | undefined): void {
    const position = token === undefined ? undefined : { token, isInvalidate: false };
    if (position !== undefined && !isSame(this.#position, position)) this.#position = position;
  }

  *#taken(event: Event): Generator<Page> {
    this.#idleMs = 0;
    this.#lastTimeMs = event.timeMs;
    const { operation_types: types, max_staged_records: most = Infinity } = this.#config;
    const isEnd = event.type === 'invalidate';
    const isWanted = !isEnd || types.length === 0 || types.includes('invalidate');
    if (isWanted) {
      const record = changeRecord(event, tellsPlaces(this.#config));
      const size = stringifyJson(record).length;
      if (!fits(this.#bounds, this.#records.length, this.#bytes, size)) yield* this.#page();
      if (this.#records.length === 0) this.#pageSinceMs = this.#context.env.clock.elapsedMs();
      this.#records.push(record);
      this.#bytes += size;
      if (this.#records.length > most) throw tooMany(most);
    }
    this.#hasEnded = isEnd;
    if (isEnd) this.#position = { token: event.token, isInvalidate: true };
    else this.#moveTo(this.#events?.token ?? event.token);
    if (isFull(this.#bounds, this.#records.length, this.#bytes)) yield* this.#page();
  }

  /** The page of what is there; one without records, where only the position has moved. */
  *#page(): Generator<Page> {
    if (this.#records.length === 0 && !this.#isAhead) return;
    const records = this.#records;
    const bytes = this.#bytes;
    [this.#records, this.#bytes] = [[], 0];
    this.#given += records.length;
    this.#marked = this.#position;
    this.#markedAtMs = this.#context.env.clock.elapsedMs();
    const bookmark =
      this.#position === undefined
        ? undefined
        : bookmarkOf(this.#position, startMark(this.#config));
    yield Page.ofRecords(records, {
      bytes,
      schema: changeSchema(this.#config),
      ...(bookmark === undefined ? {} : { bookmark }),
    });
    this.#context.signal.throwIfAborted();
    this.#pageSinceMs = this.#context.env.clock.elapsedMs();
  }

  get #isAhead(): boolean {
    return this.#position !== undefined && !isSame(this.#marked, this.#position);
  }

  #isDue(): boolean {
    if (this.#config.batch_size === 0 || this.#records.length === 0) return false;
    return this.#context.env.clock.elapsedMs() - this.#pageSinceMs >= IDLE_FLUSH_MS;
  }

  /** Changes that are not wanted move the position, too. */
  *#paused(): Generator<Page> {
    if (this.#config.batch_size === 0) return;
    const sinceMs = this.#context.env.clock.elapsedMs() - this.#markedAtMs;
    if (this.#records.length === 0 && sinceMs >= MARK_EVERY_MS) yield* this.#page();
  }
}

function endedSilently(): ConnectorError {
  return new ConnectorError('refused', 'the server has ended the stream without saying why', {
    hint: '`aggregation_pipeline` must let events of the type `invalidate` pass, which say that what is read was dropped or renamed',
  });
}

function tooMany(most: number): ConnectorError {
  return new ConnectorError(
    'refused',
    `more than ${most} changes wait for their page (\`max_staged_records\`); none of them was written`,
    { hint: 'raise `max_staged_records`, or make `batch_size` smaller' },
  );
}
