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
import type { CommitToken } from '../../_sql/driver.ts';
import { CODES, type Mutation } from '../api.ts';
import type { SpannerLink, Transaction } from '../link.ts';
import { readColumns } from './schema.ts';

/** Names of Spanner do not begin with an underscore. */
const TABLE = 'svc_commit_token';
/** Spanner puts the time of the commit in its place. */
const TIME_OF_COMMIT = 'spanner.commit_timestamp()';

const MAKE = `CREATE TABLE IF NOT EXISTS ${TABLE} (
  scope STRING(MAX) NOT NULL, token STRING(MAX) NOT NULL,
  updated_at TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp = true)) PRIMARY KEY (scope)`;

const READ = {
  sql: `SELECT scope, token FROM ${TABLE} WHERE scope IN UNNEST(@scopes)`,
  types: { scopes: { code: CODES.ARRAY, item: { code: CODES.STRING } } },
};

export class Tokens {
  readonly #link: SpannerLink;
  readonly #ddlSecs: number;
  /** The token that a scope has, as far as this run knows. */
  readonly #known = new Map<string, string | undefined>();
  #isThere = false;

  constructor(link: SpannerLink, ddlSecs: number) {
    this.#link = link;
    this.#ddlSecs = ddlSecs;
  }

  /** A table cannot be made in a transaction. */
  async make(): Promise<void> {
    if (await this.#exists()) return;
    const doing = 'making the table of the commit tokens';
    await this.#link.changeSchema(doing, [MAKE], this.#ddlSecs);
    this.#isThere = true;
  }

  /**
   * What belongs to the commit of a page. It fails where another execution has the scope, or where
   * its token is not the one that this run knows: the last commit of a killed run may come late.
   */
  async commit(
    transaction: Transaction,
    { scope, token, execution }: CommitToken,
  ): Promise<Mutation> {
    const held = executionScope(scope);
    const stored = await tokensOf(transaction, [scope, held]);
    if (execution !== undefined && stored.get(held) !== executionText(execution))
      throw takenOverError(scope);
    if (this.#known.has(scope) && stored.get(scope) !== this.#known.get(scope))
      throw movedError(scope);
    return rowOf(scope, token);
  }

  committed({ scope, token }: CommitToken): void {
    if (this.#known.has(scope)) this.#known.set(scope, token);
  }

  async last(scope: string, execution: Execution | undefined): Promise<string | undefined> {
    if (execution !== undefined) await this.#take(scope, execution);
    const token = await this.#read(scope);
    this.#known.set(scope, token);
    return token;
  }

  async forget(scope: string): Promise<void> {
    if (await this.#exists())
      await this.#link.transaction('removing the commit token', () =>
        Promise.resolve([{ delete: { table: TABLE, key_set: { keys: [[scope]] } } }]),
      );
    if (this.#known.has(scope)) this.#known.set(scope, undefined);
  }

  async #read(scope: string): Promise<string | undefined> {
    if (!(await this.#exists())) return undefined;
    let token: string | undefined;
    // In a transaction, which waits for a commit in progress.
    await this.#link.transaction('reading the commit token', async (transaction) => {
      token = (await tokensOf(transaction, [scope])).get(scope);
      return [];
    });
    return token;
  }

  /** From now on only this execution commits in the scope. */
  async #take(scope: string, execution: Execution): Promise<void> {
    await this.make();
    const held = executionScope(scope);
    await this.#link.transaction('taking over the commit token', async (transaction) => {
      const stored = await tokensOf(transaction, [held]);
      if (isLater(stored.get(held), execution)) throw takenOverError(scope);
      return [rowOf(held, executionText(execution))];
    });
  }

  async #exists(): Promise<boolean> {
    this.#isThere ||= (await readColumns(this.#link, TABLE)) !== undefined;
    return this.#isThere;
  }
}

/** Whoever takes the scope meanwhile changes what was read here: one of the two is made again. */
export async function requireHeld(
  transaction: Transaction,
  { scope, execution }: HeldScope,
): Promise<void> {
  const name = executionScope(scope);
  if ((await tokensOf(transaction, [name])).get(name) !== executionText(execution))
    throw takenOverError(scope);
}

async function tokensOf(
  transaction: Transaction,
  scopes: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await transaction.rows({ ...READ, params: { scopes } });
  return new Map(rows.map(([scope, token]) => [String(scope), String(token)]));
}

function rowOf(scope: string, token: string): Mutation {
  const columns = ['scope', 'token', 'updated_at'];
  return { insert_or_update: { table: TABLE, columns, values: [[scope, token, TIME_OF_COMMIT]] } };
}
