/**
 * Watermarks of exactly-once delivery: each is an application transaction of the table (`txn`), whose
 * version is that of the commit, and which says in that commit what the token is.
 */
import {
  executionScope,
  executionText,
  isLater,
  takenOverError,
  type Execution,
} from '../../../kit/execution.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { isObject } from '../../../lib/text/json.ts';
import type { TableFiles } from '../../_lake/table-files.ts';
import { readCommit, type Snapshot } from '../log/snapshot.ts';
import type { Change } from './commit.ts';

const PREFIX = 'headgate:';
const IN_COMMIT = 'headgateTokens';

export type Tokens = Readonly<Record<string, string | null>>;

/** The change, with tokens that are committed together with it. */
export function withTokens(
  change: Change,
  tokens: Tokens,
  { version, now }: { readonly version: number; readonly now: number },
): Change {
  const transactions = Object.keys(tokens).map((scope) => ({
    txn: { appId: PREFIX + scope, version, lastUpdated: now },
  }));
  return {
    info: { ...change.info, [IN_COMMIT]: { ...tokens } },
    actions: [...transactions, ...change.actions],
  };
}

/** In which version a scope got its token. */
export function tokenVersion(snapshot: Snapshot | undefined, scope: string): number | undefined {
  return snapshot?.transactions.get(PREFIX + scope)?.version;
}

export async function readToken(
  files: TableFiles,
  snapshot: Snapshot | undefined,
  scope: string,
): Promise<string | undefined> {
  const version = tokenVersion(snapshot, scope);
  if (version === undefined) return undefined;
  const actions = await readCommit(files, version).catch((error: unknown) => {
    if (!(error instanceof ConnectorError) || error.kind !== 'missing') throw error;
    throw new ConnectorError(
      'missing',
      `version ${version} of the table ${files.address}, which says how far \`${scope}\` was written, was cleaned up`,
      { hint: 'compare the table with the source, and reset the state of the row', cause: error },
    );
  });
  for (const action of actions) {
    const tokens = action.is === 'commitInfo' ? action.info[IN_COMMIT] : undefined;
    const token = isObject(tokens) ? tokens[scope] : undefined;
    if (typeof token === 'string') return token;
  }
  return undefined;
}

/** Throws when a later execution of the same run has begun. */
export async function requireOwn(
  files: TableFiles,
  snapshot: Snapshot | undefined,
  { scope, execution }: { readonly scope: string; readonly execution: Execution },
): Promise<void> {
  const stored = await readToken(files, snapshot, executionScope(scope));
  if (isLater(stored, execution)) throw takenOverError(scope);
}

/** What is stored when an execution begins. */
export function executionToken(scope: string, execution: Execution): Tokens {
  return { [executionScope(scope)]: executionText(execution) };
}
