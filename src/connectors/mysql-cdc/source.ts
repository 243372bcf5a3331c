/** Reads the changes of tables from the binary log, transaction by transaction. */
import type { Connection } from 'mysql2';
import type { SourceContext } from '../../kit/context.ts';
import type { Page } from '../../kit/page.ts';
import { pageBounds } from '../../kit/page-bounds.ts';
import type { ReadRequest, Source, SourceLag } from '../../kit/source.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import { untilAborted } from '../../lib/until-aborted.ts';
import { readAgain } from '../_brokers/read-again.ts';
import { withinSecs } from '../_sql/within-secs.ts';
import { TransactionPages, type ChangeLog } from '../_cdc/transaction-pages.ts';
import { IDLE_FLUSH_MS, type MysqlCdcConfig } from './config.ts';
import { ChangeReader } from './read/change-reader.ts';
import { askHints, type ColumnHints } from './read/column-hints.ts';
import { DumpStream, DUMPING } from './read/dump-stream.ts';
import { parseGtidSet, type GtidSet } from './read/gtid-set.ts';
import { bookmarkOf, isAfter, positionOf, type BinlogPosition } from './read/position.ts';
import { changeSchema } from './read/records.ts';
import type { TableName } from './read/table-map.ts';
import {
  checkHeld,
  checkServer,
  currentPosition,
  earliestPosition,
  type Server,
} from './server.ts';
import { asked, connect, connectUsual, rowsOf } from './session.ts';
import { tellOfTables } from './tables-of-server.ts';
import { Charsets, type AskServer } from './values/charsets.ts';

/** How often a position without changes is given as a bookmark. */
const MARK_EVERY_MS = 10_000;

export class CdcSource implements Source {
  readonly #config: MysqlCdcConfig;
  readonly #context: SourceContext;
  readonly #again: ReturnType<typeof readAgain>;
  readonly #before: GtidSet | undefined;
  #stream: DumpStream | undefined;
  #usual: Connection | undefined;
  #charsets: Charsets | undefined;
  #pages: TransactionPages<BinlogPosition> | undefined;
  #reader: ChangeReader | undefined;
  /** Whether the position was stored by an earlier run. */
  #isResumed = false;
  /** Where the log ended when this read began. */
  #endAtStart: BinlogPosition | undefined;
  #idleMs = 0;
  #pageSinceMs = 0;
  #markedAtMs = 0;

  constructor(config: MysqlCdcConfig, context: SourceContext) {
    this.#config = config;
    this.#context = context;
    this.#again = readAgain(context);
    const { start_position: start } = config;
    this.#before = start.type === 'gtid_set' ? parseGtidSet(start.value) : undefined;
  }

