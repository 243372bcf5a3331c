/** Commit tokens: one row for each scope, written in the transaction of the page they belong to. */
import {
  executionScope,
  executionText,
  isLater,
  movedError,
  takenOverError,
  type Execution,
  type HeldScope,
} from '../../../kit/execution.ts';
import { messageOf } from '../../../lib/errors.ts';
import { TOKEN_TABLE, type CommitToken } from '../../_sql/driver.ts';
import { isMissing } from '../errors.ts';
import { runQuery } from '../jobs.ts';
import type { QueryParameter } from '../query-parameter.ts';
import type { Link } from '../link.ts';
import { firstText } from '../types/read-values.ts';
import { scriptSql, tableName, type Script, type TablePlace } from './statements.ts';

const TAKEN = 'svc: another server took over the run';
const MOVED = 'svc: another run committed in this scope';

export class Tokens {
  readonly #link: Link;
  readonly #table: string;
  /** The token that a scope has, as far as this run knows. */
  readonly #known = new Map<string, string | undefined>();
  #isMade = false;

  constructor(link: Link, place: TablePlace) {
    this.#link = link;
    this.#table = tableName(place, TOKEN_TABLE);
  }

  /** A table cannot be made in a transaction. */
  async make(): Promise<void> {
    if (this.#isMade) return;
    await runQuery(this.#link, 'making the table of the commit tokens', {
      sql: `CREATE TABLE IF NOT EXISTS ${this.#table} (scope STRING NOT NULL, token STRING NOT NULL, updated_at TIMESTAMP NOT NULL)`,
    });
    this.#isMade = true;
  }

  /**
   * Statements for the transaction of a page. It fails where another execution has the scope, or
   * where its token is not the one that this run knows: a job of a killed run may still have ended.
   */
  commit({ scope, token, execution }: CommitToken): Script {
    const statements: string[] = [];
    const parameters = [parameter('svc_scope', scope), parameter('svc_token', token)];
    if (execution !== undefined) {
      statements.push(this.#isHeld());
      parameters.push(...heldBy({ scope, execution }));
    }
    if (this.#known.has(scope)) {
      statements.push(this.#isStill('svc_scope', 'svc_known'));
      parameters.push(parameter('svc_known', this.#known.get(scope)));
    }
    statements.push(this.#store('svc_scope', 'svc_token'));
    return { statements, parameters };
  }

  /**
   * Statements for the transaction of a change of a whole table. The mark is written too: of two
   * transactions that write to one table the server commits one, and what was only read keeps
   * nobody out.
   */
  hold(
    held: HeldScope,
  ): { readonly before: string; readonly after: string } & Pick<Script, 'parameters'> {
    return {
      before: this.#isHeld(),
      after: this.#store('svc_execution_scope', 'svc_execution'),
      parameters: heldBy(held),
    };
  }

  /** For what no transaction takes. */
  async assertHeld(held: HeldScope): Promise<void> {
    try {
      await runQuery(this.#link, 'looking whether the run was taken over', {
        sql: this.#isHeld(),
        parameters: heldBy(held),
      });
    } catch (error) {
      throw this.told(error, held);
    }
  }

  committed({ scope, token }: CommitToken): void {
    if (this.#known.has(scope)) this.#known.set(scope, token);
  }

  /** The error in other words, where it is one of the statements above. */
  told(error: unknown, { scope }: Pick<CommitToken, 'scope'>): unknown {
    const message = messageOf(error);
    if (message.includes(TAKEN)) return takenOverError(scope);
    if (!message.includes(MOVED)) return error;
    return movedError(scope, error);
  }

  async last(scope: string, execution: Execution | undefined): Promise<string | undefined> {
    if (execution !== undefined) await this.#take(scope, execution);
    const token = await this.#read(scope);
    this.#known.set(scope, token);
    return token;
  }

  async forget(scope: string): Promise<void> {
    try {
      await runQuery(this.#link, 'removing the commit token', {
        sql: `DELETE FROM ${this.#table} WHERE scope = @svc_scope`,
        parameters: [parameter('svc_scope', scope)],
      });
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    if (this.#known.has(scope)) this.#known.set(scope, undefined);
  }

  async #read(scope: string): Promise<string | undefined> {
    try {
      const { rows } = await runQuery(this.#link, 'reading the commit token', {
        sql: `SELECT token FROM ${this.#table} WHERE scope = @svc_scope`,
        parameters: [parameter('svc_scope', scope)],
      });
      return rows[0] === undefined ? undefined : firstText(rows[0]);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** From now on only this execution commits in the scope. */
  async #take(scope: string, execution: Execution): Promise<void> {
    await this.make();
    const name = executionScope(scope);
    for (;;) {
      const before = await this.#read(name);
      if (isLater(before, execution)) throw takenOverError(scope);
      const statements = [
        this.#isStill('svc_scope', 'svc_known'),
        this.#store('svc_scope', 'svc_token'),
      ];
      try {
        await runQuery(this.#link, 'taking over the commit token', {
          sql: scriptSql(statements, true),
          parameters: [
            parameter('svc_scope', name),
            parameter('svc_known', before),
            parameter('svc_token', executionText(execution)),
          ],
        });
        return;
      } catch (error) {
        // Another execution was faster: who is later is decided again.
        if (!messageOf(error).includes(MOVED)) throw error;
      }
    }
  }

  #isHeld(): string {
    return `ASSERT EXISTS (SELECT 1 FROM ${this.#table} WHERE scope = @svc_execution_scope AND token = @svc_execution) AS '${TAKEN}'`;
  }

  #isStill(scope: string, token: string): string {
    return `ASSERT (SELECT MAX(token) FROM ${this.#table} WHERE scope = @${scope}) IS NOT DISTINCT FROM @${token} AS '${MOVED}'`;
  }

  #store(scope: string, token: string): string {
    return `MERGE INTO ${this.#table} AS T USING (SELECT @${scope} AS scope, @${token} AS token) AS S ON T.scope = S.scope WHEN MATCHED THEN UPDATE SET token = S.token, updated_at = CURRENT_TIMESTAMP() WHEN NOT MATCHED THEN INSERT (scope, token, updated_at) VALUES (S.scope, S.token, CURRENT_TIMESTAMP())`;
  }
}

function heldBy({ scope, execution }: HeldScope): readonly QueryParameter[] {
  return [
    parameter('svc_execution_scope', executionScope(scope)),
    parameter('svc_execution', executionText(execution)),
  ];
}

function parameter(name: string, value: string | undefined): QueryParameter {
  return { name, type: 'STRING', value: value ?? null };
}
