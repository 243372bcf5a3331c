/** Commit tokens: one row for each scope, written in the transaction of the page they belong to. */
import type { Connection } from 'mysql2';
import { askMysql } from '../../../lib/sql/mysql.ts';
import { codesOf } from '../../../lib/sql/mysql-errors.ts';
import { fnv1a64 } from '../../../lib/text/fnv.ts';
import { TOKEN_TABLE, type CommitToken } from '../../_sql/driver.ts';
import {
  executionScope,
  executionText,
  isLater,
  takenOverError,
  type Execution,
  type HeldScope,
} from '../../../kit/execution.ts';
import { sqlLiteral } from '../read/literals.ts';

const NO_SUCH_TABLE = 1146;
const SCOPE_LETTERS = 255;
const MARK = '__h:';
const HASH_DIGITS = 16;

export const MAKE_TOKENS = `CREATE TABLE IF NOT EXISTS ${TOKEN_TABLE} (
  scope VARCHAR(${SCOPE_LETTERS}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY,
  token LONGTEXT CHARACTER SET utf8mb4 NOT NULL, updated_at DATETIME(6) NOT NULL) ENGINE = InnoDB`;

/** A longer scope is its beginning and a digest. */
export function storedScope(scope: string): string {
  if (scope.length <= SCOPE_LETTERS) return scope;
  return `${scope.slice(0, SCOPE_LETTERS - MARK.length - HASH_DIGITS)}${MARK}${fnv1a64(scope)}`;
}

export async function storeToken(
  connection: Connection,
  { scope, token, execution }: CommitToken,
): Promise<void> {
  if (execution !== undefined) await holdScope(connection, { scope, execution });
  await askMysql(
    connection,
    `INSERT INTO ${TOKEN_TABLE} (scope, token, updated_at)
     VALUES (${sqlLiteral(storedScope(scope))}, ${sqlLiteral(token)}, CURRENT_TIMESTAMP(6))
     ON DUPLICATE KEY UPDATE token = VALUES(token), updated_at = VALUES(updated_at)`,
  );
}

/** Whoever takes the scope over waits for this transaction, or it finds that somebody did. */
export async function holdScope(
  connection: Connection,
  { scope, execution }: HeldScope,
): Promise<void> {
  const { rows } = await askMysql(
    connection,
    `SELECT 1 FROM ${TOKEN_TABLE} WHERE scope = ${sqlLiteral(storedScope(executionScope(scope)))}
     AND token = ${sqlLiteral(executionText(execution))} LOCK IN SHARE MODE`,
  );
  if (rows.length !== 1) throw takenOverError(scope);
}

/** From now on only this execution commits in the scope. To be called in a transaction. */
export async function takeScope(
  connection: Connection,
  scope: string,
  execution: Execution,
): Promise<void> {
  const name = executionScope(scope);
  // So that there is a row to lock.
  await askMysql(
    connection,
    `INSERT IGNORE INTO ${TOKEN_TABLE} (scope, token, updated_at)
     VALUES (${sqlLiteral(storedScope(name))}, '', CURRENT_TIMESTAMP(6))`,
  );
  if (isLater(await lastToken(connection, name), execution)) throw takenOverError(scope);
  await storeToken(connection, { scope: name, token: executionText(execution) });
}

/** Waits for a commit in progress, as it locks the row. */
export async function lastToken(
  connection: Connection,
  scope: string,
): Promise<string | undefined> {
  try {
    const { rows } = await askMysql(
      connection,
      `SELECT token FROM ${TOKEN_TABLE} WHERE scope = ${sqlLiteral(storedScope(scope))} FOR UPDATE`,
    );
    return rows[0] === undefined ? undefined : String(rows[0][0]);
  } catch (error) {
    if (codesOf(error).number === NO_SUCH_TABLE) return undefined;
    throw error;
  }
}

/** Waits for a commit in progress. */
export async function forgetToken(connection: Connection, scope: string): Promise<void> {
  try {
    await resetToken(connection, scope, undefined);
  } catch (error) {
    if (codesOf(error).number !== NO_SUCH_TABLE) throw error;
  }
}

/** Sets the token of a scope, or removes it. */
export async function resetToken(
  connection: Connection,
  scope: string,
  token: string | undefined,
): Promise<void> {
  if (token !== undefined) return storeToken(connection, { scope, token });
  await askMysql(
    connection,
    `DELETE FROM ${TOKEN_TABLE} WHERE scope = ${sqlLiteral(storedScope(scope))}`,
  );
}
