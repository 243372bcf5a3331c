/** Commit tokens: one document for each scope, written in the transaction of the page they belong to. */
import {
  MongoServerError,
  ReadPreference,
  type ClientSession,
  type Collection,
  type Db,
} from 'mongodb';
import { ConnectorError } from '../../../lib/errors.ts';
import type { MongoLink } from '../../../lib/mongodb/client.ts';
import { CODES } from '../../../lib/mongodb/errors.ts';
import { TOKEN_TABLE, type CommitToken } from '../../_sql/driver.ts';
import {
  executionScope,
  executionText,
  isLater,
  takenOverError,
  type Execution,
} from '../../../kit/execution.ts';

interface TokenDocument {
  readonly _id: string;
  readonly token: string;
}

function tokensOf(db: Db): Collection<TokenDocument> {
  return db.collection<TokenDocument>(TOKEN_TABLE);
}

/**
 * The last token of the scope. A page that an earlier process of this run was about to commit is
 * committed before this, or never.
 */
export async function lastToken(
  link: MongoLink,
  scope: string,
  execution: Execution | undefined,
): Promise<string | undefined> {
  if (!(await link.hasTransactions()))
    throw new ConnectorError(
      'refused',
      'a page and its commit token need a transaction, which a server of its own does not have',
      {
        hint: 'use a replica set (one member is enough) or a sharded cluster, or `write_mode: upsert` without `delivery: exactly_once`',
      },
    );
  await link.run('the collection of commit tokens cannot be made', makeTokens);
  await link.transaction('the commit token cannot be taken over', (db, session) =>
    takeScope(db, session, { scope, execution }),
  );
  const found = await link.run('the commit token cannot be read', (db) =>
    tokensOf(db).findOne({ _id: scope }, { readPreference: ReadPreference.primary }),
  );
  return found?.token;
}

/** A page that is being committed in the scope is committed before this. */
export async function forgetToken(link: MongoLink, scope: string): Promise<void> {
  await link.run('the collection of commit tokens cannot be made', makeTokens);
  await link.transaction('the commit token cannot be removed', async (db, session) => {
    await takeScope(db, session, { scope, execution: undefined });
    await tokensOf(db).deleteOne({ _id: scope }, { session });
  });
}

async function makeTokens(db: Db): Promise<void> {
  try {
    await db.createCollection(TOKEN_TABLE);
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== CODES.namespaceExists) throw error;
  }
}

interface Taking {
  readonly scope: string;
  readonly execution: Execution | undefined;
}

/** To be called in a transaction. It waits for those that hold the scope. */
async function takeScope(
  db: Db,
  session: ClientSession,
  { scope, execution }: Taking,
): Promise<void> {
  const _id = executionScope(scope);
  const tokens = tokensOf(db);
  const before = await tokens.findOne({ _id }, { session });
  if (execution !== undefined && isLater(before?.token, execution)) throw takenOverError(scope);
  const token = execution === undefined ? (before?.token ?? '') : executionText(execution);
  await tokens.updateOne(
    { _id },
    { $set: { token }, $inc: { taken: 1 } },
    { session, upsert: true },
  );
}

/** To be called in the transaction of a page, before its records. */
export async function storeToken(
  db: Db,
  session: ClientSession,
  { scope, token, execution }: CommitToken,
): Promise<void> {
  const tokens = tokensOf(db);
  const held = await tokens.updateOne(
    {
      _id: executionScope(scope),
      ...(execution === undefined ? {} : { token: executionText(execution) }),
    },
    { $inc: { taken: 1 } },
    { session, upsert: execution === undefined },
  );
  if (execution !== undefined && held.matchedCount !== 1) throw takenOverError(scope);
  await tokens.updateOne({ _id: scope }, { $set: { token } }, { session, upsert: true });
}
