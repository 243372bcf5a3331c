/**
 * Commit tokens: one row for each scope, written in the same transaction as the page they belong
 * to.
 */
import type { ClientBase } from 'pg';
import { codeOf } from '../../../lib/sql/postgres.ts';
import { type CommitToken } from '../../_sql/driver.ts';
import {
  executionScope,
  executionText,
  isLater,
  takenOverError,
  type HeldScope,
} from '../../../kit/execution.ts';

const NO_SUCH_TABLE = '42P01';

/** With the lock, the next reader of the token waits for a commit in progress. */
const TOKEN_LOCK = 'SELECT pg_advisory_xact_lock(hashtext($1))';

export async function storeToken(
  client: ClientBase,
  tokens: string,
  { scope, token, execution }: CommitToken,
): Promise<void> {
  await client.query(TOKEN_LOCK, [`headgate token ${scope}`]);
  if (execution !== undefined) await holdScope(client, tokens, { scope, execution });
  await client.query(
    `INSERT INTO ${tokens} (scope, token, updated_at) VALUES ($1, $2, now())
     ON CONFLICT (scope) DO UPDATE SET token = excluded.token, updated_at = excluded.updated_at`,
    [scope, token],
  );
}

/**
 * To be called in a transaction: whoever takes the scope over waits for its end, or it finds that
 * somebody did.
 */
export async function holdScope(
  client: ClientBase,
  tokens: string,
  { scope, execution }: HeldScope,
): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT FROM ${tokens} WHERE scope = $1 AND token = $2 FOR SHARE`,
    [executionScope(scope), executionText(execution)],
  );
  if (rowCount !== 1) throw takenOverError(scope);
}

/** From now on only this execution commits in the scope. */
export async function takeScope(
  client: ClientBase,
  tokens: string,
  { scope, execution }: HeldScope,
): Promise<void> {
  const [name, text] = [executionScope(scope), executionText(execution)];
  for (;;) {
    const { rows } = await client.query<{ token: string }>(
      `SELECT token FROM ${tokens} WHERE scope = $1`,
      [name],
    );
    const before = rows[0]?.token;
    if (isLater(before, execution)) throw takenOverError(scope);
    // Only in the place of what was just read.
    const { rowCount } = await client.query(
      `INSERT INTO ${tokens} AS held (scope, token, updated_at) VALUES ($1, $2, now())
       ON CONFLICT (scope) DO UPDATE SET token = excluded.token, updated_at = excluded.updated_at WHERE held.token = $3`,
      [name, text, before ?? text],
    );
    if (rowCount === 1) return;
  }
}

export async function lastToken(
  client: ClientBase,
  tokens: string,
  scope: string,
): Promise<string | undefined> {
  try {
    await client.query(TOKEN_LOCK, [`headgate token ${scope}`]);
    const { rows } = await client.query<{ token: string }>(
      `SELECT token FROM ${tokens} WHERE scope = $1`,
      [scope],
    );
    return rows[0]?.token;
  } catch (error) {
    if (codeOf(error) === NO_SUCH_TABLE) return undefined;
    throw error;
  }
}

/** Waits for a commit in progress. */
export async function forgetToken(
  client: ClientBase,
  tokens: string,
  scope: string,
): Promise<void> {
  try {
    await resetToken(client, tokens, scope, undefined);
  } catch (error) {
    if (codeOf(error) !== NO_SUCH_TABLE) throw error;
  }
}

/** Sets the token of a scope, or removes it. */
export async function resetToken(
  client: ClientBase,
  tokens: string,
  scope: string,
  token: string | undefined,
): Promise<void> {
  if (token !== undefined) return storeToken(client, tokens, { scope, token });
  await client.query(TOKEN_LOCK, [`headgate token ${scope}`]);
  await client.query(`DELETE FROM ${tokens} WHERE scope = $1`, [scope]);
}
