/** Why a worker process ended, for whoever waits for its job. */
import type { CrashCause } from '../../wire/job.ts';
import type { ProcessEnd } from './worker-process.ts';

/** Enough of the last output of a dying process to find its reason. */
const STDERR_TAIL = 4096;
const OUT_OF_MEMORY = /heap out of memory|invalid array length Allocation failed/i;

export class CrashReason {
  readonly #heapMb: number;
  #stderr = '';
  /** What it said itself. */
  broken: string | undefined;
  killedAfterMs: number | undefined;

  constructor(heapMb: number) {
    this.#heapMb = heapMb;
  }

  /** The end of what it wrote to its standard error. */
  get tail(): string {
    return this.#stderr;
  }

  wrote(text: string): void {
    this.#stderr = (this.#stderr + text).slice(-STDERR_TAIL);
  }

  cause(wasReady: boolean): CrashCause {
    if (this.killedAfterMs !== undefined) return 'stopped';
    if (OUT_OF_MEMORY.test(this.#stderr)) return 'memory';
    return wasReady ? 'died' : 'not_started';
  }

  sentence({ error, code = null, signal = null }: ProcessEnd): string {
    if (error !== undefined) return `it could not be started: ${error.message}`;
    if (this.killedAfterMs !== undefined)
      return `it did not stop within ${this.killedAfterMs / 1000} s and was ended by force`;
    if (OUT_OF_MEMORY.test(this.#stderr)) {
      return `it needed more memory than the limit of ${this.#heapMb} MB; smaller pages (\`batch_size\`) need less`;
    }
    if (this.broken !== undefined) return `its worker process broke down: ${this.broken}`;
    if (signal !== null) return `its worker process was ended by ${signal}`;
    return `its worker process ended unexpectedly with exit status ${code}`;
  }
}
