/**
 * SQLite with group commit: the writes of one tick share one transaction, and one sync of the disk
 * that does not hold up the event loop. Waiting for a lock of another process does not
 * block the event loop either: writes stay in the queue and are tried again by a timer.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { messageOf } from '../../lib/errors.ts';
import { LOCK_WAIT_MS, lockPauseMs, retryWhileLocked } from '../../lib/sql/lock-retry.ts';
import { isBusy, openSqlite, rollBack, sqliteHint } from '../../lib/sql/sqlite.ts';
import { HistoryError } from '../history.ts';
import { DiskSync, type SyncWaiter } from './disk-sync.ts';
import { writeAheadLogOf, type WriteAheadLog } from './write-ahead-log.ts';

import type { Row } from '../sql/sql-store.ts';

/** A longer queue is committed in parts, so that the event loop gets its turn. */
const WRITES_PER_COMMIT = 1000;
/**
 * While more and more writes come in, a commit waits for this long at most: fewer syncs of the disk
 * serve them all.
 */
const GATHER_MS = 1;
/** A deferred write waits for the writes of others for this long at most. */
const DEFER_MS = 20;

/** How long a deferred write waits for a lock: no caller waits for it, and it would be lost. */
const BACKGROUND_LOCK_WAIT_MS = 300_000;
/** How long writes that remain when the database is closed wait for a lock. */
const CLOSE_LOCK_WAIT_MS = 5000;

export interface WriteOptions {
  /** After this time the write is rejected because another process holds the lock. */
  readonly lockWaitMs?: number;
  /** No caller waits for it: it waits for a lock for minutes. */
  readonly background?: boolean;
}

interface Write {
  /** Nothing but statements: it may be done again after it was rolled back. */
  readonly work: () => unknown;
  /** Whether it resolves only when it is on the disk. */
  readonly durable: boolean;
  /** When it is rejected if the lock is still held, as `performance.now()`. */
  deadline: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: HistoryError) => void;
}

type Result<T = unknown> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: HistoryError };

export class SqliteClient {
  readonly #db: DatabaseSync;
  readonly #log: WriteAheadLog;
  readonly #disk: DiskSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #backgroundLockWaitMs: number;
  #writes: Write[] = [];
  /** Go with the next write. */
  #deferred: Write[] = [];
  #deferTimer: NodeJS.Timeout | undefined;
  #scheduled = false;
  /** Set while the log is brought into the database. */
  #isHeld = false;
  /** Set while another process holds the lock. */
  #retryTimer: NodeJS.Timeout | undefined;
  #attempts = 0;
  #emptied: PromiseWithResolvers<void> | undefined;
  /** Why nothing is accepted any more. */
  #over: HistoryError | undefined;

