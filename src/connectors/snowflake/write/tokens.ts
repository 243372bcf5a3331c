/**
 * Commit tokens: one row for each scope, written in the request, and so in the transaction, of the
 * page they belong to.
 *
 * A request goes on at the server when its sender is gone, and may commit after somebody else has read
 * the token. So each commit has a number of its own, in a second row, and takes the place of the one
 * that was there when the token was read: of two commits that follow the same one, the later fails.
 */
import { randomUUID } from 'node:crypto';
import {
  executionScope,
  executionText,
  isLater,
  takenOverError,
  type Execution,
} from '../../../kit/execution.ts';
import { literal } from '../literal.ts';
import { SnowflakeError } from '../session/errors.ts';
import type { Session } from '../session/session.ts';

const MISSING = '002003';

interface Commit {
  readonly before: readonly string[];
  readonly after: readonly string[];
  stored(this: void): void;
}

/** No state key, and so no scope, starts with a dot. */
function commitScope(scope: string): string {
  return `.commit:${scope}`;
}

export class Tokens {
  readonly #session: Session;
  readonly #table: string;
  /** By scope, the last commit that is known here. */
  readonly #commits = new Map<string, string>();
  #isMade = false;

  /** `table` is quoted and qualified. */
  constructor(session: Session, table: string) {
    this.#session = session;
    this.#table = table;
  }

  async last(scope: string, execution: Execution | undefined): Promise<string | undefined> {
    await this.#make();
    if (execution !== undefined) await this.#takeOver(scope, execution);
    // Before the token: a commit in between is then found by the next one.
    await this.#readCommit(scope);
    return this.#read(scope);
  }

  /** What stands before and behind the statements of a page; `stored` when they are committed. */
  async around(scope: string, token: string): Promise<Commit> {
    await this.#make();
    const before = this.#commits.get(scope) ?? (await this.#readCommit(scope));
    const own = randomUUID();
    const name = literal(commitScope(scope));
    return {
      before: [
        // Waits for a commit in progress.
        `UPDATE ${this.#table} SET token = ${literal(own)}, updated_at = ${NOW} WHERE scope = ${name} AND token = ${literal(before)}`,
        // Fails where there was no such row.
        `SELECT 1 / COUNT(*) FROM ${this.#table} WHERE scope = ${name} AND token = ${literal(own)}`,
      ],
      after: [this.#merge(scope, token)],
      stored: () => void this.#commits.set(scope, own),
    };
  }

  /** The error of a commit, or that somebody else has committed in the meantime. */
  async reason(scope: string, error: unknown): Promise<unknown> {
    const known = this.#commits.get(scope);
    if (known === undefined || !(error instanceof SnowflakeError)) return error;
    const there = await this.#read(commitScope(scope)).catch(() => known);
    return there === known ? error : takenOverError(scope);
  }

  async forget(scope: string): Promise<void> {
    try {
      await this.#session.run({
        text: `DELETE FROM ${this.#table} WHERE scope = ${literal(scope)}`,
      });
    } catch (error) {
      if (!(error instanceof SnowflakeError) || error.serverCode !== MISSING) throw error;
    }
  }

  async #make(): Promise<void> {
    if (this.#isMade) return;
    await this.#session.run({
      text: `CREATE TABLE IF NOT EXISTS ${this.#table} (scope STRING NOT NULL, token STRING NOT NULL, updated_at TIMESTAMP_NTZ NOT NULL)`,
    });
    this.#isMade = true;
  }

  /** From now on only this execution commits in the scope. */
  async #takeOver(scope: string, execution: Execution): Promise<void> {
    const name = executionScope(scope);
    if (isLater(await this.#read(name), execution)) throw takenOverError(scope);
    await this.#session.run({ text: this.#merge(name, executionText(execution)) });
    await this.#session.run({ text: this.#merge(commitScope(scope), randomUUID()) });
  }

  async #readCommit(scope: string): Promise<string> {
    const name = commitScope(scope);
    let commit = await this.#read(name);
    if (commit === undefined) {
      await this.#session.run({ text: this.#merge(name, randomUUID()) });
      commit = (await this.#read(name)) ?? '';
    }
    this.#commits.set(scope, commit);
    return commit;
  }

  #merge(scope: string, token: string): string {
    return `MERGE INTO ${this.#table} AS t USING (SELECT ${literal(scope)} AS scope, ${literal(token)} AS token) AS s ON t.scope = s.scope
      WHEN MATCHED THEN UPDATE SET token = s.token, updated_at = ${NOW}
      WHEN NOT MATCHED THEN INSERT (scope, token, updated_at) VALUES (s.scope, s.token, ${NOW})`;
  }

  async #read(scope: string): Promise<string | undefined> {
    const rows = await this.#session.rows(
      `SELECT token FROM ${this.#table} WHERE scope = ${literal(scope)} ORDER BY updated_at DESC LIMIT 1`,
    );
    return rows[0]?.[0] ?? undefined;
  }
}

const NOW = 'SYSDATE()';
