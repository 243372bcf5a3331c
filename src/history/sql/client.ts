/**
 * SQLite with group commit: the writes of one tick share one transaction, and one sync of the disk
 * that does not hold up the event loop.
 */
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { messageOf } from '../../lib/errors.ts';
import { openSqlite, rollBack } from '../../lib/sql/sqlite.ts';
import { HistoryError } from '../history.ts';
import { writeAheadLogOf, type WriteAheadLog } from './write-ahead-log.ts';

export type Row = Readonly<Record<string, SQLOutputValue>>;

/** A longer queue is committed in parts, so that the event loop gets its turn. */
const JOBS_PER_COMMIT = 1000;
/**
 * While more and more writes come in, a commit waits for this long at most: fewer syncs of the disk
 * serve them all.
 */
const GATHER_MS = 1;
/** What can wait for the writes of others waits for this long at most. */
const PASSING_MS = 20;

interface Job {
  /** Nothing but statements: it may be done again after it was taken back. */
  readonly work: () => unknown;
  /** Whether it is told only when it is on the disk. */
  readonly durable: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: HistoryError) => void;
}

type Result<T = unknown> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: HistoryError };

/** Waits for the disk; without an error what it waits for is there. */
type Waiter = (error: HistoryError | undefined) => void;

export class SqliteClient {
  readonly #db: DatabaseSync;
  readonly #log: WriteAheadLog;
  readonly #statements = new Map<string, StatementSync>();
  #jobs: Job[] = [];
  /** Go with the next write. */
  #passing: Job[] = [];
  #passingTimer: NodeJS.Timeout | undefined;
  #scheduled = false;
  /** Wait for a sync that begins after their commit. */
  #unsynced: Waiter[] = [];
  /** Wait for the sync under way. */
  #syncing: Waiter[] = [];
  #syncs: Promise<void> | undefined;
  /** Why nothing is taken or told any more. */
  #over: HistoryError | undefined;

  constructor(db: DatabaseSync, log = writeAheadLogOf(db)) {
    this.#db = db;
    this.#log = log;
  }

