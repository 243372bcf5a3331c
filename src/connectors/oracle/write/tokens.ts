/** Commit tokens: one row for each scope, written in the transaction of the page they belong to. */
import {
  executionScope,
  executionText,
  isLater,
  takenOverError,
  type Execution,
  type HeldScope,
} from '../../../kit/execution.ts';
import { fnv1a64 } from '../../../lib/text/fnv.ts';
import { quoteName } from '../../../lib/sql/sql-name.ts';
import { TOKEN_TABLE, type CommitToken } from '../../_sql/driver.ts';
import type { Link } from '../connection.ts';
import { numberOf } from '../errors.ts';

const NO_SUCH_TABLE = 942;
const IS_THERE = 955;
const SCOPE_LETTERS = 450;
const MARK = '__h:';
const HASH_DIGITS = 16;
const TABLE = quoteName(TOKEN_TABLE);

/** To be called outside of a transaction, which it would commit. */
export async function makeTokens(link: Link): Promise<void> {
  const found = await link.ask(
    `SELECT table_name FROM all_tables WHERE owner = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') AND table_name = :1`,
    [TOKEN_TABLE],
  );
  if (found.length > 0) return;
  await link
    .run(
      `CREATE TABLE ${TABLE} (scope VARCHAR2(${SCOPE_LETTERS} CHAR) NOT NULL PRIMARY KEY, token CLOB NOT NULL, updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL)`,
    )
    .catch((error: unknown) => {
      // Another run was faster.
      if (numberOf(error) !== IS_THERE) throw error;
    });
}

/** A longer scope is its beginning and a digest. */
export function storedScope(scope: string): string {
  if (scope.length <= SCOPE_LETTERS) return scope;
  return `${scope.slice(0, SCOPE_LETTERS - MARK.length - HASH_DIGITS)}${MARK}${fnv1a64(scope)}`;
}

const STORE = `MERGE INTO ${TABLE} t USING (SELECT :1 AS scope, :2 AS token FROM DUAL) s ON (t.scope = s.scope)
  WHEN MATCHED THEN UPDATE SET token = s.token, updated_at = SYSTIMESTAMP
  WHEN NOT MATCHED THEN INSERT (scope, token, updated_at) VALUES (s.scope, s.token, SYSTIMESTAMP)`;

export async function storeToken(
  link: Link,
  { scope, token, execution }: CommitToken,
): Promise<void> {
  if (execution !== undefined) await holdScope(link, { scope, execution });
  const name = storedScope(scope);
  await link.runMany(
    STORE,
    [
      { as: 'text', bytes: Buffer.byteLength(name) },
      { as: 'clob', bytes: Buffer.byteLength(token) },
    ],
    [[name, token]],
  );
}

/** Whoever takes the scope over waits for this transaction, or it finds that somebody did. */
export async function holdScope(link: Link, { scope, execution }: HeldScope): Promise<void> {
  const held = await lockedToken(link, executionScope(scope));
  if (held !== executionText(execution)) throw takenOverError(scope);
}

/** From now on only this execution commits in the scope. To be called in a transaction. */
export async function takeScope(link: Link, scope: string, execution: Execution): Promise<void> {
  const name = executionScope(scope);
  // The row that would be locked may not be there yet.
  await link.run(`LOCK TABLE ${TABLE} IN SHARE ROW EXCLUSIVE MODE`);
  if (isLater(await lockedToken(link, name), execution)) throw takenOverError(scope);
  await storeToken(link, { scope: name, token: executionText(execution) });
}

async function lockedToken(link: Link, scope: string): Promise<string | undefined> {
  const rows = await link.ask(`SELECT token FROM ${TABLE} WHERE scope = :1 FOR UPDATE`, [
    storedScope(scope),
  ]);
  return rows[0] === undefined ? undefined : String(rows[0][0]);
}

/** Waits for commits in progress, of which readers see nothing. To be called in a transaction. */
export async function lastToken(link: Link, scope: string): Promise<string | undefined> {
  try {
    await link.run(`LOCK TABLE ${TABLE} IN SHARE MODE`);
  } catch (error) {
    if (numberOf(error) === NO_SUCH_TABLE) return undefined;
    throw error;
  }
  const rows = await link.ask(`SELECT token FROM ${TABLE} WHERE scope = :1`, [storedScope(scope)]);
  return rows[0] === undefined ? undefined : String(rows[0][0]);
}

export async function forgetToken(link: Link, scope: string): Promise<void> {
  try {
    await link.run(`DELETE FROM ${TABLE} WHERE scope = :1`, [storedScope(scope)]);
  } catch (error) {
    if (numberOf(error) !== NO_SUCH_TABLE) throw error;
  }
}
