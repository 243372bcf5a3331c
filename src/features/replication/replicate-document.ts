/** A replication of a loaded document: what it needs is opened, and closed when it has ended. */
import { replicationOf } from '../../blocks/replication/index.ts';
import type { Document } from '../../document/document.ts';
import type { ExecuteOptions } from '../../engine/engine.ts';
import { execute } from '../../engine/execute.ts';
import { wrapConnectorError } from '../../engine/failure.ts';
import { openLogins } from '../../engine/logins.ts';
import { partContext } from '../../engine/row/parts.ts';
import type { Parts } from '../../kit/parts.ts';
import type { StateStore } from '../../kit/state-store.ts';
import type { Env } from '../../lib/env.ts';
import { AppError } from '../../lib/errors.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Plan, PlannedRow } from '../../plan/plan.ts';
import { resolvePart } from '../../plan/resolve.ts';
import type { RunOutcome } from '../../wire/outcome.ts';
import { anchorsOf } from './anchors.ts';
import { replicate, type HalfNews, type ReplicationResult } from './replicate.ts';
import { planSnapshot } from './snapshot-plan.ts';

type RunSettings = Pick<ExecuteOptions, 'threads' | 'onFailpoint' | 'onNotifying' | 'hasReceipt'>;

export interface ReplicateOptions extends RunSettings {
  readonly env: Env;
  readonly document: Document;
  readonly plan: Plan;
  readonly parts: Parts;
  readonly cpus: number;
  readonly signal: AbortSignal;
  /** Ends when there are no changes for a while, whatever the document says. */
  readonly once: boolean;
  /** Takes the snapshot again. */
  readonly restart: boolean;
  /** What watches one of its runs. */
  observe?(this: void, plan: Plan): Promise<Pick<ExecuteOptions, 'env' | 'observers'>>;
  onHalf?(this: void, news: HalfNews): void;
}

/** Rejects with `AppError` when the document asks for none, or it cannot begin or go on. */
export async function replicateDocument(options: ReplicateOptions): Promise<ReplicationResult> {
  const { env, document, plan, parts, cpus, signal } = options;
  const block = replicationOf(plan);
  const [row] = plan.rows;
  if (block === undefined || row === undefined)
    throw new AppError('no_replication', 'the document has no `replication`', {
      hint: 'see `headgate schema replication`',
    });
  const snapshot = planSnapshot({ document, parts, cpus, row, replication: block });
  const credentials = openLogins({ plan, parts, env }, signal);
  const runId = env.ids.next();
  const part = { env, plan, row, runId, credentials, signal };
  const store = await openStore(part);
  const { onHalf, onFailpoint } = options;
  try {
    return await replicate({
      env,
      plan,
      row,
      runId,
      snapshot,
      store,
      continuous: block.continuous && !options.once,
      restart: options.restart,
      signal,
      anchors: anchorsOf(part),
      execute: (half, fence) => executeHalf(options, half, { credentials, fence }),
      ...(onHalf === undefined ? {} : { onHalf }),
      hitFailpoint:
        onFailpoint === undefined
          ? undefined
          : (step) => onFailpoint(step, { row: row.id, page: 0 }),
    });
  } finally {
    await store.close();
  }
}

async function executeHalf(
  { env, parts, signal, observe, threads, ...settings }: ReplicateOptions,
  plan: Plan,
  { credentials, fence }: Pick<ExecuteOptions, 'credentials' | 'fence'>,
): Promise<RunOutcome> {
  const { onFailpoint, onNotifying, hasReceipt } = settings;
  return execute({
    env,
    ...(await observe?.(plan)),
    plan,
    parts,
    signal,
    ...(credentials === undefined ? {} : { credentials }),
    fence,
    runId: env.ids.next(),
    clock: env.clock.now(),
    ...(threads === undefined ? {} : { threads }),
    ...(onFailpoint === undefined ? {} : { onFailpoint }),
    ...(onNotifying === undefined ? {} : { onNotifying }),
    ...(hasReceipt === undefined ? {} : { hasReceipt }),
  });
}

interface Opening extends Pick<ReplicateOptions, 'env' | 'plan'> {
  readonly row: PlannedRow;
  readonly credentials: NonNullable<ExecuteOptions['credentials']>;
}

async function openStore({ env, plan, row, credentials }: Opening): Promise<StateStore> {
  const { state } = row;
  if (state === undefined) throw new AppError('bad_config', 'a replication needs a `state`');
  const tokens = {
    now: { date: env.clock.now(), zone: 'UTC' },
    records: new Map<string, JsonValue>(),
  };
  // It is used to the last, also after a stop.
  const kill = new AbortController().signal;
  const context = partContext({ env, plan, row, credentials, invocationId: env.ids.next(), kill });
  try {
    return await state.definition.open(resolvePart(state, tokens), context);
  } catch (error) {
    throw wrapConnectorError('State', state.type, error);
  }
}
