/**
 * Forgets where rows stand, so that their next run reads from the beginning. What an exactly-once
 * sink remembers of a row goes first: with that alone the next run would continue where the
 * destination says, and a reset that was interrupted between the two changes nothing.
 */
import assert from 'node:assert/strict';
import { removeState } from '../../engine/delivery/remove-state.ts';
import { wrapConnectorError } from '../../engine/failure.ts';
import { openPart, partContext } from '../../engine/row/parts.ts';
import { releaseLease, takeLease, type StateLease } from '../../engine/row/state-lease.ts';
import { opening, tokensAt, type Opening } from '../../engine/rollback/find-run.ts';
import { replicationOf } from '../../blocks/replication/index.ts';
import { replacedOutput, type TokenWriter } from '../../kit/sink.ts';
import { AppError, ConfigError, RefusedError } from '../../lib/errors.ts';
import type { PlannedRow } from '../../plan/plan.ts';
import { resolvePart } from '../../plan/resolve.ts';
import { openStores, type OpenStore, type StateRequest, type StoredEntry } from './stores.ts';

export interface RowReset {
  readonly row: PlannedRow;
  readonly bookmarks: readonly StoredEntry[];
  /** Whether the watermark at its destination is removed as well. */
  readonly hasWatermark: boolean;
  /** Whether its next run adds records again that its destination has. */
  readonly repeats: boolean;
}

/** What a reset would do. Rows of which nothing is stored are in it when they have a watermark. */
export async function plannedResets(request: StateRequest): Promise<readonly RowReset[]> {
  refuseReplication(request);
  await using closers = new AsyncDisposableStack();
  const resets: RowReset[] = [];
  for (const opened of await openStores(request, closers)) resets.push(...(await resetsIn(opened)));
  return resets.toSorted((one, two) => one.row.index - two.row.index);
}

/**
 * All of the rows, or none: refused while a run uses one of them. One that was frozen until a run had
 * begun removes nothing more. Gives what was removed.
 */
export async function resetBookmarks(request: StateRequest): Promise<readonly RowReset[]> {
  refuseReplication(request);
  await using closers = new AsyncDisposableStack();
  const { env, plan } = request;
  const options = opening(request, env.ids.next());
  const done: RowReset[] = [];
  const work: (() => Promise<void>)[] = [];
  for (const opened of await openStores(request, closers)) {
    const leases = new Map<string, StateLease>();
    const lease = async (row: PlannedRow, key: string): Promise<void> => {
      const leasing = { env, plan, row, runId: options.invocationId, isStrict: true };
      const held = await takeLease(leasing, opened.store, key);
      closers.defer(() => releaseLease(held, env.log));
      leases.set(key, held);
    };
    for (const row of opened.rows) await lease(row, row.stateKey);
    // Listed again while no run of the rows can begin.
    for (const reset of await resetsIn(opened)) {
      for (const { key } of reset.bookmarks)
        if (key !== reset.row.stateKey) await lease(reset.row, key);
      work.push(await prepared(options, { opened, reset, leases }, closers));
      done.push(reset);
    }
  }
  for (const step of work) await step();
  return done.toSorted((one, two) => one.row.index - two.row.index);
}

async function resetsIn(opened: OpenStore): Promise<RowReset[]> {
  const entries = await opened.entries();
  return opened.rows
    .map((row) => ({
      row,
      bookmarks: entries.filter((one) => one.kind === 'bookmark' && one.row === row),
      hasWatermark: commitsTokens(row),
      repeats: addsOnly(row),
    }))
    .filter(({ bookmarks, hasWatermark }) => bookmarks.length > 0 || hasWatermark);
}

interface LeasedReset {
  readonly opened: OpenStore;
  readonly reset: RowReset;
  /** Of everything that the reset removes, by its key. */
  readonly leases: ReadonlyMap<string, StateLease>;
}

/** Everything that can be refused is found here; the step that it gives only removes. */
async function prepared(
  options: Opening,
  { opened, reset, leases }: LeasedReset,
  closers: AsyncDisposableStack,
): Promise<() => Promise<void>> {
  const { row, bookmarks, hasWatermark } = reset;
  const tokens = hasWatermark ? await openTokens(options, reset, closers) : undefined;
  const leaseOf = (key: string): StateLease => {
    const lease = leases.get(key);
    assert(lease !== undefined, 'what is removed is leased');
    return lease;
  };
  const scopes = new Set([row.stateKey, ...bookmarks.map(({ key }) => key)]);
  return async () => {
    for (const scope of scopes) await leaseOf(scope).confirm();
    for (const scope of tokens === undefined ? [] : scopes)
      await tokens?.forget(scope).catch((error: unknown) => {
        throw wrapConnectorError('Sink', row.sink.type, error);
      });
    const labels = { pipeline: options.plan.name, row: row.id };
    const store = { delete: (key: string) => leaseOf(key).delete(key) };
    const kept = { store, env: options.env, labels };
    await removeState(kept, ...bookmarks.map(({ key }) => key)).catch((error: unknown) => {
      throw wrapConnectorError('State', opened.type, error);
    });
  };
}

async function openTokens(
  options: Opening,
  { row, bookmarks }: RowReset,
  closers: AsyncDisposableStack,
): Promise<TokenWriter | undefined> {
  const cut = bookmarks.find(({ isCut }) => isCut);
  if (cut !== undefined)
    throw new RefusedError(
      'bad_config',
      `row \`${row.id}\` cannot be reset: the store has only the beginning of the key \`${cut.key}\`, under which the destination holds a watermark`,
      { hint: 'keep the state of this document in another store, whose keys are whole' },
    );
  const { definition, type } = row.sink;
  const config = sinkConfig(options, row);
  const context = { ...partContext({ ...options, row }), role: 'main' as const };
  const open = () => definition.open(config, { ...context, runId: options.invocationId });
  return (await openPart('Sink', { type }, open, closers)).tokens;
}

function sinkConfig({ env }: Opening, row: PlannedRow): unknown {
  try {
    return resolvePart(row.sink, tokensAt(env.clock.now()));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new AppError(
      'bad_config',
      `row \`${row.id}\` cannot be reset: where it writes depends on values that only a run has, and its destination holds a watermark`,
      { hint: 'name a destination without `${…}` of other rows in the sink', cause: error },
    );
  }
}

function commitsTokens({ delivery, sink }: PlannedRow): boolean {
  const config = sink.parsed ?? sink.judged;
  if (delivery !== 'exactly_once') return false;
  return config === undefined || sink.definition.capabilities(config).token;
}

/** Neither by key nor by replacing what is there. */
function addsOnly({ sink }: PlannedRow): boolean {
  const config = sink.parsed ?? sink.judged;
  if (config === undefined) return false;
  const { writeMode } = sink.definition.capabilities(config);
  return writeMode === 'append' && replacedOutput(sink.definition, config) === undefined;
}

/** A copy that counts as done, and changes from a later position, would lose what lies between. */
function refuseReplication({ plan }: StateRequest): void {
  if (replicationOf(plan) === undefined) return;
  throw new RefusedError(
    'bad_config',
    'the position of a replication belongs to its copy of the table: one cannot be reset without the other',
    { hint: 'begin both again with `headgate replicate --restart`' },
  );
}
