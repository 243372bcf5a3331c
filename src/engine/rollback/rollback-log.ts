/**
 * The rollback log of an invocation: the state before the first write is stored, so that the
 * invocation can be rolled back later; entries beyond `retain` are removed.
 */
import { rollbackBlock } from '../../blocks/rollback/index.ts';
import { blockOf } from '../../blocks/define-block.ts';
import { messageOf, RunError } from '../../lib/errors.ts';
import { canonicalJson, type JsonValue } from '../../lib/text/json.ts';
import type { SinkRollback, RollbackMode } from '../../kit/rollback.ts';
import { undoModeOf } from '../../blocks/rollback/undo-mode.ts';
import { removeState } from '../delivery/remove-state.ts';
import { wrapConnectorError } from '../failure.ts';
import type { Invocation, OpenedInvocation } from '../row/invocation.ts';
import { Markers, type Marker, type MarkerStore } from './markers.ts';
import { settleInterrupted } from './settle.ts';

/** Called before the start position is read: an interrupted rollback may still change it. */
export async function finishInterruptedRollback(invocation: OpenedInvocation): Promise<void> {
  const { env, row, sink, stateKey } = invocation;
  const state = storeOf(invocation);
  const isKept = blockOf(row, rollbackBlock) !== undefined;
  if (!isKept || state === undefined || sink.rollback === undefined) return;
  const end = await settleInterrupted({ state, stateKey, rollback: sink.rollback }).catch(
    (error: unknown) => {
      throw wrapConnectorError('State', row.state?.type ?? 'state', error);
    },
  );
  if (end === 'settled')
    env.log.info(
      'an interrupted rollback was completed: the run continues after the position that it restored',
      { row: row.id },
    );
}

/** `undefined` where the invocation cannot be rolled back; it runs all the same. */
export async function openRollbackLog(invocation: Invocation): Promise<RollbackLog | undefined> {
  const { env, row, sink, capabilities, id } = invocation;
  const state = storeOf(invocation);
  const rollback = blockOf(row, rollbackBlock);
  const mode = rollback && undoModeOf(capabilities.writeMode, rollback);
  if (rollback === undefined || mode === undefined || state === undefined) return undefined;
  if (sink.rollback === undefined) {
    const message = `the sink \`${row.sink.type}\` of row \`${row.id}\` cannot roll back a run with this config`;
    throw new RunError('Config', 'rollback_unreachable', message, {
      hint: 'use `column_mapping: auto_map`, or remove `rollback`',
    });
  }
  const log = new RollbackLog(invocation, {
    state,
    undo: sink.rollback,
    mode,
    retain: rollback.retain,
  });
  try {
    await log.begin();
  } catch (error) {
    env.log.warn('the rollback log could not be written, so this run cannot be rolled back', {
      row: row.id,
      error: messageOf(error),
    });
    return undefined;
  }
  try {
    await sink.rollback.record({ runId: id, mode, column: rollback.column });
  } catch (error) {
    await log.end();
    throw wrapConnectorError('Sink', row.sink.type, error);
  }
  return log;
}

/** Stores nothing for an execution that was taken over. */
function storeOf({ state, lease, env, labels }: OpenedInvocation): MarkerStore | undefined {
  if (state === undefined) return undefined;
  const store = lease ?? state;
  return {
    get: (key) => state.get(key),
    put: (key, value) => store.put(key, value),
    delete: (key) => removeState({ store, env, labels }, key),
  };
}

interface LogOptions {
  readonly state: MarkerStore;
  readonly undo: SinkRollback;
  readonly mode: RollbackMode;
  readonly retain: number;
}

export class RollbackLog {
  readonly #invocation: Invocation;
  readonly #options: LogOptions;
  readonly #markers: Markers;
  #marker: Marker | undefined;
  #finished = false;

  constructor(invocation: Invocation, options: LogOptions) {
    this.#invocation = invocation;
    this.#options = options;
    this.#markers = new Markers(options.state, invocation.stateKey);
  }

  async begin(): Promise<void> {
    const { env, id, row, labels, stateKey, sink, watermark, capabilities, tokens, sinkConfig } =
      this.#invocation;
    const before = await this.#options.state.get(stateKey);
    const token =
      watermark === undefined ? {} : { token_before: (await sink.tokens?.last(stateKey)) ?? null };
    this.#marker = {
      run_id: id,
      pipeline: labels.pipeline,
      row: row.id,
      state_key: stateKey,
      started_at: env.clock.now().toISOString(),
      clock: tokens.now.date.toISOString(),
      zone: tokens.now.zone,
      sink_kind: row.sink.type,
      sink_uri: row.sink.definition.datasetUri(sinkConfig),
      mode: this.#options.mode,
      delivery: row.delivery,
      run_id_column: blockOf(row, rollbackBlock)?.column ?? '',
      ...(this.#options.mode === 'upsert' ? { key: [...capabilities.key] } : {}),
      ...(before === undefined ? {} : { bookmark_before: before }),
      ...token,
    };
    await this.#markers.put(this.#marker);
    const { runs } = await this.#markers.index();
    await this.#markers.putIndex({ runs: [...runs, id] });
  }

  /** The sink has finished its output. */
  finished(): void {
    this.#finished = true;
  }

  /**
   * Never throws. An invocation that changed nothing gets no entry: it would push out one that did.
   */
  async end(): Promise<void> {
    const { env, row, id, tally, stateKey } = this.#invocation;
    const marker = this.#marker;
    if (marker === undefined) return;
    try {
      if (!(await this.#hasChanged())) return await this.#forget([id]);
      const after = await this.#options.state.get(stateKey);
      await this.#markers.put({
        ...marker,
        records_written: tally.written,
        ...(after === undefined ? {} : { bookmark_after: after }),
      });
      await this.#forget(await this.#outdated());
    } catch (error) {
      env.log.warn('the rollback log could not be updated', {
        row: row.id,
        error: messageOf(error),
      });
    }
  }

  async #hasChanged(): Promise<boolean> {
    const { tally, row, stateKey } = this.#invocation;
    if (this.#options.mode === 'overwrite') return this.#finished;
    if (tally.written > 0 || row.cleanUp !== undefined) return true;
    return !isSame(await this.#options.state.get(stateKey), this.#marker?.bookmark_before);
  }

  /** Beyond `retain`, or overwritten: only the last overwrite still has the previous table. */
  async #outdated(): Promise<string[]> {
    const { id } = this.#invocation;
    const { runs } = await this.#markers.index();
    const outdated = new Set(runs.slice(0, Math.max(0, runs.length - this.#options.retain)));
    if (this.#options.mode !== 'overwrite') return [...outdated];
    for (const marker of await this.#markers.all())
      if (marker.mode === 'overwrite' && marker.run_id !== id) outdated.add(marker.run_id);
    return [...outdated];
  }

  async #forget(runIds: readonly string[]): Promise<void> {
    if (runIds.length === 0) return;
    await this.#invocation.fence?.assertOwned();
    await this.#options.undo.forget(runIds);
    await this.#markers.remove(runIds);
  }
}

/** Whether two stored values are the same, where a value may be missing. */
export function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return canonicalJson(one) === canonicalJson(other);
}
