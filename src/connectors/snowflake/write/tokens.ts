/**
 * Commit tokens: one row for each scope, written in the request, and so in the transaction, of the
 * page they belong to.
 *
 * A request goes on at the server when its sender is gone, and may commit after somebody else has read
 * the token. So each commit has a number of its own, in a second row, and takes the place of the one
 * that was there when the token was read: of two commits that follow the same one, the later fails.
 * An execution that takes a scope over makes such a commit, with its mark.
 */
import { randomUUID } from 'node:crypto';
import {
  executionScope,
  executionText,
  isLater,
  movedError,
  takenOverError,
  type Execution,
} from '../../../kit/execution.ts';
import type { CommitToken } from '../../_sql/driver.ts';
import { literal } from '../literal.ts';
import { SnowflakeError } from '../session/errors.ts';
import type { Session } from '../session/session.ts';
import { asOneRequest } from './statements.ts';

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
    // Before the token: a commit in between is then found by the next one.
    if (execution === undefined) await this.#readCommit(scope);
    else await this.#takeOver(scope, execution);
    return this.#read(scope);
  }

  /** What stands before and behind the statements of a page; `stored` when they are committed. */
  async around({ scope, token, execution }: CommitToken): Promise<Commit> {
    await this.#make();
    const before = this.#commits.get(scope) ?? (await this.#readCommit(scope));
    const own = randomUUID();
    return {
      before: [
        ...this.#instead(scope, before, own),
        ...(execution === undefined
          ? []
          : [this.#required(executionScope(scope), executionText(execution))]),
      ],
      after: [this.#merge(scope, token)],
      stored: () => void this.#commits.set(scope, own),
    };
  }

  /** The error of a commit, or that somebody else has committed in the meantime. */
  async reason({ scope, execution }: CommitToken, error: unknown): Promise<unknown> {
    if (!(error instanceof SnowflakeError)) return error;
    const known = this.#commits.get(scope);
    try {
      if (execution !== undefined) {
        const holder = await this.#read(executionScope(scope));
        if (holder !== executionText(execution)) return takenOverError(scope);
      }
      return (await this.#read(commitScope(scope))) === known ? error : movedError(scope, error);
    } catch {
      return error;
    }
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
    for (;;) {
      const before = await this.#readCommit(scope);
      if (isLater(await this.#read(name), execution)) throw takenOverError(scope);
      const own = randomUUID();
      const statements = [
        ...this.#instead(scope, before, own),
        this.#merge(name, executionText(execution)),
      ];
      try {
        await this.#session.run(asOneRequest(statements));
        this.#commits.set(scope, own);
        return;
      } catch (error) {
        // Where another execution, or a page, was faster, who is later is decided again.
        if (!(error instanceof SnowflakeError)) throw error;
        if ((await this.#read(commitScope(scope))) === before) throw error;
      }
    }
  }

  /** Statements that put a commit in the place of another one, and fail where that is not there. */
  #instead(scope: string, before: string, own: string): string[] {
    const name = commitScope(scope);
    return [
      // Waits for a commit in progress.
      `UPDATE ${this.#table} SET token = ${literal(own)}, updated_at = ${NOW} WHERE scope = ${literal(name)} AND token = ${literal(before)}`,
      this.#required(name, own),
    ];
  }

  /** Fails where there is no such row. */
  #required(name: string, token: string): string {
    return `SELECT 1 / COUNT(*) FROM ${this.#table} WHERE scope = ${literal(name)} AND token = ${literal(token)}`;
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
