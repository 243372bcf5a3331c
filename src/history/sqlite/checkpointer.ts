/**
 * Checkpoints the write-ahead log in another thread. SQLite would do it inside a commit: copying
 * pages and waiting for the disk would block the event loop.
 */
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { programFile } from '../../lib/files/program-file.ts';

/** About 1,600 pages. */
const COMMITS = 64;
/**
 * A log of so many pages (32 MB) is checkpointed by the next commit: the thread does not keep up,
 * or could not be started.
 */
const MOST_PAGES = 8000;

export type Hold = (until: Promise<void>) => void;

export class Checkpointer {
  readonly #path: string;
  #commits = 0;
  #worker: Worker | undefined;
  /** Settled when the thread has done the checkpoint. */
  #asked: PromiseWithResolvers<void> | undefined;
  #underway: Promise<void> | undefined;
  /** The thread has ended; SQLite checkpoints by itself. */
  #over = false;

  constructor(db: DatabaseSync, path: string) {
    this.#path = path;
    db.exec(`PRAGMA wal_autocheckpoint = ${MOST_PAGES}`);
  }

  /** To be called after a commit. `hold` keeps further commits back until the promise settles. */
  committed(hold: Hold): void {
    this.#commits += 1;
    if (this.#commits < COMMITS || this.#underway !== undefined || this.#over) return;
    this.#commits = 0;
    this.#underway = this.#checkpoint(hold).finally(() => {
      this.#underway = undefined;
    });
  }

  async close(): Promise<void> {
    this.#over = true;
    await this.#underway;
    await this.#worker?.terminate();
  }

  async #checkpoint(hold: Hold): Promise<void> {
    try {
      await this.#askThread();
      // The few pages that were written meanwhile: only a log that is in the database as a whole is
      // begun anew by the next commit.
      const rest = this.#askThread();
      hold(rest);
      await rest;
    } catch {
      this.#over = true;
    }
  }

  #askThread(): Promise<void> {
    const worker = (this.#worker ??= this.#start());
    this.#asked = Promise.withResolvers();
    // A thread has no origin, which the rule asks for.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    worker.postMessage('checkpoint');
    return this.#asked.promise;
  }

  #start(): Worker {
    const worker = new Worker(programFile('history/sqlite/checkpoint-thread'), {
      workerData: this.#path,
      name: 'checkpoint',
    });
    worker.on('message', () => this.#asked?.resolve());
    worker.on('error', (error) => this.#asked?.reject(error));
    worker.on('exit', () => {
      this.#over = true;
      this.#asked?.reject(new Error('the thread has ended'));
    });
    // What is committed is safe without it.
    worker.unref();
    return worker;
  }
}