  async *pages({ bookmark, limit = Infinity }: ReadRequest): AsyncGenerator<Page> {
    const { signal, env } = this.#context;
    signal.throwIfAborted();
    const pages = await this.#begin(bookmark);
    this.#markedAtMs = env.clock.elapsedMs();
    // Without it, a run that is killed would begin behind what it has not read.
    if (this.#config.start_position.type === 'current') pages.mark();
    yield* this.#given(pages);
    while (pages.count < limit) {
      const event = this.#stream?.take() ?? (await this.#again(() => this.#next()));
      if (event === 'end') break;
      if (event === 'pause') this.#pause(pages);
      else {
        const learning = this.#read(event, pages);
        if (learning !== undefined) await learning;
      }
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
    const { waiting = 0, oldestMs = this.#reader?.timeMs } = this.#pages ?? {};
    const isBehind = waiting > 0 || this.#stream?.hasEvents === true;
    if (!isBehind) return this.#stream === undefined ? undefined : { seconds: 0 };
    if (oldestMs === undefined) return undefined;
    const now = this.#context.env.clock.now().getTime();
    return { seconds: Math.max(0, now - oldestMs) / 1000 };
  }

  close(): Promise<void> {
    const [stream, usual] = [this.#stream, this.#usual];
    this.#stream = undefined;
    this.#usual = undefined;
    stream?.close();
    usual?.destroy();
    return Promise.resolve();
  }

  *#given(pages: TransactionPages<BinlogPosition>): Generator<Page> {
    while (pages.ready.length > 0) {
      const page = pages.ready.shift() as Page;
      if (page.bookmark !== undefined) this.#markedAtMs = this.#context.env.clock.elapsedMs();
      yield page;
      this.#context.signal.throwIfAborted();
    }
    this.#pageSinceMs = this.#context.env.clock.elapsedMs();
  }

  async #begin(bookmark: JsonValue | undefined): Promise<TransactionPages<BinlogPosition>> {
    const {
      batch_size: batchSize,
      max_staged_records: longest,
      emit_schema_changes: tells,
    } = this.#config;
    const { env, pageBytes } = this.#context;
    const stored = bookmark === undefined ? undefined : positionOf(bookmark);
    this.#isResumed = stored !== undefined;
    const from =
      stored ?? (await this.#again(() => this.#usually(START, (usual) => this.#start(usual))));
    const log: ChangeLog<BinlogPosition> = { schema: changeSchema(tells), bookmarkOf, isAfter };
    const marked = this.#config.start_position.type === 'current' ? stored : from;
    const bounds = pageBounds(batchSize, pageBytes);
    const pages = new TransactionPages({ log, bounds, longest, marks: true, from, marked });
    this.#pages = pages;
    this.#reader = new ChangeReader({
      config: this.#config,
      pages,
      questions: { hints: (name) => this.#hints(name), charsets: (ids) => this.#charsetsFor(ids) },
      log: env.log,
      before: this.#before,
    });
    await this.#again(() => this.#connect());
    await this.#again(() =>
      this.#usually('the tables cannot be looked up', (usual) =>
        tellOfTables(usual, this.#config.include_tables, env.log),
      ),
    );
    return pages;
  }

  async #start(usual: Connection): Promise<BinlogPosition | undefined> {
    const { start_position: start } = this.#config;
    const server = await checkServer(usual, this.#config);
    switch (start.type) {
      case 'current':
        return currentPosition(usual, server);
      case 'earliest':
        return earliestPosition(usual);
      case 'file_pos':
        return { file: start.file, pos: start.pos };
      case 'gtid_set':
        return undefined;
      default:
        return start satisfies never;
    }
  }

  /** Opens the stream, at first or again, behind all that is complete. */
  async #connect(): Promise<DumpStream> {
    const { signal, pageBytes } = this.#context;
    const pages = this.#pages as TransactionPages<BinlogPosition>;
    pages.startOver();
    this.#reader?.startOver();
    const position = pages.position;
    await this.#usually('the server cannot be asked', (usual) => this.#check(usual, position));
    const from = position ?? (this.#before as GtidSet);
    const session =
      'kind' in from && from.kind === 'mariadb' ? [...DUMPING, behind(from.text)] : DUMPING;
    const connection = await asked(
      'connection failed',
      connect(this.#config, this.#context, session),
      signal,
    );
    this.#stream = new DumpStream({
      connection,
      serverId: this.#config.server_id,
      from,
      bound: pageBytes,
    });
    return this.#stream;
  }

  async #check(usual: Connection, position: BinlogPosition | undefined): Promise<Server> {
    const server = await checkServer(usual, this.#config);
    const from = this.#isResumed ? 'bookmark' : 'start_position';
    if (position !== undefined) await checkHeld(usual, position, from);
    this.#endAtStart ??= await currentPosition(usual, server);
    return server;
  }

  /** Asks on a usual connection, which is made anew after a failure. */
  async #usually<T>(doing: string, ask: (usual: Connection) => Promise<T>): Promise<T> {
    const usual = (this.#usual ??= await connectUsual(this.#config, this.#context));
    try {
      return await asked(
        doing,
        withinSecs(ask(usual), ANSWER_SECS, undefined, SILENT),
        this.#context.signal,
      );
    } catch (error) {
      this.#usual = undefined;
      usual.destroy();
      throw error;
    }
  }

