/**
 * Commit tokens: one row for each scope, written in the request, and so in the transaction, of the
 * page they belong to.
 *
 * A request goes on at the server when its sender is gone. So that it does not commit behind the back
 * of whoever reads the token next, each reader takes the scope over: a second row says whose it is,
 * and a transaction first locks that row, and ends when it is somebody else's.
 */
import { randomUUID } from 'node:crypto';
import {
  executionScope,
  executionText,
  isLater,
  takenOverError,
  type Execution,
} from '../../../kit/execution.ts';
import { literal } from '../names.ts';
import { SnowflakeError } from '../session/errors.ts';
import type { Session } from '../session/session.ts';

const MISSING = '002003';

export class Tokens {
  readonly #session: Session;
  readonly #table: string;
  /** By scope, the text that says that it is ours. */
  readonly #held = new Map<string, string>();
  #isMade = false;

  /** `table` is quoted and qualified. */
  constructor(session: Session, table: string) {
    this.#session = session;
    this.#table = table;
  }

  /** Takes the scope over, and waits for a commit in progress. */
  async last(scope: string, execution: Execution | undefined): Promise<string | undefined> {
    await this.#make();
    await this.#take(scope, execution);
    return this.#read(scope);
  }

  /** What stands before and behind the statements of a page. */
  async around(
    scope: string,
    token: string,
    execution: Execution | undefined,
  ): Promise<{ readonly before: readonly string[]; readonly after: readonly string[] }> {
    await this.#make();
    const held = this.#held.get(scope) ?? (await this.#take(scope, execution));
    const owner = `scope = ${literal(executionScope(scope))} AND token = ${literal(held)}`;
    return {
      before: [
        `UPDATE ${this.#table} SET updated_at = ${NOW} WHERE ${owner}`,
        // Fails where there is no such row.
        `SELECT 1 / COUNT(*) FROM ${this.#table} WHERE ${owner}`,
      ],
      after: [this.#merge(scope, token)],
    };
  }

  /** The error of a commit, or that somebody else has the scope by now. */
  async reason(scope: string, error: unknown): Promise<unknown> {
    const held = this.#held.get(scope);
    if (held === undefined || !(error instanceof SnowflakeError)) return error;
    const owner = await this.#read(executionScope(scope)).catch(() => held);
    return owner === held ? error : takenOverError(scope);
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

  async #take(scope: string, execution: Execution | undefined): Promise<string> {
    const name = executionScope(scope);
    const own = execution === undefined ? `session ${randomUUID()}` : executionText(execution);
    for (;;) {
      const before = await this.#read(name);
      if (execution !== undefined && isLater(before, execution)) throw takenOverError(scope);
      // Only in the place of what was just read.
      await this.#session.run({ text: this.#merge(name, own, before) });
      if ((await this.#read(name)) === own) break;
    }
    this.#held.set(scope, own);
    return own;
  }

  #merge(scope: string, token: string, instead?: string): string {
    const condition = instead === undefined ? '' : ` AND t.token = ${literal(instead)}`;
    return `MERGE INTO ${this.#table} AS t USING (SELECT ${literal(scope)} AS scope, ${literal(token)} AS token) AS s ON t.scope = s.scope
      WHEN MATCHED${condition} THEN UPDATE SET token = s.token, updated_at = ${NOW}
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
