/**
 * Notices when files are saved. They are looked at in turn, because editors replace files in many
 * ways, and not every file system tells of changes.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../lib/time/clock.ts';

export class FileWatch {
  readonly #cwd: string;
  readonly #files = new Map<string, string | undefined>();

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** Those that are watched already stay as they are. */
  add(files: Iterable<string>): void {
    for (const file of files) {
      const absolute = path.resolve(this.#cwd, file);
      if (!this.#files.has(absolute)) this.#files.set(absolute, undefined);
    }
  }

  /** What is saved from here on is a change. */
  async remember(): Promise<void> {
    for (const file of this.#files.keys()) this.#files.set(file, await stateOf(file));
  }

  /** The file that was saved; `undefined` when the wait was ended. */
  async change(clock: Clock, everyMs: number, signal: AbortSignal): Promise<string | undefined> {
    for (;;) {
      for (const [file, before] of this.#files) {
        const now = await stateOf(file);
        // One that was found while the document was read is seen for the first time.
        if (before === undefined) this.#files.set(file, now);
        else if (now !== before) return file;
      }
      if (signal.aborted) return undefined;
      await clock.sleep(everyMs, signal);
      if (signal.aborted) return undefined;
    }
  }
}

/** Differs when the file was written, replaced or removed. */
async function stateOf(file: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(file);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return 'missing';
  }
}