  /**
   * Sees everything committed before the call; resolves when all of that is on the disk, so that
   * nothing told can be lost.
   */
  async read(sql: string, ...values: SQLInputValue[]): Promise<Row[]> {
    if (this.#over !== undefined) throw this.#over;
    try {
      if (this.#join()) this.#commitAll();
      const rows = this.all(sql, ...values);
      await this.#onDisk();
      return rows;
    } catch (error) {
      throw historyError(error);
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
  write<T>(work: () => T): Promise<T> {
    this.#join();
    const written = this.#enqueue(work, true);
    this.#schedule();
    return written;
  }

  /**
   * As `write`, for what nobody waits for: it goes with the next write, or soon, and so costs no
   * commit and no sync of its own.
   */
  writeInPassing<T>(work: () => T): Promise<T> {
    const written = this.#enqueue(work, true, this.#passing);
    this.#passingTimer ??= setTimeout(() => {
      if (this.#join()) this.#schedule();
    }, PASSING_MS);
    return written;
  }

  /**
   * As `write`, but done at once, with all writes before it, and told before the disk has it: that
   * is so after the next `write`.
   */
  writeAtOnce<T>(work: () => T): Promise<T> {
    const written = this.#enqueue(work, false);
    this.#commitAll();
    return written;
  }

  /** Commits what is waiting. */
  async close(): Promise<void> {
    this.#join();
    this.#commitAll();
    this.#over ??= new HistoryError('the history database is closed');
    while (this.#syncs !== undefined) await this.#syncs;
    await this.#log.close();
    this.#db.close();
  }

  #enqueue<T>(work: () => T, durable: boolean, queue = this.#jobs): Promise<T> {
    if (this.#over !== undefined) return Promise.reject(this.#over);
    return new Promise((resolve, reject) => {
      queue.push({ work, durable, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** What could wait waits no more. False when there is none of it. */
  #join(): boolean {
    if (this.#passing.length === 0) return false;
    clearTimeout(this.#passingTimer);
    this.#passingTimer = undefined;
    this.#jobs.push(...this.#passing.splice(0));
    return true;
  }

  #schedule(): void {
    // What comes while the disk is busy shares the next commit.
    if (this.#scheduled || this.#syncs !== undefined) return;
    this.#scheduled = true;
    this.#gather(this.#jobs.length, performance.now() + GATHER_MS);
  }

  #gather(seen: number, until: number): void {
    setImmediate(() => {
      const waiting = this.#jobs.length;
      if (waiting > seen && waiting < JOBS_PER_COMMIT && performance.now() < until)
        return this.#gather(waiting, until);
      this.#scheduled = false;
      if (waiting > 0) this.#commit();
      if (this.#jobs.length > 0) this.#schedule();
    });
  }

  #commitAll(): void {
    while (this.#jobs.length > 0) this.#commit();
  }

  #commit(): void {
    const jobs = this.#jobs.splice(0, JOBS_PER_COMMIT);
    const results: Result[] = [];
    try {
      this.run('BEGIN IMMEDIATE');
      results.push(...(this.#together(jobs) ?? jobs.map((job) => this.#alone(job))));
      this.run('COMMIT');
    } catch (error) {
      rollBack(this.#db);
      const failure = historyError(error);
      for (const job of jobs) job.reject(failure);
      return;
    }
    jobs.forEach((job, index) => {
      const result = results[index];
      if (result?.ok === false) job.reject(result.error);
      else if (job.durable)
        this.#unsynced.push((error) =>
          error === undefined ? job.resolve(result?.value) : job.reject(error),
        );
      else job.resolve(result?.value);
    });
    if (this.#unsynced.length > 0) this.#syncs ??= this.#sync();
    this.#log.committed();
  }

  async #sync(): Promise<void> {
    while (this.#unsynced.length > 0) {
      this.#syncing = this.#unsynced.splice(0);
      const failure = await this.#log.sync().then(() => undefined, historyError);
      for (const tell of this.#syncing.splice(0)) tell(failure);
      if (failure !== undefined) this.#giveUp(failure);
    }
    this.#syncs = undefined;
    if (this.#jobs.length > 0) this.#schedule();
  }

  /**
   * After a disk refused to take something, a later sync may succeed without having saved it:
   * nobody can tell what is there.
   */
  #giveUp(failure: HistoryError): void {
    this.#over ??= failure;
    for (const tell of this.#unsynced.splice(0)) tell(failure);
    this.#join();
    for (const job of this.#jobs.splice(0)) job.reject(failure);
  }

  #onDisk(): Promise<void> {
    const waiters = this.#unsynced.length > 0 ? this.#unsynced : this.#syncing;
    if (waiters.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      waiters.push((error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  /**
   * The usual case, in which nothing fails. Undefined when something did: then nothing has
   * happened.
   */
  #together(jobs: readonly Job[]): readonly Result[] | undefined {
    const result = this.#attempt('jobs', () =>
      jobs.map(({ work }): Result => ({ ok: true, value: work() })),
    );
    return result.ok ? result.value : undefined;
  }

  /** One failing job takes back its own changes only. */
  #alone({ work }: Job): Result {
    return this.#attempt('job', work);
  }

  /** Throws when SQLite has given up the whole transaction. */
  #attempt<T>(name: string, work: () => T): Result<T> {
    this.run(`SAVEPOINT ${name}`);
    try {
      const value = work();
      this.run(`RELEASE ${name}`);
      return { ok: true, value };
    } catch (error) {
      if (!this.#db.isTransaction) throw error;
      this.run(`ROLLBACK TO ${name}`);
      this.run(`RELEASE ${name}`);
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

/** Opens the file (made when missing) in write-ahead mode. */
export function openDatabase(url: string, cwd: string, busyTimeoutMs = 5000): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    db = openSqlite(url, { mode: 'rwc', cwd, busyTimeoutMs });
    db.exec('PRAGMA journal_mode = WAL');
    db.exec('PRAGMA synchronous = FULL');
    return db;
  } catch (error) {
    db?.close();
    throw new HistoryError(
      `the history database ${url.replace(/^sqlite:(?:\/\/)?/, '')} cannot be opened: ${messageOf(error)}`,
      {
        hint: 'the path must be a database file, or a place where one can be made',
        cause: error,
      },
    );
  }
}

function historyError(error: unknown): HistoryError {
  if (error instanceof HistoryError) return error;
  return new HistoryError(`the history database failed: ${messageOf(error)}`, { cause: error });
}
