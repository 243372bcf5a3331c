/**
 * Watermarks of exactly-once delivery. The summary of a snapshot says which token was committed with
 * it. Snapshots expire, so a property of the table says the same, together with the snapshot.
 */
import {
  executionScope,
  executionText,
  isLater,
  takenOverError,
  type Execution,
} from '../../../kit/execution.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import type { TableMetadata, TableSnapshot } from '../metadata/table-metadata.ts';
import type { TableUpdate } from '../metadata/updates.ts';

const SCOPE = 'svc.commit-scope';
const TOKEN = 'svc.commit-token';
/** Of properties; the scope stands behind it. */
const PREFIX = 'svc.commit-token:';

/** What is committed: tokens by their scopes. One that is null is forgotten. */
export type Tokens = Readonly<Record<string, string | null>>;

/** The last of them is what the summary says. */
export function summaryOfTokens(tokens: Tokens): Record<string, string> {
  const [scope, token] = Object.entries(tokens).at(-1) ?? [];
  return scope === undefined || token === null || token === undefined
    ? {}
    : { [SCOPE]: scope, [TOKEN]: token };
}

export function propertiesOfTokens(tokens: Tokens, snapshot: bigint): TableUpdate[] {
  const updates = Object.fromEntries(
    Object.entries(tokens).map(([scope, token]) => [
      PREFIX + scope,
      token === null ? String(snapshot) : `${snapshot} ${token}`,
    ]),
  );
  return Object.keys(updates).length === 0 ? [] : [{ action: 'set-properties', updates }];
}

/** The snapshots of the table, the current one first. */
function* history({ current, snapshots }: TableMetadata): Generator<TableSnapshot> {
  let at = current;
  while (at !== undefined) {
    yield at;
    at = at.parent === undefined ? undefined : snapshots.get(at.parent);
  }
}

export function tokenOf(metadata: TableMetadata, scope: string): string | undefined {
  const [, id, kept] = /^(\d+)(?: (.*))?$/s.exec(metadata.properties[PREFIX + scope] ?? '') ?? [];
  for (const snapshot of history(metadata)) {
    // Programs that know no property say it in the summary alone.
    if (String(snapshot.id) === id) return kept;
    if (snapshot.summary[SCOPE] === scope) return snapshot.summary[TOKEN];
  }
  return kept;
}

/** Throws when a later execution of the same run has begun. */
export function requireOwn(metadata: TableMetadata, scope: string, execution: Execution): void {
  if (isLater(tokenOf(metadata, executionScope(scope)), execution)) throw takenOverError(scope);
}

/** What is stored when an execution begins. */
export function executionToken(scope: string, execution: Execution): Tokens {
  return { [executionScope(scope)]: executionText(execution) };
}

/** Another run of the same row has written in the meantime. */
export function tokenMoved(scope: string): ConnectorError {
  return new ConnectorError('refused', `another run has written for \`${scope}\` in the meantime`, {
    hint: 'let one run at a time write for a row',
  });
}
