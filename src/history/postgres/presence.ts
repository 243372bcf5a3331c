/** Whether the database can be reached, and what its errors say about that. */
import { messageOf } from '../../lib/errors.ts';
import { codeOf, postgresError } from '../../lib/sql/postgres.ts';
import { HistoryError } from '../history.ts';

/** How long a caller waits for a database that was there a moment ago. */
const WAIT_MS = 5000;
/** The same when it has been away for longer than that. */
const WAIT_WHILE_AWAY_MS = 250;

export class Presence {
  readonly #waitMs: number;
  /** As `performance.now()`. */
  #awaySince: number | undefined;
  /** As `performance.now()`. */
  #answeredAt = 0;
  #failure: unknown;

  constructor(waitMs = WAIT_MS) {
    this.#waitMs = waitMs;
  }

  /** How long to wait for an answer now. */
  get waitMs(): number {
    const awayMs = this.#awaySince === undefined ? 0 : performance.now() - this.#awaySince;
    return awayMs >= this.#waitMs ? WAIT_WHILE_AWAY_MS : this.#waitMs;
  }

  /** Why it could not be reached the last time. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * `waitedMs`: for how long somebody waited in vain. Nobody after him waits as long again, though
   * the first attempt may have failed only while he waited.
   */
  noteAway(error: unknown, waitedMs = 0): void {
    const since = Math.max(performance.now() - waitedMs, this.#answeredAt);
    this.#awaySince = Math.min(this.#awaySince ?? since, since);
    this.#failure = error;
  }

  noteAnswer(): void {
    this.#awaySince = undefined;
    this.#answeredAt = performance.now();
  }

  get isAway(): boolean {
    return this.#awaySince !== undefined;
  }
}

/** By SQLSTATE; a server that became a read-only copy is no place to write to. */
const AWAY = ['08', '57P', '53300', '25006', '28', '3D'];
/** A wrong login or database does not become right by waiting. */
const WRONG_ADDRESS = ['28', '3D'];

/** False where the database itself declined a statement. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof HistoryError) return error.cause !== undefined && isUnreachable(error.cause);
  const code = stateOf(error);
  if (code !== undefined) return AWAY.some((start) => code.startsWith(start));
  const { kind } = postgresError(error, '');
  return kind === 'connection' || kind === 'timeout' || kind === 'auth';
}

/** Whether it may answer a little later. */
export function isPassing(error: unknown): boolean {
  const cause = error instanceof HistoryError ? error.cause : error;
  const code = stateOf(cause) ?? '';
  return isUnreachable(error) && !WRONG_ADDRESS.some((start) => code.startsWith(start));
}

/** A newer server added a column: what a connection prepared before gives other rows now. */
export function isOutdated(error: unknown): boolean {
  return stateOf(error) === '0A000';
}

/** Two transactions were in each other's way; one of them was rolled back. */
export function isConflict(error: unknown): boolean {
  return ['40001', '40P01'].includes(stateOf(error) ?? '');
}

function stateOf(error: unknown): string | undefined {
  const inner = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = codeOf(inner);
  // Those of the operating system begin with E, as in EPIPE.
  return /^(?!E)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

export function refusedError(error: unknown): HistoryError {
  return error instanceof HistoryError
    ? error
    : new HistoryError(`the history database failed: ${messageOf(error)}`, { cause: error });
}

export function unreachableError(error: unknown): HistoryError {
  if (error instanceof HistoryError) return error;
  const why = error === undefined ? 'it does not answer' : messageOf(error);
  return new HistoryError(`the history database cannot be reached: ${why}`, { cause: error });
}
