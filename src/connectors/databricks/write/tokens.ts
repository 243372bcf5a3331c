/**
 * Commit tokens: one row for each scope, written in the transaction of the page it belongs to.
 *
 * A statement goes on at the server when its sender is gone, and may commit after somebody else has
 * read the token. So each commit takes the place of the token that this run knows, and fails where
 * there is another one.
 */
import {
  executionScope,
  executionText,
  isLater,
  movedError,
  takenOverError,
  type Execution,
} from '../../../kit/execution.ts';
import { messageOf } from '../../../lib/errors.ts';
import type { CommitToken } from '../../_sql/driver.ts';
import { literal } from '../names.ts';
import { isMissing } from '../session/errors.ts';
import type { Link } from '../session/link.ts';
import { asOneUnit } from './statements.ts';

const TAKEN = 'svc: another server took over the run';
const MOVED = 'svc: another run committed in this scope';
/** Of a scope without a token. */
const NONE = '';

/** Two tables can be changed together where the catalog keeps their commits. */
export const CATALOG_COMMITS = {
  name: 'delta.feature.catalogManaged',
  value: 'supported',
  sql: "'delta.feature.catalogManaged' = 'supported'",
} as const;

export class Tokens {
  readonly #link: Link;
  readonly #table: string;
  readonly #mostBytes: number;
  readonly #known = new Map<string, string>();
  #isMade = false;

  /** `table` as it stands in statements. */
  constructor(link: Link, table: string, mostBytes: number) {
    this.#link = link;
    this.#table = table;
    this.#mostBytes = mostBytes;
  }

  async last(scope: string, execution: Execution | undefined): Promise<string | undefined> {
    await this.#make();
    if (execution !== undefined) await this.#takeOver(scope, execution);
    const token = await this.#ensured(scope);
    this.#known.set(scope, token);
    return token === NONE ? undefined : token;
  }

  /** What stands before and behind the statements of a page. */
  async around({ scope, token, execution }: CommitToken): Promise<{
    readonly before: readonly string[];
    readonly after: readonly string[];
  }> {
    if (!this.#known.has(scope)) await this.last(scope, execution);
    const known = this.#known.get(scope) ?? NONE;
    const moved = this.#unless(scope, known, MOVED);
    if (execution === undefined) return { before: [moved], after: [this.#store(scope, token)] };
    const [name, text] = [executionScope(scope), executionText(execution)];
    return {
      before: [this.#unless(name, text, TAKEN), moved],
      // The mark is written too: whoever takes over meanwhile changes the same row, and of two such
      // transactions one fails. What was only read would keep nobody out.
      after: [this.#store(name, text), this.#store(scope, token)],
    };
  }

  committed({ scope, token }: CommitToken): void {
    this.#known.set(scope, token);
  }

  /** The error in other words, where it is one of the conditions above. */
  told(error: unknown, { scope }: CommitToken): unknown {
    const message = messageOf(error);
    if (message.includes(TAKEN)) return takenOverError(scope);
    if (!message.includes(MOVED)) return error;
    return movedError(scope, error);
  }

  async forget(scope: string): Promise<void> {
    const text = `DELETE FROM ${this.#table} WHERE scope = ${literal(scope)}`;
    await this.#link.run({ text, isRepeatable: true }).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
    this.#known.delete(scope);
  }

  /** A table cannot be made in a transaction. */
  async #make(): Promise<void> {
    if (this.#isMade) return;
    await this.#link.run({
      text: `CREATE TABLE IF NOT EXISTS ${this.#table} (scope STRING NOT NULL, token STRING NOT NULL, updated_at TIMESTAMP NOT NULL) TBLPROPERTIES (${CATALOG_COMMITS.sql})`,
      isRepeatable: true,
    });
    this.#isMade = true;
  }

  /** The token of a scope, which has a row from then on. */
  async #ensured(scope: string): Promise<string> {
    const found = await this.#read(scope);
    if (found !== undefined) return found;
    await this.#link.run({
      text: `MERGE INTO ${this.#table} AS t USING (SELECT ${literal(scope)} AS scope) AS s ON t.scope = s.scope WHEN NOT MATCHED THEN INSERT (scope, token, updated_at) VALUES (s.scope, ${literal(NONE)}, current_timestamp())`,
      isRepeatable: true,
    });
    return (await this.#read(scope)) ?? NONE;
  }

  async #read(scope: string): Promise<string | undefined> {
    const rows = await this.#link.rows(
      `SELECT max(token) FROM ${this.#table} WHERE scope = ${literal(scope)}`,
    );
    return rows[0]?.[0] ?? undefined;
  }

  /** From now on only this execution commits in the scope. */
  async #takeOver(scope: string, execution: Execution): Promise<void> {
    const name = executionScope(scope);
    for (;;) {
      const before = await this.#ensured(name);
      if (isLater(before, execution)) throw takenOverError(scope);
      const statements = [
        this.#unless(name, before, MOVED),
        this.#store(name, executionText(execution)),
      ];
      try {
        const text = asOneUnit(statements, this.#mostBytes);
        // A second time it is found that the first one came through.
        await this.#link.run({ text, isRepeatable: true });
        return;
      } catch (error) {
        // Another execution was faster: who is later is decided again.
        if (!messageOf(error).includes(MOVED)) throw error;
      }
    }
  }

  #unless(scope: string, token: string, message: string): string {
    const isThere = `EXISTS (SELECT 1 FROM ${this.#table} WHERE scope = ${literal(scope)} AND token = ${literal(token)})`;
    return `IF NOT ${isThere} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = ${literal(message)}; END IF`;
  }

  #store(scope: string, token: string): string {
    return `UPDATE ${this.#table} SET token = ${literal(token)}, updated_at = current_timestamp() WHERE scope = ${literal(scope)}`;
  }
}
