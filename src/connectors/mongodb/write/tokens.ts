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
  type HeldScope,
} from '../../../kit/execution.ts';

/** What a member that is no primary any more takes or tells is not believed. */
const MAJORITY = {
  readPreference: ReadPreference.primary,
  readConcern: { level: 'majority' },
  writeConcern: { w: 'majority' },
} as const;

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

/**
 * From now on only this execution ends an overwrite in the scope. In one document, so that a server
 * without transactions can do it.
 */
export async function takeWhole(link: MongoLink, { scope, execution }: HeldScope): Promise<void> {
  const _id = executionScope(scope);
  const token = executionText(execution);
  await link.run('the run cannot be taken over at its destination', async (db) => {
    const tokens = db.collection<TokenDocument>(TOKEN_TABLE, MAJORITY);
    for (;;) {
      const before = await tokens.findOne({ _id });
      if (isLater(before?.token, execution)) throw takenOverError(scope);
      // Another execution may be faster: who is later is decided again.
      if (before === null) {
        if (await isMade(tokens.insertOne({ _id, token }))) return;
      } else {
        const { matchedCount } = await tokens.updateOne(
          { _id, token: before.token },
          { $set: { token } },
        );
        if (matchedCount === 1) return;
      }
    }
  });
}

async function isMade(inserting: Promise<unknown>): Promise<boolean> {
  try {
    await inserting;
    return true;
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== CODES.duplicateKey) throw error;
    return false;
  }
}

/** For what ends in no transaction: whoever takes the scope behind this drops what it needs. */
export async function assertHeld(db: Db, { scope, execution }: HeldScope): Promise<void> {
  const tokens = db.collection<TokenDocument>(TOKEN_TABLE, MAJORITY);
  const found = await tokens.findOne({ _id: executionScope(scope) });
  if (found?.token !== executionText(execution)) throw takenOverError(scope);
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
