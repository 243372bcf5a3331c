/** SQLite with group commit: the writes of one tick share one transaction, hence one sync of the disk. */
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { messageOf } from '../../lib/errors.ts';
import { openSqlite, rollBack } from '../../lib/sqlite.ts';
import { HistoryError } from '../history.ts';

export type Row = Readonly<Record<string, SQLOutputValue>>;

/** A longer queue is committed in parts, so that the event loop gets its turn. */
const JOBS_PER_COMMIT = 1000;
/** While more and more writes come in, a commit waits for this long at most: fewer syncs of the disk serve them all. */
const GATHER_MS = 1;

interface Job {
  /** Nothing but statements: it may be done again after it was taken back. */
  readonly work: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: HistoryError) => void;
}

type Result<T = unknown> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: HistoryError };

export class SqliteClient {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #jobs: Job[] = [];
  #scheduled = false;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Runs at once; sees everything committed. */
  read(sql: string, ...values: SQLInputValue[]): Row[] {
    try {
      return this.all(sql, ...values);
    } catch (error) {
      throw historyError(error);
    }
  }

  /** For use inside the work of `write`, which runs without interruption. */
  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#statement(sql).all(...values);
  }

  /** For use inside the work of `write`. Returns the number of changed rows. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  /** Atomic, in order of the calls; resolves after the commit. `work` is synchronous. */
  write<T>(work: () => T): Promise<T> {
    if (!this.#db.isOpen) return Promise.reject(new HistoryError('the history database is closed'));
    return new Promise((resolve, reject) => {
      this.#jobs.push({ work, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Commits what is waiting. */
  close(): void {
    while (this.#jobs.length > 0) this.#commit();
    this.#db.close();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#gather(this.#jobs.length, performance.now() + GATHER_MS);
  }

  #gather(seen: number, until: number): void {
    setImmediate(() => {
      const waiting = this.#jobs.length;
      if (waiting > seen && waiting < JOBS_PER_COMMIT && performance.now() < until) return this.#gather(waiting, until);
      this.#scheduled = false;
      if (waiting > 0) this.#commit();
      if (this.#jobs.length > 0) this.#schedule();
    });
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
      if (result?.ok === true) job.resolve(result.value);
      else if (result !== undefined) job.reject(result.error);
    });
  }

  /** The usual case, in which nothing fails. Undefined when something did: then nothing has happened. */
  #together(jobs: readonly Job[]): readonly Result[] | undefined {
    const result = this.#attempt('jobs', () => jobs.map(({ work }): Result => ({ ok: true, value: work() })));
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

/** Opens the file (made when missing) in write-ahead mode; a commit that was reported has reached the disk. */
export function openDatabase(url: string, cwd: string, busyTimeoutMs = 5000): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    db = openSqlite(url, { mode: 'rwc', cwd, busyTimeoutMs });
    db.exec('PRAGMA journal_mode = WAL');
    db.exec('PRAGMA synchronous = FULL');
    return db;
  } catch (error) {
    db?.close();
    throw new HistoryError(`the history database ${url.replace(/^sqlite:(?:\/\/)?/, '')} cannot be opened: ${messageOf(error)}`, {
      hint: 'the path must be a database file, or a place where one can be made',
      cause: error,
    });
  }
}

function historyError(error: unknown): HistoryError {
  if (error instanceof HistoryError) return error;
  return new HistoryError(`the history database failed: ${messageOf(error)}`, { cause: error });
}
