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
import type { Link, Parameter } from '../../_mssql/connection.ts';
import { numberOf } from '../../_mssql/errors.ts';
import { TOKEN_TABLE, type CommitToken } from '../../_sql/driver.ts';
import { BINARY } from './column-types.ts';

const NO_SUCH_TABLE = 208;
const IS_THERE = 2714;
const SCOPE_LETTERS = 450;
const MARK = '__h:';
const HASH_DIGITS = 16;

const MAKE_TOKENS = `CREATE TABLE ${TOKEN_TABLE} (
  scope NVARCHAR(${SCOPE_LETTERS}) ${BINARY} NOT NULL PRIMARY KEY,
  token NVARCHAR(MAX) NOT NULL, updated_at DATETIME2(7) NOT NULL)`;

export async function makeTokens(link: Link): Promise<void> {
  const { rows } = await link.ask(`SELECT OBJECT_ID(N'${TOKEN_TABLE}')`);
  if (rows[0]?.[0] !== null && rows[0] !== undefined) return;
  await link.ask(MAKE_TOKENS).catch((error: unknown) => {
    // Another run was faster.
    if (numberOf(error) !== IS_THERE) throw error;
  });
}

/** A longer scope is its beginning and a digest. */
export function storedScope(scope: string): string {
  if (scope.length <= SCOPE_LETTERS) return scope;
  return `${scope.slice(0, SCOPE_LETTERS - MARK.length - HASH_DIGITS)}${MARK}${fnv1a64(scope)}`;
}

function text(name: string, value: string): Parameter {
  return { name, type: 'text', value };
}

export async function storeToken(
  link: Link,
  { scope, token, execution }: CommitToken,
): Promise<void> {
  if (execution !== undefined) await holdScope(link, { scope, execution });
  await link.ask(
    `MERGE INTO ${TOKEN_TABLE} WITH (HOLDLOCK) AS t
     USING (SELECT CAST(@scope COLLATE Latin1_General_100_BIN2 AS nvarchar(${SCOPE_LETTERS})) AS scope, @token AS token) AS s ON t.scope = s.scope
     WHEN MATCHED THEN UPDATE SET token = s.token, updated_at = SYSUTCDATETIME()
     WHEN NOT MATCHED THEN INSERT (scope, token, updated_at) VALUES (s.scope, s.token, SYSUTCDATETIME());`,
    [text('scope', storedScope(scope)), text('token', token)],
  );
}

/** Whoever takes the scope over waits for this transaction, or it finds that somebody did. */
export async function holdScope(link: Link, { scope, execution }: HeldScope): Promise<void> {
  const { rows } = await link.ask(
    `SELECT 1 AS held FROM ${TOKEN_TABLE} WITH (UPDLOCK, HOLDLOCK) WHERE scope = @scope AND token = @token`,
    [text('scope', storedScope(executionScope(scope))), text('token', executionText(execution))],
  );
  if (rows.length !== 1) throw takenOverError(scope);
}

/** From now on only this execution commits in the scope. To be called in a transaction. */
export async function takeScope(link: Link, scope: string, execution: Execution): Promise<void> {
  const name = executionScope(scope);
  if (isLater(await lastToken(link, name, 'UPDLOCK, HOLDLOCK'), execution))
    throw takenOverError(scope);
  await storeToken(link, { scope: name, token: executionText(execution) });
}

/** Waits for a commit in progress, also where readers see the rows of before. */
export async function lastToken(
  link: Link,
  scope: string,
  locks = 'READCOMMITTEDLOCK',
): Promise<string | undefined> {
  try {
    const { rows } = await link.ask(
      `SELECT token FROM ${TOKEN_TABLE} WITH (${locks}) WHERE scope = @scope`,
      [text('scope', storedScope(scope))],
    );
    return rows[0] === undefined ? undefined : String(rows[0][0]);
  } catch (error) {
    if (numberOf(error) === NO_SUCH_TABLE) return undefined;
    throw error;
  }
}

export async function forgetToken(link: Link, scope: string): Promise<void> {
  try {
    await link.ask(`DELETE FROM ${TOKEN_TABLE} WHERE scope = @scope`, [
      text('scope', storedScope(scope)),
    ]);
  } catch (error) {
    if (numberOf(error) !== NO_SUCH_TABLE) throw error;
  }
}