  /** A table that is gone, or that this user may not read, is read as the log has it. */
  #hints(name: TableName): Promise<ColumnHints> {
    return this.#again(() =>
      this.#usually('the table cannot be looked up', async (usual) => {
        try {
          return await askHints(usual, name);
        } catch (error) {
          if (!isKnownRefusal(error)) throw error;
          this.#context.env.log.warn('the server does not describe a table of its log', {
            table: `${name.schema}.${name.table}`,
            effect: 'booleans are read as numbers, and JSON as text',
          });
          return new Map();
        }
      }),
    );
  }

  #charsetsFor(collations: readonly number[]): Promise<Charsets> {
    return this.#again(() =>
      this.#usually('character sets cannot be looked up', async (usual) => {
        const ask: AskServer = (sql) => rowsOf(usual, sql);
        this.#charsets ??= await Charsets.ask(ask);
        await this.#charsets.prepare(collations, ask);
        return this.#charsets;
      }),
    );
  }

  /** `pause`: nothing has come for as long as a page may wait; `end`: for as long as the run may. */
  async #next(): Promise<Buffer | 'pause' | 'end'> {
    const { clock } = this.#context.env;
    const stream = this.#stream ?? (await this.#connect());
    const restMs = this.#config.idle_timeout * 1000 - this.#idleMs;
    // A large change takes its time to come, in which nothing else does.
    const isLast = this.#pages !== undefined && this.#hasCaughtUp(this.#pages);
    if (restMs <= 0 && isLast) return 'end';
    const from = clock.elapsedMs();
    const rested = new AbortController();
    const waitMs = restMs > 0 ? Math.min(IDLE_FLUSH_MS / 2, restMs) : IDLE_FLUSH_MS / 2;
    const rest = clock.sleep(waitMs, rested.signal);
    try {
      await untilAborted(Promise.race([stream.arrival(), rest]), this.#context.signal);
      const event = stream.take();
      if (event !== undefined) return event;
    } catch (error) {
      // The next attempt connects again.
      this.#stream = undefined;
      stream.close();
      throw error;
    } finally {
      rested.abort();
      this.#idleMs += clock.elapsedMs() - from;
    }
    return 'pause';
  }

  #read(event: Buffer, pages: TransactionPages<BinlogPosition>): Promise<void> | undefined {
    const { clock } = this.#context.env;
    const [before, waiting] = [pages.count, pages.waiting];
    const learning = this.#reader?.read(event);
    if (pages.count > before || !this.#hasCaughtUp(pages)) this.#idleMs = 0;
    if (waiting === 0 && pages.waiting > 0) this.#pageSinceMs = clock.elapsedMs();
    if (!pages.isOpen && pages.waiting > 0 && this.#isDue()) pages.giveWhole();
    return learning;
  }

  /** Whether all is read that was there at the start. */
  #hasCaughtUp({ position }: TransactionPages<BinlogPosition>): boolean {
    if (this.#endAtStart === undefined || position === undefined) return false;
    return !isAfter(this.#endAtStart, position);
  }

  #isDue(): boolean {
    if (this.#config.batch_size === 0) return false;
    return this.#context.env.clock.elapsedMs() - this.#pageSinceMs >= IDLE_FLUSH_MS;
  }

  /** Changes of other tables move the position, too. */
  #pause(pages: TransactionPages<BinlogPosition>): void {
    if (this.#config.batch_size === 0) return;
    pages.giveWhole();
    const sinceMs = this.#context.env.clock.elapsedMs() - this.#markedAtMs;
    if (sinceMs >= MARK_EVERY_MS) pages.mark();
  }
}

/** A server that says nothing for so long is taken for silent. */
const ANSWER_SECS = 60;
const SILENT = 'see whether the server and the network to it work';
const START = 'the start of the log cannot be found';

/** Which transactions MariaDB leaves out. */
function behind(gtids: string): string {
  return `SET @slave_connect_state = '${gtids}'`;
}

/** No table of this name, no such database, no right to it, or a view that is broken. */
const REFUSALS: ReadonlySet<number> = new Set([1044, 1049, 1142, 1143, 1146, 1356]);

function isKnownRefusal(error: unknown): boolean {
  const { errno } = (error ?? {}) as { readonly errno?: number };
  return errno !== undefined && REFUSALS.has(errno);
}
