/**
 * Commit tokens: one row for each scope, written in the same transaction as the page they belong
 * to.
 */
import type { ClientBase } from 'pg';
import { codeOf } from '../../../lib/sql/postgres.ts';
import type { CommitToken } from '../../_sql/driver.ts';

const NO_SUCH_TABLE = '42P01';

/** With the lock, the next reader of the token waits for a commit in progress. */
const TOKEN_LOCK = 'SELECT pg_advisory_xact_lock(hashtext($1))';

export async function storeToken(
  client: ClientBase,
  tokens: string,
  { scope, token }: CommitToken,
): Promise<void> {
  await client.query(TOKEN_LOCK, [`headgate token ${scope}`]);
  await client.query(
    `INSERT INTO ${tokens} (scope, token, updated_at) VALUES ($1, $2, now())
     ON CONFLICT (scope) DO UPDATE SET token = excluded.token, updated_at = excluded.updated_at`,
    [scope, token],
  );
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