  constructor(
    db: DatabaseSync,
    {
      log = writeAheadLogOf(db),
      backgroundLockWaitMs = BACKGROUND_LOCK_WAIT_MS,
    }: {
      readonly log?: WriteAheadLog;
      readonly backgroundLockWaitMs?: number | undefined;
    } = {},
  ) {
    this.#db = db;
    this.#log = log;
    this.#backgroundLockWaitMs = backgroundLockWaitMs;
    this.#disk = new DiskSync(() => log.sync().then(() => undefined, historyError), {
      onIdle: () => this.#writes.length > 0 && this.#schedule(),
      onFailure: (failure) => this.#giveUp(failure),
    });
  }

  /**
   * Sees everything committed before the call; resolves when all of that is on the disk, so that
   * nothing it returned can be lost. Writes that wait for a lock are not seen.
   */
  async read(sql: string, ...values: SQLInputValue[]): Promise<Row[]> {
    const { rows, onDisk } = await this.#read(sql, values, () => this.#disk.pending());
    try {
      await onDisk;
    } catch (error) {
      throw historyError(error);
    }
    return rows;
  }

  /** As `read`, but resolves before the disk has all of it: that is so after the next `write`. */
  async readAtOnce(sql: string, ...values: SQLInputValue[]): Promise<Row[]> {
    return (await this.#read(sql, values)).rows;
  }

  async #read(
    sql: string,
    values: readonly SQLInputValue[],
    pending?: () => Promise<void>,
  ): Promise<{ readonly rows: Row[]; readonly onDisk: Promise<void> | undefined }> {
    try {
      return await retryWhileLocked(() => {
        if (this.#over !== undefined) throw this.#over;
        if (this.#takeDeferred()) this.#commitAll();
        return { rows: this.all(sql, ...values), onDisk: pending?.() };
      });
    } catch (error) {
      throw isBusy(error) ? lockedError(error) : historyError(error);
    }
  }

  /** For use inside the work of a write, which runs without interruption. */
  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#statement(sql).all(...values);
  }

  /** For use inside the work of a write. Returns the number of changed rows. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  /** Atomic, in order of the calls; resolves when it is on the disk. `work` is synchronous. */
  write<T>(work: () => T, options: WriteOptions = {}): Promise<T> {
    this.#takeDeferred();
    const written = this.#enqueue(work, { ...options, durable: true });
    this.#schedule();
    return written;
  }

  /**
   * As `write`, for writes without a waiting caller: committed with the next write, or soon, so
   * that it needs no commit and no sync of its own.
   */
  writeDeferred<T>(work: () => T): Promise<T> {
    const how = { background: true, durable: true };
    const written = this.#enqueue(work, how, this.#deferred);
    this.#deferTimer ??= setTimeout(() => {
      if (this.#takeDeferred()) this.#schedule();
    }, DEFER_MS);
    return written;
  }

  /**
   * As `write`, but committed at once together with all writes before it, and resolved before the
   * disk has it: that is so after the next `write`.
   */
  writeAtOnce<T>(work: () => T, options: WriteOptions = {}): Promise<T> {
    const written = this.#enqueue(work, { ...options, durable: false });
    this.#commitAll();
    return written;
  }

  /** Commits waiting writes; those that do not get the lock in time are rejected. */
  async close(): Promise<void> {
    this.#takeDeferred();
    this.#commitAll();
    this.#over ??= new HistoryError('the history database is closed');
    const deadline = performance.now() + CLOSE_LOCK_WAIT_MS;
    for (const write of this.#writes) write.deadline = Math.min(write.deadline, deadline);
    if (this.#writes.length > 0) await (this.#emptied = Promise.withResolvers()).promise;
    await this.#disk.idle();
    await this.#log.close();
    this.#db.close();
  }

  #enqueue<T>(
    work: () => T,
    {
      durable,
      background = false,
      lockWaitMs = background ? this.#backgroundLockWaitMs : LOCK_WAIT_MS,
    }: WriteOptions & { readonly durable: boolean },
    queue = this.#writes,
  ): Promise<T> {
    if (this.#over !== undefined) return Promise.reject(this.#over);
    const deadline = performance.now() + lockWaitMs;
    return new Promise((resolve, reject) => {
      queue.push({
        work,
        durable,
        deadline,
        resolve: resolve as (value: unknown) => void,
        reject,
      });
    });
  }

  /** Deferred writes wait no longer. False when there are none. */
  #takeDeferred(): boolean {
    if (this.#deferred.length === 0) return false;
    clearTimeout(this.#deferTimer);
    this.#deferTimer = undefined;
    this.#writes.push(...this.#deferred.splice(0));
    return true;
  }

  #schedule(): void {
    // Writes that arrive while the disk is busy share the next commit.
    if (this.#scheduled || !this.#mayCommit || this.#disk.isRunning) return;
    this.#scheduled = true;
    this.#gather(this.#writes.length, performance.now() + GATHER_MS);
  }

  #gather(seen: number, until: number): void {
    setImmediate(() => {
      const waiting = this.#writes.length;
      if (waiting > seen && waiting < WRITES_PER_COMMIT && performance.now() < until)
        return this.#gather(waiting, until);
      this.#scheduled = false;
      if (waiting > 0 && this.#mayCommit) this.#commit();
      if (this.#writes.length > 0) this.#schedule();
    });
  }

  #commitAll(): void {
    while (this.#writes.length > 0 && this.#mayCommit) this.#commit();
    this.#noteEmptied();
  }

  #commit(): void {
    const writes = this.#writes.splice(0, WRITES_PER_COMMIT);
    const results: Result[] = [];
    try {
      results.push(...(this.#together(writes) ?? this.#oneByOne(writes)));
      this.run('COMMIT');
    } catch (error) {
      rollBack(this.#db);
      if (isBusy(error)) return this.#retryLater(writes, error);
      const failure = historyError(error);
      for (const write of writes) write.reject(failure);
      return;
    }
    this.#attempts = 0;
    this.#disk.add(writes.flatMap((write, index) => settle(write, results[index])));
    this.#log.committed((until) => this.#hold(until));
  }

  get #mayCommit(): boolean {
    return this.#retryTimer === undefined && !this.#isHeld;
  }

  #hold(until: Promise<void>): void {
    const release = (): void => {
      this.#isHeld = false;
      this.#commitAll();
    };
    this.#isHeld = true;
    until.then(release, release);
  }

  /** Another process holds the lock: writes before their deadline keep their place in the queue. */
  #retryLater(writes: readonly Write[], error: unknown): void {
    const now = performance.now();
    const [late, waiting] = partition([...writes, ...this.#writes], ({ deadline }) => {
      return deadline <= now;
    });
    this.#writes = waiting;
    const failure = late.length === 0 ? undefined : lockedError(error);
    for (const write of late) if (failure !== undefined) write.reject(failure);
    this.#noteEmptied();
    if (waiting.length === 0) return;
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = undefined;
      this.#commitAll();
    }, lockPauseMs(this.#attempts));
    this.#attempts += 1;
  }

  #noteEmptied(): void {
    if (this.#writes.length === 0) this.#emptied?.resolve();
  }

  /**
   * After a failed sync, a later one may succeed without having saved the data: what is on the disk
   * is unknown.
   */
  #giveUp(failure: HistoryError): void {
    this.#over ??= failure;
    this.#takeDeferred();
    for (const write of this.#writes.splice(0)) write.reject(failure);
    this.#noteEmptied();
  }

  /**
   * The usual case, in which nothing fails. Undefined when something did: then nothing has
   * happened. Without a savepoint, for which SQLite writes every page that changes to a journal of
   * its own.
   */
  #together(writes: readonly Write[]): readonly Result[] | undefined {
    this.run('BEGIN IMMEDIATE');
    try {
      return writes.map(({ work }): Result => ({ ok: true, value: work() }));
    } catch {
      rollBack(this.#db);
      return undefined;
    }
  }

  /** A failing write rolls back only its own changes. */
  #oneByOne(writes: readonly Write[]): readonly Result[] {
    this.run('BEGIN IMMEDIATE');
    return writes.map((write) => this.#alone(write));
  }

  /** Throws when SQLite has given up the whole transaction. */
  #alone({ work }: Write): Result {
    this.run('SAVEPOINT write');
    try {
      const value = work();
      this.run('RELEASE write');
      return { ok: true, value };
    } catch (error) {
      if (!this.#db.isTransaction) throw error;
      this.run('ROLLBACK TO write');
      this.run('RELEASE write');
      return { ok: false, error: historyError(error) };
    }
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** Settles a committed write now, or returns what settles it once the disk has it. */
function settle(write: Write, result: Result | undefined): SyncWaiter[] {
  if (result?.ok === false) write.reject(result.error);
  else if (!write.durable) write.resolve(result?.value);
  else
    return [
      (failure) => (failure === undefined ? write.resolve(result?.value) : write.reject(failure)),
    ];
  return [];
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [T[], T[]] {
  const [first, rest]: [T[], T[]] = [[], []];
  for (const one of all) (isFirst(one) ? first : rest).push(one);
  return [first, rest];
}

/**
 * Opens the file (made when missing) in write-ahead mode. A lock of another process is an error at
 * once: the caller tries again without blocking the event loop.
 */
export function openDatabase(url: string, cwd: string): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    db = openSqlite(url, { mode: 'rwc', cwd, busyTimeoutMs: 0 });
    db.exec('PRAGMA journal_mode = WAL');
    db.exec('PRAGMA synchronous = FULL');
    // The document of a run that has ended is to be gone from the file, too.
    db.exec('PRAGMA secure_delete = ON');
    return db;
  } catch (error) {
    db?.close();
    throw new HistoryError(
      `the history database ${url.replace(/^sqlite:(?:\/\/)?/, '')} cannot be opened: ${messageOf(error)}`,
      {
        hint:
          sqliteHint(error) ?? 'the path must be a database file, or a place where one can be made',
        cause: error,
      },
    );
  }
}

function historyError(error: unknown): HistoryError {
  if (error instanceof HistoryError) return error;
  return new HistoryError(`the history database failed: ${messageOf(error)}`, { cause: error });
}

function lockedError(cause: unknown): HistoryError {
  return new HistoryError('the history database is locked by another process', {
    hint: 'end the program that holds it open, or wait until it is done',
    cause,
  });
}
